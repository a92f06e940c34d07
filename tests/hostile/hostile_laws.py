"""What must be true of an answer that has no clean equal: laws, and counting by hand.

A law takes the cell's entry, value, arguments and answer, and gives what is wrong with the answer,
None if nothing is, or ``SILENT`` if it says nothing about such a cell.
"""

from fractions import Fraction

import hostile_data as data
import numpy as np
from hostile_essence import difference, essence

SILENT = "says nothing"
SHARES = ("predict_proba", "memberships")  # whose numbers have no unit
OF_RATIOS = ("PLCP, line, split.fit", "Rectified, line.fit")  # an index of few steps has few ratios
OF_LABELS = ("ConformalClassifier", "GroupProbabilities")  # which are called otherwise instead
SCALES = ("SparseScale",)  # which are positive: of no scores but zero they are one number
BY_LAPACK = ("ConformalRegressor, trained", "MeanScalePair")


def unit_law(entry, name, bad, given, answer):
    """Scores in another unit, a power of two: the same answer in that unit, to the bit.

    Labels have no unit: they are called otherwise, in the same order. Where LAPACK solves for a
    line, digits are rounded on the way.
    """
    if is_zero(given) or (name.startswith(BY_LAPACK) and entry.fits and bad.needs == "one huge"):
        return SILENT  # zero has no unit, and beside such a number a line has no digits
    if bad.needs == "denormal scores" and name in OF_RATIOS:
        covered = np.mean(np.asarray(given["scores"]) <= answer)
        return None if covered >= 1 - data.ALPHA else "fewer are covered than was asked for"
    degree = 0 if name.endswith(SHARES) or name.startswith(OF_LABELS) else 1
    right = [in_unit(array, bad.unit**degree) for array in essence(answer)]
    precision = float if name.startswith(BY_LAPACK) else bad.precision
    return difference(entry.call(**given, unit=bad.unit), right, precision)


def degree_law(degree):
    """An estimate in another unit of scores: times the unit's power."""

    def law(entry, name, bad, given, answer):
        right = [np.array(float(answer) * bad.unit**degree)]
        return difference(entry.call(**given, unit=bad.unit), right, None)

    return law


def row_order(entry, name, bad, given, answer):
    """Bins rise with the values, and equal values share one."""
    values = np.asarray(given["values"], dtype=float)
    order = np.argsort(values)
    steps, same = (
        np.diff(answer.codes[order]),
        np.diff(np.unique(values, return_inverse=True)[1][order]) == 0,
    )
    return "bins out of order" if (steps < 0).any() or (steps[same] != 0).any() else None


def is_zero(given):
    return "scores" in given and not np.any(given["scores"])


def in_unit(array, unit):
    if array.dtype.kind == "U":
        return np.char.add("the ", array)
    return array * unit if array.dtype.kind == "f" else array


def row_law(entry, name, bad, given, answer):
    """A row is answered by itself: the others as ever, and one alone as among others.

    Products of one row and of many are rounded in another order.
    """
    if bad.rows != 1 and bad.row is None:
        return SILENT
    every = {key: entry.given.get(key, value) for key, value in given.items()}
    if "X" in given:
        every["X"] = bad.base(data.X)
    rows = np.arange(1) if bad.rows == 1 else np.flatnonzero(np.arange(data.N) != bad.row)
    found = by_row(answer, 1 if bad.rows == 1 else data.N)
    clean = [array[rows] for array in by_row(entry.call(**every), data.N)]
    return difference(found if bad.rows == 1 else [a[rows] for a in found], clean, float)


def by_row(answer, n):
    """Arrays of one entry a row; members of groups as masks."""
    if isinstance(answer, dict):
        return [np.isin(np.arange(n), members) for members in answer.values()]
    return essence(answer)


def table_unit_law(entry, name, bad, given, answer):
    """A table in another unit: the same answer."""
    table = given["X"]
    if not isinstance(table, np.ndarray) or table.dtype.kind != "f" or np.abs(table).max() > 1e9:
        return SILENT
    return difference(entry.call(**given | {"X": table * 4.0}), answer, None)


def loss_law(entry, name, bad, given, answer):
    """``score``: the mean pinball loss, with what is infinite charged as the largest score."""
    scores = np.asarray(given["scores"], dtype=float)
    thresholds = sibling(entry, "predict", given)
    thresholds = np.where(np.isinf(thresholds), scores.max(), thresholds)
    size = 2.0 ** np.frexp(max(np.abs(scores).max(), np.abs(thresholds).max()))[1]
    gaps = [
        Fraction(s / size) - Fraction(q / size) for s, q in zip(scores, thresholds, strict=True)
    ]
    level = 1 - Fraction(str(data.ALPHA))
    losses = [level * gap if gap > 0 else (level - 1) * gap for gap in gaps]
    return difference(answer, [np.array(-float(sum(losses) / len(losses)) * size)], float)


