"""Whether misses can be told from the columns at all, in a sentence."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from plcp.audit.words import asked, rows
from plcp.metrics import ert

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 50_000  # on which boosted trees take some seconds
LEAST_ROWS = 100  # of fewer nothing can be learned


def what_is_foretold(
    X: pd.DataFrame,
    covered: NDArray[np.bool_],
    alpha: float,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[str]:
    """Say how far coverage given the columns is off at least, as boosted trees foretell it.

    Measured by `plcp.metrics.ert` on a sample; nothing is said of fewer than 100 rows.
    """
    if X.shape[1] == 0 or len(covered) < LEAST_ROWS:
        return []
    some = np.random.default_rng(seed).permutation(len(covered))[:MOST_ROWS]
    with threadpool_limits(1):  # a second either way, unless another program has the cores
        found = ert(X.iloc[some], covered[some], alpha, random_state=seed, confidence=confidence)
    low, high = floor(1e4 * found.low) / 100, ceil(1e4 * found.high) / 100
    interval = f"{asked(confidence)} interval {low:.2f} to {high:.2f}"
    source = f"excess risk of the target coverage, ERT, on {rows(len(some))}"
    if found.low <= 0:
        return [
            "Boosted trees cannot foretell from the columns where coverage is off: an estimated "
            f"{100 * found.estimate:.2f} percentage points ({interval}; {source})."
        ]
    return [
        f"Coverage given the columns is off by an estimated {100 * found.estimate:.2f} percentage "
        f"points or more on average ({interval}; {source})."
    ]
