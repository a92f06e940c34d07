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
OPTIONAL_ALPHA = {name: bad for name, bad in ALPHA.items() if name != "None"}
COUNT = each(("3", None, True, np.nan, 2.5, np.inf, [2]), "whole number")
N_GROUPS = {
    **COUNT,
    **each((0, -1), "at least 1"),
    "more than rows": refused(given(10**6), "at most"),
    "numpy int": Bad(np.int64, like=lambda n: n),
}
CV = COUNT | each((0, 1, -3), "at least 2")
RANDOM_STATE = each(("seed", 2.5, -1, [1.5], 2**40), "seed|Seed|random_state")
