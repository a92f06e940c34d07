"""How much calibration rows tell, if some weigh more than others."""

from plcp.quantiles import FloatArray


def telling_rows(n: int, weights: FloatArray | None) -> tuple[float, float]:
    """Number of equal rows that tell as much as n weighted ones, and that of a unit of weight.

    (Σw)² / Σw² rows (Kish): the variance of their weighted mean is that of so many.

    Examples
    --------
    >>> import numpy as np
    >>> telling_rows(3, None), telling_rows(3, np.array([2.0, 2.0, 4.0]))
    ((3.0, 1.0), (2.6666666666666665, 0.3333333333333333))
    """
    if weights is None:
        return float(n), 1.0
    largest = weights.max()
    shares = weights / largest  # squares of weights may overflow
    a_share = shares.sum() / (shares @ shares)
    return float(shares.sum() * a_share), float(a_share / largest)
