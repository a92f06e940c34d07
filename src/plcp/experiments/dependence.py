"""Dependence of size and coverage, and what a method is rid of beside Split: Tables 1 and 2."""

import numpy as np
from numpy.typing import NDArray

from plcp.experiments.methods import SPLIT
from plcp.experiments.report import Floats, Summary, spread
from plcp.metrics import hsic, size_correlation

MEASURES = {"hsic": "HSIC", "pearson": "Pearson"}
MEASURES_NOTE = (
    "Pearson is the correlation of a set's size and of whether it covers. HSIC, which sees any "
    "dependence, is trace(KHLH) / (n − 1)² with kernels exp(−(a − b)²), without a square root; the "
    "paper does not say which it takes. A gain is 100 (1 − |method| / |Split|)."
)


def swapped_labels_note(data: str, hsic: float, pearson: float) -> str:
    """Tables 1 and 2 of the paper carry each other's label: what those of ``data`` would say."""
    return (
        "In the paper's LaTeX source, the tables captioned “MNIST” and “2018 US Census” carry each "
        f"other's labels. The captions are followed here; by the labels, the paper's gains on "
        f"{data} would be {hsic} % in HSIC and {pearson} % in Pearson."
    )


def dependence(covered: NDArray[np.bool_], size: NDArray[np.int64] | Floats) -> dict[str, float]:
    """HSIC and correlation of size and coverage; zero where one of them is the same everywhere.

    Examples
    --------
    >>> found = dependence(np.array([True, True, False, True]), np.array([1, 1, 2, 3]))
    >>> {name: round(value, 3) for name, value in found.items()}
    {'hsic': 0.065, 'pearson': -0.174}
    """
    constant = np.ptp(size) == 0 or covered.all() or not covered.any()
    return {
        "hsic": float(hsic(covered, size)),
        "pearson": 0.0 if constant else float(size_correlation(covered, size)),
    }


def gain(summary: Summary, method: str, measure: str) -> Floats:
    """Per cent of Split's dependence that is gone, in each trial where Split has any."""
    own, split = (np.abs(summary.overall[name][measure]) for name in (method, SPLIT))
    known = split > 0
    return np.asarray(100 * (1 - own[known] / split[known]))


def gain_cell(summary: Summary, method: str, measure: str) -> str:
    """Return the gain as a text: mean and range over trials, a dash where Split has nothing."""
    found = gain(summary, method, measure)
    return spread(found, 0) if len(found) else "–"
