"""The summary: one form of plain values, headlines that are true, histograms, violations."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as hnp
from markup import parse
from scipy.stats import beta, binom, binomtest

from bands import FALSE_ALARM
from plcp import PLCP, SoftmaxPartition, SplitConformal, TreePartition
from plcp.datasets import make_toy
from plcp.evaluation import (
    By,
    CoverageReport,
    Described,
    GroupList,
    Outcome,
    audit,
    choice_of,
    model_groups,
    summarise,
)
from plcp.evaluation.html import render_page
from plcp.evaluation.summary import BARS, all_groups, histogram
from plcp.tables import calibrate, choose_roles
from plcp.tables.report import summarise_model
from strategies import alphas, few

FORM = {
    *("format", "kind", "title", "subtitle", "alpha", "target", "confidence", "n_rows"),
    *("size_name", "methods", "headline", "overall", "learned", "named", "explanation"),
    *("failed", "guarantee", "lengths", "choice", "provenance", "notes"),
}
CELL = {"n", "hits", "coverage", "low", "high", "low_all", "high_all", "size", "verdict"}
GROUP = {
    *("name", "rule", "n", "share", "threshold", "cells", "special", "precision", "recall"),
}
COLUMNS = st.sampled_from(
    [
        st.floats(),
        st.integers(-5, 5),
        st.booleans(),
        st.text(max_size=3),
        st.none() | st.sampled_from(["a", "<b>", "\x1b[2J", "missing"]),
        st.datetimes(min_value=pd.Timestamp("1970-01-01"), max_value=pd.Timestamp("2200-01-01")),
        st.timedeltas(),
        st.decimals(-9, 9, places=2),
        st.sampled_from([1, "1", None, 2.5]),
        st.none(),
    ]
)


@st.composite
def odd_tables(draw):
    """A table with one odd column, and what happened to its rows."""
    n = draw(st.integers(1, 40))
    column = draw(st.lists(draw(COLUMNS), min_size=n, max_size=n))
    name = draw(st.text(min_size=1, max_size=5).filter(lambda name: name not in ("y", "lo", "hi")))
    ends = st.lists(st.floats(0, 9) | st.just(np.inf), min_size=n, max_size=n)
    table = {"y": draw(ends), "lo": [0.0] * n, "hi": draw(ends), name: pd.Series(column)}
    return pd.DataFrame(table), name


def check_form(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary  # and no tuples, no numpy
    assert {*summary} == FORM
    assert all({*cell} == CELL for cell in summary["overall"].values())
    for _, group in all_groups(summary):
        assert {*group} == GROUP
        assert [*group["cells"]] == summary["methods"]
        assert all({*cell} == CELL for cell in group["cells"].values())


@few
@given(odd_tables(), alphas)
def test_any_table_gives_strict_json_of_one_form(drawn, alpha):
    frame, name = drawn
    options = {"target": "y", "lower": "lo", "upper": "hi", "alpha": alpha}
    summary = audit(frame, by=[By(name)], **options).to_dict()
    check_form(summary)
    groups = summary["named"][0]["groups"]
    assert sum(group["n"] for group in groups) == summary["n_rows"]
    assert len({group["name"] for group in groups}) == len(groups)


def report(rng, n=500, **options):
    codes = rng.integers(0, 3, size=n)
    covered = rng.random(n) < np.array([0.99, 0.9, 0.5])[codes]
    outcomes = {
        "Split": Outcome(rng.random(n) < 0.9, np.full(n, 2.0)),
        "PLCP": Outcome(covered, rng.exponential(size=n)),
    }
    explained = {
        "fidelity": 0.9,
        "order": np.nan,
        "importance": [{"feature": "age", "value": 0.5, "error": 0.1}],
        "sensitive": [],
        "groups": [
            {
                "group": 1,
                "name": "group 1: old",
                "rule": "age > 60",
                "precision": 0.5,
                "recall": 0.75,
                "profile": [{"text": "older"}],
            }
        ],
    }
    learned = model_groups(codes, [1.0, 2.0, np.inf], explained)
    return summarise(outcomes, alpha=0.1, learned=learned, explanation=explained, **options)


def test_a_report_has_the_models_groups_with_their_words(rng):
    result = report(
        rng, size_name="length", guarantee="It holds.", provenance={"seed": np.int64(3)}
    )
    check_form(result)
    first, second, third = result["learned"]["groups"]
    assert (first["name"], first["rule"], first["special"]) == ("group 0", None, [])
    assert (second["name"], second["rule"]) == ("group 1: old", "age > 60")
    assert (second["threshold"], second["special"]) == (2.0, ["older"])
    assert third["threshold"] == "inf"
    assert (second["precision"], second["recall"], first["recall"]) == (0.5, 0.75, None)
    assert {*result["explanation"]} == {"fidelity", "order", "importance", "sensitive"}
    assert result["explanation"]["order"] is None
    assert result["provenance"] == [{"name": "seed", "value": "3"}]
    assert result["headline"]["guarantee"] == "It holds."


def by_kind(split, plcp, n=1000):
    """A summary of two methods in groups of n rows, by how many of them each method covers."""
    kind = np.repeat([f"k{i}" for i in range(len(split))], n)
    outcomes = {
        name: Outcome(np.concatenate([np.arange(n) < hits for hits in counts]))
        for name, counts in (("Split", split), ("PLCP", plcp))
    }
    return summarise(outcomes, alpha=0.1, frame={"kind": kind}, by=["kind"])


def test_who_was_failed_and_no_longer_is_comes_first():
    result = by_kind([960, 700, 500, 900, 600], [900, 890, 885, 700, 650])
    check_form(result)
    assert result["failed"]["count"] == 4
    failed = result["failed"]["groups"]
    assert [group["name"] for group in failed] == [f"kind is k{i}" for i in (2, 4, 3, 1)]
    listed = {group["name"]: group["cells"] for group in result["named"][0]["groups"]}
    assert all(group["cells"] == listed[group["name"]] for group in failed)
    finding = "Split fails 3 of 5 groups; PLCP fails 1 of them and 1 other."
    assert [*result["headline"].values()][:2] == [None, finding]
    lines = CoverageReport(result).to_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("kind is k2"))
    assert "50.0 %" in lines[first]
    assert "88.5 %" in lines[first]
    assert first < lines.index("By kind")
    assert lines.index(finding) < first


@pytest.mark.parametrize(
    ("split", "plcp", "finding"),
    [
        ([900, 900], [900, 900], "Split fails none of 2 groups; PLCP fails none."),
        ([900, 900], [900, 800], "Split fails none of 2 groups; PLCP fails 1."),
        ([800, 900], [900, 900], "Split fails 1 of 2 groups; PLCP fails none of them."),
        ([800, 900], [800, 700], "Split fails 1 of 2 groups; PLCP fails 1 of them and 1 other."),
        (
            [800, 900, 900],
            [900, 800, 800],
            "Split fails 1 of 3 groups; PLCP fails none of them and 2 others.",
        ),
    ],
)
def test_groups_that_fail_are_counted(split, plcp, finding):
    assert by_kind(split, plcp)["headline"]["finding"] == finding


def test_of_many_failed_groups_those_of_lowest_coverage_are_shown():
    split = [850 - 10 * i for i in range(12)]
    result = by_kind(split, [900] * 12)
    assert result["failed"]["count"] == 12
    shown = [group["name"] for group in result["failed"]["groups"]]
    assert shown == [f"kind is k{i}" for i in range(11, 3, -1)]
    about = (
        "Shown: those that Split fails, lowest coverage first; the lists of all groups have 4 more."
    )
    assert result["failed"]["about"] == about
    # what the last method fails is never left out
    shown = by_kind(split, [800] + [900] * 11)["failed"]["groups"]
    assert "kind is k0" in [group["name"] for group in shown]
    assert len(shown) == 8


def test_where_no_group_fails_those_of_lowest_coverage_are_shown():
    result = by_kind([900] * 7, [900 + i for i in range(7)])
    assert [group["name"] for group in result["failed"]["groups"]] == [
        f"kind is k{i}" for i in range(5)
    ]
    assert result["failed"]["count"] == 0
    about = "Shown: those of lowest coverage; the lists of all groups have 2 more."
    assert result["failed"]["about"] == about


def test_of_a_guarantee_the_first_sentence_is_the_headline():
    sets = {"ours": Outcome(np.ones(3, dtype=bool))}
    found = summarise(sets, alpha=0.1, guarantee="P(covered) >= 0.9 on average. Rows draw.")
    assert found["headline"]["guarantee"] == "P(covered) >= 0.9 on average."
    assert found["guarantee"] == "P(covered) >= 0.9 on average. Rows draw."


def test_rows_in_none_of_the_models_groups_are_not_measured():
    groups = model_groups(np.array([0, -1, 1, 0]), [1.0, 2.0])
    result = summarise({"ours": Outcome(np.array([1, 1, 0, 0], bool))}, alpha=0.1, learned=groups)
    cells = [group["cells"]["ours"] for group in result["learned"]["groups"]]
    assert [(cell["n"], cell["hits"]) for cell in cells] == [(2, 1), (1, 0)]
    assert result["n_rows"] == 4


@few
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), min_size=1, max_size=4).filter(
        lambda counts: any(map(sum, counts))
    ),
    alphas,
)
def test_the_headline_is_true(counts, alpha):
    covered = np.concatenate([np.repeat([True, False], pair) for pair in counts])
    kind = np.repeat([f"k{i}" for i in range(len(counts))], [sum(pair) for pair in counts])
    result = summarise({"ours": Outcome(covered)}, alpha=alpha, frame={"kind": kind}, by=["kind"])
    whole, target = result["overall"]["ours"], result["target"]
    assert (whole["n"], whole["hits"]) == (len(covered), covered.sum())
    cells = [group["cells"]["ours"] for _, group in all_groups(result) if group["n"]]
    bad = [cell for cell in cells if clopper(cell, (1 - 0.95) / 2 / len(cells))[1] < target]
    finding = result["headline"]["finding"]
    if len(cells) < 2:
        assert finding.endswith("rows; there are no groups to compare.") or len(covered) == 1
        assert result["headline"]["fails"] is None
    else:
        count = re.fullmatch(r"(\d+|None) of (\d+) groups fails?\.", finding)
        assert (count[1], count[2]) == (str(len(bad) or None), str(len(cells)))
        assert result["failed"]["count"] == len(bad)


def clopper(cell, tail):
    """Exact bounds, by the quantiles of the beta law."""
    hits, misses = cell["hits"], cell["n"] - cell["hits"]
    return (
        beta.ppf(tail, hits, misses + 1) if hits else 0.0,
        beta.isf(tail, hits + 1, misses) if misses else 1.0,
    )


def test_intervals_hold_for_the_groups_of_all_columns_at_once():
    early = np.where(np.arange(1000) < 400, "yes", "no")
    columns = {"early": early, "parity": np.arange(1000) % 5, "all": ["a"] * 1000}
    sets = Outcome(np.arange(1000) >= 100)
    result = summarise({"ours": sets}, alpha=0.1, frame=columns, by=[*columns])
    for _, group in all_groups(result):
        cell = group["cells"]["ours"]
        expected = clopper(cell, 0.05 / 2 / 8)  # two groups, five and one
        assert (cell["low_all"], cell["high_all"]) == pytest.approx(expected)
        assert (cell["low"], cell["high"]) == pytest.approx(clopper(cell, 0.05 / 2))
    # a column of one value is no choice of groups
    assert result["headline"]["finding"] == "1 of 7 groups fails."


def test_a_warning_is_shown_before_all_else():
    result = summarise({"ours": Outcome(np.ones(3, dtype=bool))}, alpha=0.1, warning="Beware.")
    assert next(iter(result["headline"])) == "warning"
    assert CoverageReport(result).to_text().splitlines()[3] == "Beware."


def test_the_order_of_rows_matters_to_nothing_but_the_halves(rng):
    frame = pd.DataFrame(
        {
            "y": rng.normal(size=400),
            "lo": -1.6,
            "hi": rng.uniform(1, 2, size=400),
            "age": rng.integers(18, 80, size=400),
            "sex": rng.choice(["f", "m", None], size=400),
        }
    )
    options = {"target": "y", "lower": "lo", "upper": "hi", "by": "sex,age:4"}
    shuffled = frame.sample(frac=1, random_state=1)
    one, other = (audit(table, **options).to_dict() for table in (frame, shuffled))
    assert rounded(one["overall"]) == rounded(other["overall"])
    assert rounded(one["named"]) == rounded(other["named"])
    assert one["lengths"] == other["lengths"]
    assert one["headline"] == other["headline"]


def rounded(part):
    """Means of sizes depend on the order of a sum in the last digit."""
    return json.loads(json.dumps(part), parse_float=lambda text: round(float(text), 9))


def test_groups_by_a_column_need_the_table():
    with pytest.raises(ValueError, match="need the table: pass frame"):
        summarise({"ours": Outcome(np.ones(3, dtype=bool))}, alpha=0.1, by=["sex"])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        summarise({"ours": Outcome(np.ones(3, dtype=bool))}, alpha=0.1, frame={"a": [1]}, by=["a"])


def test_groups_seldom_fail_where_all_are_covered_alike(rng):
    runs, confidence, alarms = 150, 0.5, 0  # a low confidence: alarms are frequent enough to count
    for _ in range(runs):
        lists = {f"c{i}": rng.integers(0, 3, size=300) for i in range(6)}
        sets = Outcome(rng.random(300) < 0.7)
        result = summarise({"a": sets}, alpha=0.3, confidence=confidence, frame=lists, by=[*lists])
        alarms += result["failed"]["count"] > 0
    # upper bounds err on one side only: half of 1 - confidence, however many columns there are
    assert alarms <= binom.isf(FALSE_ALARM, runs, (1 - confidence) / 2)


@pytest.fixture(scope="module")
def task():
    return make_toy(1500, random_state=0)


def test_a_search_is_reported_as_its_curve(task):
    rule = PLCP(TreePartition(), calibration="joint", random_state=0).fit(task.X, task.scores)
    choice = choice_of(rule)
    tried = {step["n_groups"]: step["held_out"] for step in rule.history_ if "held_out" in step}
    assert {point["n_groups"]: point["loss"] for point in choice["points"]} == tried
    numbers = [point["n_groups"] for point in choice["points"]]
    assert len(numbers) > 1
    assert numbers == sorted(numbers)
    assert choice["chosen"] == rule.n_groups_


def test_a_curve_rises_by_the_number_of_groups_not_by_loss():
    tried = [{"n_groups": m, "held_out": loss} for m, loss in ((4, 0.2), (1, 0.3), (2, 0.1))]
    history = [*tried, {"held_out": 1.0}, {"loss": 0.5}]
    rule = SimpleNamespace(n_groups="auto", n_groups_=2, history_=history)
    points = choice_of(rule)["points"]
    assert [(point["n_groups"], point["loss"]) for point in points] == [
        (1, 0.3),
        (2, 0.1),
        (4, 0.2),
    ]


def test_a_number_that_was_requested_or_follows_from_the_rows_has_no_curve(task):
    requested = PLCP(SoftmaxPartition(), n_groups=2, calibration="joint", random_state=0)
    choice = choice_of(requested.fit(task.X, task.scores))
    assert choice["points"] == []
    assert choice["about"] == "Groups requested: 2."
    default = choice_of(PLCP(random_state=0).fit(task.X, task.scores))
    assert default["points"] == []
    assert "One group for 200 calibration rows" in default["about"]


def test_a_rule_without_learned_groups_chose_nothing(task):
    assert choice_of(SplitConformal().fit(task.X, task.scores)) is None


sizes = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        *(
            hnp.arrays(float, n, elements=st.floats(0, 1e12) | st.sampled_from([0.0, 3.0, np.inf]))
            for _ in range(2)
        )
    )
)


def outcome(size):
    return Outcome(np.ones(len(size), dtype=bool), np.asarray(size, dtype=float))


@few
@given(sizes)
def test_every_finite_set_is_in_one_bar(drawn):
    found = histogram({"Split": outcome(drawn[0]), "PLCP": outcome(drawn[1])}, labels=False)
    if not np.isfinite(drawn).any() or len(np.unique(drawn)) == 1:
        assert found is None
        return
    assume(found is not None)  # sizes that differ by less than a billionth count as one
    edges = np.array(found["edges"])
    assert (np.diff(edges) > 0).all()
    assert 2 <= len(edges) <= BARS + 3
    for size, counts in zip(drawn, found["counts"].values(), strict=True):
        finite = size[np.isfinite(size)]
        assert sum(counts) == len(finite)
        # all but the last bar, which also has what is larger, by counting
        for i, count in enumerate(counts[:-1]):
            slack = 1e-9 * edges[-1]
            assert count >= ((finite >= edges[i] + slack) & (finite < edges[i + 1] - slack)).sum()
            assert count <= ((finite >= edges[i] - slack) & (finite < edges[i + 1] + slack)).sum()
    for name, size in zip(("Split", "PLCP"), drawn, strict=True):
        infinite = np.isinf(size).sum()
        assert (f"infinite set of {name}" in found["note"]) == (infinite > 0)


@few
@given(hnp.arrays(float, st.integers(1, 40), elements=st.integers(0, 25).map(float)))
def test_numbers_of_labels_have_a_bar_each(size):
    found = histogram({"ours": outcome(size)}, labels=True)
    if len(np.unique(size)) == 1:
        assert found is None
        return
    edges = np.array(found["edges"])
    np.testing.assert_allclose(np.diff(edges), 1)
    centres = (edges[:-1] + edges[1:]) / 2
    assert found["counts"]["ours"] == [int((size == centre).sum()) for centre in centres]


def test_edges_are_round_and_a_long_tail_shares_the_last_bar(rng):
    size = np.r_[rng.uniform(0, 30, size=1000), 5000.0]
    found = histogram({"ours": outcome(size)}, labels=False)
    assert found["edges"][:3] == [0, 1, 2]
    assert len(found["edges"]) <= BARS + 3
    assert found["note"] == "The last bar holds all larger sets too, up to 5000."
    assert sum(found["counts"]["ours"]) == 1001


@pytest.mark.parametrize("size", [0.0, 3.4, 1e-320, 1e99])
def test_one_size_is_reported_by_its_mean_unless_others_are_infinite(size):
    assert histogram({"ours": outcome([size] * 7)}, labels=False) is None
    found = histogram({"ours": outcome([size] * 7 + [np.inf])}, labels=False)
    assert sum(count > 0 for count in found["counts"]["ours"]) == 1
    assert sum(found["counts"]["ours"]) == 7
    assert found["note"] == "1 row with an infinite set of ours not shown."


RUNS = 400


def summary_of(covered, confidence=0.95, **options):
    return summarise({"ours": Outcome(covered)}, alpha=0.1, confidence=confidence, **options)


@pytest.mark.parametrize("hits", range(60, 101, 4))
def test_all_rows_fail_where_the_exact_upper_bound_is_below(hits):
    covered = np.arange(100) < hits
    high = binomtest(hits, 100).proportion_ci(0.95, "exact").high
    for least in (0.5, 0.75, 0.9):
        assert bool(CoverageReport(summary_of(covered)).violations(least)) == (high < least)


@pytest.mark.parametrize("hits", range(76, 90))
def test_a_group_fails_by_the_bound_for_all_groups_at_once(hits):
    codes = np.repeat(np.arange(5), 100)
    covered = np.concatenate([np.arange(100) < hits, np.ones(400, dtype=bool)])
    learned = GroupList([Described(f"g{i}") for i in range(5)], codes, "")
    high = binomtest(hits, 100).proportion_ci(1 - 0.05 / 5, "exact").high
    found = CoverageReport(summary_of(covered, learned=learned)).violations(0.9)
    assert [line.split(":")[0] for line in found] == ["g0"] * (high < 0.9)


def test_named_and_learned_groups_fail_by_name():
    covered = np.r_[np.ones(300, dtype=bool), np.zeros(30, dtype=bool)]
    codes = np.repeat([0, 1, 2], [300, 29, 1])
    learned = GroupList([Described("good"), Described("bad"), Described("one")], codes, "")
    summary = summary_of(
        covered, learned=learned, frame={"kind": np.where(codes, "b", "g")}, by=["kind"]
    )
    found = CoverageReport(summary).violations(0.8)
    assert [line.split(":")[0] for line in found] == ["bad", "kind is b"]
    assert found[0].startswith("bad: covers 0 % of 29 rows (0.0 to ")
    assert found[0].endswith("below 80 %.")


def test_the_last_method_is_judged():
    good, bad = Outcome(np.ones(50, dtype=bool)), Outcome(np.zeros(50, dtype=bool))
    assert CoverageReport(summarise({"a": bad, "b": good}, alpha=0.1)).violations(0.9) == []
    assert len(CoverageReport(summarise({"a": good, "b": bad}, alpha=0.1)).violations(0.9)) == 1


def test_false_alarms_are_as_rare_as_promised(rng):
    confidence, alarms = 0.5, 0
    for _ in range(RUNS):
        codes = rng.integers(0, 5, size=200)
        frame = {"kind": codes.astype(str), "half": rng.choice(["a", "b"], size=200)}
        summary = summary_of(rng.random(200) < 0.9, confidence, frame=frame, by=["kind", "half"])
        alarms += bool(CoverageReport(summary).violations(0.9))
    # all rows, no learned groups, and two named columns: three lists that can err
    assert alarms <= binom.isf(FALSE_ALARM, RUNS, 3 * (1 - confidence) / 2)


@pytest.mark.parametrize("least", [0, 1, 90])
def test_what_is_no_share_is_refused(least):
    with pytest.raises(ValueError, match="fail_under must lie in"):
        CoverageReport(summary_of(np.ones(3, dtype=bool))).violations(least)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    noise = rng.normal(size=n) * (1 + 4 * (x > 0))
    return pa.table({"x": x, "yhat": x, "y": x + noise, "w": rng.integers(1, 3, n)})


def model(weight=None, **options):
    table = rows(200, seed=0)
    roles = choose_roles(
        table.column_names, target="y", prediction="yhat", features="x", weight=weight
    )
    return calibrate(table, roles, about={"digest": "c0ffee"}, method="split", **options)


@pytest.mark.parametrize("digest", [None, "beef", "c0ffee"])
def test_rows_that_were_calibrated_on_prove_nothing(digest):
    summary = summarise_model(model(), rows(200, seed=1), digest=digest).to_dict()
    page = parse(render_page(summary))
    result = [text for text in page.texts if "proves nothing" in text]
    if digest == "c0ffee":
        assert result == [summary["headline"]["warning"]]
        texts = list(page.texts)
        assert texts.index(result[0]) < texts.index(summary["headline"]["finding"])
    else:
        assert not result
        assert summary["headline"]["warning"] is None
    sources = {one["name"]: one["value"] for one in summary["provenance"]}
    assert sources.get("SHA-256 of the test file") == digest


def test_without_a_digest_of_the_calibration_rows_nothing_is_alleged():
    table = rows(50, seed=0)
    roles = choose_roles(table.column_names, target="y", prediction="yhat", features="x")
    unknown = calibrate(table, roles, method="split")
    assert summarise_model(unknown, table).headline["warning"] is None


@pytest.mark.parametrize("weight", [None, "w"])
def test_it_is_said_that_weights_do_not_count_on_the_page(weight):
    notes = " ".join(summarise_model(model(weight), rows(50, seed=1)).summary["notes"])
    assert ("weighted by 'w'; here every row counts once" in notes) == (weight is not None)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_model_of_one_group_is_searched_for_rows_it_fails(groups):
    table = rows(400, seed=0)
    roles = choose_roles(table.column_names, target="y", prediction="yhat", features="x")
    learned = calibrate(table, roles, method="plcp-split", groups=groups)
    summary = summarise_model(learned, rows(100, seed=1)).to_dict()
    assert summary["learned"]["about"].startswith("No kinds of rows") == (groups == 1)
    assert (summary["explanation"] is None) == (groups == 1)
    assert summary["choice"]["chosen"] == groups
