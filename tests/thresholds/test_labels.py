"""Coverage given the label: exact for each class, the rule's own for one class, honest with few."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator

from bands import beta_binomial_band
from plcp import (
    PLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    CumulativeProbability,
    LabelProbability,
    LinearQuantile,
    Mondrian,
    OrderedPartition,
    Rectified,
    SplitConformal,
    certify,
)
from plcp.exceptions import InfiniteThresholdWarning
from plcp.monitoring import Monitor
from plcp.plotting import ThresholdDisplay
from plcp.quantiles import conformal_rank
from plcp.thresholds.labels import LabelConditional
from strategies import alphas, few

quiet = pytest.mark.filterwarnings("ignore::plcp.exceptions.InfiniteThresholdWarning")
LABELS = np.array(["no", "rare", "yes"])


def first_is_likely(X):
    return X[:, 0] > 0.3


RULES = {
    "split": SplitConformal(),
    "mondrian": Mondrian(first_is_likely),
    "plcp": PLCP(OrderedPartition(LinearQuantile()), 2, random_state=0),
    "plcp, split": PLCP(OrderedPartition(LinearQuantile()), 2, calibration="split", random_state=0),
    "batch_gcp": BatchGCP(first_is_likely),
    "rectified": Rectified(random_state=0),
}
over_rules = pytest.mark.parametrize("name", RULES)


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are the columns of X."""

    def __init__(self, labels=("no", "rare", "yes")):
        self.labels = labels

    def fit(self, X=None, y=None):
        self.classes_ = np.asarray(self.labels)
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        return np.asarray(X)


def by_label(rule, score=None, **options):
    model = FrozenEstimator(Given().fit())
    return ConformalClassifier(model, score, rule, label_conditional=True, **options)


def world(rng, n, shares=(0.5, 0.08, 0.42)):
    """Probabilities that give the rare class too little."""
    X = rng.dirichlet([2.0, 0.3, 2.0], n)
    codes = rng.choice(3, n, p=shares)
    X[np.arange(n), codes] += (codes != 1) * rng.random(n)
    return X / X.sum(axis=1, keepdims=True), LABELS[codes]


# what holds


@st.composite
def rows_with_ties(draw):
    """Few rows of three classes, whose probabilities take few values, in any shares."""
    n = draw(st.integers(2, 14))
    weights = draw(st.lists(st.tuples(*[st.integers(1, 3)] * 3), min_size=n, max_size=n))
    codes = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    X = np.array(weights, dtype=float)
    return X / X.sum(axis=1, keepdims=True), LABELS[codes]


def held_when_left_out(rule, score, X, y):
    """Whether the set of each row, calibrated on all others, holds its label."""
    rest = ~np.eye(len(y), dtype=bool)
    models = [by_label(clone(rule), score).fit(X[others], y[others]) for others in rest]
    return np.concatenate(
        [one.predict_set(X[[i]]).contains(y[[i]]) for i, one in enumerate(models)]
    )


@quiet
@few
@given(
    rows_with_ties(),
    alphas.filter(lambda alpha: alpha <= 0.5),
    st.sampled_from([LabelProbability(), LabelProbability(True), CumulativeProbability()]),
)
def test_of_the_rows_of_each_class_enough_are_covered_by_the_others(rows, alpha, score):
    """Leaving each row out in turn is the law of exchangeable rows, with no randomness left."""
    X, y = rows
    codes = np.searchsorted(LABELS, y)
    held = held_when_left_out(SplitConformal(alpha), score, X, y)
    for label in np.unique(y):
        own = y == label
        needed = conformal_rank(int(own.sum()) - 1, alpha)  # ceil((1 - alpha) · rows)
        assert held[own].sum() >= needed
        scores = score(X[own], codes[own])
        if len(np.unique(scores)) == own.sum():  # without ties, not one more
            assert held[own].sum() == needed


@quiet
@few
@given(rows_with_ties(), st.sampled_from([0.1, 0.25, 0.5]))
def test_the_same_holds_in_given_groups_of_each_class(rows, alpha):
    X, y = rows
    held = held_when_left_out(Mondrian(first_is_likely, alpha), None, X, y)
    for label in np.unique(y):
        for inside in (first_is_likely(X), ~first_is_likely(X)):
            own = (y == label) & inside
            if own.any():
                assert held[own].sum() >= conformal_rank(int(own.sum()) - 1, alpha)


def test_each_class_is_covered_whatever_their_shares(rng):
    X, y = world(rng, 1500)
    new, truth = world(rng, 3000, shares=(0.2, 0.7, 0.1))
    held = by_label(SplitConformal()).fit(X, y).predict_set(new).contains(truth)
    split = ConformalClassifier(FrozenEstimator(Given().fit()), threshold=SplitConformal())
    without = split.fit(X, y).predict_set(new).contains(truth)
    for label in LABELS:
        n, own = int((y == label).sum()), truth == label
        low, high = beta_binomial_band(int(own.sum()), n, conformal_rank(n, 0.1))
        assert low <= held[own].sum() <= high
        assert (without[own].sum() < low) == (label == "rare")  # which Split gives up


