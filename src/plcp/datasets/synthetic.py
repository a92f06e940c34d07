"""Regression tasks whose noise is Gaussian with a known scale σ(x)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.utils import check_random_state

from plcp._options import check_count, check_option, check_positive

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreTask:
    """A sample of (x, y) with y = mean(x) + σ(x) ε, ε standard normal.

    Attributes
    ----------
    X : array of shape (n, d)
        Covariates.
    y : array of shape (n,)
        Outcomes.
    mean, sigma : array of shape (n,)
        Mean and standard deviation of y given x.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> task = make_toy(5, random_state=0)
    >>> task.X.shape, task.scores.shape
    ((5, 1), (5,))
    >>> bool((task.conditional_coverage(1e9) == 1).all())
    True
    """

    X: Floats
    y: Floats
    mean: Floats
    sigma: Floats

    @property
    def scores(self) -> Floats:
        """Absolute residuals ``|y - mean(x)|`` of a perfect model."""
        return np.abs(self.y - self.mean)

    def conditional_coverage(self, threshold: Floats, prediction: Floats | None = None) -> Floats:
        """``P(|y - prediction| ≤ q | x)``; of a perfect model if no prediction is given."""
        bias = 0.0 if prediction is None else prediction - self.mean
        upper, lower = (threshold - bias) / self.sigma, (-threshold - bias) / self.sigma
        return np.maximum(norm.cdf(upper) - norm.cdf(lower), 0.0)


def make_toy(n: int, random_state: Any = None) -> ScoreTask:
    """Figure 1 of the paper: y = x + noise, x uniform on [-1, 1].

    The noise is N(0, 1) left of zero and N(0, 2) right of it; two is a variance.

    Examples
    --------
    >>> from plcp.datasets import make_toy
    >>> make_toy(3, random_state=0).X.shape
    (3, 1)
    """
    check_count("n", n, 1)
    rng = check_random_state(random_state)
    X = rng.uniform(-1, 1, (n, 1))
    return _draw(X, X[:, 0], np.where(X[:, 0] < 0, 1.0, np.sqrt(2.0)), rng)


def make_synthetic(
    n: int,
    random_state: Any = None,
    coef_state: Any = 0,
    variance: float = 0.1,
    noise: str = "variance",
) -> ScoreTask:
    """Task of section 4.2: ten binary and ninety Gaussian covariates, noise that grows with ten.

    The noise depends on the ten binary covariates, since a variance must stay positive; the paper
    (and Jung et al. 2023, who proposed the task) leaves that unsaid.

    Parameters
    ----------
    n : int
        Rows.
    random_state : int, RandomState or None
        Draws rows.
    coef_state : int, RandomState or None, default=0
        Draws θ: the same for every sample of one task.
    variance : float, default=0.1
        Of the Gaussian covariates, and of the least noise.
    noise : {"variance", "deviation"}, default="variance"
        ``"variance"``: that of y is ``variance`` + Σ i X_i, as in the paper's text.
        ``"deviation"``: its standard deviation is 0.25 + Σ i X_i, as in Jung et al.'s own code.

    Examples
    --------
    >>> from plcp.datasets import make_synthetic
    >>> train, test = (make_synthetic(50, random_state=seed) for seed in (0, 1))  # one task
    >>> train.X.shape, set(train.X[:, 0].tolist()) == {0.0, 1.0}
    ((50, 100), True)
    """
    check_count("n", n, 1)
    check_positive("variance", variance)
    check_option("noise", noise, ("variance", "deviation"))
    rng = check_random_state(random_state)
    binary = rng.randint(0, 2, (n, 10)).astype(float)
    X = np.hstack([binary, rng.normal(0, np.sqrt(variance), (n, 90))])
    coef = check_random_state(coef_state).normal(size=100)
    growth = binary @ np.arange(1, 11)
    sigma = np.sqrt(variance + growth) if noise == "variance" else 0.25 + growth
    return _draw(X, X @ coef, sigma, rng)


def make_nonlinear(n: int, random_state: Any = None) -> ScoreTask:
    """Task whose noise depends on its covariates in no linear way: twenty uniform ones, mean zero.

    ``σ = 0.3 + 2 |sin(3 x₁) x₂| + 1[x₃ > 0.3] + exp(x₄) / 2``

    Examples
    --------
    >>> from plcp.datasets import make_nonlinear
    >>> task = make_nonlinear(5, random_state=0)
    >>> task.X.shape, bool((task.sigma > 0.3).all())
    ((5, 20), True)
    """
    check_count("n", n, 1)
    rng = check_random_state(random_state)
    X = rng.uniform(-1, 1, (n, 20))
    sigma = 0.3 + 2 * np.abs(np.sin(3 * X[:, 0]) * X[:, 1]) + (X[:, 2] > 0.3) + np.exp(X[:, 3]) / 2
    return _draw(X, np.zeros(n), sigma, rng)


def _draw(X: Floats, mean: Floats, sigma: Floats, rng: Any) -> ScoreTask:
    return ScoreTask(X, mean + sigma * rng.normal(size=len(X)), mean, sigma)
