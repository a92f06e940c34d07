"""Rules on Dask: the ordinary rules to the last bit, whatever the parts, and what is refused."""

import pickle
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from dask.delayed import delayed
from dask_cases import Bare, assert_same, cut, framed, of_parts, random_lengths, rows
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from plcp import Mondrian, SplitConformal
from plcp.dask import DaskConformalRegressor, DaskMondrian, DaskSplitConformal


def fit(rule, *args, **groups):
    """Fit the rule, and return it with its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule.fit(*args, **groups)
    return rule, [(w.category, str(w.message)) for w in caught]


# --- DaskSplitConformal


@pytest.mark.parametrize("seed", range(30))
def test_split_is_the_ordinary_rule_whatever_the_parts_and_order(seed):
    rng = np.random.default_rng(seed)
    n, alpha = int(rng.integers(1, 40)), float(rng.choice([0.05, 0.1, 0.3, 0.5, 0.9]))
    X, scores, lengths = np.zeros((n, 2)), rng.normal(size=n), tuple(random_lengths(rng, n))
    scores = [scores, np.round(scores), np.full(n, 0.5)][seed % 3]  # often tied
    local, warned = fit(SplitConformal(alpha), X, scores)
    shuffled = da.from_array(rng.permutation(scores), chunks=(lengths,))
    lazy = da.from_array(X, chunks=(lengths, 1)), shuffled
    rule, warned_on_dask = fit(DaskSplitConformal(alpha), *lazy)
    assert warned_on_dask == warned
    for name in ("threshold_", "guarantee_", "n_features_in_"):
        assert getattr(rule, name) == getattr(local, name)
    assert_array_equal(rule.predict(lazy[0]), local.predict(X))


def table_of(n=60, n_parts=4):
    table = pd.DataFrame({"a": np.arange(n) % 3, "b": np.arange(n) / 7, "s": np.arange(n) ** 0.5})
    return table, dd.from_pandas(table, npartitions=n_parts)


def test_the_local_rule_is_the_ordinary_one():
    table, lazy = table_of()
    local = SplitConformal().fit(table[["a", "b"]], table["s"])
    rule = DaskSplitConformal().fit(lazy[["a", "b"]], lazy["s"])
    found = rule.to_local()
    assert type(found) is SplitConformal
    assert vars(found).keys() == vars(local).keys()
    assert len(pickle.dumps(found)) < 1000
    found.threshold_ = 0.0
    assert rule.to_local().threshold_ == local.threshold_
    assert isinstance(rule.predict(table[["a", "b"]]), np.ndarray)
    with pytest.raises(ValueError, match=r"0 sample\(s\).*give at least one"):
        rule.predict(table[["a", "b"]][:0])


def test_a_second_fit_replaces_all_of_the_first():
    _, lazy = table_of()
    rule = DaskSplitConformal().fit(lazy[["a", "b"]], lazy["s"])
    rule.fit(da.zeros((30, 5), chunks=(10, 5)), da.arange(30, chunks=10))
    assert (rule.n_features_in_, hasattr(rule, "feature_names_in_")) == (5, False)
    assert rule.predict(da.zeros((4, 5))).compute().tolist() == [rule.threshold_] * 4


def test_parameters_clones_and_pickles(client):
    rule = DaskSplitConformal(0.2, client=client)
    assert rule.get_params() == {"alpha": 0.2, "confidence": None, "client": client}
    assert clone(rule).client is client
    assert repr(DaskSplitConformal(0.2)) == "DaskSplitConformal(alpha=0.2)"
    rule.fit(da.zeros((30, 1), chunks=(10, 1)), da.arange(30, chunks=10))
    again = pickle.loads(pickle.dumps(rule))
    assert (again.threshold_, again.client) == (rule.threshold_, None)
    assert not hasattr(clone(rule), "threshold_")
    with pytest.raises(ValueError, match=r"alpha must lie in \(0, 1\), got 2"):
        DaskSplitConformal(2).fit(None, None)


# --- DaskMondrian

LABELS = (["a", "bb", "c, d", "éé"], [-2, 0, 1], [0.0, -1.5, 1e300], [True, False])
SOURCES = ("g", 1, ["h", "g"], lambda X: X["h"])


def cut_groups(seed, labels):
    """Scores with ties and two labels per row, the lengths of parts, and alpha."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    table = pd.DataFrame({name: rng.choice(labels, n) for name in "gh"})
    table["s"] = rng.integers(0, 10, n).astype(float)
    return table, random_lengths(rng, n), float(rng.choice([0.05, 0.1, 0.3, 0.5, 0.9]))


