"""Shifts that are smooth functions: a reproducing kernel space as the class."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist

from plcp._base import Estimator
from plcp._folds import copy_ids, rows_of, shuffled_folds
from plcp._options import check_option, is_real
from plcp.kernels import (
    GaussianKernel,
    Space,
    check_automatic,
    check_bandwidth,
    plain_space,
    standard_space,
)
from plcp.quantile_programs.kernel import (
    KernelSolution,
    kernel_bytes,
    kernel_thresholds,
    solve_kernel_program,
    typical,
)
from plcp.quantiles import FloatArray, IntArray, pinball_loss

TUNING_ROWS = 1000  # most that settle a kernel: with 400 the penalty came out too large
AT_ONCE = 256  # new rows
FOLDS = 3
OUTLYING = 10  # times the typical distance from the median: a spread larger than that is outliers
SYMMETRIC = 1e-7  # of the mean variance: what rounding may do to a kernel matrix
PENALTIES = np.logspace(0, -5, 6)  # from nearly constant to nearly interpolating, for unit scores


class KernelShifts(Estimator):
    """Functions f of a reproducing kernel space, with a penalty l2 ‖f‖², as a class of shifts.

    For ``ConditionalCalibration(kernel=KernelShifts())``: thresholds gain a smooth part f, and
    coverage under a shift of this space misses its mark by a known amount, 2 l2 ⟨f, shift⟩
    relative to the mean of the shift; under the shifts of features and groups by nothing.

    Parameters
    ----------
    kernel : "gaussian" or callable, default="gaussian"
        A positive definite kernel: a function of X and Z that gives an (n, m) matrix.
    bandwidth : float or "auto", default="auto"
        Of the Gaussian kernel, in standard deviations of the columns. "auto": the median distance
        between rows. A kernel of your own sees X in its own units.
    l2 : float or "auto", default="auto"
        Penalty, relative to the mean pinball loss. "auto": by cross-validated pinball loss.
    tuning_size : float, default=0.2
        Share of the rows (at most 1000) that settle what is not given and calibrate nothing: that
        keeps the guarantee exact.
    max_gigabytes : float, default=4.0
        Memory that may be used; a larger problem is refused before it starts.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import ConditionalCalibration, KernelShifts
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(600, 1))
    >>> scores = rng.exponential(1 + 4 * (np.abs(X[:, 0]) < 0.5))
    >>> rule = ConditionalCalibration(kernel=KernelShifts(), random_state=0).fit(X, scores)
    >>> edge, middle = rule.predict([[-0.9], [0.0]])
    >>> bool(edge < middle)
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        bandwidth: float | str = "auto",
        l2: float | str = "auto",
        *,
        tuning_size: float = 0.2,
        max_gigabytes: float = 4.0,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.l2 = l2
        self.tuning_size = tuning_size
        self.max_gigabytes = max_gigabytes


@dataclass(frozen=True)
class KernelProgram:
    """The solved program of calibration rows, as the kernel sees them."""

    space: Space
    rows: FloatArray
    solution: KernelSolution
    l2: float
    n_columns: int

    rows_at_once: ClassVar[int] = AT_ONCE

    def thresholds(self, targets: FloatArray, columns: FloatArray, X: FloatArray) -> FloatArray:
        """Thresholds of new rows at which their duals reach their targets."""
        new = self.space.place(X)
        own = np.array([kernel_matrix(self.space, row[None], row[None])[0, 0] for row in new])
        across = kernel_matrix(self.space, new, self.rows)
        return kernel_thresholds(self.solution, across, own, columns, targets)


def fit_kernel_program(
    shifts: KernelShifts,
    X: FloatArray,
    columns: FloatArray,
    scores: FloatArray,
    alpha: float,
    rng: np.random.RandomState,
) -> tuple[KernelProgram, bool]:
    """Solved program, and whether its rows had no say in kernel and penalty."""
    if not isinstance(shifts, KernelShifts):
        raise ValueError(
            f"kernel must be a KernelShifts, got {shifts!r}: give kernel=KernelShifts() for a "
            "Gaussian one, or KernelShifts(kernel=...) for your own"
        )
    l2: Any = shifts.l2
    is_auto = isinstance(l2, str) and l2 == "auto"
    if not is_auto and not (isinstance(l2, int | float | np.number) and 0 < l2 < np.inf):
        raise ValueError(f"l2 must be a positive number or 'auto', got {l2!r}")
    tuning, rows = _divide(shifts, copy_ids(X, scores), rng)
    needed = kernel_bytes(len(rows), AT_ONCE) / 2**30
    if not needed <= shifts.max_gigabytes:
        most = int(len(rows) * np.sqrt(shifts.max_gigabytes / needed))
        raise ValueError(
            f"a kernel program of {len(rows)} rows needs {needed:.1f} GiB, more than max_gigabytes "
            f"= {shifts.max_gigabytes:g}: calibrate on about {most} rows, or allow more"
        )
    # rows may come sorted: the first of them would be of one corner of the space
    settling = tuning if len(tuning) else rng.permutation(rows)[:TUNING_ROWS]
    space = _settled_space(shifts, X[settling])
    if is_auto:
        l2 = best_penalty(space, X[settling], columns[settling], scores[settling], alpha)
    program = solved(space, X[rows], columns[rows], scores[rows], alpha, float(l2))
    return program, len(tuning) > 0 or _nothing_to_settle(shifts)


