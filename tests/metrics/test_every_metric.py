"""What every metric owes its reader, whichever it is."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.tree import DecisionTreeClassifier

from plcp import metrics
from plcp.metrics import Measure

ALPHA = 0.1


def rows(rng, n=240):
    """Rows of three kinds, the first of them covered less often."""
    kind = rng.integers(0, 3, n)
    coverage = np.array([0.7, 0.9, 0.97])[kind]
    size = rng.gamma(2 + kind)
    return {
        "X": np.column_stack([kind, rng.normal(size=n)]),
        "kind": kind,
        "coverage": coverage,
        "covered": rng.uniform(size=n) < coverage,
        "size": size,
        "score": rng.exponential(size=n),
        "y": rng.normal(size=n),
    }


TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
# each by the columns it reads, with the keywords of all of them: confidence and sample_weight
METRICS = {
    "coverage": lambda r, **k: metrics.coverage(r["covered"], **k),
    "mean_size": lambda r, **k: metrics.mean_size(r["size"], **k),
    "feature_stratified_coverage": lambda r, **k: metrics.feature_stratified_coverage(
        r["covered"], r["kind"], **k
    ),
    "size_stratified_coverage": lambda r, **k: metrics.size_stratified_coverage(
        r["covered"], r["size"], **k
    ),
    "coverage_gap": lambda r, **k: metrics.coverage_gap(r["covered"], r["kind"], ALPHA, **k),
    "msce": lambda r, **k: metrics.msce(r["coverage"], ALPHA, **k),
    "pinball_excess_bound": lambda r, **k: metrics.pinball_excess_bound(
        r["score"], r["size"], np.full(len(r["score"]), 2.3), ALPHA, 1.0, **k
    ),
    "hsic": lambda r, **k: metrics.hsic(r["covered"], r["size"], **k),
    "size_correlation": lambda r, **k: metrics.size_correlation(r["covered"], r["size"], **k),
    "interval_score": lambda r, **k: metrics.interval_score(
        np.column_stack([-r["size"], r["size"]]), r["y"], ALPHA, **k
    ),
}
SHUFFLING = {  # these shuffle rows themselves
    "ert": lambda r, **k: metrics.ert(r["X"], r["covered"], ALPHA, classifier=TREE, **k),
    "estimated_msce": lambda r, **k: metrics.estimated_msce(
        r["X"], r["covered"], ALPHA, classifier=TREE, **k
    ),
    "worst_slab": lambda r, **k: metrics.worst_slab(r["X"], r["covered"], n_directions=20, **k),
}
EVERY = METRICS | SHUFFLING


def test_every_public_metric_is_here():
    others = {"coverage_by_group", "compare", "improvement", "msce_of_law"}
    makers = {"column_groups", "quantile_bins", "cut_bins"}
    functions = {name for name in metrics.__all__ if name[0].islower()}
    assert functions == set(EVERY) | others | makers


@pytest.mark.parametrize("name", EVERY)
def test_estimate_interval_meaning_and_table(rng, name):
    measure = EVERY[name](rows(rng))
    assert isinstance(measure, Measure)
    assert measure.low <= measure.high
    assert measure.meaning[0].isupper()
    assert measure.meaning[-1] == "."
    frame = measure.to_pandas()
    assert len(frame) >= 1
    assert list(frame.columns) == list(measure.table)
    assert json.loads(json.dumps(measure.to_dict()))["estimate"] == measure.estimate
    if measure.terms is not None:
        mean = np.average(measure.terms, weights=measure.weights)
        assert_allclose(mean, measure.estimate, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_more_confidence_is_a_wider_interval(rng, name):
    sample = rows(rng)
    narrow, wide = (EVERY[name](sample, confidence=level) for level in (0.8, 0.99))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low
    assert narrow.estimate == wide.estimate


@pytest.mark.parametrize("name", METRICS)
def test_rows_have_no_order_and_copies_are_weights(rng, name):
    sample = rows(rng)
    counts, order = rng.integers(0, 3, 240), rng.permutation(240)
    copied = {key: np.repeat(column, counts, axis=0) for key, column in sample.items()}
    shuffled = {key: column[order] for key, column in sample.items()}
    one, other = METRICS[name](copied), METRICS[name](shuffled, sample_weight=counts[order])
    for field in ("estimate", "low", "high", "standard_error"):
        assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-9, atol=1e-12)