@over_rules
@pytest.mark.parametrize("alpha", [0.2, [0.1, 0.3]], ids=["one alpha", "several"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_thresholds_of_a_class_are_those_of_its_rows(name, alpha, weighted, rng):
    X, codes, scores = (
        rng.uniform(size=(400, 2)),
        rng.integers(0, 2, 400),
        rng.exponential(size=400),
    )
    weights = rng.integers(1, 4, 400).astype(float) if weighted else None
    rule = clone(RULES[name]).set_params(alpha=alpha)
    fitted = LabelConditional(rule, ["a", "b"]).fit(X, scores, weights, groups=codes)
    each = fitted.predict_each(X)
    for code in (0, 1):
        own = codes == code
        alone = clone(rule).fit(X[own], scores[own], weights if weights is None else weights[own])
        assert_array_equal(each[:, code], alone.predict(X))
    assert_array_equal(fitted.predict(X, groups=codes), each[np.arange(400), codes])
    everywhere = LabelConditional(rule, ["any"]).fit(X, scores, weights, groups=np.zeros(400))
    assert_array_equal(
        everywhere.predict_each(X)[:, 0], clone(rule).fit(X, scores, weights).predict(X)
    )


def test_one_quantile_for_each_class_is_mondrian_by_the_label(rng):
    X, codes, scores = np.zeros((99, 1)), rng.integers(0, 3, 99), rng.exponential(size=99)
    oracle = Mondrian(alpha=0.2).fit(X, scores, groups=codes)
    found = LabelConditional(SplitConformal(0.2), LABELS).fit(X, scores, groups=codes)
    for name in ("thresholds_", "group_sizes_"):
        assert_array_equal(getattr(found, name), getattr(oracle, name))
    assert_array_equal(found.predict(X, groups=codes), oracle.predict(X, groups=codes))


@pytest.mark.parametrize(
    ("rule", "kind"),
    [(RULES["split"], "exact"), (RULES["plcp, split"], "exact"), (RULES["plcp"], "exact")],
)
def test_the_guarantee_is_given_the_label(rule, kind, rng):
    X, y = world(rng, 900)
    guarantee = by_label(rule).fit(X, y).guarantee_
    assert (guarantee.scope, guarantee.kind) == ("labels", kind)
    assert (guarantee.n, guarantee.n_groups) == (900, 3)
    learned = by_label(rule, CumulativeProbability(temperature="fit")).fit(X, y).guarantee_
    assert learned.kind == "approximate"


# classes with few rows


def without_most_rare(rng, kept):
    X, y = world(rng, 300)
    rare = np.flatnonzero(y == "rare")
    rows = np.setdiff1d(np.arange(300), rare[kept:])
    return X[rows], y[rows]


@quiet  # of groups within the others
@over_rules
@pytest.mark.parametrize("kept", [0, 1, 8])
def test_a_class_with_too_few_rows_is_in_every_set(name, kept, rng):
    X, y = without_most_rare(rng, kept)
    with pytest.warns(InfiniteThresholdWarning, match=r"labels \['rare'\] .* each set holds them"):
        model = by_label(RULES[name]).fit(X, y)
    sets = model.predict_set(X)
    assert sets.mask[:, 1].all()
    assert not sets.mask[:, [0, 2]].all()
    [rule] = model.tail_rules_
    assert rule.label_rules_[1] is None
    assert dict(zip(rule.groups_, rule.group_sizes_, strict=True))["rare"] == kept


def test_warnings_of_a_rule_name_its_label():
    codes, X = np.repeat([0, 1], [20, 23]), np.repeat([[0], [1]], [40, 3], axis=0)
    rule = LabelConditional(Mondrian(0), ["no", "yes"])
    with pytest.warns(InfiniteThresholdWarning, match=r"^label 'yes': groups \[1\] hold too few"):
        rule.fit(X, np.arange(43.0), groups=codes)


def test_no_class_with_enough_rows():
    X = np.full((4, 3), 1 / 3)
    with pytest.warns(InfiniteThresholdWarning, match="'no', 'rare', 'yes'"):
        model = by_label(PLCP()).fit(X, LABELS[[0, 0, 2, 2]])
    assert model.predict_set(X).mask.all()
    assert model.guarantee_.kind == "exact"


def test_a_class_may_have_rows_enough_for_one_alpha_of_several(rng):
    X, y = without_most_rare(rng, 5)
    with pytest.warns(InfiniteThresholdWarning, match=r"'rare'.* alpha = 0\.1") as warned:
        model = by_label(SplitConformal([0.1, 0.3])).fit(X, y)
    assert len(warned) == 1
    sets = model.predict_set(X)
    assert sets[0.1].mask[:, 1].all()
    assert not sets[0.3].mask[:, 1].all()
    assert (sets[0.3].mask <= sets[0.1].mask).all()


def test_rows_of_weight_zero_are_no_rows_of_their_class(rng):
    X, y = world(rng, 300)
    weights = np.where(y == "rare", 0.0, 1.0)
    with pytest.warns(InfiniteThresholdWarning, match="rare"):
        model = by_label(SplitConformal()).fit(X, y, weights)
    with pytest.warns(InfiniteThresholdWarning, match="rare"):
        other = by_label(SplitConformal()).fit(X[y != "rare"], y[y != "rare"])
    assert_array_equal(model.predict_set(X).mask, other.predict_set(X).mask)


# with the rest of the library


@over_rules
def test_sets_hold_what_scores_at_most_the_threshold_of_its_label(name, rng):
    X, y = world(rng, 900)
    model = by_label(RULES[name], CumulativeProbability("random", random_state=0)).fit(X, y)
    found = model.examine(X, y)
    assert found.scores.shape == found.thresholds.shape == (900, 1)
    assert_array_equal(found.sets.contains(y), (found.scores <= found.thresholds)[:, 0])


@pytest.mark.parametrize("name", ["split", "mondrian", "plcp", "batch_gcp"])
def test_sets_at_several_alphas_are_nested_and_those_of_each(name, rng):
    X, y = world(rng, 900)
    several = by_label(clone(RULES[name]).set_params(alpha=[0.3, 0.1])).fit(X, y)
    sets = several.predict_set(X)
    assert (sets[0.3].mask <= sets[0.1].mask).all()
    assert [one.alpha for one in several.guarantee_] == [0.3, 0.1]
    at = several.at(0.3)
    assert_array_equal(at.predict_set(X).mask, sets[0.3].mask)  # the larger alpha is not raised
    assert (at.guarantee_.scope, at.alpha) == ("labels", 0.3)
    found = several.examine(X, y)
    assert_array_equal(sets.contains(y), found.scores[:, :, None][:, 0] <= found.thresholds[:, 0])


@pytest.mark.parametrize(
    ("name", "within"), [("split", [""]), ("mondrian", [", False", ", True"]), ("batch_gcp", [""])]
)
def test_members_certificates_and_monitors_have_groups_within_labels(name, within, rng):
    X, y = world(rng, 900)
    new, truth = world(rng, 900)
    model = by_label(RULES[name]).fit(X, y)
    names = [f"{label}{one}" for label in LABELS for one in within]
    members = model.members(new, truth)
    assert [*members] == names
    for label in LABELS:
        rows = np.concatenate([members[one] for one in names if one.startswith(label)])
        assert_array_equal(np.sort(rows), np.flatnonzero(truth == label))
    held = model.predict_set(new).contains(truth)
    hits = [int(held.sum()), *(int(held[members[one]].sum()) for one in names)]
    certified = certify(model, new, truth).groups
    assert [(one.group, one.hits) for one in certified] == [
        *zip(["all", *names], hits, strict=True)
    ]
    monitor = model.monitor().update(new[:400], truth[:400]).update(new[400:], truth[400:])
    assert [(one.group, one.hits) for one in monitor.report().groups] == [
        *zip(["all", *names], hits, strict=True)
    ]
    again = Monitor.from_json(model, monitor.to_json())
    assert again.report() == monitor.report()
    assert ("at most 0.05" in monitor.guarantee_) == (name != "batch_gcp")


def test_a_class_that_drifts_is_named(rng):
    X, y = world(rng, 3000)
    new, truth = world(rng, 3000)
    new[truth == "rare", 1] /= 20
    new /= new.sum(axis=1, keepdims=True)
    monitor = by_label(SplitConformal(0.2)).fit(X, y).monitor().update(new, truth)
    assert "rare" in monitor.report().drifting
    assert not {"no", "yes"} & {*monitor.report().drifting}


# what is refused


class Twice(LabelProbability):
    """A score that has two tails."""

    n_tails = 2


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"label_conditional": "yes"},
            ValueError,
            "label_conditional must be True or False, got 'y",
        ),
        ({"conformity": Twice(), "label_conditional": True}, ValueError, "one threshold per label"),
        ({"label_conditionl": True}, TypeError, "did you mean label_conditional"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, error, words, rng):
    with pytest.raises(error, match=words):
        ConformalClassifier(FrozenEstimator(Given().fit()), **options).fit(*world(rng, 50))


def test_regressors_have_no_labels():
    with pytest.raises(TypeError, match="has no parameter label_conditional"):
        ConformalRegressor(FrozenEstimator(Given()), label_conditional=True)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda model, X: model.groups(X), r"use tail_rules_\[0\]\.label_rules_\[i\]\.groups"),
        (lambda model, X: model.members(X), "depend on the label: give those of the rows too"),
        (
            lambda model, X: model.tail_rules_[0].predict(X),
            "predict_each has the thresholds of all",
        ),
        (lambda model, X: ThresholdDisplay.from_estimator(model, X, 0), "predict_each has"),
        (
            lambda model, X: model.tail_rules_[0].predict(X, groups=np.full(len(X), 3)),
            "groups must be codes of labels, 0 to 2",
        ),
        (lambda model, X: model.predict_set(X[:, :2]), "features"),
    ],
    ids=["groups", "members", "thresholds", "picture", "codes", "columns"],
)
def test_what_depends_on_the_label_wants_it(use, words, rng):
    X, y = world(rng, 300)
    model = by_label(SplitConformal()).fit(X, y)
    with pytest.raises(ValueError, match=words):
        use(model, X)