def in_parts(table, lengths):
    """Return the table in parts, some of them empty."""
    ends = np.cumsum(lengths)
    return of_parts(*(table[end - n : end] for n, end in zip(lengths, ends, strict=True)))


def assert_equal(found, expected):
    assert found[1] == expected[1]  # warnings
    for name in ("groups_", "thresholds_", "group_sizes_"):
        ours, theirs = getattr(found[0], name), getattr(expected[0], name)
        assert ours.dtype == theirs.dtype
        assert_array_equal(ours, theirs)
    assert found[0].guarantee_ == expected[0].guarantee_


@pytest.mark.parametrize("labels", LABELS, ids=["text", "whole", "numbers", "booleans"])
@pytest.mark.parametrize("groups", SOURCES, ids=["name", "place", "list", "function"])
def test_columns_of_a_frame_are_groups_as_in_memory(groups, labels):
    for seed in range(2):
        table, lengths, alpha = cut_groups(seed, labels)
        lazy, X = in_parts(table, lengths), table[["g", "h"]]
        local = fit(Mondrian(groups, alpha), X, table["s"])
        rule = fit(DaskMondrian(groups, alpha), lazy[["g", "h"]], lazy["s"])
        assert_equal(rule, local)
        thresholds = rule[0].predict(lazy[["g", "h"]]).compute()
        assert_array_equal(thresholds, local[0].predict(X))


@pytest.mark.parametrize("seed", range(10))
def test_labels_may_be_given_as_arrays(seed):
    table, lengths, alpha = cut_groups(seed, LABELS[1 + seed % 2])
    X, scores, labels = np.zeros((len(table), 1)), table["s"].to_numpy(), table["g"].to_numpy()
    lazy, lazy_labels = cut(X, scores, *lengths), da.from_array(labels, chunks=7)
    local = fit(Mondrian(None, alpha), X, scores, groups=labels)
    rule = fit(DaskMondrian(None, alpha), *lazy, groups=lazy_labels)
    assert_equal(rule, local)
    assert_array_equal(rule[0].predict(lazy[0], lazy_labels), local[0].predict(X, labels))


def world(n=80, n_parts=4):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": rng.choice(["a", "b"], n), "x": rng.normal(size=n)})
    table["s"] = rng.normal(size=n) + (table["g"] == "b") * 5
    return table, dd.from_pandas(table, npartitions=n_parts)


def test_a_frame_of_memberships_names_the_groups():
    table, lazy = world()
    members = pd.DataFrame({"low": table["x"] < 0, "high": table["x"] >= 0})
    lazy_members = dd.from_pandas(members, npartitions=4)
    local = Mondrian().fit(table[["x"]], table["s"], groups=members)
    rule = DaskMondrian().fit(lazy[["x"]], lazy["s"], groups=lazy_members)
    assert_array_equal(rule.groups_, ["high", "low"])
    assert_array_equal(rule.thresholds_, local.thresholds_)
    thresholds = rule.predict(lazy[["x"]], lazy_members)
    assert_array_equal(thresholds.compute(), local.predict(table[["x"]], members))


def test_categories_are_labels(any_client):
    table, lazy = world()
    lazy = lazy.assign(g=lazy["g"].astype("category"))
    rule = DaskMondrian("g", client=any_client).fit(lazy[["g", "x"]], lazy["s"])
    local = Mondrian("g").fit(table[["g", "x"]], table["s"])
    assert_array_equal(rule.groups_, local.groups_)
    assert_array_equal(rule.thresholds_, local.thresholds_)
    assert type(rule.to_local()) is Mondrian


