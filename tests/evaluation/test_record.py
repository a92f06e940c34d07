"""A certificate handed on: dict, JSON, frame and page, and back."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from plcp import Certificate, ConformalRegressor, InfiniteThresholdWarning, SplitConformal, certify

NOON = datetime(2024, 7, 7, 12, tzinfo=UTC)


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture
def certificate(rng):
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["age", "größe"])
    y = X["age"] + rng.normal(size=400)
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(), random_state=0)
    model.fit(X[:200], y[:200])
    old = X["age"][200:] > 0
    groups = {"old": old, "a name much longer than there is room for on a page " * 3: ~old}
    return certify(model, X[200:], y[200:], groups=groups, made_at=NOON)


@pytest.fixture
def unbounded(rng):
    """One of a rule with too few points: every set is everything."""
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    model = ConformalRegressor(LinearRegression(), threshold=SplitConformal(), random_state=0)
    with pytest.warns(InfiniteThresholdWarning, match="the set holds every outcome"):
        model.fit(X[:10], y[:10])
    return certify(model, X[10:], y[10:])


def test_round_trip(certificate, tmp_path):
    text = certificate.to_json(tmp_path / "certificate.json")
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert Certificate.from_json(text) == certificate
    assert Certificate.from_json(tmp_path / "certificate.json") == certificate
    assert Certificate.from_json(str(tmp_path / "certificate.json")) == certificate
    assert json.loads(text, parse_constant=refuse) == certificate.to_dict()


def test_infinite_sizes(unbounded):
    assert unbounded.groups[0].size == np.inf
    text = unbounded.to_json()
    assert json.loads(text, parse_constant=refuse)["groups"][0]["size"] == "inf"
    assert Certificate.from_json(text) == unbounded
    assert "CAUTION: 20 of 20 rows have an infinite threshold" in str(unbounded)
    assert "label" not in unbounded.cautions[0]  # its sets are intervals


def test_a_frame_has_a_row_a_group(certificate):
    frame = certificate.to_pandas()
    assert frame["group"].tolist() == [group.group for group in certificate.groups]
    assert frame["n"].tolist() == [group.n for group in certificate.groups]
    assert list(frame.columns) == [
        field.name for field in dataclasses.fields(certificate.groups[0])
    ]


def test_it_says_what_it_is_about(certificate):
    assert certificate.rule == "ConformalRegressor"
    assert certificate.parameters["threshold"] == "SplitConformal()"
    assert certificate.guarantee.startswith("P(covered) >= 0.9")
    assert (certificate.alpha, certificate.target, certificate.confidence) == (0.1, 0.87, 0.95)
    assert (certificate.n_rows, certificate.n_columns) == (200, 2)
    assert certificate.column_names == ("age", "größe")
    assert certificate.outcomes == "labels"
    assert certificate.versions["numpy"] == np.__version__
    assert any("train, tune or calibrate" in sentence for sentence in certificate.assumptions)
    assert certificate.cautions == ()


def test_time_is_utc(certificate):
    assert certificate.made_at == "2024-07-07T12:00:00+00:00"
    rule = SplitConformal().fit(np.zeros((20, 1)), np.arange(20))
    later = NOON.astimezone(timezone(timedelta(hours=5)))
    assert certify(rule, [[0.0]], [1.5], made_at=later).made_at == certificate.made_at
    before = datetime.now(UTC).replace(microsecond=0)
    made = datetime.fromisoformat(certify(rule, [[0.0]], [1.5]).made_at)
    assert before <= made <= datetime.now(UTC)
    with pytest.raises(ValueError, match="made_at must name its time zone"):
        certify(rule, [[0.0]], [1.5], made_at=datetime(2024, 7, 7))


def test_nothing_can_be_changed(certificate):
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.alpha = 0.2
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.groups[0].low = 0.99


def test_the_page_is_narrow_and_tells_all(certificate):
    text = str(certificate)
    assert text == certificate.to_text()
    assert max(map(len, text.splitlines())) <= 100
    flat = " ".join(text.split())
    for part in (*certificate.assumptions, certificate.guarantee, certificate.fingerprint):
        assert part in flat
    assert all(f"{name} {number}" in flat for name, number in certificate.versions.items())


def test_bounds_on_the_page_are_rounded_to_the_safe_side(certificate):
    lines = certificate.to_text().splitlines()
    for group in certificate.groups:
        (line,) = [line for line in lines if f"  {group.coverage:.4f}  " in line]
        each, together = line.split(f"{group.coverage:.4f}")[1].split()[:2]
        for shown, low, high in (
            (each, group.low, group.high),
            (together, group.low_all, group.high_all),
        ):
            left, right = map(float, shown.split("–"))
            assert low - 0.001 <= left <= low < high <= right <= high + 0.001


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda values: values.update(format="plcp certificate 2"), "of format"),
        (lambda values: values.clear(), r"without \['alpha'"),
        (lambda values: values.update(note="fine"), r"with \['note'\]"),
        (lambda values: values["groups"][1].pop("hits"), r"without \['hits'\]"),
        (lambda values: values["groups"][1].update(note="fine"), r"with \['note'\]"),
        (lambda values: values.update(groups=["all"]), "without"),
    ],
)
def test_what_is_no_certificate_is_refused(certificate, change, fault):
    values = certificate.to_dict()
    change(values)
    with pytest.raises(ValueError, match=f"no certificate but values {fault}.*those of to_dict"):
        Certificate.from_dict(values)


def page_of(n, groups, **options):
    """Page of a rule that covers nine of ten rows, on rows that show just that."""
    rule = SplitConformal().fit(np.zeros((19, 1)), np.arange(19.0))
    scores = np.arange(n) % 10 * 2.0
    return certify(rule, np.zeros((n, 1)), scores, groups=groups, **options).to_text()


def test_the_first_lines_say_it_all():
    """One group covered for sure, one not for sure, one open, of bounds that hold at once."""
    rule = SplitConformal().fit(np.zeros((19, 1)), np.arange(19.0))
    scores = np.r_[np.zeros(300), np.full(300, 99.0), np.zeros(3)]
    groups = np.repeat(["good", "bad", "few"], [300, 300, 3])
    found = certify(rule, np.zeros((603, 1)), scores, groups=groups)
    flat = " ".join(found.to_text().split())
    assert "Here 303 of 603 did. With 95 % confidence the true probability lies between" in flat
    assert "Verdict on all rows together: below 0.87." in flat
    assert "Of 3 groups, beside the target 0.87: 1 above, 1 below, 1 undecided." in flat
    assert "Groups below the target: bad." in flat
    kept = groups != "bad"
    without = certify(rule, np.zeros((303, 1)), scores[kept], groups=groups[kept])
    least = np.floor(1000 * without.groups[1].low_all) / 1000
    assert f"and in no group below {least:.3f} (few)" in " ".join(without.to_text().split())


def test_columns_that_would_say_nothing_are_left_out():
    alone, two = page_of(400, None, target=0.5), page_of(400, np.arange(400) % 2, target=0.5)
    assert "all at once" not in alone
    assert "all at once" in two
    assert "% bounds  all at once" in page_of(400, np.zeros(400, dtype=int))  # the column itself
    assert "mean size" not in two  # scores alone have no sets
    assert "rows needed" not in alone.lower()
    assert "rows needed" in page_of(400, None, target=0.91).lower()


def test_a_bound_of_zero_is_not_boasted_of():
    few, many = (" ".join(page_of(400, np.arange(400) % k).split()) for k in (200, 2))
    assert "in no group below" not in few
    assert "in no group below" in many


def test_names_of_groups_stay_in_their_line():
    half = np.arange(20) < 10
    text = page_of(20, {"two\n lines": half, "": ~half})
    assert [line[:9] for line in text.splitlines() if line[:3] in ("two", "(no")] == [
        "two lines",
        "(no name)",
    ]


def test_json_that_is_not_strict_is_refused(certificate):
    text = certificate.to_json().replace('"alpha": 0.1', '"alpha": NaN')
    with pytest.raises(
        ValueError, match="no certificate but values with NaN: give what to_json wrote"
    ):
        Certificate.from_json(text)
