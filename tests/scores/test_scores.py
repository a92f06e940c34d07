"""Laws over every score: the inverse, nesting, reductions, equivariance, and errors that help."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import plcp.scores
from plcp.scores import (
    AbsoluteResidual,
    CumulativeProbability,
    LabelProbability,
    NormalizedResidual,
    QuantileResidual,
    Score,
    SignedResidual,
    apply_temperature,
    cumulative_scores,
    fit_temperature,
)

RANDOM = CumulativeProbability(own_mass="random")
POINT, SCALED, BAND, PROBABILITIES = "point", "scaled", "band", "probabilities"
# every score with every option that changes its law, and the predictions it reads
CASES = [
    (AbsoluteResidual(), POINT),
    (SignedResidual("upper"), POINT),
    (SignedResidual("lower"), POINT),
    (SignedResidual("both"), POINT),
    (NormalizedResidual(), SCALED),
    (NormalizedResidual(min_scale=1.0), SCALED),
    (QuantileResidual(), BAND),
    (QuantileResidual(symmetric=False), BAND),
    (LabelProbability(), PROBABILITIES),
    (LabelProbability(never_empty=True), PROBABILITIES),
    (CumulativeProbability(), PROBABILITIES),
    (CumulativeProbability("full"), PROBABILITIES),
    (CumulativeProbability("full", temperature=2.5), PROBABILITIES),
    (RANDOM, PROBABILITIES),
]
REGRESSION = [(score, kind) for score, kind in CASES if kind != PROBABILITIES]
every_score = pytest.mark.parametrize(("score", "kind"), CASES, ids=lambda case: str(case))
every_residual = pytest.mark.parametrize(("score", "kind"), REGRESSION, ids=lambda case: str(case))
few = settings(max_examples=40)

# quarters add, subtract and compare without rounding, so that ties are ties
quarters = st.integers(-16, 16).map(lambda i: i / 4)
tenths = st.integers(-40, 40).map(lambda i: i / 10)
any_floats = st.floats(-1e150, 1e150)  # subnormal ones too; beyond, the score itself overflows
infinities = st.sampled_from([np.inf, -np.inf])


def test_every_public_score_is_under_these_laws():
    public = {getattr(plcp.scores, name) for name in plcp.scores.__all__} - {Score}
    assert {type(score) for score, _ in CASES} == public
    assert {cls for cls in subclasses(Score) if not cls.__name__.startswith("_")} == public


def subclasses(cls):
    below = [child for child in cls.__subclasses__() if child.__module__ == "plcp.scores"]
    return set(below).union(*map(subclasses, below))


@st.composite
def rows(draw, kind, numbers=quarters):
    """Draw predictions and labels of a few rows."""
    n = draw(st.integers(1, 5))
    if kind == PROBABILITIES:
        k = draw(st.integers(1, 6))
        counts = draw_array(draw, st.integers(0, 4), (n, k)) + np.eye(k)[0]
        return counts / counts.sum(axis=1, keepdims=True), draw_array(
            draw, st.integers(0, k - 1), n
        )
    scale = st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0])
    if numbers is not quarters:
        scale = scale | st.floats(1e-3, 1e3)
    columns = {POINT: [numbers], SCALED: [numbers, scale], BAND: [numbers, numbers]}[kind]
    prediction = np.column_stack([draw_array(draw, column, n) for column in columns])
    return (prediction[:, 0] if kind == POINT else prediction), draw_array(draw, numbers, n)


def draw_array(draw, elements, shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(elements, min_size=size, max_size=size))).reshape(shape)


def with_draws_of(score, u):
    """Copy a randomised score whose two directions share the draws u."""
    score = clone(score)
    if getattr(score, "own_mass", None) == "random":
        score._own_share = lambda probabilities, _: np.resize(u, len(probabilities))
    return score


def accepted(score, prediction, y, threshold):
    return (score(prediction, y).reshape(len(y), -1) <= threshold).all(axis=1)


@every_score
@few
@given(data=st.data())
def test_inverse_law_ties_included(score, kind, data):
    prediction, y = data.draw(rows(kind))
    score = with_draws_of(score, data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=5)))
    shape = (len(y), score.n_tails)
    # thresholds at the scores themselves are the ties conformal quantiles are made of
    own = st.sampled_from(np.append(score(prediction, y).ravel(), [0.0, 1.0]).tolist())
    threshold = draw_array(data.draw, quarters | infinities | own, shape)
    sets = score.invert(prediction, threshold)
    np.testing.assert_array_equal(sets.contains(y), accepted(score, prediction, y, threshold))


@every_residual
@pytest.mark.parametrize("numbers", [tenths, any_floats], ids=["tenths", "any"])
@given(data=st.data())
@few
def test_no_label_is_lost_to_rounding(score, kind, numbers, data):
    prediction, y = data.draw(rows(kind, numbers))
    # thresholds at the score of a row, or within one float of it, are where rounding shows
    own = score(prediction, y).ravel()
    ties = np.concatenate([own, np.nextafter(own, np.inf), np.nextafter(own, -np.inf)])
    near = st.sampled_from(ties.tolist())
    threshold = draw_array(data.draw, near | numbers, (len(y), score.n_tails))
    sets = score.invert(prediction, threshold)
    assert (sets.contains(y) >= accepted(score, prediction, y, threshold)).all()
    for end, outwards in ((sets.lower, -np.inf), (sets.upper, np.inf)):
        bounded = np.isfinite(end)
        beyond = np.where(bounded, np.nextafter(end, outwards), y)
        assert not accepted(score, prediction, beyond, threshold)[bounded].any()
    lower, upper = ends_at_the_next_float(score, kind, prediction, threshold)
    assert not (sets.lower < lower).any()
    assert not (sets.upper > upper).any()


def ends_at_the_next_float(score, kind, prediction, threshold):
    """Ends by the formula, for the smallest larger threshold: no set may reach beyond them."""
    low, high = np.nextafter(threshold[:, 0], np.inf), np.nextafter(threshold[:, -1], np.inf)
    if getattr(score, "side", "both") != "both":
        low, high = (np.inf, high) if score.side == "upper" else (low, np.inf)
    if kind == SCALED:
        scale = np.maximum(prediction[:, 1], score.min_scale)
        low = high = np.nextafter(high * scale, np.inf)
    ends = {POINT: lambda: prediction[:, None], SCALED: lambda: prediction[:, :1]}
    ends = np.sort(ends.get(kind, lambda: prediction)(), axis=1)
    return ends[:, 0] - low, ends[:, -1] + high


@every_score
@few
@given(data=st.data())
def test_sets_grow_with_the_threshold(score, kind, data):
    prediction, y = data.draw(rows(kind))
    score = with_draws_of(score, [0.3, 0.7])
    low, high = sorted(data.draw(st.tuples(quarters | infinities, quarters | infinities)))
    inner, outer = score.invert(prediction, low), score.invert(prediction, high)
    assert (inner.contains(y) <= outer.contains(y)).all()
    assert (inner.size <= outer.size).all()


@every_score
@few
@given(data=st.data())
def test_infinite_thresholds_keep_all_or_nothing(score, kind, data):
    prediction, y = data.draw(rows(kind))
    assert score.invert(prediction, np.inf).contains(y).all()
    assert score.invert(prediction, -np.inf).is_empty.all()


@every_score
@few
@given(data=st.data())
def test_thresholds_may_be_one_for_all_per_row_or_per_tail(score, kind, data):
    prediction, y = data.draw(rows(kind))
    score, n = with_draws_of(score, [0.3, 0.7]), len(y)
    shapes = [(), (n,), (n, 1), (n, score.n_tails), (1, score.n_tails)]
    sets = [score.invert(prediction, np.full(shape, 0.5)).to_numpy() for shape in shapes]
    for other in sets[1:]:
        np.testing.assert_array_equal(other, sets[0])


@every_score
def test_shape_of_scores_clone_and_no_rows(score, kind):
    prediction = np.zeros((0, 2)) if kind != POINT else np.zeros(0)
    empty = clone(score)(prediction, np.zeros(0, dtype=int))
    assert empty.shape == ((0,) if score.n_tails == 1 else (0, 2))
    assert len(score.invert(prediction, 1.0)) == 0
    assert clone(score).get_params() == score.get_params()


@few
@given(rows(POINT), quarters)
def test_zero_width_band_and_unit_scale_are_the_absolute_residual(case, threshold):
    point, y = case
    expected = AbsoluteResidual()
    band, scaled = np.column_stack([point, point]), np.column_stack([point, np.ones_like(point)])
    for score, prediction in ((QuantileResidual(), band), (NormalizedResidual(), scaled)):
        np.testing.assert_array_equal(score(prediction, y), expected(point, y))
        np.testing.assert_array_equal(
            score.invert(prediction, threshold).to_numpy(),
            expected.invert(point, threshold).to_numpy(),
        )


@few
@given(rows(POINT), quarters)
def test_two_signed_tails_are_the_two_sides(case, threshold):
    point, y = case
    tails = SignedResidual("both")(point, y)
    np.testing.assert_array_equal(tails[:, 0], SignedResidual("lower")(point, y))
    np.testing.assert_array_equal(tails[:, 1], SignedResidual("upper")(point, y))
    np.testing.assert_array_equal(tails.max(axis=1), AbsoluteResidual()(point, y))
    both = SignedResidual("both").invert(point, threshold).to_numpy()
    np.testing.assert_array_equal(both, AbsoluteResidual().invert(point, threshold).to_numpy())


@few
@given(rows(BAND))
def test_the_symmetric_band_is_the_worse_tail_and_crossing_is_sorted(case):
    band, y = case
    tails = QuantileResidual(symmetric=False)(band, y)
    np.testing.assert_array_equal(QuantileResidual()(band, y), tails.max(axis=1))
    np.testing.assert_array_equal(QuantileResidual()(band[:, ::-1], y), QuantileResidual()(band, y))


@every_residual
@few
@given(data=st.data())
def test_shift_and_scale(score, kind, data):
    prediction, y = data.draw(rows(kind))
    shift = np.array([1.0, 0.0]) if kind == SCALED else 1.0
    np.testing.assert_array_equal(score(prediction + 3 * shift, y + 3), score(prediction, y))
    moved = score.invert(prediction + 3 * shift, 0.5).to_numpy()
    np.testing.assert_allclose(moved, score.invert(prediction, 0.5).to_numpy() + 3, atol=1e-14)
    if kind != SCALED:
        np.testing.assert_array_equal(score(4 * prediction, 4 * y), 4 * score(prediction, y))
    elif score.min_scale == 0:
        np.testing.assert_array_equal(score(4 * prediction, 4 * y), score(prediction, y))


@pytest.mark.parametrize("score", [case for case, kind in CASES if kind == PROBABILITIES], ids=str)
@few
@given(data=st.data())
def test_names_of_labels_do_not_matter(score, data):
    prediction, y = data.draw(rows(PROBABILITIES))
    order = np.array(data.draw(st.permutations(range(prediction.shape[1]))))
    score = with_draws_of(score, [0.3])
    # sums in another order round apart
    np.testing.assert_allclose(
        score(prediction[:, order], np.argsort(order)[y]), score(prediction, y)
    )


def test_a_tiny_negative_threshold_is_not_lost_in_a_large_prediction():
    assert AbsoluteResidual().invert([1e9], -1e-12).is_empty.all()
    assert QuantileResidual().invert([[1e9, 1e9]], -1e-12).is_empty.all()


def brute_force(probabilities, u):
    return np.array(
        [
            [sum(p for p in row if p > own) + share * own for own in row]
            for row, share in zip(probabilities, u, strict=True)
        ]
    )


@few
@given(rows(PROBABILITIES), st.floats(0, 1))
def test_one_sort_gives_what_all_pairs_give(case, share):
    prediction, _ = case
    u = np.linspace(share, 1 - share, len(prediction))
    fast = cumulative_scores(prediction, u)
    np.testing.assert_allclose(fast, brute_force(prediction, u), rtol=0, atol=1e-12)
    for row, scores in zip(prediction, fast, strict=True):
        assert all(len(set(scores[row == p])) == 1 for p in row)


@few
@given(rows(PROBABILITIES))
def test_random_own_mass_runs_from_none_to_full(case):
    prediction, y = case
    for u, own_mass in ((0.0, "none"), (1.0, "full")):
        drawn = with_draws_of(RANDOM, [u])(prediction, y)
        np.testing.assert_array_equal(drawn, CumulativeProbability(own_mass)(prediction, y))


@pytest.mark.parametrize(
    "score", [CumulativeProbability(), LabelProbability(never_empty=True)], ids=str
)
@few
@given(case=rows(PROBABILITIES))
def test_no_set_is_empty_where_the_likeliest_labels_score_zero(score, case):
    prediction, _ = case
    best = prediction == prediction.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(score.invert(prediction, 0.0).to_numpy(), best)
    assert score.invert(prediction, np.nextafter(0, -1)).is_empty.all()


@few
@given(rows(PROBABILITIES))
def test_never_empty_changes_the_likeliest_labels_alone(case):
    prediction, y = case
    best = prediction[np.arange(len(y)), y] == prediction.max(axis=1)
    expected = np.where(best, 0, LabelProbability()(prediction, y))
    np.testing.assert_array_equal(LabelProbability(never_empty=True)(prediction, y), expected)


def test_never_empty_scores_are_not_negative_where_rounding_takes_a_probability_above_one():
    prediction = [[1 + 1e-7, 0.0]]
    assert LabelProbability()(prediction, [0]) < 0
    np.testing.assert_array_equal(LabelProbability(never_empty=True)(prediction, [0]), [0])


def test_draws_are_reproducible_and_streams_apart():
    prediction, y = np.tile([0.5, 0.5], (200, 1)), np.zeros(200, dtype=int)
    score = CumulativeProbability("random", random_state=7)
    np.testing.assert_array_equal(score(prediction, y), clone(score)(prediction, y))
    assert (
        CumulativeProbability("random", random_state=8)(prediction, y) != score(prediction, y)
    ).any()
    # with shared draws all rows would be in: S <= S
    assert not score.invert(prediction, score(prediction, y)).contains(y).all()
    state = CumulativeProbability("random", random_state=np.random.RandomState(7))
    assert (state(prediction, y) != state(prediction, y)).any()


def log_likelihood(prediction, y, temperature):
    scaled = apply_temperature(prediction, temperature)
    return np.log(scaled[np.arange(len(y)), y]).sum()


@pytest.mark.parametrize("true", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_fitted_temperature_is_at_least_as_likely_as_the_true_one(true, seed):
    rng = np.random.default_rng(seed)
    prediction = rng.dirichlet(np.ones(5), size=400)
    chances = apply_temperature(prediction, true)
    y = np.array([rng.choice(5, p=row) for row in chances])
    fitted = CumulativeProbability(temperature="fit").fit(prediction, y).temperature_
    for other in (true, 0.9 * fitted, 1.1 * fitted):
        assert log_likelihood(prediction, y, fitted) >= log_likelihood(prediction, y, other)


def test_temperature_stays_finite_when_labels_are_all_right_or_all_impossible():
    prediction = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    assert 1 < fit_temperature(prediction, prediction.argmax(axis=1)) <= 20
    assert 0.05 <= fit_temperature(prediction, prediction.argmin(axis=1)) < 1


@few
@given(rows(PROBABILITIES), st.floats(0.1, 10))
def test_temperature_keeps_the_ranking_and_ties(case, temperature):
    prediction, _ = case
    scaled = apply_temperature(prediction, temperature)
    np.testing.assert_allclose(scaled.sum(axis=1), 1)
    for before, after in zip(prediction, scaled, strict=True):
        assert (np.diff(after[np.argsort(before)]) >= 0).all()
        assert all(len(set(after[before == p])) == 1 for p in before)


def test_a_fixed_temperature_needs_no_fit_and_is_stored():
    prediction, y = np.array([[0.75, 0.25]]), [1]
    score = CumulativeProbability(temperature=2.0)
    np.testing.assert_allclose(score(prediction, y), [0.9])
    assert score.fit(prediction, y).temperature_ == 2.0
    assert CumulativeProbability().fit(prediction, y).temperature_ == 1.0
    with pytest.raises(NotFittedError):
        CumulativeProbability(temperature="fit")(prediction, y)


def test_predictions_are_what_the_score_reads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + rng.normal(size=30)
    ridge = BayesianRidge().fit(X, y)
    np.testing.assert_array_equal(AbsoluteResidual().predictions(ridge, X), ridge.predict(X))
    expected = np.column_stack(ridge.predict(X, return_std=True))
    pipeline = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, y)
    for model in (ridge, FrozenEstimator(ridge)):
        np.testing.assert_array_equal(NormalizedResidual().predictions(model, X), expected)
    assert NormalizedResidual().predictions(FrozenEstimator(pipeline), X).shape == (30, 2)
    pair = LinearRegression().fit(X, np.column_stack([y, y]))
    np.testing.assert_array_equal(NormalizedResidual().predictions(pair, X), pair.predict(X))
    bayes = GaussianNB().fit(X, y > 0)
    np.testing.assert_array_equal(LabelProbability().predictions(bayes, X), bayes.predict_proba(X))
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba: wrap it in Calibrated"):
        CumulativeProbability().predictions(LinearSVC(), X)


def test_column_vectors_are_accepted():
    np.testing.assert_array_equal(AbsoluteResidual()([[1.0], [2.0]], [[3.0], [3.0]]), [2.0, 1.0])


HALF = [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AbsoluteResidual()([1.0, 2.0], [1.0]), r"y must have shape \(2,\).* got \(1,\)"),
        (lambda: AbsoluteResidual()([[1.0, 2.0]], [1.0]), r"shape \(n,\), got \(1, 2\)"),
        (lambda: AbsoluteResidual()([1.0, np.nan], [1.0, 1.0]), "prediction .* got nan at row 1"),
        (lambda: AbsoluteResidual()([1.0], [np.inf]), "y must be finite, got inf at row 0"),
        (lambda: AbsoluteResidual().invert([np.inf], 1.0), "prediction .* got inf at row 0"),
        (lambda: AbsoluteResidual().invert([1.0], np.nan), "got nan at row 0: inf keeps"),
        (
            lambda: AbsoluteResidual().invert([1.0, 2.0], np.ones(3)),
            r"\(2,\) or \(2, 1\), got \(3,\)",
        ),
        (lambda: AbsoluteResidual().invert([1.0], np.ones((1, 2))), r"got \(1, 2\)"),
        (lambda: SignedResidual("up")([1.0], [1.0]), "side must be .* got 'up'"),
        (lambda: SignedResidual("up").invert([1.0], 1.0), "side must be .* got 'up'"),
        (lambda: NormalizedResidual()([1.0], [1.0]), "return_std=True, or plcp.models.MeanScale"),
        (lambda: NormalizedResidual()([[1.0, 0.0]], [1.0]), "got 0.0 at row 0: pass min_scale > 0"),
        (lambda: NormalizedResidual(0.1)([[1.0, -1.0]], [1.0]), "got -1.0 at row 0: use a scale"),
        (lambda: NormalizedResidual(-1)([[1.0, 1.0]], [1.0]), r"min_scale .* \[0, inf\), got -1"),
        (lambda: QuantileResidual()([1.0], [1.0]), r"\(n, 2\), got \(1,\): .*QuantilePair"),
        (
            lambda: LabelProbability()([0.5, 0.5], [1, 1]),
            r"got \(2,\): pass estimator.predict_proba",
        ),
        (lambda: LabelProbability()([[0.5, 0.4]], [1]), "got sum 0.9 .* at row 0"),
        (lambda: LabelProbability()([[1.5, -0.5]], [1]), "minimum -0.5 at row 0"),
        (lambda: LabelProbability()([[np.nan, 1.0]], [1]), "got nan at row 0"),
        (lambda: LabelProbability()(HALF, [2]), "codes 0, ..., 1, got 2 at row 0: encode"),
        (lambda: LabelProbability()(HALF, [0.5]), "got 0.5 at row 0"),
        (lambda: LabelProbability()(HALF, ["1"]), "got 1 at row 0: encode"),
        (lambda: LabelProbability()(HALF, [1, 1]), r"shape \(1,\).* got \(2,\)"),
        (lambda: LabelProbability("yes")(HALF, [1]), "never_empty must .* got 'yes': True keeps"),
        (lambda: LabelProbability(1).invert(HALF, 0.5), "never_empty must .* got 1: True keeps"),
        (lambda: CumulativeProbability("half")(HALF, [1]), "own_mass must be .* got 'half'"),
        (lambda: CumulativeProbability(temperature=0)(HALF, [1]), "positive number, got 0"),
        (lambda: CumulativeProbability(temperature="auto")(HALF, [1]), "got 'auto'"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
