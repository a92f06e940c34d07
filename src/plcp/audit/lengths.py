"""How large the sets are: a histogram for all methods on common edges."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, log10
from typing import Any

import numpy as np

from plcp.audit.outcome import Outcome
from plcp.audit.words import rows
from plcp.quantiles import FloatArray

BARS = 30
STEPS = (1, 2, 2.5, 5, 10, 20)  # the last in case that rounding makes a width a little over ten
NEGLIGIBLE, TINY = 1e-9, 1e-300  # differences that are none
MOST_SHOWN = 0.995  # share of sets that bars are spread over if the rest reach twice as far


def histogram(outcomes: Mapping[str, Outcome], labels: bool) -> dict[str, Any] | None:
    """Count the sets of each size on edges common to all methods; None if all sizes are alike.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
        Of each method, on the same rows.
    labels : bool
        Whether sizes are numbers of labels: bars then are whole numbers wide, and centred.
    """
    sizes = {name: outcome.size for name, outcome in outcomes.items() if outcome.size is not None}
    finite = {name: size[np.isfinite(size)] for name, size in sizes.items()}
    together = np.concatenate([np.zeros(0), *finite.values()])
    count = sum(map(len, sizes.values()))
    if len(together) == 0 or (
        len(together) == count and np.ptp(together) <= NEGLIGIBLE * together.max()
    ):
        return None
    edges = _edges(together, labels)
    last = np.nextafter(edges[-1], -np.inf)
    counts = {
        name: np.histogram(np.clip(size, edges[0], last), edges)[0].tolist()
        for name, size in finite.items()
    }
    notes = []
    if together.max() > edges[-1]:
        notes.append(f"The last bar holds all larger sets too, up to {together.max():.4g}.")
    for name, size in sizes.items():
        if infinite := len(size) - len(finite[name]):
            notes.append(f"{rows(infinite).capitalize()} with an infinite set of {name} not shown.")
    return {"edges": edges.tolist(), "counts": counts, "note": " ".join(notes)}


def _edges(sizes: FloatArray, labels: bool) -> FloatArray:
    """Round edges of about `BARS` bars."""
    low, high = float(sizes.min()), float(sizes.max())
    usual = float(np.quantile(sizes, MOST_SHOWN, method="higher"))
    if high - low > 2 * (usual - low) > 0:
        high = usual
    spread = high - low if high - low > NEGLIGIBLE * high else high
    step = _step(spread / BARS if spread > TINY else 1.0, labels)
    first = floor(low / step)
    edges = step * np.arange(first, max(floor(high / step), first) + 2)
    # without the noise of the last digit: 3.405, not 3.4050000000000002
    return np.array([float(f"{edge:.15g}") for edge in edges]) - 0.5 * labels


def _step(width: float, whole: bool) -> float:
    """Return the least round number not below a width.

    Examples
    --------
    >>> _step(0.13, whole=False), _step(2.2, whole=True)
    (0.2, 3)
    """
    width = max(width, 1.0) if whole else width
    unit = 10.0 ** floor(log10(width))
    step = next(step * unit for step in STEPS if step * unit >= width)
    return ceil(step) if whole else step
