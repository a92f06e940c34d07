"""Where to cut an index into intervals."""

import numpy as np

from plcp.quantiles import FloatArray, IntArray

N_BINS = 128
N_LEVELS = 256
FEW_CUTS = 64


def equal_mass_cuts(index: FloatArray, weights: FloatArray | None, n_groups: int) -> FloatArray:
    """Cuts that give each interval of the index the same mass; fewer where values tie.

    Examples
    --------
    >>> equal_mass_cuts(np.arange(10.0), None, 2)
    array([4.])
    """
    if weights is None:
        ends = ranks_of_cuts(len(index), n_groups)
        cuts = np.unique(np.partition(index, ends)[ends])
    else:
        order = np.argsort(index)
        cumulative = np.cumsum(weights[order])
        levels = np.arange(1, n_groups) * cumulative[-1] / n_groups
        # Rounding in the running sum must not push a level that is met exactly to the next row.
        slack = 4 * np.finfo(float).eps * len(index) * cumulative[-1]
        cuts = np.unique(index[order[np.searchsorted(cumulative, levels - slack)]])
    return cuts[cuts < index.max()]  # a cut at the top would leave the last interval empty


def ranks_of_cuts(n: int, n_groups: int) -> IntArray:
    """Places, from 0, of the values at which n sorted ones are cut into groups of the same size.

    Cut k is the value of rank ⌈nk/m⌉, in whole numbers: 25 · (7/25) is above 7 in floating point.

    Examples
    --------
    >>> ranks_of_cuts(10, 4)
    array([2, 4, 7])
    """
    return np.unique(-(-n * np.arange(1, n_groups) // n_groups)) - 1


def interval_of(index: FloatArray, cuts: FloatArray) -> IntArray:
    """Number of cuts below each value: the interval it lies in.

    Examples
    --------
    >>> interval_of(np.array([0.5, 1.0, 2.5]), np.array([1.0, 2.0]))
    array([0, 0, 2])
    """
    if len(cuts) > FEW_CUTS:
        return np.searchsorted(cuts, index)
    below = np.zeros(len(index), dtype=np.uint8)
    for cut in cuts:  # a pass over the rows for each of few cuts beats a search for each row
        below += index > cut
    return below.astype(np.intp)


def optimal_cuts(
    index: FloatArray,
    scores: FloatArray,
    weights: FloatArray | None,
    n_groups: int,
    alpha: float,
) -> FloatArray:
    """Cuts of least total pinball loss, by dynamic programming over equal-mass bins.

    The index is reduced to at most 128 bins and the thresholds to 256 levels, so the cuts are
    optimal up to that grid: O(bins² · levels + n_groups · bins²) time, whatever n.
    """
    bins = equal_mass_cuts(index, weights, N_BINS)
    cost = _interval_costs(interval_of(index, bins), len(bins) + 1, scores, weights, alpha)
    return bins[_cheapest_ends(cost, min(n_groups, len(cost))) - 1]


def _interval_costs(
    bin_of: np.ndarray, n_bins: int, scores: FloatArray, weights: FloatArray | None, alpha: float
) -> FloatArray:
    """cost[a, b]: least pinball loss of one threshold on the bins a … b - 1."""
    levels = np.unique(scores)
    if len(levels) > N_LEVELS:
        levels = np.unique(np.quantile(scores, np.linspace(0, 1, N_LEVELS)))
    level_of = np.searchsorted(levels, scores)
    flat = bin_of * len(levels) + level_of
    size = n_bins * len(levels)
    mass = np.bincount(flat, weights, size).reshape(n_bins, -1)
    total = np.bincount(flat, scores if weights is None else scores * weights, size)
    # Running sums over bins and levels give every interval's loss at every level at once.
    mass, total = (np.pad(a.cumsum(0), ((1, 0), (0, 0))) for a in (mass, total.reshape(n_bins, -1)))
    cost = np.full((n_bins, n_bins + 1), np.inf)
    for start in range(n_bins):
        below, sum_below = (a[start + 1 :] - a[start] for a in (mass, total))
        below, sum_below = below.cumsum(axis=1), sum_below.cumsum(axis=1)
        gap = levels * below - sum_below
        loss = gap - (1 - alpha) * (levels * below[:, -1:] - sum_below[:, -1:])
        cost[start, start + 1 :] = loss.min(axis=1)
    return cost


def _cheapest_ends(cost: FloatArray, n_groups: int) -> np.ndarray:
    """Ends of the first n_groups - 1 intervals of the cheapest way to cover all bins."""
    n_bins = len(cost)
    best = cost[0].copy()
    previous = []
    for _ in range(n_groups - 1):
        through = best[:n_bins, None] + cost
        previous.append(through.argmin(axis=0))
        best = through.min(axis=0)
    ends, end = [], n_bins
    for back in reversed(previous):
        end = int(back[end])
        ends.append(end)
    return np.array(ends[::-1], dtype=np.intp)
