"""Calibration of a table gives what the estimators give, and names what it leaves out."""

import decimal

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from tabular_worlds import LABELS, TASKS, batch_of, make_table, roles_of

from bands import beta_binomial_band
from plcp import (
    PLCP,
    BatchGCP,
    ConformalClassifier,
    ConformalRegressor,
    Mondrian,
    QuantileResidual,
    Rectified,
    SplitConformal,
)
from plcp.tables import (
    METHODS,
    Applier,
    CalibrationOptions,
    calibrate,
    choose_roles,
    describe_features,
    load_model,
    save_model,
    to_frame,
)
from plcp.tables.columns import learn_features
from plcp.tables.roles import MOST_GROUPS

DROPPED = {"regression": ["y", "w"], "quantiles": ["y", "w"], "classes": ["label", "w"]}


class Columns(RegressorMixin, BaseEstimator):
    """A model whose predictions stand in the table already."""

    def __init__(self, names=()):
        self.names = names

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return X[self.names].to_numpy().squeeze()


class Probabilities(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities stand in the table already."""

    def fit(self, X, y):
        self.classes_ = np.array(LABELS)
        return self

    def predict_proba(self, X):
        return X[[f"p_{label}" for label in LABELS]].to_numpy()


def conformal(task, rule, features):
    """Return the estimator a Python user would write for this task."""
    if task == "classes":
        model = FrozenEstimator(Probabilities().fit(None, None))
        return ConformalClassifier(model, threshold=rule, features=features)
    names = ["yhat"] if task == "regression" else ["lo", "hi"]
    score = None if task == "regression" else QuantileResidual()
    model = FrozenEstimator(Columns(names).fit(None, None))
    return ConformalRegressor(model, score, rule, features=features)


@pytest.mark.parametrize("task", ["regression", "quantiles", "classes"])
@pytest.mark.parametrize("method", ["plcp", "plcp-split", "rectified"])
def test_sets_are_those_of_the_python_estimator(task, method):
    table, new = make_table(task, 110, 0), make_table(task, 50, 1)
    model = calibrate(table, roles_of(table, task, exclude="w"), method=method, explain=False)
    applied = Applier(model).apply(batch_of(new))
    frame, target = to_frame(table), table["y" if task != "classes" else "label"].to_numpy()
    features = [name for name in frame.columns if name not in DROPPED[task]]
    rules = {
        "plcp": PLCP(n_groups=1, random_state=0),
        "plcp-split": PLCP(n_groups=1, calibration="split", random_state=0),
        "rectified": Rectified(random_state=0),
    }
    python = conformal(task, rules[method], features).fit(frame, target)
    sets = python.predict_set(to_frame(new))
    if task == "classes":
        assert applied["set"].to_pylist() == sets.to_lists()
    else:
        np.testing.assert_array_equal(applied["lower"], sets.lower)
        np.testing.assert_array_equal(applied["upper"], sets.upper)
    assert model.rule.guarantee_ == python.guarantee_


@pytest.mark.parametrize("method", ["split", "mondrian", "plcp"])
@pytest.mark.parametrize("alpha", [0.1, (0.1, 0.3)])
def test_sets_given_the_label_are_those_of_the_python_estimator(method, alpha, tmp_path):
    table, new = make_table("classes", 300, 0), make_table("classes", 90, 1)
    by = ["sex"] if method == "mondrian" else None
    model = calibrate(
        table,
        roles_of(table, "classes", exclude="w"),
        method=method,
        by=by,
        alpha=alpha,
        label_conditional=True,
    )
    rules = {
        "split": SplitConformal(),
        "mondrian": Mondrian("sex"),
        "plcp": PLCP(n_groups=1, random_state=0),
    }
    frame = to_frame(table)
    features = [name for name in frame.columns if name not in DROPPED["classes"]]
    frozen = FrozenEstimator(Probabilities().fit(None, None))
    save_model(model, tmp_path / "m.plcp")
    applied = Applier(load_model(tmp_path / "m.plcp")).apply(batch_of(new))
    each = []
    for one in np.atleast_1d(alpha).tolist():
        rule = rules[method].set_params(alpha=one)
        python = ConformalClassifier(
            frozen, threshold=rule, features=features, label_conditional=True
        ).fit(frame, table["label"].to_numpy())
        each.append(python.predict_set(to_frame(new)).to_numpy())
    found = [name for name in applied.column_names if name.startswith("set")]
    assert found == ["set", "set_0.3"][: len(each)]
    for name, sets in zip(found, each, strict=True):
        sets = sets if name != "set" else np.logical_or.reduce(each)  # nested
        held = [[label in one for label in LABELS] for one in applied[name].to_pylist()]
        np.testing.assert_array_equal(held, sets)
    thresholds = np.array(applied["threshold"].to_pylist())
    probabilities = np.column_stack([new[f"p_{label}"] for label in LABELS])
    held = [[label in one for label in LABELS] for one in applied["set"].to_pylist()]
    np.testing.assert_array_equal(held, 1 - probabilities <= thresholds)
    if alpha == 0.1:
        assert model.guarantee == python.guarantee_
    assert sum(group["size"] for group in model.groups_table()) == 300


def test_a_label_with_too_few_rows_is_in_every_set_and_named():
    table = make_table("classes", 300)
    rare = np.flatnonzero(table["label"].to_numpy() == "maybe")
    table = table.take(np.setdiff1d(np.arange(300), rare[5:]))
    roles = roles_of(table, "classes")
    model = calibrate(table, roles, method="split", label_conditional=True)
    assert any("'maybe'" in note and "each set holds them" in note for note in model.notes)
    assert model.groups_table()[0]["threshold"] == np.inf
    applier = Applier(model)
    assert all("maybe" in one for one in applier.apply(batch_of(table))["set"].to_pylist())
    assert any("sets hold some label, however improbable" in note for note in applier.notes())


@pytest.mark.parametrize("method", [name for name, one in METHODS.items() if one.takes_confidence])
def test_a_confidence_is_that_of_the_rule_and_of_split_beside_it(method):
    table = make_table("scores", 300)
    by = ["sex"] if method == "mondrian" else None
    options = {"method": method, "by": by, "confidence": 0.9, "explain": False}
    model = calibrate(table, roles_of(table, "scores", exclude="w"), **options)
    wanted = SplitConformal(confidence=0.9).fit(np.zeros((300, 1)), table["s"].to_numpy())
    assert model.split.threshold_ == wanted.threshold_
    assert (model.guarantee.kind, model.guarantee.confidence) == ("pac", 0.9)
    assert model.about["options"]["confidence"] == 0.9


def test_weights_are_sample_weights():
    table = make_table("scores", 200)
    model = calibrate(table, roles_of(table, "scores", weight="w"), method="split")
    scores, weights = table["s"].to_numpy(), table["w"].to_numpy()
    wanted = SplitConformal().fit(np.zeros((200, 1)), scores, weights)
    assert model.rule.threshold_ == wanted.threshold_
    assert model.guarantee.kind == "approximate"  # as weighted coverage is
    repeated = np.repeat(scores, weights.astype(int))  # weight 2 stands for two rows
    assert model.rule.threshold_ == np.sort(repeated)[int(np.ceil(0.9 * (len(repeated) + 1))) - 1]


def test_groups_by_columns_are_those_of_mondrian_and_batch_gcp():
    table = make_table("scores", 300)
    roles = roles_of(table, "scores")
    frame = to_frame(table)
    text = frame[["sex"]].astype(object).assign(member=frame["member"].map({1: "true", 0: "false"}))
    scores = frame["s"].to_numpy()
    for method, rule in {"mondrian": Mondrian, "batch-gcp": BatchGCP}.items():
        model = calibrate(table, roles, method=method, by=["sex", "member"])
        wanted = rule(["sex", "member"]).fit(text, scores)
        thresholds = Applier(model).apply(batch_of(table))["threshold"]
        np.testing.assert_array_equal(thresholds, wanted.predict(text))
        assert [row["name"] for row in model.groups_table()] == [str(g) for g in wanted.groups_]


def test_split_covers_new_rows_as_often_as_the_law_states(rng):
    n_cal, n_new = 399, 20_000
    yhat, noise = rng.normal(size=n_cal + n_new), rng.normal(size=n_cal + n_new)
    table = pa.table({"yhat": yhat, "y": yhat + noise})
    model = calibrate(table[:n_cal], roles_of(table, "regression"), method="split")
    out = Applier(model).apply(batch_of(table[n_cal:]))
    y = out["y"].to_numpy()
    covered = (out["lower"].to_numpy() <= y) & (y <= out["upper"].to_numpy())
    low, high = beta_binomial_band(n_new, n_cal, 360)  # rank ⌈0.9 · 400⌉
    assert low <= covered.sum() <= high
    # and given the threshold, coverage is that of the normal law
    share = 2 * norm.cdf(model.rule.threshold_) - 1
    assert abs(covered.mean() - share) < 6 * np.sqrt(share * (1 - share) / n_new)


def test_rows_that_lack_something_are_left_out_and_counted():
    table = pa.table(
        {
            "y": [1.0, None, 2.0, float("nan"), 3.0, 4.0, 5.0],
            "yhat": [0.0, 0.0, None, 0.0, float("inf"), 0.0, 0.0],
            "w": [1.0, 1.0, 1.0, 1.0, 1.0, None, 2.0],
        }
    )
    model = calibrate(table, roles_of(table, "regression", weight="w"), method="split", alpha=0.5)
    assert model.notes == (
        "2 of 7 rows have no target and are left out",
        "2 of 7 rows have no finite prediction and are left out",
        "1 of 7 rows has no weight and is left out",
    )
    assert model.about["rows"] == 2
    assert model.about["rows_left_out"] == 5
    assert model.rule.threshold_ == 5.0  # of weights 1 and 2, and 1 for the new row


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"y": [1.0, 2.0], "yhat": pa.nulls(2)},
            "no row can calibrate: 2 of 2 rows have no finite pred",
        ),
        ({"y": pa.array([], pa.float64()), "yhat": pa.array([], pa.float64())}, "has no rows"),
        ({"y": ["a", "b"], "yhat": [1.0, 2.0]}, "target 'y' holds string such as 'a', not numbers"),
        ({"y": [1.0, 2.0], "yhat": ["1", "2"]}, "prediction 'yhat' holds string, not numbers"),
    ],
)
def test_a_table_that_cannot_calibrate_is_refused(columns, words):
    table = pa.table(columns)
    with pytest.raises(ValueError, match=words):
        calibrate(table, roles_of(table, "regression"), method="split")


@pytest.mark.parametrize("method", METHODS)
def test_too_few_rows_give_infinite_thresholds_with_a_note(method):
    table = make_table("regression", 8)
    by = ["sex"] if METHODS[method].input == "by" else None
    model = calibrate(table, roles_of(table, "regression"), method=method, by=by)
    assert any("fewer" in note or "too few" in note for note in model.notes)
    if method != "batch-gcp":  # it warns, and has thresholds all the same
        assert np.isinf(Applier(model).apply(batch_of(table))["threshold"]).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "plpc"}, "method must be one of"),
        ({"alpha": 1.2}, r"alpha must lie in \(0, 1\)"),
        ({"method": "mondrian"}, "'mondrian' needs groups"),
        ({"by": ["sex"]}, "'plcp' takes no groups by 'sex'"),
        ({"method": "split", "groups": 3}, "'split' learns no groups"),
        ({"groups": 0}, "groups must be a whole number"),
        ({"method": "mondrian", "by": ["sec"]}, "did you mean 'sex'"),
        ({"sensitive": ["sec"]}, "did you mean 'sex'"),
        ({"method": "mondrian", "by": ["y"]}, "cannot group by 'y': new rows will not have it"),
        ({"label_conditional": True}, "label_conditional needs labels"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    table = make_table("regression", 30)
    with pytest.raises(ValueError, match=words):
        calibrate(table, roles_of(table, "regression"), **options)


def test_who_would_group_by_the_label_is_referred_to_the_option_for_it():
    table = make_table("classes", 30)
    with pytest.raises(ValueError, match="thresholds of its own, by --label-conditional"):
        calibrate(table, roles_of(table, "classes"), method="mondrian", by=["label"])


@pytest.mark.parametrize("method", ["plcp", "plcp-split", "rectified"])
def test_one_row_is_refused_where_it_would_have_to_learn(method):
    table = make_table("regression", 2)
    gap = table.set_column(table.column_names.index("y"), "y", pa.array([1.0, None]))
    with pytest.raises(ValueError, match=f"method '{method}' cannot learn from one row"):
        calibrate(gap, roles_of(gap, "regression"), method=method)


def test_no_feature_is_refused_only_where_one_is_needed():
    table = pa.table({"y": np.arange(30.0), "yhat": np.zeros(30)})
    roles = roles_of(table, "regression", exclude="yhat")
    with pytest.raises(ValueError, match="no column to learn groups from"):
        calibrate(table, roles)
    assert calibrate(table, roles, method="split").features == ()


def test_number_of_groups_is_the_users_or_grows_with_the_rows():
    table = make_table("scores", 400)
    roles = roles_of(table, "scores", features="x")
    made = [calibrate(table, roles, groups=groups, explain=False) for groups in (None, 1)]
    assert [model.rule.n_groups for model in made] == [2, 1]


def test_no_more_groups_are_learned_than_people_read():
    made = [
        METHODS["plcp"].make(CalibrationOptions(), n).n_groups
        for n in (600, MOST_GROUPS * 200 - 1, MOST_GROUPS * 200, 10**6)
    ]
    assert made == [3, MOST_GROUPS - 1, MOST_GROUPS, MOST_GROUPS]


@pytest.mark.parametrize("method", ["plcp", "plcp-split", "split"])
def test_groups_are_reported_with_their_shares(method):
    table = make_table("scores", 300)
    groups = 2 if METHODS[method].learns_groups else None
    roles = roles_of(table, "scores", features="x")
    model = calibrate(table, roles, method=method, groups=groups, sensitive=["sex"])
    rows = model.groups_table()
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert [row["group"] for row in rows] == list(range(groups or 1))
    if groups:
        assert [row["threshold"] for row in rows] == model.rule.thresholds_.tolist()
        words = {group["group"]: group for group in model.explanation["groups"]}
        assert [row["rule"] for row in rows] == [words[i]["rule"] for i in range(groups)]
        assert [each["column"] for each in model.explanation["sensitive"]] == ["sex"]


def test_numbers_of_rows_without_a_name_are_no_feature():
    names = ["", " ", "Unnamed: 0", "__index_level_0__", "__null_dask_index__"]
    table = make_table("regression", 120)
    for name in names:
        table = table.append_column(name, pa.array(range(120)))
    model = calibrate(table, roles_of(table, "regression"), explain=False)
    assert not {*names} & {feature.column for feature in model.features}
    assert [left.column for left in model.left_out if left.reason] == names


def test_each_column_is_reported_with_its_rule():
    table = make_table("regression", 120).append_column("void", pa.nulls(120))
    model = calibrate(table, roles_of(table, "regression"), explain=False)
    message = {row["column"]: row for row in describe_features(model)}
    assert message["sex"]["kind"] == "categories"
    assert message["sex"]["values"] == 2
    assert message["day"]["values"] is None
    assert message["day"]["kind"] == "dates"
    assert (message["void"]["kind"], message["void"]["rule"]) == ("left out", "no row has a value")
    assert "y" not in message


ALPHAS = [0.1, 0.05, 0.4]


@pytest.mark.parametrize("task", TASKS)
def test_each_rate_gets_the_sets_it_would_get_alone(task, tmp_path):
    table, new = make_table(task, 300), batch_of(make_table(task, 40, 1))
    roles = roles_of(table, task)
    model = calibrate(table, roles, method="split", alpha=ALPHAS)
    save_model(model, tmp_path / "m.plcp")
    out = Applier(load_model(tmp_path / "m.plcp")).apply(new)
    for alpha in ALPHAS:
        alone = Applier(calibrate(table, roles, method="split", alpha=alpha)).apply(new)
        for name in alone.schema.names[new.num_columns :]:
            ours = name if alpha == ALPHAS[0] else f"{name}_{alpha:g}"
            assert out[ours].equals(alone[name])


def test_learned_sets_are_nested_and_the_groups_are_those_of_the_first():
    table, new = make_table("regression", 300), batch_of(make_table("regression", 200, 1))
    roles = roles_of(table, "regression")
    model = calibrate(table, roles, groups=2, alpha=ALPHAS, explain=False)
    alone = calibrate(table, roles, groups=2, alpha=ALPHAS[0], explain=False)
    out = Applier(model).apply(new)
    assert out["group"].equals(Applier(alone).apply(new)["group"])
    assert model.alpha == ALPHAS[0]
    for low, high in (("", "_0.05"), ("_0.4", "")):
        assert (out[f"lower{high}"].to_numpy() <= out[f"lower{low}"].to_numpy()).all()
        assert (out[f"upper{low}"].to_numpy() <= out[f"upper{high}"].to_numpy()).all()


def test_a_rate_that_needs_more_rows_is_named():
    table = make_table("regression", 30)
    model = calibrate(table, roles_of(table, "regression"), method="split", alpha=[0.1, 0.001])
    (note,) = model.notes
    assert note.startswith("alpha = 0.001: ")
    assert np.isinf(Applier(model).apply(batch_of(table))["threshold_0.001"].to_numpy()).all()


N = 150
ROWS = np.random.default_rng(0).permutation(N)
NAMING = {
    "numbers of rows": pa.array(ROWS),
    "keys": pa.array(27_000_000_000_000_000 + 7 * ROWS),
    "with a gap": pa.array([None, *ROWS[1:].tolist()], pa.int64()),
    "gaps made floats": pa.array([np.nan, *ROWS[1:].astype(float)]),
    "decimals": pa.array([decimal.Decimal(int(row)) for row in ROWS], pa.decimal128(38, 0)),
    "text": pa.array([f"row {row}" for row in ROWS]),
}
CONSTANT = {
    "number": pa.array(np.full(N, 7)),
    "too long for a float": pa.array([1e25] * N),
    "text": pa.array(["x"] * N),
    "truth": pa.array([True] * N),
    "date": pa.array([0] * N, pa.timestamp("us")),
    "category": pa.array(["x"] * N).dictionary_encode(),
}
ORDINARY = {
    "reals": pa.array(np.random.default_rng(0).normal(size=N)),
    "amounts": pa.array([*ROWS[:-1], ROWS[0]]),  # one comes twice
    "dates": pa.array(ROWS, pa.timestamp("s")),
    "one value or none": pa.array([None, *[1.0] * (N - 1)]),
    "present or not": pa.array([None, *["x"] * (N - 1)]),
}


def learned(column, **options):
    table = pa.table({"column": column})
    return learn_features(table, ["column"], named=False, **options)


@pytest.mark.parametrize("kind", NAMING)
def test_what_names_rows_is_left_out(kind):
    features, (left,) = learned(NAMING[kind])
    assert features == ()
    assert "differ" in left.reason or "different" in left.reason


@pytest.mark.parametrize("kind", CONSTANT)
def test_what_never_changes_is_left_out(kind):
    features, (left,) = learned(CONSTANT[kind])
    assert features == ()
    assert left.reason.endswith("the same in every row")


@pytest.mark.parametrize("kind", ORDINARY)
def test_what_may_be_learned_from_stays(kind):
    assert [feature.column for feature in learned(ORDINARY[kind])[0]] == ["column"]


def test_few_rows_prove_no_identifier_and_a_prediction_is_none():
    assert learned(pa.array(ROWS[:50]))[0]
    assert learned(pa.array(ROWS), predictions=["column"])[0]
    assert learned(pa.array(ROWS), codes=["column"])[0]


@pytest.mark.parametrize("column", [*NAMING.values(), *CONSTANT.values()])
def test_columns_that_the_user_names_are_used(column):
    features, left = learn_features(pa.table({"column": column}), ["column"], named=True)
    assert (len(features), left) == (1, ())


def test_calibration_names_what_it_left_out_and_how_to_use_it():
    table = make_table("regression", N).append_column("id", pa.array(ROWS))
    table = table.append_column("same", pa.array(["x"] * N))
    table = table.append_column("none", pa.nulls(N))
    model = calibrate(table, roles_of(table, "regression"), groups=2, explain=False)
    assert {left.column for left in model.left_out} == {"id", "same", "none"}
    assert not {"id", "same", "none"} & {feature.column for feature in model.features}
    (note,) = model.notes
    assert "'id'" in note
    assert "'same'" in note
    assert "'none'" not in note  # nothing can be learned from it
    assert "--features" in note
    chosen = roles_of(table, "regression", features="x,id")
    named = calibrate(table, chosen, groups=2, explain=False)
    assert [feature.column for feature in named.features] == ["x", "id"]
    assert named.notes == ()


def test_columns_that_apply_made_are_not_learned_from():
    names = ["lower", "upper", "group", "threshold", "lower_0.05", "upper_0.05", "threshold_0.05"]
    table = make_table("regression", N)
    for name in names:
        table = table.append_column(f"my_{name}", table["y"])
    model = calibrate(table, roles_of(table, "regression"), groups=2, explain=False)
    assert {left.column for left in model.left_out} == {f"my_{name}" for name in names}


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize(("task", "role"), [("regression", "y"), ("scores", "s")])
def test_an_infinite_outcome_is_refused_and_not_dropped(task, role, value):
    table = make_table(task, 60)
    values = [value, *table[role].to_pylist()[1:]]
    table = table.set_column(table.column_names.index(role), role, pa.array(values))
    with pytest.raises(ValueError, match=rf"'{role}' is infinite in 1 row: write the largest"):
        calibrate(table, roles_of(table, task), method="split")


def test_an_infinite_weight_is_refused():
    table = make_table("regression", 60)
    weights = pa.array([np.inf, *[1.0] * 59])
    table = table.set_column(table.column_names.index("w"), "w", weights)
    with pytest.raises(ValueError, match="weight 'w' is infinite in 1 row"):
        calibrate(table, roles_of(table, "regression", weight="w"), method="split")


def test_swapped_quantiles_are_refused():
    table = make_table("quantiles", 60)
    roles = choose_roles(table.column_names, target="y", lower="hi", upper="lo")
    with pytest.raises(ValueError, match=r"'hi' lies above upper 'lo' in 60 of 60 rows: .*swapped"):
        calibrate(table, roles, method="split")
