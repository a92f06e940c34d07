"""Partitions learned by networks under a hidden shift, and Algorithm 1 as it collapses.

Parts, each kept in results/neural.json: ``mnist`` (digits at five levels of blur, the task the
recipes were tuned on), ``noise`` (five levels of noise) and ``gas`` (batches of drifting sensors),
neither tuned on, ``corruptions`` (ten ways to spoil digits, six of them left out of all tuning),
``clothes`` (those six on Fashion-MNIST) and ``synthetic`` (exact MSCE of the paper's task). All but
the last read the data directory; clothes are where Debian's package dataset-fashion-mnist has them,
or in ``--clothes-dir``. Seconds are comparable within a seed only: the predictor and all rules run
one after the other in one process, on as many threads. Run it alone: threads that share their cores
with others stall.

    python -m benchmarks.accuracy.neural [mnist noise gas corruptions clothes synthetic]
        [--data-dir DIR] [--clothes-dir DIR] [--seeds K] [--threads K]
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.accuracy.corruptions import KINDS, LEFT_OUT, TUNING, make_tasks
from benchmarks.accuracy.images import (
    Corruption,
    Sample,
    ShiftTask,
    add_noise,
    blur,
    image_statistics,
    make_digits,
    make_gas,
)
from benchmarks.shared import save
from sklearn.ensemble import HistGradientBoostingRegressor
from torch import nn

from plcp import PLCP, LabelProbability, LabelSets, Mondrian, OrderedPartition, SplitConformal
from plcp.datasets import make_synthetic
from plcp.metrics import coverage_by_group, hsic, msce, size_correlation
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp, small_cnn

ALPHA = 0.1
N_GROUPS = 8
THREADS = 2
N_TEST = 20_000
SYNTHETIC_SIZES = (10_000, 50_000)
ALIVE = 0.02  # share of the calibration points below which a group counts as dead
NORMALISED = "PLCP, normalised network"
CLOTHES = "/usr/share/datasets/fashion-mnist"
DEFAULT, KEPT_ALIVE = "PLCP, neural default", "Algorithm 1, kept alive"
REPORTED = (
    "msce_over_split",
    "worst_level",
    "coverage",
    "size",
    "size_over_oracle",
    "empty",
    "hsic_gain",
    "pearson_gain",
    "fit_seconds",
    "fit_over_predictor",
    "groups_alive",
    "collapse_warning",
)


class Method(NamedTuple):
    """A rule, and what it is shown of each row."""

    rule: Any
    features: Callable[[Sample], Any]


def inputs(sample: Sample) -> np.ndarray:
    return sample.X


def true_level(sample: Sample) -> np.ndarray:
    return sample.level[:, None]


def statistics(sample: Sample) -> np.ndarray:
    return image_statistics(sample.X)


def methods(network: Callable[[], Any], seed: int) -> dict[str, Method]:
    """Split and the oracle first: the others are measured by them."""
    rules = {DEFAULT: neural_default(network, seed)}
    rules["PLCP, neural split"] = neural_default(network, seed).set_params(calibration="split")
    rules[KEPT_ALIVE] = algorithm_1(network, seed)
    rules["Algorithm 1, plain joint descent"] = algorithm_1(
        network, seed, descent="joint", start="random", balance=0.0, ranks=False, standardize=False
    )
    return {
        "Split": Method(SplitConformal(ALPHA), true_level),  # uses the scores alone
        "oracle": Method(Mondrian(0, ALPHA), true_level),
        **{name: Method(rule, inputs) for name, rule in rules.items()},
    }


def neural_default(network: Callable[[], Any], seed: int) -> PLCP:
    regressor = TorchQuantile(network())
    return PLCP(OrderedPartition(regressor), alpha=ALPHA, calibration="cross", random_state=seed)


def algorithm_1(network: Callable[[], Any], seed: int, **options: Any) -> PLCP:
    partition = TorchPartition(network(), structure="softmax", **options)
    return PLCP(
        partition, N_GROUPS, ALPHA, calibration="joint", assignment="sample", random_state=seed
    )


def trees_on_statistics(seed: int) -> Method:
    """Boosted trees on eight image statistics, which measure sharpness: a hint (see there)."""
    trees = HistGradientBoostingRegressor(
        loss="quantile", max_leaf_nodes=15, min_samples_leaf=40, random_state=seed
    )
    rule = PLCP(OrderedPartition(trees), alpha=ALPHA, calibration="cross", random_state=seed)
    return Method(rule, statistics)


def fit(rule: Any, X: Callable[[], Any], scores: np.ndarray) -> dict[str, Any]:
    """Fit a rule; seconds include those its features take. Other warnings than collapse go on."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule.fit(X(), scores)
    seconds = time.perf_counter() - start
    collapsed = [w for w in caught if issubclass(w.category, CollapseWarning)]
    for warning in caught:
        if warning not in collapsed:
            warnings.warn(warning.message, stacklevel=2)
    shares = masses(rule)
    return {
        "fit_seconds": seconds,
        "groups_alive": sum(share > ALIVE for share in shares),
        "masses": shares,
        "collapse_warning": bool(collapsed),
    }


