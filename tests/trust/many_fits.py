"""Fit rules over and over in one process, and tell what it holds after each window of fits.

python many_fits.py [fits]
"""

import gc
import json
import sys
import warnings

import numpy as np
import psutil
from sklearn.base import clone

from estimators import RULES, make_rows

# those that fit in milliseconds; the others are made of the same parts
QUICK = (
    "split",
    "mondrian",
    "batch gcp",
    "batch mvp",
    "conditional",
    "plcp, joint",
    "plcp, tree",
    "local",
)
A_WINDOW = 2 * len(QUICK)  # fits: all windows hold the same ones


def held(n_fits):
    """Objects, blocks of memory and resident bytes after each window of the second half."""
    X, scores, _ = make_rows(n=120)
    new, kept = make_rows(1, 20)[0], {name: clone(RULES[name]) for name in QUICK}
    n_windows = n_fits // A_WINDOW
    expected = np.zeros((n_windows, 3), dtype=np.int64)  # a list would itself grow
    gc.freeze()  # what was imported stays: looking through it took most of the time
    for window in range(n_windows):
        for name, rule in kept.items():
            rule.fit(X, scores).predict(new)  # a rule that stays, and is fitted again
            clone(RULES[name]).fit(X, scores).predict(new)  # a rule that goes
        gc.collect()
        resident = psutil.Process().memory_info().rss
        expected[window] = len(gc.get_objects()), sys.getallocatedblocks(), resident
    second = expected[n_windows // 2 :]  # what is cached is cached by now
    return dict(zip(("objects", "blocks", "resident"), second.T.tolist(), strict=True))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(held(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)))
