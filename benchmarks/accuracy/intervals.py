"""How often nominal 95 % intervals hold the truth, in simulated data sets that know it."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from benchmarks.shared import save
from scipy.stats import expon, norm
from sklearn.linear_model import LogisticRegression

from plcp import metrics
from plcp._parallel import counted

ALPHA = 0.1
SIZES = (200, 1000)
# six kinds of rows, equally frequent: how often each is covered, and the size of its sets
COVERED = np.array([0.70, 0.84, 0.90, 0.95, 0.98, 0.99])
OTHER = np.array([0.88, 0.89, 0.90, 0.90, 0.91, 0.92])
BETTER = (COVERED + 1 - ALPHA) / 2  # half of the error gone
LENGTH = np.array([1.0, 1.5, 2.0, 3.0, 5.0, 8.0])
SCALE = LENGTH  # of an exponential score; the threshold 4.5 is right for a scale of 1.95
THRESHOLD = 4.5


class Sample(NamedTuple):
    """Rows of the simulated world."""

    kind: np.ndarray
    covered: np.ndarray
    other: np.ndarray  # covered by a second method: rows hard for one are hard for the other
    better: np.ndarray  # and by a third
    alike: np.ndarray  # covered with probability 0.9, whatever the kind
    score: np.ndarray
    noise: np.ndarray


class Held(NamedTuple):
    """An interval, and the number that it should hold."""

    low: float
    high: float
    truth: float

    @property
    def holds(self) -> bool:
        return bool(self.low <= self.truth <= self.high)


def draw(n: int, rng: np.random.Generator) -> Sample:
    kind, luck = rng.integers(0, 6, n), rng.uniform(size=n)
    covered, other, better = (luck < law[kind] for law in (COVERED, OTHER, BETTER))
    score, noise = rng.exponential(SCALE[kind]), rng.normal(size=n)
    return Sample(kind, covered, other, better, rng.uniform(size=n) < 0.9, score, noise)


def within(measure: Any, truth: float) -> Held:
    return Held(measure.low, measure.high, truth)


def hsic_of_law(coverage: np.ndarray) -> float:
    """HSIC of the law itself: kinds equally frequent, sizes LENGTH."""
    kernel = np.exp(-((LENGTH[:, None] - LENGTH) ** 2))
    excess = (coverage - coverage.mean()) / 6
    return float(2 * (1 - np.exp(-1)) * excess @ kernel @ excess)


def correlation_of_law(coverage: np.ndarray) -> float:
    p = coverage.mean()
    return float(np.cov(LENGTH, coverage, ddof=0)[0, 1] / LENGTH.std() / np.sqrt(p * (1 - p)))


def exact_cases(sample: Sample, seed: int) -> Iterator[tuple[str, Held | list[Held]]]:
    covered, kind, size = sample.covered, sample.kind, LENGTH[sample.kind]
    yield "coverage", within(metrics.coverage(covered), COVERED.mean())
    table = metrics.coverage_by_group(covered, kind, size)
    truths = COVERED[table.group]
    yield "coverage of one group", Held(table.low[0], table.high[0], truths[0])
    ends = zip(table.low_all, table.high_all, truths, strict=True)
    yield "coverage of all groups at once", [Held(*each) for each in ends]
    least = within(metrics.feature_stratified_coverage(covered, kind), COVERED.min())
    yield "feature-stratified coverage", least
    stratified = metrics.size_stratified_coverage(covered, size, bins=[1.7, 4.0])
    by_size = COVERED.reshape(3, 2).mean(axis=1).min()
    yield "size-stratified coverage", within(stratified, by_size)
    gap = metrics.coverage_gap(covered, kind, ALPHA)
    yield "coverage gap", within(gap, np.abs(COVERED - (1 - ALPHA)).mean())
    X = np.column_stack([sample.kind + 0.0, sample.noise])
    slab = metrics.worst_slab(X, covered, n_directions=30, random_state=seed)
    yield "worst slab", within(slab, coverage_in(slab.slab))


def coverage_in(slab: Any) -> float:
    """Coverage of the law in a slab: kinds, and normal noise beside them."""
    a, b = slab.coefficients
    low, high = slab.low - a * np.arange(6), slab.high - a * np.arange(6)
    if b == 0:
        mass = ((low <= 0) & (high >= 0)).astype(float)
    else:
        ends = np.sort([low / b, high / b], axis=0)
        mass = norm.cdf(ends[1]) - norm.cdf(ends[0])
    return float(mass @ COVERED / mass.sum())


def approximate_cases(sample: Sample, seed: int) -> Iterator[tuple[str, Held]]:
    kind, size = sample.kind, LENGTH[sample.kind]
    yield "mean size", within(metrics.mean_size(size), LENGTH.mean())
    known = np.mean((COVERED - (1 - ALPHA)) ** 2)
    yield "MSCE, known", within(metrics.msce(COVERED[kind], ALPHA), known)
    yield "pinball excess bound", pinball_case(sample)
    X = np.eye(6)[kind]
    for law, covered in ((COVERED, sample.covered), (np.full(6, 0.9), sample.alike)):
        name = "" if law is COVERED else ", covered alike"
        yield f"HSIC{name}", within(metrics.hsic(covered, size), hsic_of_law(law))
        correlation = metrics.size_correlation(covered, size)
        yield f"size correlation{name}", within(correlation, correlation_of_law(law))
        for loss in ("L1", "L2"):
            yield f"ERT in {loss}{name}", within(*risk_and_truth(X, covered, law, loss, seed))
    yield from paired_cases(sample, size)
    one, truth = risk_and_truth(X, sample.covered, COVERED, "L1", seed)
    other, other_truth = risk_and_truth(X, sample.other, OTHER, "L1", seed)
    yield "difference of ERT in L1", difference(one, other, other_truth - truth)


def pinball_case(sample: Sample) -> Held:
    scale, q = SCALE[sample.kind], np.full(len(sample.kind), THRESHOLD)
    best = expon.isf(ALPHA, scale=scale)
    lipschitz = 1 / SCALE.min()
    found = metrics.pinball_excess_bound(sample.score, q, best, ALPHA, lipschitz)
    return within(found, 2 * lipschitz * np.mean([pinball_excess(s) for s in SCALE]))


def pinball_excess(scale: float) -> float:
    """E ℓ(q, S) - E ℓ(q*, S) = ∫ (F - (1 - α)) from q* to q, for exponential scores."""
    best = -scale * np.log(ALPHA)
    integral = THRESHOLD - best + scale * (np.exp(-THRESHOLD / scale) - ALPHA)
    return float(integral - (1 - ALPHA) * (THRESHOLD - best))


class Remembering(LogisticRegression):
    """A classifier that keeps its fitted copies for later."""

    fitted: list[LogisticRegression] = []  # noqa: RUF012  shared by all copies, on purpose

    def fit(self, X: Any, y: Any) -> "Remembering":
        self.fitted.append(self)
        return super().fit(X, y)


def risk_and_truth(
    X: np.ndarray, covered: np.ndarray, law: np.ndarray, loss: str, seed: int
) -> Any:
    """ERT, and its truth: the excess risk of the classifiers that were fitted, by the law."""
    Remembering.fitted.clear()
    found = metrics.ert(X, covered, ALPHA, norm=loss, classifier=Remembering(), random_state=seed)
    predicted = [model.predict_proba(np.eye(6))[:, 1] for model in Remembering.fitted]
    predicted += [np.ones(6)] * (5 - len(predicted))  # covered rows alone teach no classifier
    return found, float(np.mean([risk_of_law(p, law, loss) for p in predicted]))


def risk_of_law(p: np.ndarray, law: np.ndarray, loss: str) -> float:
    """Excess risk of a classifier that predicts p of each kind."""
    target = 1 - ALPHA
    if loss == "L1":
        return float(np.mean(np.sign(p - target) * (law - target)))
    return float(np.mean((law - target) ** 2 - (law - p) ** 2))


def paired_cases(sample: Sample, size: np.ndarray) -> Iterator[tuple[str, Held]]:
    pair = metrics.coverage(sample.covered), metrics.coverage(sample.other)
    yield "difference of coverage", difference(*pair, (OTHER - COVERED).mean())
    shorter = metrics.mean_size(size), metrics.mean_size(np.sqrt(size))
    yield "difference of size", difference(*shorter, (np.sqrt(LENGTH) - LENGTH).mean())
    ends = np.column_stack([np.zeros(len(size)), np.full(len(size), THRESHOLD)])
    score = metrics.interval_score(ends, sample.score, ALPHA)
    tails = THRESHOLD + 2 / ALPHA * np.mean(SCALE * np.exp(-THRESHOLD / SCALE))
    yield "interval score", within(score, tails)
    methods = (("half better", sample.better, BETTER), ("all but alike", sample.other, OTHER))
    for gain, covered, coverage in methods:
        for name, metric, law in (
            ("HSIC", metrics.hsic, hsic_of_law),
            ("size correlation", metrics.size_correlation, correlation_of_law),
        ):
            one, other = metric(sample.covered, size), metric(covered, size)
            less = difference(one, other, law(coverage) - law(COVERED))
            yield f"difference of {name}, {gain}", less
            truth = 100 * (1 - abs(law(coverage)) / abs(law(COVERED)))
            yield f"improvement of {name}, {gain}", within(metrics.improvement(other, one), truth)


def difference(one: Any, other: Any, truth: float) -> Held:
    found = metrics.compare({"one": one, "other": other}).differences["other"]
    return Held(found.low, found.high, truth)


def run(cases: Callable[..., Iterator[Any]], n: int, data_sets: int) -> dict[str, float]:
    """Share of data sets in which each interval held the truth."""
    holds: dict[str, list[bool]] = {}
    for seed in counted(range(data_sets), data_sets, True, f"{n} rows"):
        for name, held in cases(draw(n, np.random.default_rng(seed)), seed):
            intervals = held if isinstance(held, list) else [held]
            holds.setdefault(name, []).append(all(each.holds for each in intervals))
    return {name: float(np.mean(values)) for name, values in holds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=2000)
    data_sets = parser.parse_args().data_sets
    for kind, cases in (("exact", exact_cases), ("approximate", approximate_cases)):
        results = {n: run(cases, n, data_sets) for n in SIZES}
        save("accuracy/intervals", kind, {"data_sets": data_sets, "held": results})
        for n, held in results.items():
            for name, share in held.items():
                print(f"{kind:12s} n={n:<5d} {name:36s} {share:.4f}")


if __name__ == "__main__":
    main()
