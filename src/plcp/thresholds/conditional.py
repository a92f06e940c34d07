"""Conditional calibration: coverage under every shift of a class, from the dual path."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, gen_batches

from plcp._options import check_rate, warn_infinite
from plcp._parallel import in_threads, one_thread_for_matrices
from plcp._rows import count
from plcp._validation import check_lengths, drop_weightless, effective_columns
from plcp.groups.features import check_rank, feature_columns
from plcp.groups.groups import Groups, Source
from plcp.groups.shifts import KernelProgram, KernelShifts, fit_kernel_program
from plcp.kernels import numbers
from plcp.out_of_core import RowDraws
from plcp.quantile_programs.path import Track, track_of
from plcp.quantile_programs.vertex import fit_vertex
from plcp.quantiles import FloatArray
from plcp.regressors.base import unit_of
from plcp.thresholds.base import Alpha, GivenGroupsRule, Members, members_of_matrix
from plcp.thresholds.guarantees import conditional_guarantee


class ConditionalCalibration(GivenGroupsRule):
    r"""Thresholds that cover under every covariate shift of a linear class, in finite samples.

    With a constant always among the features φ(x), the threshold of x is the supremum of the
    scores S whose dual η lies below 1 - alpha, in the quantile regression of the calibration
    scores and S itself,

    .. math:: \min_\beta \sum_{i \le n} \ell_\alpha(\phi_i^\top\beta, s_i)
              + \ell_\alpha(\phi(x)^\top\beta, S).

    If points are exchangeable, then for every f(x) = φ(x)'b that is nowhere negative
    E[f(X) 1{covered}] ≥ (1 - alpha) E[f(X)]: coverage holds in every group given, on average, and
    under each reweighting by f. ``randomized=True`` gives equality for every f, negative or not,
    unless scores tie. Thresholds come from one program and the path of its dual to each new row,
    all rows of a block in step.

    Parameters
    ----------
    features : callable, fitted transformer or None, default=None
        The map φ: a function of X, or a transformer fitted on other rows; wrap it in
        ``FrozenEstimator`` to keep it so in copies. None: the columns of X, unless groups or
        a kernel are given.
    groups : column name or position, callable, list or dict of them, or None
        Groups that may overlap, as in ``Groups``; a boolean matrix may be handed to ``fit`` and
        ``predict`` instead. Their indicators stand beside the features.
    alpha : float or list of float, default=0.1
        Miscoverage rate, or several: one column of thresholds each, and ``rules_``.
    kernel : KernelShifts or None, default=None
        Smooth functions of X beside the features. X must be numbers; some rows settle the kernel.
    randomized : bool, default=False
        Compare the dual with a uniform draw in place of 1 - alpha: exact coverage instead of
        conservative, if no scores tie; thresholds of few points may be infinite, of either sign.
    n_jobs : int or None
        Blocks of rows at once, in threads; results do not depend on it.
    random_state : int, RandomState or None
        Seed of the draws. A fitted rule draws by a hash of a row's values: a row gets the same draw
        alone and in a batch, and rows with equal values share it.
    verbose : bool, default=False
        Show a progress bar (needs the extra ``progress``).

    Attributes
    ----------
    n_columns_ : int
        Dimension of the class, the constant included and a kernel's functions not.
    l2_ : float or None
        Penalty of a kernel's functions.
    groups_, group_sizes_ : list of str, ndarray
        Names of the groups, and the number of calibration points of each, or what they weigh.
    guarantee_ : Guarantee
        What holds, and when.

    References
    ----------
    Gibbs, Cherian, Candès (2025). Conformal prediction with conditional guarantees. JRSS B.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import ConditionalCalibration
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 1))
    >>> scores = rng.exponential(1 + X[:, 0])
    >>> rule = ConditionalCalibration().fit(X, scores)
    >>> rule.predict([[0.0], [1.0]]).round(1)  # the noise is twice as large on the right
    array([2.7, 4.5])
    """

    def __init__(
        self,
        features: Any = None,
        groups: Source | list[Source] | dict[str, Source] | None = None,
        alpha: Alpha = 0.1,
        *,
        kernel: KernelShifts | None = None,
        randomized: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.features = features
        self.groups = groups
        self.alpha = alpha
        self.kernel = kernel
        self.randomized = randomized
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(
        self, X: Any, scores: FloatArray, weights: FloatArray | None, groups: Any = None
    ) -> None:
        self._level = 1 - check_rate(self.alpha)
        if groups is not None:
            check_lengths(X, groups)
            groups, _, _ = drop_weightless(groups, scores, weights)
        X, scores, weights = drop_weightless(X, scores, weights)
        self._groups = None
        if self.groups is not None or groups is not None:
            self._groups = Groups(self.groups).fit(X, given=groups)
        self.groups_ = [] if self._groups is None else self._groups.names_
        if self.features is not None:
            check_rank(feature_columns(X, self.features))
        rng, columns = check_random_state(self.random_state), self._columns(X, groups)
        self._width = columns.shape[1]
        counts = np.ones(len(scores)) if weights is None else weights
        members = columns[:, self._width - len(self.groups_) :]
        self.group_sizes_, self._group_rows = counts @ members, effective_columns(members, weights)
        # a kernel's penalty is in the units of the scores as they are
        self._unit = unit_of(scores) if self.kernel is None else 1.0
        with one_thread_for_matrices():
            exact = self._solve(X, columns, scores / self._unit, weights, rng)
        self._seed = rng.randint(np.iinfo(np.int32).max)
        self.guarantee_ = conditional_guarantee(self, len(scores), exact)

    def _predict(self, X: Any, groups: Any = None) -> FloatArray:
        columns = self._columns(X, groups)
        if columns.shape[1] != self._width:
            raise ValueError(
                f"features gives {columns.shape[1]} columns, constant and groups included, but "
                f"gave {self._width} in fit: let it give the same for any rows"
            )
        targets = self._targets(X, groups)
        seen = [columns]
        if isinstance(self._program, KernelProgram):
            seen.append(numbers(X))
        jobs = [
            partial(self._program.thresholds, targets[rows], *(part[rows] for part in seen))
            for rows in gen_batches(len(columns), self._program.rows_at_once)
        ]
        parts = in_threads(jobs, self.n_jobs, self.verbose, type(self).__name__)
        thresholds = np.concatenate(parts) * self._unit
        unbounded = np.flatnonzero(np.isinf(thresholds))
        if len(unbounded) and not self.randomized:
            warn_infinite(
                f"{len(unbounded)} rows, the first of them row {unbounded[0]}, have too few "
                "calibration points like them for shifts as many as these"
            )
        return thresholds

    def _members(self, X: Any, groups: Any = None) -> Members:
        if self._groups is None:
            return {}
        return members_of_matrix(self.groups_, self._groups.transform(X, given=groups))

    def _solve(
        self,
        X: Any,
        columns: FloatArray,
        scores: FloatArray,
        weights: FloatArray | None,
        rng: np.random.RandomState,
    ) -> bool:
        """Solve the program without a new row; True if its guarantee is exact."""
        if self.kernel is None:
            vertex = fit_vertex(columns, scores, self._level, weights)
            self._program: Track | KernelProgram = track_of(vertex)
            self.l2_, self.n_columns_ = None, len(vertex.basis)
            return weights is None
        if weights is not None:
            raise ValueError(
                "sample_weight is not supported with a kernel: repeat rows, or leave the kernel out"
            )
        given = numbers(X), columns, scores, self.alpha
        self._program, exact = fit_kernel_program(self.kernel, *given, rng)
        self.l2_, self.n_columns_ = self._program.l2, self._program.n_columns
        return exact

    def _targets(self, X: Any, groups: ArrayLike | None) -> FloatArray:
        """Value that the dual of each new row is compared with."""
        if not self.randomized:
            return np.full(count(X), self._level)
        drawn = RowDraws(X, self._seed, "dual").random()
        if groups is not None:  # given by hand, they are content of the row that X does not hold
            drawn = (drawn + RowDraws(groups, self._seed, "dual by groups").random()) % 1
        return self._level - drawn

    def _columns(self, X: Any, given: ArrayLike | None) -> FloatArray:
        """A constant, the features and the indicators of the groups, side by side."""
        parts: list[FloatArray] = [np.ones((count(X), 1))]
        if self.features is not None:
            parts.append(feature_columns(X, self.features))
        elif self._groups is None and self.kernel is None:
            parts.append(numbers(X))
        if self._groups is None and given is not None:
            raise ValueError("groups are handed to predict, but there were none in fit: refit")
        if self._groups is not None:
            parts.append(self._groups.transform(X, given=given))
        return np.hstack(parts)

    def _allows_nan(self, groups: Any = None) -> bool:
        """Whether X may have missing values: only a map or groups read it, and refuse them."""
        return any(source is not None for source in (self.features, self.groups, groups))

    @property
    def draws(self) -> bool:
        """Whether thresholds depend on draws: if ``randomized``."""
        return self.randomized

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_nan()
        tags.input_tags.three_d_array = False
        return tags
