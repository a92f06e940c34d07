"""The protocol of CPCP (Chen and Li, ICML 2026) on bikes and diamonds, 20 seeds.

Kinds of methods, each with cells of its own: ``rules`` (around one trained network, from the
calibration rows alone), ``bands`` (CQR: a network of two quantiles), ``taught`` (the rows that
train the network teach the rule; five more networks per cell). Results: published.json, "cpcp".

    python -m benchmarks.published.cpcp [rules bands taught] [--seeds 20] [--data-dir DIR]

A run that was stopped goes on: networks and finished cells are kept in build/, cells by the code of
the package. Results are written after each cell; records of cells that were not run again stay.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.accuracy.contenders import boosted
from benchmarks.published.data import SETS, Part, divided
from benchmarks.published.metrics import ALPHA, Judge, noise_floor
from benchmarks.published.networks import Network
from benchmarks.shared import ROOT, Records, kept_by_package, load, provenance, save
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

from plcp import (
    PLCP,
    ConformalRegressor,
    QuantileResidual,
    Rectified,
    SoftmaxPartition,
    SplitConformal,
)
from plcp.partitions.torch import TorchPartition, mlp
from plcp.regressors import ColorfulQuantile

NETWORKS = str(ROOT / "build" / "published" / "networks")
CELL = ("set", "seed", "method")  # what a record is of
LEVELS = (ALPHA / 2, 1 - ALPHA / 2)
CALIBRATION_SIZE = 0.25  # of the rows that are not tested: the fifth of all that the protocol has


def rules(seed: int) -> dict[str, Any]:
    """Rules that learn from calibration rows, by name."""
    same: dict[str, Any] = {"alpha": ALPHA, "random_state": seed}
    softmax, network = SoftmaxPartition(), TorchPartition(mlp(256, 256), structure="softmax")
    groups = {}
    for m in (20, 50):
        groups |= {
            f"Algorithm 1, {m} groups": PLCP(
                softmax, m, calibration="joint", assignment="sample", **same
            ),
            f"softmax, {m} groups": PLCP(softmax, m, calibration="split", **same),
            f"softmax network, {m} groups": PLCP(network, m, calibration="split", **same),
        }
    return {
        "Split": SplitConformal(ALPHA),
        "PLCP": PLCP(**same),
        "PLCP, mean of rules": PLCP(assignment="mean", **same),
        "PLCP, held-out": PLCP(calibration="held-out", **same),
        "PLCP, split": PLCP(calibration="split", **same),
        "PLCP, cross": PLCP(calibration="cross", **same),
        **groups,
        "rectified": Rectified(boosted(1 - ALPHA, seed), **same),
        "rectified, our regressor": Rectified(**same),
        "CPCP": Rectified(ColorfulQuantile(delta=0.02), adjustment="difference", **same),
    }


def of_rules(name: str, seed: int, data_dir: Path) -> Records:
    parts = divided(name, seed, data_dir)
    model = FrozenEstimator(Network(memory=NETWORKS, random_state=seed).fit(*parts.train))
    estimators = {
        method: ConformalRegressor(model, threshold=rule) for method, rule in rules(seed).items()
    }
    judge = Judge(parts.test.X)
    return [
        measured(method, estimator, parts.calibration, parts.test, judge)
        for method, estimator in estimators.items()
    ]


class Column(RegressorMixin, BaseEstimator):
    """One column of what a trained model predicts."""

    def __init__(self, model: Any, column: int) -> None:
        self.model = model
        self.column = column

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(X)[:, self.column]


def of_bands(name: str, seed: int, data_dir: Path) -> Records:
    parts = divided(name, seed, data_dir)
    band = FrozenEstimator(Network(LEVELS, memory=NETWORKS, random_state=seed).fit(*parts.train))
    judge, found = Judge(parts.test.X), []
    for method, rule in {
        "CQR": SplitConformal(ALPHA),
        "CQR + PLCP": PLCP(alpha=ALPHA, random_state=seed),
    }.items():
        estimator = ConformalRegressor(band, QuantileResidual(), rule)
        found.append(measured(method, estimator, parts.calibration, parts.test, judge))
    return found


def of_taught(name: str, seed: int, data_dir: Path) -> Records:
    """The default of ``ConformalRegressor(model)``: it divides training and calibration itself."""
    parts = divided(name, seed, data_dir)
    given = tuple(np.concatenate(pair) for pair in zip(parts.train, parts.calibration, strict=True))
    judge, found = Judge(parts.test.X), []
    for method, rule in {
        "taught": PLCP(alpha=ALPHA),
        "taught, held-out": PLCP(alpha=ALPHA, calibration="held-out"),
    }.items():
        estimator = ConformalRegressor(
            Network(memory=NETWORKS),
            threshold=rule,
            calibration_size=CALIBRATION_SIZE,
            random_state=seed,
        )
        record = measured(method, estimator, given, parts.test, judge)
        del record["seconds"]  # of networks, some of which were kept
        found.append(record)
    return found


def measured(
    method: str, estimator: Any, given: tuple[Any, ...], test: Part, judge: Judge
) -> dict[str, Any]:
    """Fit on labelled rows, and judge the sets of the test part."""
    X, y = test
    start = time.perf_counter()
    sets = estimator.fit(*given).predict_set(X)
    seconds = time.perf_counter() - start
    found = judge(sets.contains(y), sets.size)
    return {"method": method, **found, "floor": noise_floor(len(y)), "seconds": seconds}


KINDS: dict[str, Callable[[str, int, Path], Records]] = {
    "rules": of_rules,
    "bands": of_bands,
    "taught": of_taught,
}


def with_finished(before: dict[str, Any], seeds: int) -> Records:
    """Records of all cells that are kept, in the place of those before, each with its commit."""
    commit = provenance()["commit"]
    found = [
        {"set": name, "seed": seed, **record, "commit": commit}
        for kind, name, seed in product(KINDS, SETS, range(seeds))
        if kept(kind).check_call_in_cache(name, seed, Path())
        for record in kept(kind)(name, seed, Path())
    ]
    cells = {tuple(record[key] for key in CELL) for record in found}
    others = [{"commit": before["provenance"]["commit"], **r} for r in before["results"]]
    return [r for r in others if tuple(r[key] for key in CELL) not in cells] + found


def kept(kind: str) -> Any:
    return kept_by_package("published").cache(KINDS[kind], ignore=["data_dir"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--data-dir", default=os.environ.get("PLCP_DATA", "data"), type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for kind, seed, name in product(given.kinds, range(given.seeds), given.sets):
        start = time.perf_counter()
        with threadpool_limits(1):
            kept(kind)(name, seed, given.data_dir)
        print(f"{kind} {name} {seed}: {time.perf_counter() - start:.0f} s", flush=True)
        before = load("published/published")["cpcp"]
        save("published/published", "cpcp", with_finished(before, max(given.seeds, 20)))


if __name__ == "__main__":
    main()