def masses(rule: Any) -> list[float]:
    """Share of the calibration points in each group; Split has but one."""
    sizes = getattr(rule, "group_sizes_", np.ones(1))
    return (sizes / sizes.sum()).tolist()


def measure(sets: LabelSets, sample: Sample) -> dict[str, Any]:
    covered, size = sets.contains(sample.y), sets.size
    by_level = coverage_by_group(covered, sample.level, size)
    return {
        "coverage_by_level": by_level.coverage.tolist(),
        "size_by_level": by_level.size.tolist(),
        "worst_level": float(np.abs(by_level.coverage - (1 - ALPHA)).max()),
        "coverage": float(covered.mean()),
        "size": float(size.mean()),
        "empty": float(sets.is_empty.mean()),
        "hsic": float(hsic(covered, size)),
        "pearson": float(size_correlation(covered, size)),
    }


def against(
    result: dict[str, Any], split: dict[str, Any], oracle: dict[str, Any]
) -> dict[str, Any]:
    """Size in units of the oracle's, and the per cent of Split's dependence that are gone."""
    return {
        "size_over_oracle": result["size"] / oracle["size"],
        "hsic_gain": 100 * (1 - result["hsic"] / split["hsic"]),
        "pearson_gain": 100 * (1 - abs(result["pearson"] / split["pearson"])),
    }


def run_rules(task: ShiftTask, rules: dict[str, Method], never_empty: bool) -> list[dict[str, Any]]:
    """One record a rule, on the scores 1 - π_y or on those that leave no set empty."""
    score = LabelProbability(never_empty=never_empty)
    scores = score(task.cal.probabilities, task.cal.y)
    records = {}
    for name, (rule, features) in rules.items():
        fitted = fit(rule, partial(features, task.cal), scores)
        thresholds = rule.predict(features(task.test))
        records[name] = {
            "method": name,
            "never_empty": never_empty,
            **measure(score.invert(task.test.probabilities, thresholds), task.test),
            **fitted,
            "fit_over_predictor": fitted["fit_seconds"] / task.predictor_seconds,
        }
    references = records["Split"], records["oracle"]
    return [{**record, **against(record, *references)} for record in records.values()]


def run_task(seed: int, task: ShiftTask, rules: dict[str, Method]) -> Iterator[dict[str, Any]]:
    about = {
        "seed": seed,
        "predictor_accuracy": task.test.accuracy(),
        "predictor_seconds": task.predictor_seconds,
    }
    for record in run_rules(task, rules, False) + run_rules(task, rules, True):
        yield {**about, **record}


def run_digits(corrupt: Corruption, seeds: int, data_dir: Path) -> Iterator[dict[str, Any]]:
    for seed in range(seeds):
        task = make_digits(data_dir, corrupt, seed)
        rules = methods(small_cnn, seed)
        rules["trees on 8 image statistics"] = trees_on_statistics(seed)
        yield from run_task(seed, task, rules)


