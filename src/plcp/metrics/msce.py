"""Mean squared conditional coverage error."""

import numpy as np
from numpy.typing import ArrayLike


def msce(conditional_coverage: ArrayLike, alpha: float) -> float:
    """Mean squared conditional coverage error E[(P(covered | x) - (1 - alpha))²], equation (3).

    Needs the conditional coverage itself, which simulated data know and real data do not.

    Examples
    --------
    >>> round(msce([0.8, 1.0], alpha=0.1), 12)
    0.01
    """
    return float(np.mean((np.asarray(conditional_coverage, dtype=float) - (1 - alpha)) ** 2))
