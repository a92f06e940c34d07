"""Models in files: how long saving and loading take, how large the files are, and beside skops.

Times are the best of many, in milliseconds, with everything imported: ``import skops`` alone takes
two seconds, which a rule of plcp's own parts does not need. ``skops`` is a plain ``skops.io.dumps``
and ``loads`` of the same model, as the command line kept its rules before.
"""

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import plcp
from plcp._validation import data_digest
from plcp.datasets import make_nonlinear, make_synthetic
from plcp.partitions.torch import TorchPartition, mlp
from plcp.regressors import LinearQuantile

TIMES = 50
GROWING = (2_000, 8_000, 32_000)
DIGESTED = {"SplitConformal": 1_000_000, "PLCP": 100_000}


def best(act: Callable[[], Any], times: int) -> float:
    """Milliseconds of the fastest of several runs."""

    def once() -> float:
        start = perf_counter()
        act()
        return perf_counter() - start

    return 1e3 * min(once() for _ in range(times))


def models(quick: bool) -> dict[str, Callable[[], Any]]:
    """Fitted models by name."""
    share = 20 if quick else 1
    small = make_synthetic(2_000 // share, random_state=0)
    large = make_nonlinear(50_000 // share, random_state=0)
    labels = np.digitize(small.y, np.quantile(small.y, [0.3, 0.6]))
    ordered = plcp.OrderedPartition(LinearQuantile())
    network = TorchPartition(mlp(200, 100), epochs=2)
    return {
        "PLCP, cross, 2,000 × 100": lambda: plcp.PLCP(random_state=0).fit(small.X, small.scores),
        "PLCP, 5 folds, 50,000 × 20": lambda: plcp.PLCP(cv=5, random_state=0).fit(
            large.X, large.scores
        ),
        "PLCP, linear, 2,000 × 100": lambda: plcp.PLCP(ordered, 4, random_state=0).fit(
            small.X, small.scores
        ),
        "ConformalRegressor, boosted, 2,000 × 100": lambda: plcp.ConformalRegressor(
            HistGradientBoostingRegressor(), random_state=0
        ).fit(small.X, small.y),
        "ConformalClassifier, boosted, 2,000 × 100": lambda: plcp.ConformalClassifier(
            HistGradientBoostingClassifier(), random_state=0
        ).fit(small.X, labels),
        "PLCP, network, 2,000 × 100": lambda: plcp.PLCP(
            network, 4, calibration="split", random_state=0
        ).fit(small.X, small.scores),
        "SplitConformal, 2,000 × 100": lambda: plcp.SplitConformal().fit(small.X, small.scores),
    }


def in_a_file(model: Any, folder: Path, times: int) -> dict[str, float]:
    path = folder / "model.plcp"
    save = best(lambda: plcp.save(model, path), times)
    return {
        "save_ms": save,
        "load_ms": best(lambda: plcp.load(path), times),
        "bytes": os.path.getsize(path),
    }


def by_skops(model: Any) -> dict[str, float] | None:
    """The same by skops alone, where it can."""
    try:
        content = skops.io.dumps(model)
    except Exception:  # it has no way to keep a module of torch
        return None
    trusted = skops.io.get_untrusted_types(data=content)
    return {
        "save_ms": best(lambda: skops.io.dumps(model), 3),
        "load_ms": best(lambda: skops.io.loads(content, trusted=trusted), 3),
        "bytes": len(content),
    }


def growth(quick: bool, folder: Path) -> dict[str, dict[str, int]]:
    """Bytes of files of rules that learned from more and more rows."""
    rules: dict[str, Callable[[], Any]] = {
        "PLCP, cross": lambda: plcp.PLCP(n_groups=4, random_state=0),
        "PLCP, linear": lambda: plcp.PLCP(
            plcp.OrderedPartition(LinearQuantile()), 4, random_state=0
        ),
        "SplitConformal": plcp.SplitConformal,
        "RLCP, which keeps its rows": lambda: plcp.RLCP(random_state=0),
    }
    found: dict[str, dict[str, int]] = {}
    for name, make in rules.items():
        for n in GROWING[:1] if quick else GROWING:
            task = make_nonlinear(n // 20 if quick else n, random_state=0)
            path = folder / "model.plcp"
            plcp.save(make().fit(task.X, task.scores), path)
            found.setdefault(name, {})[str(n)] = os.path.getsize(path)
    return found


def digests(quick: bool) -> dict[str, dict[str, float]]:
    """Seconds of a fit, and of the digest of the rows in it."""
    found: dict[str, dict[str, float]] = {}
    for name, n in DIGESTED.items():
        task = make_nonlinear(2_000 if quick else n, random_state=0)
        rule = getattr(plcp, name)()
        found[name] = {
            "rows": len(task.X),
            "columns": task.X.shape[1],
            "fit_s": best(lambda r=rule, t=task: r.fit(t.X, t.scores), 1) / 1e3,
            "digest_s": best(lambda t=task: data_digest(t.X, t.scores, None), 3) / 1e3,
        }
    return found


def measure(quick: bool) -> dict[str, Any]:
    """Save, load, sizes, growth and digests."""
    times = 2 if quick else TIMES
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder, found = Path(name), {}
        for title, make in models(quick).items():
            model = make()
            found[title] = {"plcp": in_a_file(model, folder, times), "skops": by_skops(model)}
        return {"models": found, "growth": growth(quick, folder), "digest": digests(quick)}
