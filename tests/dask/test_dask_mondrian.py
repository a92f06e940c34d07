"""Mondrian on Dask: the local rule, to the last bit, wherever labels and rows lie."""

import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from plcp import Mondrian
from plcp.dask import DaskMondrian
from plcp.thresholds.mondrian import distinct
from strategies import alphas, few

LABELS = {
    "text": st.sampled_from(["a", "bb", "c, d", "éé"]),
    "whole numbers": st.integers(-2, 2),
    "numbers": st.sampled_from([0.0, -1.5, 1e300]),
    "booleans": st.booleans(),
}


@st.composite
def cut_groups(draw, kinds=tuple(LABELS)):
    """Scores with ties, two labels a row, and the lengths of parts."""
    n = draw(st.integers(1, 40))
    label = LABELS[draw(st.sampled_from(kinds))]
    labels = draw(st.lists(st.tuples(label, label), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(0, 9).map(float), min_size=n, max_size=n))
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    table = pd.DataFrame(labels, columns=["g", "h"]).assign(s=scores)
    return table, np.diff([0, *ends, n]).tolist()


def cut(table, lengths):
    """Return the table in parts, some of them empty."""
    ends = np.cumsum(lengths)
    parts = [table[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    return dd.from_delayed([delayed(part) for part in parts], meta=table[:0])


def fit(rule, *args, **groups):
    """Fit the rule, and return it with what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule.fit(*args, **groups)
    return rule, [(w.category, str(w.message)) for w in caught]


def assert_equal(found, expected):
    assert found[1] == expected[1]  # warnings
    for name in ("groups_", "thresholds_", "group_sizes_"):
        ours, theirs = getattr(found[0], name), getattr(expected[0], name)
        assert ours.dtype == theirs.dtype
        assert_array_equal(ours, theirs)
    assert found[0].guarantee_ == expected[0].guarantee_


@few
@given(cut_groups(), alphas, st.sampled_from(["g", 1, ["h", "g"], lambda X: X["h"]]))
def test_columns_of_a_frame_are_groups_as_they_are_locally(drawn, alpha, groups):
    table, lengths = drawn
    lazy, X = cut(table, lengths), table[["g", "h"]]
    local = fit(Mondrian(groups, alpha), X, table["s"])
    rule = fit(DaskMondrian(groups, alpha), lazy[["g", "h"]], lazy["s"])
    assert_equal(rule, local)
    thresholds = rule[0].predict(lazy[["g", "h"]]).compute()
    assert_array_equal(thresholds, local[0].predict(X))


@few
@given(cut_groups(kinds=("whole numbers", "numbers")), alphas)
def test_labels_may_be_handed_over_as_arrays(drawn, alpha):
    table, lengths = drawn
    X, scores, labels = np.zeros((len(table), 1)), table["s"].to_numpy(), table["g"].to_numpy()
    chunks = tuple(lengths)
    lazy = da.from_array(X, chunks=(chunks, 1)), da.from_array(scores, chunks=(chunks,))
    lazy_labels = da.from_array(labels, chunks=7)
    local = fit(Mondrian(None, alpha), X, scores, groups=labels)
    rule = fit(DaskMondrian(None, alpha), *lazy, groups=lazy_labels)
    assert_equal(rule, local)
    assert_array_equal(rule[0].predict(lazy[0], lazy_labels), local[0].predict(X, labels))


def world(n=80, n_parts=4):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": rng.choice(["a", "b"], n), "x": rng.normal(size=n)})
    table["s"] = rng.normal(size=n) + (table["g"] == "b") * 5
    return table, dd.from_pandas(table, npartitions=n_parts)


def test_a_matrix_of_groups_and_one_in_a_frame_with_names(any_client):
    table, lazy = world()
    members = pd.DataFrame({"low": table["x"] < 0, "high": table["x"] >= 0})
    lazy_members = dd.from_pandas(members, npartitions=4)
    local = Mondrian().fit(table[["x"]], table["s"], groups=members)
    rule = DaskMondrian(client=any_client).fit(lazy[["x"]], lazy["s"], groups=lazy_members)
    assert_array_equal(rule.groups_, ["high", "low"])
    assert_array_equal(rule.thresholds_, local.thresholds_)
    thresholds = rule.predict(lazy[["x"]], lazy_members)
    expected = local.predict(table[["x"]], members)
    assert_array_equal(thresholds.compute(scheduler=any_client or "threads"), expected)


def test_categories_are_labels(any_client):
    table, lazy = world()
    lazy = lazy.assign(g=lazy["g"].astype("category"))
    rule = DaskMondrian("g", client=any_client).fit(lazy[["g", "x"]], lazy["s"])
    local = Mondrian("g").fit(table[["g", "x"]], table["s"])
    assert_array_equal(rule.groups_, local.groups_)
    assert_array_equal(rule.thresholds_, local.thresholds_)
    assert type(rule.to_local()) is Mondrian


def test_a_group_seen_in_one_part_only_and_one_never_seen():
    table, lazy = world()
    rare = lazy.assign(g=lazy["g"].where(lazy["x"] < 2, "rare"))
    expected = table["g"].where(table["x"] < 2, "rare")
    rule, told = fit(DaskMondrian("g"), rare[["g"]], lazy["s"])
    assert "rare" in str(told[0][1])
    assert_array_equal(rule.group_sizes_, expected.value_counts().sort_index())
    new = lazy[["g"]].assign(g="new")
    with pytest.warns(UserWarning, match="new.* were not seen in calibration"):
        assert np.isinf(rule.predict(new).compute()).all()


def test_a_row_without_label_is_named_with_its_part(any_client):
    table, lazy = world()
    gap = table["g"].where(table.index != 45)
    lazy = lazy.assign(g=dd.from_pandas(gap, npartitions=4))
    with pytest.raises(ValueError, match=r"part 2 of 4.*no label at row 5"):
        DaskMondrian("g", client=any_client).fit(lazy[["g"]], lazy["s"])


def as_codes(part, partition_info=None):
    return part.assign(g=np.arange(len(part))) if partition_info["number"] == 1 else part


def test_labels_of_another_type_in_one_part():
    _, lazy = world()
    mixed = lazy.map_partitions(as_codes, meta=lazy._meta, enforce_metadata=False)
    with pytest.raises(ValueError, match=r"labels of several types \(int.*, str\)"):
        DaskMondrian().fit(lazy[["g"]], lazy["s"], groups=mixed["g"])
    with pytest.raises(ValueError, match=r"part 1 of \d.*column 'g' of X holds numbers"):
        DaskMondrian("g").fit(mixed[["g"]], lazy["s"])


def test_what_no_part_could_give_is_refused_at_once():
    _, lazy = world()
    X = lazy[["x"]]
    for rule, groups, told in [
        (DaskMondrian("g"), None, "names the column 'g', but X has only"),
        (DaskMondrian(["x", 3]), None, "names the column 3"),
        (DaskMondrian("x"), lazy["g"], "given twice"),
        (DaskMondrian(), None, "groups is None: name a column"),
    ]:
        with pytest.raises(ValueError, match=f"^groups.*{told}|^{told}"):
            rule.fit(X, lazy["s"], groups)


def test_distinct_labels_of_blocks_are_those_of_all():
    nothing = distinct(np.empty(0), None)
    parts = [distinct(np.array(labels), None) for labels in (["b"], ["ccc", "a"], ["b"])]
    joined = nothing + parts[0] + parts[1] + nothing + parts[2]
    assert joined.labels.tolist() == ["a", "b", "ccc"]
    assert joined.labels.dtype == "<U3"
    with pytest.raises(ValueError, match=r"several types \(int, str\): give them one type"):
        joined + distinct(np.array([1, 2]), None)
