"""Guarantees are data: fields that programs read, and the sentence that is made of them."""

import json

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

import plcp
from plcp import (
    PLCP,
    Guarantee,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    SplitConformal,
)
from plcp.thresholds.guarantees import EXCHANGEABLE, KINDS, labels_guarantee, set_guarantee


def one(kind="exact", scope="marginal", **others):
    values = {"alpha": 0.05, "n": 99, "assumptions": (EXCHANGEABLE,), **others}
    return Guarantee(kind, scope, **values)


@pytest.mark.parametrize(
    ("guarantee", "sentence"),
    [
        (one(), "P(covered) >= 0.95 on average over all inputs, in finite samples, if"),
        (one("none", note="Why."), "No finite-sample guarantee. Why."),
        (
            one("asymptotic", "learned groups", n_groups=3),
            "tends to 0.95 for each of the 3 learned",
        ),
        (one("approximate", "given groups", n_groups=1), "about 0.95 for the one given group"),
        (
            one(scope="labels", n_groups=3),
            "P(covered | label) >= 0.95 for each of the 3 labels, in",
        ),
        (one(scope="labels", n_groups=1), "for the one label, in finite samples"),
        (one("pac", confidence=0.9), "With confidence 0.9 over calibration sets, P(covered) >= "),
        (one("pac", "given groups", n_groups=2, confidence=0.9), "and for all of them at once, if"),
        (one(assumptions=()), "P(covered) >= 0.95 on average over all inputs, in finite samples."),
    ],
)
def test_the_sentence_is_made_of_the_fields(guarantee, sentence):
    assert sentence in str(guarantee)


@pytest.mark.parametrize("values", [("sure", "marginal"), ("exact", "groups")])
def test_kinds_and_scopes_that_mean_nothing_are_refused(values):
    with pytest.raises(ValueError, match="must be one of"):
        Guarantee(*values, alpha=0.1, n=9)


def test_json_and_files_keep_every_field(tmp_path, rng):
    X, scores = rng.normal(size=(200, 1)), rng.gamma(2, size=200)
    for rule in (SplitConformal(), Mondrian(lambda X: X[:, 0] > 0), PLCP(random_state=0)):
        guarantee = rule.fit(X, scores).guarantee_
        assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee
    several = SplitConformal([0.1, 0.3]).fit(X, scores)
    plcp.save(several, tmp_path / "rule.plcp")
    assert plcp.load(tmp_path / "rule.plcp").guarantee_ == several.guarantee_


@pytest.mark.parametrize(
    ("cv", "kind"),
    [
        (3, "exact"),
        (KFold(3, shuffle=True, random_state=0), "exact"),
        (KFold(3), "approximate"),  # rows may be sorted
        (GroupKFold(3), "approximate"),  # blocks of alike rows cover .75 of a new row's scores
        (list(KFold(3).split(np.zeros(300))), "approximate"),  # chosen for what reason?
    ],
)
def test_a_rotation_is_exact_if_its_blocks_are_drawn(rng, cv, kind):
    X, scores = rng.normal(size=(300, 1)), rng.gamma(2, size=300)
    groups = np.arange(300) // 10 if isinstance(cv, GroupKFold) else None
    rule = PLCP(OrderedPartition(LinearQuantile()), cv=cv, random_state=0)
    assert rule.fit(X, scores, groups=groups).guarantee_.kind == kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_set_promises_no_more_than_the_weakest_of_its_tails(kind):
    strong, weak = one("exact"), one(kind, n=50, assumptions=("it rains",))
    found = set_guarantee([strong, weak], 0.1, None)
    assert (found.kind, found.scope, found.alpha, found.n) == (kind, "marginal", 0.1, 50)
    assert found.assumptions == (EXCHANGEABLE, "it rains")
    given_labels = labels_guarantee([strong, weak], 0.05, 149, 3)
    assert (given_labels.kind, given_labels.scope) == (kind, "labels")
    assert given_labels.assumptions == found.assumptions


def test_the_errors_of_two_confidences_add_up():
    tails = [one("pac", confidence=0.95), one("pac", confidence=0.99)]
    assert np.isclose(set_guarantee(tails, 0.1, None).confidence, 0.94)


@pytest.mark.parametrize(("kind", "weaker"), [("exact", "approximate"), ("none", "none")])
def test_a_score_fitted_on_the_calibration_rows_leaves_nothing_exact(kind, weaker):
    found = set_guarantee([one(kind)], 0.1, "temperature")
    assert found.kind == weaker
    assert "temperature" in found.note