def run_corruptions(
    kinds: Iterable[str], folder: str, seeds: int, data_dir: Path
) -> Iterator[dict[str, Any]]:
    """The default on each kind of corruption, and a candidate to replace it."""
    for seed in range(seeds):
        for kind, task in make_tasks(data_dir / folder, kinds, seed):
            rules = {
                "Split": Method(SplitConformal(ALPHA), true_level),
                "oracle": Method(Mondrian(0, ALPHA), true_level),
                DEFAULT: Method(neural_default(small_cnn, seed), inputs),
                NORMALISED: Method(normalised(seed), inputs),
            }
            about = {
                "task": f"{'tuned on' if kind in TUNING else 'left out'}: {kind}",
                "seed": seed,
                "predictor_accuracy": task.test.accuracy(),
            }
            records = run_rules(task, rules, never_empty=False)
            for record in records:
                yield {**about, **record}


def normalised(seed: int) -> PLCP:
    """The default with batches normalised after all layers but the first, and larger steps."""
    network = nn.Sequential(
        nn.LazyConv2d(8, kernel_size=5, stride=2, padding=2),
        nn.ReLU(),
        nn.LazyConv2d(16, kernel_size=3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.LazyConv2d(16, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(64, bias=False),
        nn.BatchNorm1d(64),
        nn.ReLU(),
    )
    regressor = TorchQuantile(network, learning_rate=4e-3, epochs=7)
    return PLCP(OrderedPartition(regressor), alpha=ALPHA, calibration="cross", random_state=seed)


def run_gas(seeds: int, data_dir: Path) -> Iterator[dict[str, Any]]:
    for seed in range(seeds):
        rules = methods(paper_mlp, seed)
        rules["PLCP, cross"] = Method(
            PLCP(alpha=ALPHA, calibration="cross", random_state=seed), inputs
        )
        yield from run_task(seed, make_gas(data_dir, seed), rules)


def paper_mlp() -> Any:
    return mlp(200, 100)


def run_synthetic(seeds: int) -> Iterator[dict[str, Any]]:
    for n in SYNTHETIC_SIZES:
        for seed in range(seeds):
            yield from run_exact(n, seed)


def run_exact(n: int, seed: int) -> list[dict[str, Any]]:
    """One record a rule on the paper's synthetic task, whose conditional coverage is known."""
    cal = make_synthetic(n, random_state=seed)
    test = make_synthetic(N_TEST, random_state=10_000 + seed)
    rules = {
        "Split": SplitConformal(ALPHA),
        DEFAULT: neural_default(paper_mlp, seed),
        KEPT_ALIVE: algorithm_1(paper_mlp, seed),
    }
    records = []
    for name, rule in rules.items():
        fitted = fit(rule, lambda: cal.X, cal.scores)
        q = rule.predict(test.X)
        errors = {"msce": float(msce(test.conditional_coverage(q), ALPHA))}
        errors["coverage"] = float(np.mean(test.scores <= q))
        records.append({"task": f"paper:{n}", "seed": seed, "method": name, **errors, **fitted})
    split = records[0]["msce"]
    return [{**record, "msce_over_split": record["msce"] / split} for record in records]


def report(records: list[dict[str, Any]]) -> None:
    """Print the mean over seeds of each number, of each method on each task."""
    keys = ("task", "never_empty", "method")
    runs: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        runs.setdefault(tuple(record.get(key) for key in keys), []).append(record)
    for (task, never_empty, method), own in runs.items():
        means = [f"{key} {np.mean([r[key] for r in own]):.3f}" for key in REPORTED if key in own[0]]
        where = task or ("never empty" if never_empty else "")
        print(f"{where:12s} {method:34s} " + "  ".join(means))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--data-dir", default=os.environ.get("PLCP_DATA", "data"), type=Path)
    parser.add_argument("--clothes-dir", default=CLOTHES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=THREADS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    parts: dict[str, Callable[..., Iterator[dict[str, Any]]]] = {
        "mnist": partial(run_digits, blur),
        "noise": partial(run_digits, add_noise),
        "gas": run_gas,
        "corruptions": partial(run_corruptions, KINDS, "mnist"),
        "clothes": partial(run_corruptions, LEFT_OUT, options.clothes_dir),
        "synthetic": lambda seeds, data_dir: run_synthetic(seeds),
    }
    for part in options.parts or parts:
        records = []
        for record in parts[part](options.seeds, options.data_dir):
            print(record, flush=True)
            records.append(record)
        save("accuracy/neural", part, records)
        print(f"\n{part}, mean of {options.seeds} seeds")
        report(records)


if __name__ == "__main__":
    main()