def test_a_group_of_one_part_only_and_an_unknown_group():
    table, lazy = world()
    rare = lazy.assign(g=lazy["g"].where(lazy["x"] < 2, "rare"))
    expected = table["g"].where(table["x"] < 2, "rare")
    rule, warned = fit(DaskMondrian("g"), rare[["g"]], lazy["s"])
    assert "rare" in str(warned[0][1])
    assert_array_equal(rule.group_sizes_, expected.value_counts().sort_index())
    new = lazy[["g"]].assign(g="new")
    with pytest.warns(UserWarning, match="new.* were not seen in calibration"):
        assert np.isinf(rule.predict(new).compute()).all()


def as_codes(part, partition_info=None):
    return part.assign(g=np.arange(len(part))) if partition_info["number"] == 1 else part


def test_labels_that_are_missing_or_of_another_type_in_one_part_are_refused():
    table, lazy = world()
    gap = lazy.assign(g=dd.from_pandas(table["g"].where(table.index != 45), npartitions=4))
    with pytest.raises(ValueError, match=r"part 2 of 4.*no label at row 5"):
        DaskMondrian("g").fit(gap[["g"]], lazy["s"])
    mixed = lazy.map_partitions(as_codes, meta=lazy._meta, enforce_metadata=False)
    with pytest.raises(ValueError, match=r"labels of several types \(int.*, str\)"):
        DaskMondrian().fit(lazy[["g"]], lazy["s"], groups=mixed["g"])
    with pytest.raises(ValueError, match=r"part 1 of \d.*column 'g' of X holds numbers"):
        DaskMondrian("g").fit(mixed[["g"]], lazy["s"])


def test_wrong_groups_are_refused_before_rows_are_computed():
    _, lazy = world()
    for rule, groups, error in [
        (DaskMondrian("g"), None, "names the column 'g', but X has only"),
        (DaskMondrian(["x", 3]), None, "names the column 3"),
        (DaskMondrian("x"), lazy["g"], "given twice"),
        (DaskMondrian(), None, "groups is None: name a column"),
    ]:
        with pytest.raises(ValueError, match=f"^groups.*{error}|^{error}"):
            rule.fit(lazy[["x"]], lazy["s"], groups)


# --- all rules: unusual parts


@pytest.mark.parametrize("collected", [cut, framed])
@pytest.mark.parametrize("lengths", [(40, 40, 40), (0, 1, 119, 0)])
def test_parts_may_be_empty_and_unequal(rule_on, collected, lengths):
    X, y = rows(120)
    expected = rule_on().fit(*collected(X, y, 120))  # in one part
    assert_same(rule_on().fit(*collected(X, y, *lengths)), expected)


def test_the_engine_changes_nothing(rule_on, any_client):
    lazy = cut(*rows(120), 40, 80)
    assert_same(rule_on(client=any_client).fit(*lazy), rule_on().fit(*lazy))


def test_parts_may_be_of_unknown_length(rule_on):
    X, y = rows(120)
    some = X[:, 1] > 0
    some[30:60] = False  # a part without rows
    lazy_X, lazy_y = cut(X, y, 30, 30, 60)
    mask = da.from_array(some, chunks=(lazy_X.chunks[0],))
    rule = rule_on().fit(lazy_X[mask], lazy_y[mask])
    assert_same(rule, rule_on().fit(X[some], y[some]))
    thresholds = rule.predict(lazy_X[mask])
    assert np.isnan(thresholds.shape[0])
    assert_array_equal(thresholds.compute(), rule.to_local().predict(X[some]))


def test_columns_may_be_cut_and_scores_cut_elsewhere(rule_on):
    X, y = rows(120)
    lazy = da.from_array(X, chunks=(50, 1)), da.from_array(y, chunks=33)
    assert_same(rule_on().fit(*lazy), rule_on().fit(X, y))
    assert_same(rule_on().fit(lazy[0], y), rule_on().fit(X, y))  # scores in memory


