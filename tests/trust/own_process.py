"""What tests run in a process of its own; it prints one line of JSON.

python own_process.py digests ROWS NAME …   digests of the predictions of estimators
python own_process.py held FITS             objects and memory after each window of fits
"""

import gc
import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import psutil
from sklearn.base import clone

from estimators import CASES, RULES, answer, make_rows

# those that fit in milliseconds; the others are made of the same parts
QUICK = (
    *("split", "mondrian", "batch gcp", "batch mvp", "conditional", "plcp, joint", "plcp, tree"),
    "local",
)
WINDOW = 2 * len(QUICK)  # fits: all windows hold the same ones


def run(*arguments, **environment):
    """Run this script in a process of its own, where it finds the modules that tests share."""
    folders = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        env=os.environ | paths | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def digests(n, *names):
    """Digest of the predictions of each estimator, by its name."""
    rows, X = make_rows(0, int(n)), make_rows(1, 100)[0]
    answers = {name: answer(CASES[name].fit(rows), X) for name in names}
    return {name: hashlib.sha256(each.tobytes()).hexdigest() for name, each in answers.items()}


def held(n_fits):
    """Objects, blocks of memory and resident bytes after each window of the second half."""
    X, scores, _ = make_rows(n=120)
    new, kept = make_rows(1, 20)[0], {name: clone(RULES[name]) for name in QUICK}
    n_windows = int(n_fits) // WINDOW
    found = np.zeros((n_windows, 3), dtype=np.int64)  # a list would itself grow
    gc.freeze()  # what was imported stays: collecting it took most of the time
    for window in range(n_windows):
        for name, rule in kept.items():
            rule.fit(X, scores).predict(new)  # a rule that stays, and is fitted again
            clone(RULES[name]).fit(X, scores).predict(new)  # a rule that goes
        gc.collect()
        resident = psutil.Process().memory_info().rss
        found[window] = len(gc.get_objects()), sys.getallocatedblocks(), resident
    second = found[n_windows // 2 :]  # what is cached is cached by now
    return dict(zip(("objects", "blocks", "resident"), second.T.tolist(), strict=True))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({"digests": digests, "held": held}[sys.argv[1]](*sys.argv[2:])))
