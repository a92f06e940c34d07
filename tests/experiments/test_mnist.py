"""Blurred digits: the trial, its laws and its claims."""

import gzip

import numpy as np
import pytest
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from bands import beta_binomial_band
from plcp.experiments import find_experiment, reproduce
from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT
from plcp.experiments.mnist import (
    CQR,
    LOCAL,
    ORACLE,
    PLAIN,
    Images,
    Method,
    _thresholds,
    methods,
    pack,
    report,
)
from plcp.quantiles import conformal_rank

METHODS = [SPLIT, PUBLISHED, PLAIN, CROSS, CQR, LOCAL, ORACLE]
QUICK = find_experiment("mnist").quick


def write_idx(path, values):
    """Write small whole numbers in the format of MNIST."""
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Two quick trials, and all that they wrote."""
    directory = tmp_path_factory.mktemp("digits")
    (directory / "mnist").mkdir()
    digits = load_digits()
    images = np.pad(zoom(digits.images, (1, 2.5, 2.5), order=1), ((0, 0), (4, 4), (4, 4)))
    write_idx(directory / "mnist" / "train-images-idx3-ubyte.gz", images * 255 / 16)
    write_idx(directory / "mnist" / "train-labels-idx1-ubyte.gz", digits.target)
    return reproduce("mnist", data_dir=directory, out=directory / "out", quick=True)


@pytest.fixture(params=["methods", "never_empty"])
def judged(done, request):
    """Results of both trials and the methods' part of them, with empty sets or without."""
    return [(record["results"], record["results"][request.param]) for record in done.records]


def draw_blurred(rng, n=40):
    X = rng.uniform(size=(n, 1, 28, 28)).astype(np.float32)
    return Images(X, rng.integers(0, 10, n), rng.integers(0, 5, n), rng.normal(size=(n, 10)))


