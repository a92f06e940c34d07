"""Single values by mistake: rates, counts, folds, seeds."""

import numpy as np
from hostile_value import Bad, refused


def given(value):
    return lambda clean: value


def each(values, words):
    return {repr(value): refused(given(value), words) for value in values}


NO_NUMBERS = ("0.1", "", None, True, np.nan, 1j, b"0.1", {})
SHARE = each((*NO_NUMBERS, 0, 1, 0.0, 1.0, -0.1, 1.2, np.inf, -np.inf), r"must lie in \(0, 1\)")
ALPHA = SHARE | {
    "numpy float": Bad(np.float64, like=lambda alpha: alpha),
    "nearly one": Bad(given(1 - 1e-9)),
    "nearly zero": Bad(given(1e-9)),
}
COUNT = each(("3", None, True, np.nan, 2.5, np.inf, [2]), "whole number")
N_GROUPS = {
    **COUNT,
    **each((0, -1), "at least 1"),
    "more than rows": refused(given(10**6), "at most"),
    "numpy int": Bad(np.int64, like=lambda n: n),
}
CV = COUNT | each((0, 1, -3), "at least 2")
RANDOM_STATE = each(("seed", 2.5, -1, [1.5], 2**40), "seed|Seed|random_state")
SEED = COUNT | each((-1,), "at least 0")
ROWS = COUNT | each((0, -1), "at least 1") | {"numpy int": Bad(np.int64, like=lambda n: n)}
POSITIVE = each((*NO_NUMBERS, 0, -0.1, np.inf, -np.inf, [0.1]), "positive number") | {
    "numpy float": Bad(np.float64, like=lambda value: value)
}
NOISE = each(("", "sd", None, 3, ["variance"]), "must be .*'variance'")
TIMES = {
    "too few": refused(given(["2026"]), "1 times and X has 60 rows: give one a row"),
    "none": refused(given([]), "0 times and X has 60 rows: give one a row"),
    **{
        repr(time): Bad(given(time), like=lambda at: at)
        for time in (None, 3, 2.5, np.nan, b"2026", ["2026"] * 60, {"at": 1})
    },
}
COLUMN = each((3, -4, "z", 1.5, None, True), "no feature") | each(
    ([], [0, 1, 2]), "one column or two"
)
LOSSES = (None, 3, "history", [3], [None], {}, [], [{}])
HISTORY = each(LOSSES, "history") | {
    "a loss in words": refused(given([{"objective": "low"}]), "history.*'low'"),
    "no loss": refused(given([{"objective": None}]), "history.*None"),
    "nan": refused(given([{"objective": np.nan}]), "history.*nan"),
    "a tuple": Bad(tuple, like=lambda history: history),
}
TRIED = each(LOSSES, "history") | {
    "no loss": refused(given([{"n_groups": 2}]), "history.*held_out"),
    "nan": refused(given([{"n_groups": 2, "held_out": np.nan}]), "history.*nan"),
    "half a group": refused(given([{"n_groups": 2.5, "held_out": 0.1}]), "history.*2.5"),
    "no groups": refused(given([{"n_groups": 0, "held_out": 0.1}]), "history.*0"),
    "words": refused(given([{"n_groups": "two", "held_out": 0.1}]), "history.*'two'"),
    "a tuple": Bad(tuple, like=lambda history: history),
}