# --- all rules: bad input is refused, with the part named

LAZY = cut(*rows(120), 30, 30, 30, 30)
IN_FRAMES = framed(*rows(120), 30, 30, 30, 30)
TABLE = pd.DataFrame({"g": np.arange(80) % 2, "x": np.arange(80.0)}, index=np.arange(80) * 3)
SCORES = pd.Series(np.arange(80.0) ** 1.5, TABLE.index)
FRAME = dd.from_pandas(TABLE, npartitions=4)


def lacking(part, partition_info=None):
    return part.drop(columns="x") if partition_info["number"] == 2 else part


def with_value(place, value, row):
    """Rows as arrays in four parts, with one value in X or in y at a row."""
    values = [*rows(120)]
    values[place].reshape(120, -1)[row, -1] = value
    return cut(*values, 30, 30, 30, 30)


def other_index(scores):
    return FRAME, dd.from_pandas(scores, npartitions=4, sort=False)


X_LACKING = IN_FRAMES[0].map_partitions(lacking, meta=IN_FRAMES[0]._meta, enforce_metadata=False)
SHORTER = framed(*(values[:119] for values in rows(120)), 30, 30, 29, 30)[1]
INDEX_ERROR = r"part \d of 4.*y has another index than X.*reset_index"
BAD = {
    "column": (X_LACKING, IN_FRAMES[1], r"part 2 of 4.*no column 'x' here, only \['g'\]"),
    "NaN": (*with_value(1, np.nan, 97), r"part 3 of 4.*must be finite.*NaN at row 7"),
    "infinity": (*with_value(0, np.inf, 31), r"part 1 of 4.*X contains infinity"),
    "length": (LAZY[0], LAZY[1][1:], r"inconsistent numbers of samples: \[120, 119\]"),
    "length of a part": (IN_FRAMES[0], SHORTER, r"part 2 of 4.*inconsistent.*\[30, 29\]"),
    "parts": (IN_FRAMES[0], LAZY[1].rechunk(60), r"compute_chunk_sizes\(\)"),
    "in memory": (IN_FRAMES[0], rows(120)[1], r"y is in memory.*give y as a Dask array or series"),
    "no rows": (*framed(*(values[:0] for values in rows(9)), 0, 0), "calibration set is empty"),
    "one dimension": (LAZY[1], LAZY[1], "X must have rows and columns"),
    "sparse blocks": (
        LAZY[0].map_blocks(scipy.sparse.csr_matrix, dtype=float),
        LAZY[1],
        r"part \d of 4.*X is made of sparse.*toarray\(\)",
    ),
    "masked X": (da.ma.masked_greater(LAZY[0], 1.5), LAZY[1], "part .*a masked array hides"),
    "masked y": (LAZY[0], da.ma.masked_greater(LAZY[1], 1.5), "part .*a masked array hides"),
    "no X": (None, LAZY[1], "fit requires X to be passed, but X is None"),
    "no y": (LAZY[0], None, "fit requires y to be passed, but y is None"),
    "delayed X": (delayed(np.zeros((4, 2))), LAZY[1], r"X is a Delayed.*from_delayed"),
    "delayed y": (LAZY[0], delayed(np.zeros(4)), r"y is a Delayed.*from_delayed"),
    "scalar": (LAZY[0], 5.0, "y is a scalar, but must hold one or more values per row: give an"),
    "scalar on Dask": (LAZY[0], LAZY[1].sum(), "y is a scalar"),
    "sparse": (LAZY[0], scipy.sparse.csr_array(np.ones((120, 1))), r"give y\.toarray\(\)"),
    "reversed index": (*other_index(SCORES[::-1]), INDEX_ERROR),
    "another index": (*other_index(SCORES.reset_index(drop=True)), INDEX_ERROR),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(rule_on, name):
    X, y, error = BAD[name]
    model = DaskConformalRegressor(Bare(), threshold=rule_on())
    for estimator in [rule_on()] if name in ("NaN", "infinity") else [rule_on(), model]:
        with pytest.raises((TypeError, ValueError), match=error):
            estimator.fit(X, y)


def test_a_mask_that_hides_nothing_is_dropped(rule_on):
    unmasked = da.ma.masked_greater(LAZY[1], LAZY[1].max().compute())
    assert_same(rule_on().fit(LAZY[0], unmasked), rule_on().fit(*LAZY))


def test_a_rule_that_is_not_fitted_is_refused(rule_on):
    for use in (rule_on().to_local, lambda: rule_on().predict(LAZY[0])):
        with pytest.raises(NotFittedError):
            use()


def test_columns_without_string_names_in_another_order_are_refused(rule_on):
    X, y = rows(120)
    frame = dd.from_pandas(pd.DataFrame(X, columns=[7, 3]), npartitions=3)
    rule = rule_on().fit(frame, dd.from_pandas(pd.Series(y), npartitions=3))
    with pytest.raises(ValueError, match=r"columns \['3', '7'\], but had \['7', '3'\] in fit"):
        rule.predict(frame[[3, 7]])


def test_a_failed_fit_leaves_the_earlier_one_unchanged(rule_on):
    for estimator in (rule_on(), DaskConformalRegressor(Bare(), threshold=rule_on())):
        fitted = estimator.fit(*LAZY)
        before, learned = fitted.predict(LAZY[0]).compute(), set(vars(fitted))
        wider = da.concatenate([LAZY[0], LAZY[0]], axis=1)
        with pytest.raises(ValueError, match=r"part \d of 4"):
            fitted.fit(wider, da.where(da.arange(120, chunks=30) == 100, np.nan, LAZY[1]))
        assert set(vars(fitted)) == learned
        assert fitted.n_features_in_ == 2
        assert_array_equal(fitted.predict(LAZY[0]).compute(), before)


# --- all rules: rows and scores with the same index


def test_the_remedies_for_another_index_work():
    expected = DaskMondrian("g").fit(FRAME, dd.from_pandas(SCORES, npartitions=4)).thresholds_
    other = dd.from_pandas(SCORES.reset_index(drop=True), npartitions=4)
    found = DaskMondrian("g").fit(FRAME, other.to_dask_array())
    assert_array_equal(found.thresholds_, expected)
    found = DaskMondrian("g").fit(FRAME.reset_index(drop=True), other.reset_index(drop=True))
    assert_array_equal(found.thresholds_, expected)


def test_collections_of_the_same_frame_share_its_index():
    joined = FRAME.assign(y=FRAME["x"] ** 1.5)
    some = joined[joined["g"] == 0]
    assert_array_equal(DaskMondrian("g").fit(some[["g", "x"]], some["y"]).group_sizes_, [40])
    repeated = of_parts(*[TABLE[:20].reset_index(drop=True)] * 4)  # each part counts from 0
    assert_array_equal(DaskMondrian("g").fit(repeated, repeated["x"]).group_sizes_, [40, 40])


@pytest.mark.filterwarnings("ignore::plcp.RowOrderWarning")  # of the parts, before it is refused
def test_groups_and_outcomes_of_another_index_are_refused():
    turned = dd.from_pandas(SCORES[::-1], npartitions=4, sort=False)
    with pytest.raises(ValueError, match="groups has another index than X"):
        DaskMondrian().fit(FRAME, dd.from_pandas(SCORES, npartitions=4), groups=turned > 50)
    rule = DaskMondrian().fit(FRAME, dd.from_pandas(SCORES, npartitions=4), groups=FRAME["g"])
    with pytest.raises(ValueError, match="has another index than X"):
        rule.predict(FRAME, turned).compute()
    by_place = rule.predict(FRAME, FRAME["g"].to_dask_array(lengths=True))
    assert_array_equal(by_place, rule.predict(FRAME, FRAME["g"]))
    model = DaskConformalRegressor(Bare(), threshold=DaskSplitConformal())
    with pytest.raises(ValueError, match="y has another index than X"):
        model.fit(FRAME, turned)