def sibling(entry, method, given):
    """The answer of another method to the same rows."""
    return entry.call(given["X"], base=given.get("base", data.as_array), method=method)


def ranks_law(groups_of):
    """Thresholds of the exact rules by counting, in fractions, the weight at or below each score.

    The smallest score s of a group with Σ_{s_i ≤ s} w_i ≥ (1 - α)(Σ w_i + 1), else infinity.
    """

    def law(entry, name, bad, given, answer):
        rows = given.get("rows", slice(None))
        X, scores, weights = (
            given.get("X", data.X[rows]),
            np.asarray(given.get("scores", data.SCORES[rows]), dtype=float),
            given.get("weights"),
        )
        weights = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=float)
        level = 1 - Fraction(given.get("alpha", str(data.ALPHA)))
        groups = groups_of(X)
        found = {
            group: smallest_reaching(scores[groups == group], weights[groups == group], level)
            for group in np.unique(groups[weights > 0])
        }
        asked = groups_of(data.X) if len(groups) < data.N and "X" not in given else groups
        return difference(answer, [np.array([found.get(g, np.inf) for g in asked])], None)

    return law


def smallest_reaching(scores, weights, level):
    needed = level * (Fraction(float(weights.sum())) + 1)
    for score in np.sort(scores):
        if Fraction(float(weights[scores <= score].sum())) >= needed:
            return score
    return np.inf


def indicator_law(groups_of):
    """``transform``: every row is marked by its group, and by none else."""

    def law(entry, name, bad, given, answer):
        groups = groups_of(given["X"])
        marks = [str(row) for row in answer]
        pairs = len(set(zip(groups.tolist(), marks, strict=True)))
        sound = np.isin(answer, (0, 1)).all() and pairs == len(set(marks)) == len(np.unique(groups))
        return None if sound else "marks that are not those of the groups"

    return law


def one_of_the_scores(entry, name, bad, given, answer):
    """Weighted quantiles are scores themselves, or infinite."""
    scores = np.asarray(given.get("scores", data.SCORES), dtype=float)
    odd = ~np.isin(answer, [*scores, np.inf])
    return f"{answer[odd][0]} is none of the scores" if odd.any() else None


def all_alike(X):
    return np.zeros(len(X), dtype=int)


def one_answer(entry, name, bad, given, answer):
    """Rows that are alike have one answer."""
    arrays = by_row(answer, data.N)
    if any(len(np.atleast_1d(array)) != data.N for array in arrays):
        return SILENT
    faults = [array for array in arrays if (array != array[0]).any()]
    return "rows that are alike are answered differently" if faults else None


def always(value):
    """Scores that are all the same are every threshold, or it is infinite; and one group."""

    def law(entry, name, bad, given, answer):
        if not entry.fits:
            return SILENT
        if value == 0 and name.startswith(SCALES):
            return one_answer(entry, name, bad, given, answer)
        unit = 1.0 if name.startswith("Torch") else 1e-290  # the unit that a network has for zeros
        rounding = np.sqrt(np.finfo(float).eps) * max(value, unit)
        for array in essence(answer):
            known = array[np.isfinite(array)] if array.dtype.kind == "f" else array[:0]
            groups = array if array.dtype.kind in "iu" else array[:0]
            if (np.abs(known - value) > rounding).any() or len(np.unique(groups)) > 1:
                return f"not {value} throughout"
        return None

    return law


def one_length(entry, name, bad, given, answer):
    """Split's intervals are all of one length, but for rounding."""
    return difference([answer.size], [np.full_like(answer.size, answer.size[0])], float)


def no_rows(entry, name, bad, given, answer):
    return "an answer of some rows" if any(len(array) for array in essence(answer)) else None


def inside_law(entry, name, bad, given, answer):
    """``examine``: a label is in the set where its score is at most the threshold."""
    labels = given.get("y", given.get("labels"))
    inside = (answer.scores <= answer.thresholds).all(axis=1)
    return difference([answer.sets.contains(labels)], [inside], None)


def labels_of(X):
    """The third column, or the last of fewer, as text."""
    column = X.iloc[:, -1] if hasattr(X, "iloc") else X[:, -1]
    return np.asarray(column).astype(str)


LAWS_OF_FIT = {
    "SplitConformal": (ranks_law(all_alike),),
    "Mondrian": (ranks_law(data.Positive()),),
    "Mondrian, column": (ranks_law(labels_of),),
    "ConformalRegressor, trained": (one_length,),
    "Groups": (indicator_law(lambda X: data.Positive()(X)),),
    "Groups, column": (indicator_law(labels_of),),
    "RLCP": (one_of_the_scores,),
    "LocalCP": (one_of_the_scores,),
}
LAWS_OF_METHODS = {"score": (loss_law,), "examine": (inside_law,)}