def test_page_and_both_figures_are_written(done):
    names = {path.name for path in done.files}
    stems = ("mnist-quick", "mnist-quick-images")
    figures = {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")}
    assert names >= {"mnist-quick.md", "mnist-quick.json"} | figures
    assert all(path.stat().st_size > 0 for path in done.files)
    assert done.records[0]["results"]["methods"] != done.records[1]["results"]["methods"]


def test_levels_make_up_the_whole(judged):
    for results, own in judged:
        counts = np.array(list(results["groups"].values()))
        assert counts.sum() == QUICK["n_test"]
        assert list(own) == METHODS
        for found in own.values():
            for key in ("coverage", "size"):
                whole = counts @ found[key] / counts.sum()
                assert whole == pytest.approx(found["overall"][key], rel=1e-12)
            assert found["overall"]["coverage"] <= 1 - found["overall"]["empty"]


def test_the_oracle_covers_each_level_and_split_the_whole_as_their_laws_states(done):
    rows = (QUICK["n_calibration"] + QUICK["n_test"]) // len(QUICK["sigmas"])
    for record in done.records:
        results = record["results"]
        n_test = np.array(list(results["groups"].values()))
        pairs = zip(n_test, rows - n_test, results["methods"][ORACLE]["coverage"], strict=True)
        whole = results["methods"][SPLIT]["overall"]["coverage"]
        for n, n_cal, coverage in [*pairs, (n_test.sum(), QUICK["n_calibration"], whole)]:
            low, high = beta_binomial_band(n, n_cal, conformal_rank(n_cal, QUICK["alpha"]))
            assert low <= round(n * coverage) <= high


def test_sets_that_are_never_empty_cover_what_the_predictor_reads_right(done):
    for record in done.records:
        accuracy = record["results"]["about"]["accuracy"]
        for found in record["results"]["never_empty"].values():
            assert found["overall"]["empty"] == 0
            assert np.all(np.array(found["coverage"]) >= accuracy)
            assert min(found["size"]) >= 1


def test_only_oracle_and_split_are_shown_the_level():
    images = draw_blurred(np.random.default_rng(0))
    other = Images(images.X, images.y, images.level + 1, images.logits)
    message = {
        name
        for name, method in methods(QUICK, 0).items()
        if not np.array_equal(method.sees(images), method.sees(other))
    }
    assert message == {SPLIT, ORACLE}


def test_thresholds_are_not_below_any_score():
    class Low:
        def fit(self, X, y):
            self.passed = X, y

        def predict(self, X):
            return np.linspace(-1, 1, len(X))

    images, rule = draw_blurred(np.random.default_rng(0)), Low()
    found = _thresholds(Method(rule, lambda rows: rows.level), images, np.ones(40), images[:5])
    assert np.array_equal(found, [0, 0, 0, 0.5, 1])
    assert np.array_equal(rule.passed[0], images.level)


LEVELS = [f"σ = {k}" for k in range(5)]
OTHERS = (SPLIT, PUBLISHED, PLAIN, CROSS, CQR, LOCAL, ORACLE)


def found(coverage=(0.9,) * 5, size=2.0, hsic=0.01, pearson=0.1):
    numbers = {"hsic": hsic, "pearson": pearson, "empty": 0.0, "infinite": 0.0, "seconds": 1.0}
    overall = {"coverage": float(np.mean(coverage)), "size": size, **numbers}
    return {"coverage": list(coverage), "size": [size] * 5, "overall": overall}


def record(seed=0, accuracy=(0.8,) * 5, shares=(1.0,), never_empty=None, **methods):
    """One trial in which all methods do as Split does, but for those that are given."""
    own = {name: methods.get(name, found()) for name in OTHERS}
    return {
        "settings": find_experiment("mnist").settings,
        "seed": seed,
        "results": {
            "groups": dict.fromkeys(LEVELS, 2000),
            "methods": own,
            "never_empty": own | (never_empty or {}),
            "about": {
                "accuracy": list(accuracy),
                "shares": {PUBLISHED: [0.5, 0.5], PLAIN: list(shares)},
                "digits": pack(np.zeros((10, 28, 28), dtype=np.uint8)),
            },
        },
    }


def at_first_level(value):
    return (value, 0.9, 0.9, 0.9, 0.9)


@pytest.mark.parametrize("method", [PUBLISHED, CROSS])
@pytest.mark.parametrize(
    ("first_level", "reached"),
    [((0.875, 0.875), True), ((0.85, 0.95), True), ((0.86, 0.87), False), ((0.92, 0.95), False)],
)
def test_levels_are_judged_by_their_mean_over_trials(method, first_level, reached):
    records = [record(**{method: found(at_first_level(value))}) for value in first_level]
    claims = [claim for claim in report(records).claims if "within 0.03" in claim.text]
    assert {claim.text.split(": ")[-1]: claim.holds for claim in claims} == {
        PUBLISHED: True,
        CROSS: True,
    } | {method: reached}


@pytest.mark.parametrize("method", [PUBLISHED, CROSS])
@pytest.mark.parametrize(("sizes", "reached"), [((2.0, 2.1), True), ((2.0, 2.2), False)])
def test_sizes_are_judged_beside_the_oracle(method, sizes, reached):
    records = [record(**{method: found(size=size)}) for size in sizes]
    claims = [claim for claim in report(records).claims if "as large" in claim.text]
    assert {claim.text.split(": ")[-1]: claim.holds for claim in claims} == {
        PUBLISHED: True,
        CROSS: True,
    } | {method: reached}


def test_a_split_without_dependence_leaves_a_page_without_gains():
    page = report([record(**{SPLIT: found(hsic=0.0, pearson=0.0)})])
    assert {row[2] for row in page.tables[2].rows} == {"–"}
    assert all(len(line.published) == 0 for line in page.lines[2:])
    assert "the oracle's gain is undefined in HSIC and undefined in Pearson" in page.reading[1]
