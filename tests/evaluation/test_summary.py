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
    *("failed", "lengths", "choice", "provenance", "notes"),
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
    assert result["failed"]["count"] == 3
    failed = result["failed"]["groups"]
    assert [group["name"] for group in failed] == ["kind is k2", "kind is k4", "kind is k1"]
    listed = {group["name"]: group["cells"] for group in result["named"][0]["groups"]}
    assert all(group["cells"] == listed[group["name"]] for group in failed)
    change = (
        "Split is below 90 % in 3 of 5 groups; PLCP in 1 of these and in 1 other. Most of all "
        "kind is k2: 50.0 % by Split, 88.5 % by PLCP."
    )
    assert [*result["headline"].values()][:2] == [None, change]
    lines = CoverageReport(result).to_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("kind is k2"))
    assert "50.0 %" in lines[first]
    assert "88.5 %" in lines[first]
    assert first < lines.index("By kind")
    assert lines.index("Below target by Split") < first


@pytest.mark.parametrize(
    ("split", "plcp", "change"),
    [
        ([900, 900], [900, 900], "Split is below 90 % in none of 2 groups, PLCP in none."),
        ([900, 900], [900, 800], "Split is below 90 % in none of 2 groups, PLCP in 1."),
        (
            [800, 900],
            [900, 900],
            "Split is below 90 % in 1 of 2 groups; PLCP in none of these. Most of all kind "
            "is k0: 80.0 % by Split, 90.0 % by PLCP.",
        ),
    ],
)
def test_the_change_is_counted(split, plcp, change):
    assert by_kind(split, plcp)["headline"]["change"] == change


def test_of_many_failed_groups_the_surest_are_shown():
    result = by_kind([850 - 10 * i for i in range(9)], [900] * 9)
    assert result["failed"]["count"] == 9
    assert [group["name"] for group in result["failed"]["groups"]] == [
        f"kind is k{i}" for i in (8, 7, 6, 5, 4)
    ]
    assert "Below target by Split, and 4 groups more below" in CoverageReport(result).to_text()


def test_rows_in_none_of_the_models_groups_are_not_measured():
    groups = model_groups(np.array([0, -1, 1, 0]), [1.0, 2.0])
    result = summarise({"ours": Outcome(np.array([1, 1, 0, 0], bool))}, alpha=0.1, learned=groups)
    cells = [group["cells"]["ours"] for group in result["learned"]["groups"]]
    assert [(cell["n"], cell["hits"]) for cell in cells] == [(2, 1), (1, 0)]
    assert result["n_rows"] == 4


def test_the_worst_place_is_the_surest_shortfall_with_split_beside_it(rng):
    result = report(rng)
    worst = result["learned"]["groups"][2]
    split, plcp = (worst["cells"][name] for name in ("Split", "PLCP"))
    assert plcp["verdict"] == "below"
    line = result["headline"]["worst"]
    assert line.startswith(f"Worst place: group 2: {100 * plcp['coverage']:.1f} % of {plcp['n']}")
    assert line.endswith(f"; Split: {100 * split['coverage']:.1f} %.")


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
    holds, worst = result["headline"]["holds"], result["headline"]["worst"]
    found = re.fullmatch(
        r"Covers (\S+) % of ([\d,]+) rows? \(95 % interval (\S+) to (\S+) %\): (.*)\.", holds
    )
    share, low, high = (float(found[i]) for i in (1, 3, 4))
    assert int(found[2].replace(",", "")) == whole["n"]
    assert abs(share - 100 * whole["coverage"]) <= 0.05 + 1e-9
    assert (share == 100) == (whole["hits"] == whole["n"])
    assert (share == 0) == (whole["hits"] == 0)
    assert low <= 100 * whole["low"] + 1e-9
    assert 100 * whole["high"] <= high + 1e-9
    assert found[5].startswith(whole["verdict"])
    assert (low >= 100 * target - 1e-9) == (whole["verdict"] == "above")
    assert (high < 100 * target) == (whole["verdict"] == "below")
    cells = [group["cells"]["ours"] for _, group in all_groups(result) if group["n"]]
    if len(cells) < 2:
        assert worst == "There are no groups to compare."
    else:
        short = [cell for cell in cells if cell["verdict"] == "below"]
        assert worst.startswith("Worst place: kind is k" if short else "No group is below")
        least = min(cells, key=lambda cell: cell["high_all"])
        assert (f"% of {least['n']:,} row" in worst) == (not covered.all())


PLACE = r"(\w+ is \w+): \S+ % of \S+ rows \((\S+) to (\S+) %, all (\d+) groups at once\)\."


def worst_of(misses, n=1000, **columns):
    """The line on the worst place, of rows the first of which are missed, by some columns."""
    covered = np.arange(n) >= misses
    result = summarise({"ours": Outcome(covered)}, alpha=0.1, frame=columns, by=[*columns])
    return result["headline"]["worst"], result


def test_the_worst_places_interval_allows_for_the_choice_among_all_lists():
    early = np.where(np.arange(1000) < 400, "yes", "no")
    line, _ = worst_of(100, early=early, parity=np.arange(1000) % 5, all=["a"] * 1000)
    place = re.fullmatch("Worst place: " + PLACE, line)
    # two groups and five; a column of one value is no choice of places
    assert (place[1], place[4]) == ("early is yes", "7")
    tail = 0.05 / 2 / 7
    low, high = beta.ppf(tail, 300, 101), beta.isf(tail, 301, 100)
    assert 0 <= 100 * low - float(place[2]) < 0.1
    assert 0 <= float(place[3]) - 100 * high < 0.1


def test_a_place_that_is_short_in_its_list_alone_is_not_called_the_worst():
    early = np.where(np.arange(1000) < 400, "yes", "no")
    by_chance = {f"c{i}": np.arange(1000) % 20 for i in range(3)}
    for misses in range(40, 80):
        alone, first = worst_of(misses, early=early)
        among, second = worst_of(misses, early=early, **by_chance)
        verdict = first["named"][0]["groups"][1]["cells"]["ours"]["verdict"]
        assert first["named"][0] == second["named"][0]
        if verdict == "below" and not among.startswith("Worst place"):
            break
    assert alone.startswith("Worst place: early is yes")
    result = "beyond chance among all of them, 1 within its list; closest to it, early is yes:"
    assert result in among


def test_of_places_without_a_miss_none_is_the_worst():
    kind = ["a"] * 50 + ["b"] * 50
    assert "none has a row that is missed" in worst_of(0, n=100, kind=kind)[0]
    assert "closest to it, kind is a" in worst_of(1, n=100, kind=kind)[0]


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


def test_a_worst_place_is_seldom_named_where_all_are_covered_alike(rng):
    runs, confidence, alarms = 150, 0.5, 0  # a low confidence: alarms are frequent enough to count
    for _ in range(runs):
        lists = {f"c{i}": rng.integers(0, 3, size=300) for i in range(6)}
        sets = Outcome(rng.random(300) < 0.7)
        result = summarise({"a": sets}, alpha=0.3, confidence=confidence, frame=lists, by=[*lists])
        alarms += result["headline"]["worst"].startswith("Worst place")
    # upper bounds err on one side only: half of 1 - confidence, however many lists there are
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
        assert texts.index(result[0]) < texts.index(summary["headline"]["holds"])
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