def solved(
    space: Space, X: FloatArray, columns: FloatArray, scores: FloatArray, alpha: float, l2: float
) -> KernelProgram:
    """Program of rows in a settled space."""
    placed = space.place(X)
    matrix = kernel_matrix(space, placed, placed)
    if not isinstance(space.kernel, GaussianKernel):
        _check_definite(matrix)
    c = 1 / (2 * l2 * (len(scores) + 1))
    solution = solve_kernel_program(matrix, columns, scores, 1 - alpha, c)
    return KernelProgram(space, placed, solution, l2, len(solution.span.kept))


def best_penalty(
    space: Space, X: FloatArray, columns: FloatArray, scores: FloatArray, alpha: float
) -> float:
    """Penalty of least pinball loss out of fold."""
    if len(scores) < FOLDS:
        raise ValueError(
            f"l2='auto' needs at least {FOLDS} rows to choose a penalty on, got {len(scores)}: "
            "calibrate on more rows, or give l2 as a number"
        )
    # one outlier must not make penalties so small that no fit is found
    unit = min(float(np.std(scores)), OUTLYING * typical(scores - np.median(scores))) or 1.0
    penalties = PENALTIES / unit
    losses = np.zeros(len(penalties))
    for learn, hold in shuffled_folds(copy_ids(X, scores), FOLDS, 0):
        unmoved = np.zeros(len(hold))  # a new row whose dual is zero is predicted, no more
        for i, l2 in enumerate(penalties):
            program = solved(space, X[learn], columns[learn], scores[learn], alpha, l2)
            fitted = program.thresholds(unmoved, columns[hold], X[hold])
            losses[i] += pinball_loss(fitted, scores[hold], alpha).sum()
    return float(penalties[np.argmin(losses)])


def kernel_matrix(space: Space, X: FloatArray, Z: FloatArray) -> FloatArray:
    """Kernel of rows as it sees them, checked."""
    matrix = np.asarray(space.kernel(X, Z), dtype=float)
    if matrix.shape != (len(X), len(Z)):
        raise ValueError(
            f"kernel(X, Z) must give one number for each row of X and of Z, shape "
            f"{(len(X), len(Z))}, got {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        wrong = matrix[~np.isfinite(matrix)][0]
        raise ValueError(f"kernel(X, Z) must give finite numbers, got {wrong}")
    return matrix


def _check_definite(matrix: FloatArray) -> None:
    """Refuse a kernel of the user's own that is no inner product: its program has no best."""
    diagonal = np.abs(np.diag(matrix)).mean()
    if np.abs(matrix - matrix.T).max() > SYMMETRIC * diagonal:
        raise ValueError("kernel(X, X) must be symmetric: k(x, z) = k(z, x)")
    try:
        np.linalg.cholesky(matrix + SYMMETRIC * diagonal * np.eye(len(matrix)))
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "kernel(X, X) must be positive definite: try exp(-distance²), or another kernel"
        ) from error


def _divide(
    shifts: KernelShifts, ids: IntArray, rng: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Rows that settle kernel and penalty, and rows to calibrate on; copies on one side."""
    size = float(shifts.tuning_size) if is_real(shifts.tuning_size) else np.nan
    if not 0 <= size < 1:
        raise ValueError(f"tuning_size must lie in [0, 1), got {shifts.tuning_size!r}")
    if size == 0 or _nothing_to_settle(shifts):
        return np.arange(0), np.arange(len(ids))
    every = np.unique(ids)
    n_tuning = min(TUNING_ROWS, max(FOLDS, int(size * len(every))), len(every) - 1)
    tuning, rows = np.split(rng.permutation(every), [n_tuning])
    return rows_of(tuning, ids), np.sort(rows_of(rows, ids))


def _nothing_to_settle(shifts: KernelShifts) -> bool:
    return not isinstance(shifts.kernel, str) and not isinstance(shifts.l2, str)


def _settled_space(shifts: KernelShifts, X: FloatArray) -> Space:
    """The kernel with its bandwidth, and the scale of the columns it sees."""
    if callable(shifts.kernel):
        return plain_space(shifts.kernel, X.shape[1])
    check_option("kernel", shifts.kernel, ("gaussian",))
    if isinstance(shifts.bandwidth, str):
        check_automatic("bandwidth", shifts.bandwidth)
        return standard_space(X, GaussianKernel, _median_distance)
    bandwidth = check_bandwidth(shifts.bandwidth)
    return standard_space(X, GaussianKernel, lambda _: bandwidth)


def _median_distance(placed: FloatArray) -> float:
    distances = pdist(placed)
    apart = distances[distances > 0]
    return float(np.median(apart)) if len(apart) else np.inf
