"""Linear quantile regression, fast and certified."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from plcp._validation import check_table, drop_weightless, relative_weights
from plcp.regressors.base import ScoreRegressor, line, unit_of

Array = NDArray[Any]

BLOCK_ENTRIES = 2**18  # a block of X, all that is ever copied, fits in cache
THINNED_ROWS = 50_000  # enough rows to start the others within the last bandwidth
MARGIN = 0.02  # of level: nine standard errors of a quantile of THINNED_ROWS values
SHRINK = 4.0  # of the bandwidth, from one fit to the next
RELATIVE_GAP = 5e-4  # half of the 0.1 % promised
EXACT_FIT = 1e-9  # of the deviation of y: a loss this small counts as zero
DAMPING = 0.1  # of Newton steps, relative to a gradient that is at most 1
RESOLVED = 1e-10  # of a mean: products with a column that varies less are rounding, beyond tol
JITTER = 1e-8  # ridge in each Newton system: collinear columns share their coefficient


def blocks(X: Array) -> Iterator[slice]:
    """Slices of rows."""  # by hand: scikit-learn's check of its arguments costs more than a step
    rows = max(1, BLOCK_ENTRIES // X.shape[1])
    return (slice(start, min(start + rows, len(X))) for start in range(0, len(X), rows))


class Fit(NamedTuple):
    """Slopes and intercept in standardised features, their residuals, and how they were found."""

    theta: Array
    residuals: Array
    bandwidth: float
    n_iter: int = 0
    converged: bool = False


@dataclass(frozen=True)
class Objective:
    """Penalised pinball loss of the features (X - centre) * gain, which are never stored.

    The l1 penalty is smoothed like the loss: it is the pinball loss of one more row per feature.
    """

    X: Array
    y: Array
    weight: Array
    quantile: float
    l1: float
    l2: float
    centre: Array
    gain: Array
    unit: float

    def predict(self, theta: Array) -> Array:
        """Return the linear predictor of all rows."""
        slopes = self.gain * theta[:-1]
        prediction = np.empty(len(self.y))
        for rows in blocks(self.X):
            np.matmul(self.X[rows].astype(float, copy=False), slopes, out=prediction[rows])
        prediction += self.unit * theta[-1] - self.centre @ slopes
        return prediction

    def exact(self, theta: Array, residuals: Array) -> float:
        """Pinball loss and penalties, not smoothed."""
        slopes = theta[:-1]
        loss = (self.quantile - 0.5) * (self.weight @ residuals)
        loss += 0.5 * (self.weight @ np.abs(residuals))
        return float(loss + self.l1 * np.abs(slopes).sum() + self.l2 / 2 * (slopes @ slopes))

    def gap(self, theta: Array, residuals: Array, bandwidth: float) -> float:
        """Duality gap of a smoothed optimum, whose clipped residuals are dual feasible."""
        sizes, slopes = np.abs(residuals), np.abs(theta[:-1])
        loss = 0.5 * (self.weight @ (sizes * np.maximum(1 - sizes / bandwidth, 0)))
        return float(loss + self.l1 * (slopes @ np.maximum(1 - slopes / bandwidth, 0)))

    def derivatives(self, theta: Array, residuals: Array, bandwidth: float) -> tuple[Array, Array]:
        """Gradient and Hessian; only the rows inside the bandwidth are curved."""
        width, slopes = len(theta), theta[:-1]
        product, total, hessian = np.zeros(width - 1), 0.0, np.zeros((width, width))
        for rows in blocks(self.X):
            block = self.X[rows].astype(float, copy=False)
            ratio, weight = residuals[rows] / bandwidth, self.weight[rows]
            dual = weight * (self.quantile - 0.5 + 0.5 * np.clip(ratio, -1, 1))
            product += dual @ block
            total += dual.sum()
            near = np.flatnonzero(np.abs(ratio) <= 1)
            curved = np.full((len(near), width), self.unit)
            np.multiply(block[near] - self.centre, self.gain, out=curved[:, :-1])
            curved *= np.sqrt(weight[near] / (2 * bandwidth))[:, None]
            hessian += curved.T @ curved
        gradient = np.append(self.gain * (total * self.centre - product), -self.unit * total)
        gradient[:-1] += self.l1 * np.clip(slopes / bandwidth, -1, 1) + self.l2 * slopes
        diagonal = np.append(self.l1 / bandwidth * (np.abs(slopes) <= bandwidth) + self.l2, 0)
        diagonal += JITTER * width / (2 * bandwidth)
        return gradient, hessian + np.diag(diagonal)

    def slope_along(self, step: Array, change: Array, fit: Fit) -> Callable[[float], float]:
        """Derivative of the smoothed objective at a distance along `step`."""
        moment = self.weight * change
        tilt = (self.quantile - 0.5) * moment.sum()

        def slope(distance: float) -> float:
            dual = change * -distance
            dual += fit.residuals
            np.clip(dual, -fit.bandwidth, fit.bandwidth, out=dual)
            slopes = (fit.theta + distance * step)[:-1]
            penalty = self.l1 * np.clip(slopes / fit.bandwidth, -1, 1) + self.l2 * slopes
            return float(penalty @ step[:-1] - tilt - 0.5 * (dual @ moment) / fit.bandwidth)

        return slope

    def centred(self, fit: Fit) -> Fit:
        """Move the intercept, if any, to the exact quantile of the residuals."""
        shift = self.unit * weighted_quantile(fit.residuals, self.weight, self.quantile)
        theta = fit.theta.copy()
        theta[-1] += shift
        return fit._replace(theta=theta, residuals=fit.residuals - shift)

    def sparse(self, fit: Fit) -> Fit:
        """Zero the slopes inside the bandwidth, where the loss pulls less than l1 resists."""
        if self.l1 == 0:
            return fit
        theta = fit.theta.copy()
        theta[:-1][np.abs(theta[:-1]) <= fit.bandwidth] = 0
        return fit._replace(theta=theta, residuals=self.y - self.predict(theta))

    def thinned(self, stride: int) -> Objective:
        """Return the objective of every `stride`-th row."""
        weight = self.weight[::stride]
        return replace(self, X=self.X[::stride], y=self.y[::stride], weight=weight / weight.sum())


def weighted_quantile(values: Array, weight: Array, level: float) -> float:
    """Quantile of values repeated `weight` times; midway where two of them qualify."""
    # A cumulated weight that equals the target but for rounding must count as equal.
    target = level * weight.sum() * (1 + EXACT_FIT * np.array([-1, 1]))
    stride = len(values) // THINNED_ROWS
    if stride > 1:
        # Few of many values need sorting: those in a bracket that every `stride`-th value gives.
        thinned = values[::stride], weight[::stride]
        low, high = (weighted_quantile(*thinned, level + side) for side in (-MARGIN, MARGIN))
        inside = (values >= low) & (values <= high)
        below = weight @ (values < low)
        if below < target[0] and target[1] < below + weight @ inside:
            values, weight, target = values[inside], weight[inside], target - below
    order = np.argsort(values)
    ranks = np.searchsorted(np.cumsum(weight[order]), target).clip(max=len(values) - 1)
    return float(values[order[ranks]].mean())


def standardisation(X: Array, weight: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """Weighted mean and inverse deviation of the columns, zero for those as good as constant."""
    # Moments about a row of X: a constant column then has a deviation of exactly zero.
    origin = X[0].astype(float) * fit_intercept
    first, second = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in blocks(X):
        block = X[rows] - origin
        first += weight[rows] @ block
        second += weight[rows] @ np.square(block, out=block)
    first *= fit_intercept
    deviation = np.sqrt(np.maximum(second - first**2, 0))
    centre = origin + first
    varies = deviation > RESOLVED * np.abs(centre)
    return centre, np.divide(1, deviation, out=np.zeros_like(deviation), where=varies)


def line_search(slope: Callable[[float], float], initial: float) -> float:
    """Distance at which the increasing `slope` is near zero, seen from `initial` < 0."""
    low, high, distance = 0.0, np.inf, 1.0
    for _ in range(60):
        value = slope(distance)
        if 0.5 * initial <= value <= -0.1 * initial:
            break
        low, high = (distance, high) if value < 0 else (low, distance)
        distance = 2 * distance if high == np.inf else (low + high) / 2
    return distance


def newton(objective: Objective, fit: Fit, max_iter: int, tol: float) -> Fit:
    """Minimise the objective smoothed by one bandwidth; exact once the near rows settle."""
    while True:
        gradient, hessian = objective.derivatives(*fit[:3])
        steepest = np.abs(gradient).max()
        converged = bool(steepest <= tol)
        if converged or fit.n_iter >= max_iter:
            return fit._replace(converged=converged)
        # Damping that fades with the gradient: short steps where few rows are near, yet fast ends.
        damping = DAMPING * steepest / (2 * fit.bandwidth)
        step = -np.linalg.solve(hessian + damping * np.eye(len(gradient)), gradient)
        change = objective.predict(step)
        slope = objective.slope_along(step, change, fit)
        distance = line_search(slope, float(gradient @ step))
        change *= distance
        np.subtract(fit.residuals, change, out=change)
        fit = Fit(fit.theta + distance * step, change, fit.bandwidth, fit.n_iter + 1)


def start(objective: Objective) -> Fit:
    """Least squares: the Newton step at a bandwidth that holds all residuals."""
    fit = objective.centred(Fit(np.zeros(objective.X.shape[1] + 1), objective.y, 0.0))
    largest = float(np.abs(fit.residuals).max())
    if largest == 0:
        return fit
    gradient, hessian = objective.derivatives(fit.theta, fit.residuals, largest)
    theta = fit.theta - np.linalg.solve(hessian, gradient)
    fit = objective.centred(
        fit._replace(theta=theta, residuals=objective.y - objective.predict(theta))
    )
    sizes = np.abs(fit.residuals)
    # The rows that are met exactly tell nothing about the spread of the others.
    return fit._replace(bandwidth=weighted_quantile(sizes, objective.weight * (sizes > 0), 0.5))


def minimise(objective: Objective, bandwidth: float | None, max_iter: int, tol: float) -> Fit:
    """Follow the minimiser as the bandwidth shrinks, until the gap certifies the exact loss."""
    stride = len(objective.y) // THINNED_ROWS
    fit = minimise(objective.thinned(stride), bandwidth, max_iter, tol) if stride > 1 else None
    if fit is None or fit.bandwidth == 0:
        fit = start(objective)
    else:
        fit = fit._replace(residuals=objective.y - objective.predict(fit.theta))
    deviations = np.abs(objective.y - objective.weight @ objective.y)
    floor = EXACT_FIT * float(objective.weight @ deviations)
    while objective.exact(*fit[:2]) > floor:
        fit = newton(objective, fit, max_iter, tol)
        if bandwidth is None:
            dual = objective.exact(*fit[:2]) - objective.gap(*fit[:3])
            rounded = objective.sparse(fit)
            value = objective.exact(*rounded[:2])
            if value - dual <= RELATIVE_GAP * value + floor:
                return rounded
        if not fit.converged or fit.bandwidth == bandwidth:
            return fit
        fit = fit._replace(bandwidth=max(fit.bandwidth / SHRINK, bandwidth or 0.0))
    # An exact fit needs no bandwidth, and has none to hand on to the rows it was thinned from.
    return fit._replace(bandwidth=0.0, converged=True)


FAR = 1e3  # typical distances from the median: beyond, a value counts only by its side


class LinearQuantile(ScoreRegressor):
    r"""Linear quantile regression, as accurate as the linear program and far faster.

    Minimises, over the coefficients w of the standardised features and the intercept b,

    .. math:: \frac{\sum_i c_i\,\ell_\tau(y_i - b - w^\top z_i)}{\sum_i c_i}
              + l_1 \lVert w\rVert_1 + \tfrac{l_2}{2} \lVert w\rVert_2^2,
              \qquad \ell_\tau(u) = (\tau - \tfrac12)\,u + \tfrac12 |u|.

    The kink of \|u\| is rounded within a bandwidth h (convolution with the uniform kernel [1]_),
    which leaves a piecewise quadratic for Newton steps; h shrinks, each fit starting the next
    [3]_. The clipped residuals of a smoothed optimum are feasible for the dual program, so the
    duality gap is known, and h stops shrinking once the objective is within 0.05 % of its
    optimum. The intercept ends as the exact quantile of the residuals.

    Parameters
    ----------
    quantile : float, default=None
        The level τ, in (0, 1). None means 0.5 for an estimator fitted alone; inside a partition
        it means 1 - alpha, which the partition sets.
    l1, l2 : float, default=0.0
        Penalties on the coefficients of the standardised features, relative to the mean loss.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Without one, features are scaled but not centred.
    bandwidth : float, default=None
        Last half-width h, in the unit of y. None shrinks h until the loss is near its optimum; a
        number keeps both the loss and the l1 penalty smooth, so no coefficient is exactly zero.
    max_iter : int, default=1000
        Largest number of Newton steps.
    tol : float, default=1e-6
        Largest absolute gradient at which a smoothed fit has converged. Scale-free: the slope of
        the pinball loss lies in [-1, 1] and the features have unit variance.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the features as given.
    intercept_ : float
        Intercept.
    n_iter_ : int
        Newton steps taken.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    .. [1] Fernandes, Guerre and Horta, "Smoothing quantile regressions", JBES 2021.
    .. [2] He, Pan, Tan and Zhou, "Smoothed quantile regression with large-scale inference",
       Journal of Econometrics 2023.
    .. [3] Chen, "A finite smoothing algorithm for quantile regression", JCGS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import LinearQuantile
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 1))
    >>> y = X[:, 0] * rng.uniform(size=1000)
    >>> model = LinearQuantile(quantile=0.9).fit(X, y)
    >>> model.coef_.round(1), float(np.mean(y < model.predict(X)))
    (array([0.9]), 0.9)
    """

    def __init__(
        self,
        quantile: float | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
        fit_intercept: bool = True,
        bandwidth: float | None = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.quantile = quantile
        self.l1 = l1
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.bandwidth = bandwidth
        self.max_iter = max_iter
        self.tol = tol

    def _checked(self, X: Any, *, reset: bool) -> Array:
        return check_table(self, X, reset=reset)

    def _fit(self, X: Array, scores: Array, weights: Array | None) -> Self:
        quantile = self._check_parameters()
        X, y, given = drop_weightless(X, scores, weights)
        weights = relative_weights(given)
        weight = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
        centre, gain = standardisation(X, weight, self.fit_intercept)
        unit = float(self.fit_intercept)
        scale = unit_of(y)
        bandwidth = None if self.bandwidth is None else self.bandwidth / scale
        objective = Objective(
            X, y / scale, weight, quantile, self.l1, self.l2 * scale, centre, gain, unit
        )
        fit = minimise_by_side(objective, bandwidth, self.max_iter, self.tol)
        if not fit.converged:
            message = f"no convergence in {self.max_iter} Newton steps; increase max_iter"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.coef_ = (gain * fit.theta[:-1] * scale).astype(X.dtype)
        self.intercept_ = unit * weighted_quantile(y - line(X, self.coef_), weight, quantile)
        self.n_iter_ = fit.n_iter
        return self

    def _predict(self, X: Array) -> Array:
        prediction = line(X, self.coef_) + self.intercept_
        return prediction.astype(np.result_type(X, self.coef_), copy=False)

    def mean_with(self, others: list[Self]) -> Self:
        """Return a model whose prediction is the mean of this one's and the others'."""
        mean, models = copy(self), [self, *others]
        mean.coef_ = np.mean([model.coef_ for model in models], axis=0)
        mean.intercept_ = float(np.mean([model.intercept_ for model in models]))
        return mean

    def _check_parameters(self) -> float:
        quantile = 0.5 if self.quantile is None else self.quantile
        if not 0 < quantile < 1:
            raise ValueError(f"quantile must lie in (0, 1), got {quantile}")
        for name in ("l1", "l2"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.bandwidth is not None and not self.bandwidth > 0:
            raise ValueError(f"bandwidth must be positive or None, got {self.bandwidth}")
        return quantile


def minimise_by_side(
    objective: Objective, bandwidth: float | None, max_iter: int, tol: float
) -> Fit:
    """Minimiser with far values drawn near, if that leaves them on their side of the line.

    The optimum depends only on the side of a value, but the loss of a far one would drown that of
    all others, and with it a gap that is small only in comparison.
    """
    near = np.clip(objective.y, *near_range(objective.y, objective.weight))
    side = np.sign(objective.y - near)
    if side.any():
        fit = minimise(replace(objective, y=near), bandwidth, max_iter, tol)
        if fit.converged and (side * fit.residuals > fit.bandwidth)[side != 0].all():
            return fit
    return minimise(objective, bandwidth, max_iter, tol)


def near_range(y: Array, weight: Array) -> tuple[float, float]:
    """Range that leaves no value further from the median than a thousand times what is typical.

    Examples
    --------
    >>> near_range(np.array([0.0, 0.0, 1.0, -1.0, 1e9]), np.ones(5))
    (-1000.0, 1000.0)
    """
    median = weighted_quantile(y, weight, 0.5)
    distances = np.abs(y - median)
    # The values at the median carry no information on the spread of the others.
    typical = weighted_quantile(distances, weight * (distances > 0), 0.5)
    return median - FAR * typical, median + FAR * typical
