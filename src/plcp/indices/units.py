"""The unit in which scores are near one: a power of two, so that nothing is rounded."""

import numpy as np

from plcp.quantiles import FloatArray

MOST_DOUBLINGS = 900  # from the unit to the largest score, which must stay finite in it


def unit_of(scores: FloatArray) -> float:
    """Power of two just above the middle one of the sizes that are not zero; one if all are.

    Sums of squares and Newton steps overflow or vanish at the ends of floating point. In this unit
    they do not, and scores times a power of two give what is learned times that power, to the bit.

    Examples
    --------
    >>> unit_of(np.array([0.0, -3.0, 7e99])), unit_of(np.zeros(2))
    (4.0, 1.0)
    """
    sizes = np.abs(scores[scores != 0])
    if len(sizes) == 0:
        return 1.0
    middle, largest = np.quantile(sizes, 0.5, method="lower"), sizes.max()
    exponents = np.frexp([middle, largest])[1]
    return float(np.ldexp(1.0, max(exponents[0], exponents[1] - MOST_DOUBLINGS)))
