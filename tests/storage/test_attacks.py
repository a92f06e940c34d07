"""Files made to do harm, with right checksums: each is refused before it can."""

import io
import os
import warnings
from dataclasses import replace
from functools import cache

import lightgbm
import numpy as np
import pytest
from opened_files import entry, in_memory, opened, refused, resealed, with_entries
from saved_examples import FITTED
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import plcp
from plcp.regressors.encoding import without_rare
from plcp.storage import TrustWarning
from plcp.storage.archive import FREE_BYTES
from plcp.storage.codec import MODEL

X = np.arange(60.0).reshape(20, 3)
LINE = LinearRegression().fit(X, X[:, 0])
LABELS = np.arange(20) % 3
FEW = {"max_iter": 2, "min_samples_leaf": 2}
LIGHT = {"n_estimators": 1, "verbose": -1, "min_child_samples": 2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.plcp"


def altered(model, change, path):
    """Write the file of a model whose entries are changed, with right checksums."""
    return resealed(with_entries(opened(model), change), path)


MODELS = {
    "rule": lambda: plcp.SplitConformal(),
    "groups": lambda: plcp.Mondrian(0, alpha=0.4).fit(X // 20, X[:, 0]),
    "stream": lambda: plcp.PLCP(random_state=np.random.RandomState(0)),
    "line": lambda: LINE,
    "steps": lambda: IsotonicRegression().fit(X[:, 0], X[:, 0]),
    "tree": lambda: DecisionTreeRegressor().fit(X, X[:, 0]),
    "booster": lambda: HistGradientBoostingClassifier(
        categorical_features=[True, False, False], **FEW
    ).fit(X // 9, LABELS),
    "lightgbm": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(X, LABELS),
}
model = cache(lambda name: MODELS[name]())  # each is fitted once


def put(kind, *place, value):
    """A change of a value within the last entry of a kind."""

    def change(entries):
        holder = entry(entries[::-1], kind)
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value

    return change


def insert(*new):
    """A change that puts entries which nothing refers to before all others."""
    return lambda entries: entries.__setitem__(slice(0, 0), new)


def attribute(name, value, *before):
    """A change that gives a rule an attribute made of entries before it."""

    def change(entries):
        assert len(entries) == 1  # no other entry is referred to
        entries[-1]["object"][1][name] = value
        entries[:] = [*before, *entries]

    return change


def share_numbers(entries):
    """Ten thousand times ten thousand references to one array."""
    place = next(i for i, each in enumerate(entries) if "array" in each)
    wide, wider = {"list": [[place]] * 9999}, {"list": [[len(entries) - 1]] * 9999}
    entries[-1:] = [wide, wider, *entries[-1:]]


def move_stream(place):
    """A place in the numbers of a random stream at which it never is."""

    def change(entries):
        next(each["tuple"] for each in entries if "MT19937" in each.get("tuple", ()))[2] = place

    return change


def chain(kind):
    """Values in values, without end: freeing them would crash."""
    content = {"array": lambda i: ["|O", [1], "C", [[i]]], "slice": lambda i: [[i], None, None]}
    link = content.get(kind, lambda i: [[i]])
    return [{"list": []}, *({kind: link(i)} for i in range(20_000))]


def separate_tree(entries):
    entries.insert(0, {"tree": entry(entries, "decision_tree")[2]})


TWICE = [{"list": []}, *({"list": [[i], [i]]} for i in range(26))]  # each twice in the next
TUPLES = [{"tuple": []}, *({"tuple": [[i], [i]]} for i in range(60))]
ALIKE = [(2**61 - 1) * i for i in range(2**10)]  # all have one hash
UNLISTED = "which plcp does not list"
TREES = "sklearn.tree._tree.Tree"
REFUSED = [
    # names
    ("groups", put("object", 0, value="os.system"), rf"os\.system, {UNLISTED}: .*=\[system\]"),
    *(
        ("groups", put("object", 0, value=name), UNLISTED)
        for name in ("builtins.eval", "plcp.cli.main", "Popen", 7, "sklearn.svm._classes.SVC")
    ),
    ("groups", put("object", 0, value="without_rare"), "is no class"),
    *(
        ("groups", insert({kind: "cos\nsystem\n"}), "no value is of the type")
        for kind in ("pickle", "__reduce__", "")
    ),
    # attributes that numpy or Python would follow
    *(
        ("rule", attribute(name, 1), "an attribute has the name")
        for name in ("__array_interface__", "__sklearn_is_fitted__", "__class__", "a b", "")
    ),
    # references
    *(
        ("groups", put("object", 1, "groups_", value=[place]), "there is no entry")
        for place in (-1, 10_000, True, "a", None, 1.5)
    ),
    ("rule", insert(*TUPLES, {"dict": [[[60], 1]]}), "shared more often"),
    *(
        ("rule", attribute(name, [26], *TWICE), "shared more often")
        for name in ("alpha", "guarantee_", "threshold_")
    ),
    ("groups", share_numbers, "shared more often"),
    *(
        ("rule", attribute("a", [20_000], *chain(kind)), "nested deeper")
        for kind in ("list", "tuple", "array", "slice")
    ),
    # numbers, keys and labels
    ("groups", put("array", 1, value=[0]), "more numbers of type|reshape"),
    ("rule", insert({"set": ALIKE}), "a key is"),
    ("rule", insert({"dict": [[key, 1] for key in ALIKE]}), "a key is"),
    (
        "rule",
        insert({"list": ["a" * 1000] * 100}, *[{"arrow": ["string", [0]]}] * 1000),
        "more memory than a model",
    ),
    *(("stream", move_stream(place), "random stream") for place in (-1, 625, 10**9)),
    # estimators
    ("steps", put("object", 1, "y_thresholds_", value=1), "y_thresholds_ has another shape"),
    ("tree", separate_tree, "no value is of the type 'tree'"),
    ("tree", put("decision_tree", 1, "tree_", value=None), "is apart"),
    ("tree", insert({"extension": [TREES, []]}), rf"names {TREES}, {UNLISTED}"),
    # scikit-learn makes room for a path by the depth, and writes on beyond it
    ("tree", put("decision_tree", 2, 3, value=0), "out of range"),
    *(
        ("booster", put("booster", 1, name, value=value), "cannot be read")
        for name, value in [
            ("_in_fit", True),
            ("_preprocessor", None),
            ("_preprocess_X", None),
            ("_is_categorical_remapped", None),
            ("_predictors", None),
            ("n_features_in_", 10**6),
            ("n_features_in_", "3"),
            ("n_trees_per_iteration_", 10**9),
            ("n_trees_per_iteration_", 0),
            ("max_bins", 10**9),
            ("is_categorical_", None),
            ("classes_", None),
            ("warm_start", True),
        ]
    ),
    *(
        ("lightgbm", put("object", 1, name, value=value), "LightGBM|stands for no value")
        for name, value in [
            ("_n_classes", 10**9),
            ("_n_features", 2),
            ("_Booster", 1),
            ("boosting_type", "gbdt num_threads=100000"),
            ("boosting_type", "gbdt\npredict_disable_shape_check=true"),
            ("num_leaves", {"float": "inf", "a": 1}),
            ("_eval_at", 1),
            ("_other_params", None),
            ("predict_disable_shape_check", True),
            ("n_jobs", "100000"),
        ]
    ),
]


@pytest.mark.parametrize(
    ("name", "change", "words"), REFUSED, ids=lambda given: given if type(given) is str else ""
)
def test_a_changed_file_is_refused(path, name, change, words):
    refused(altered(model(name), change, path), words)


@pytest.mark.parametrize(
    "stored",
    [
        *({"array": ["<f8", shape, "C"]} for shape in ([10**12], [-1], [2, "3"], [1.5], [10**30])),
        {"array": ["<f8", [3], "X"]},
        {"array": ["V8", [1], "C"]},
        {"array": ["|O", [2], "C", [1]]},
        {"array": ["<U1000000000", [1], "C", ["a"]]},
        {"array": ["<M8[ns]", [10**9], "C"]},
        {"array": ["(1000000,)f8", [1], "C"]},
        {"array": ["x" * 99, [1], "C"]},
        {"array": [None, [1], "C"]},
        {"array": []},
        *({"scalar": each} for each in (["|S1", 2**31], ["|S1", 10**30], ["|O", 1], ["<f8", [0]])),
    ],
    ids=str,
)
def test_an_array_that_declares_more_than_the_file_holds(path, stored):
    altered(model("groups"), lambda entries: entries.append(stored), path)
    with in_memory(FREE_BYTES):
        refused(path, ": ")


def test_a_booster_of_more_columns_than_memory_holds(path):
    altered(model("booster"), put("booster", 1, "n_features_in_", value=2**31), path)
    with in_memory(FREE_BYTES):
        refused(path, "more memory than a model needs")


def test_nothing_of_an_unlisted_name_is_imported(path, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    altered(model("groups"), put("object", 0, value="trap.Rule"), path)
    refused(path, r"names trap\.Rule")


def with_numbers(kind, path, change):
    """Write a tree or booster whose numbers are changed."""
    boosted = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2)
    made = boosted if kind == "booster" else DecisionTreeRegressor(max_depth=3)
    parts = opened(made.fit(X, X[:, 0]))
    name = "arrays/uint8.npy" if kind == "booster" else "arrays/int64.npy"
    numbers = np.load(io.BytesIO(parts[name]))
    change(numbers)
    content = io.BytesIO()
    np.save(content, numbers)
    return resealed(parts | {name: content.getvalue()}, path)


@pytest.mark.parametrize("value", [0, 7, 200, 255])
def test_trees_out_of_range(path, value):
    """All narrow arrays of a booster (children, columns, flags, sizes) set to one number."""
    with_numbers("booster", path, lambda numbers: numbers.fill(value))
    refused(path, "other shapes|out of range|is damaged|trees")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["booster", "decision tree"])
def test_trees_of_changed_numbers_are_refused_or_predict(path, kind, seed):
    """Compiled code checks no bounds: what is not refused must not crash either."""
    rng = np.random.default_rng(seed)
    n, low, high = (1 + seed % 4, 0, 256) if kind == "booster" else (1, -3, 99)

    def change(numbers):
        numbers[rng.integers(len(numbers), size=n)] = rng.integers(low, high, n)

    try:
        loaded = plcp.load(with_numbers(kind, path, change))
    except ValueError:
        return
    assert loaded.predict(X).shape == (20,)


def changed(model, name, value):
    """A model with an attribute that `fit` never leaves."""
    vars(model)[name] = value
    return model


FRAME = np.array([["a"], ["b"], ["c"], ["c"]] * 5, dtype=object)
NUMBERS = np.array([[1.0], [2.0], [5.0], [5.0]] * 5)
BROKEN = {
    "linear": lambda: changed(LinearRegression().fit(X, X[:, 0]), "coef_", np.zeros((3, 9))),
    "linear, wide": lambda: changed(Ridge().fit(X, X[:, 0]), "intercept_", np.zeros(10**4)),
    "labels": lambda: changed(LogisticRegression().fit(X, LABELS), "classes_", np.arange(9)),
    "scaler": lambda: changed(StandardScaler().fit(X), "scale_", np.ones((9, 3))),
    "one hot, order": lambda: changed(
        OneHotEncoder().fit(NUMBERS), "categories_", [np.array([5.0, 2.0, 1.0])]
    ),
    "one hot, places": lambda: changed(
        OneHotEncoder(min_frequency=6).fit(FRAME),
        "_default_to_infrequent_mappings",
        [np.array([9, 9, 9])],
    ),
    "one hot, dropped": lambda: changed(
        OneHotEncoder(drop="first").fit(FRAME), "_drop_idx_after_grouping", np.array([-9], object)
    ),
    "one hot, width": lambda: changed(OneHotEncoder().fit(FRAME), "_n_features_outs", [1]),
    "codes": lambda: changed(OrdinalEncoder().fit(NUMBERS), "categories_", []),
    "bins": lambda: changed(KBinsDiscretizer(2).fit(X), "n_bins_", np.array([2, 2, 2**15])),
    "gaps": lambda: changed(SimpleImputer().fit(X), "statistics_", np.zeros(9)),
    "indicator": lambda: changed(MissingIndicator().fit(X), "features_", np.array([9])),
    "components": lambda: changed(PCA(2).fit(X), "mean_", np.zeros((9, 3))),
    "bayes": lambda: changed(GaussianNB().fit(X, LABELS), "var_", np.ones((3, 9))),
    "network": lambda: changed(NETWORK(), "n_layers_", 1),
    "network, width": lambda: changed(NETWORK(), "coefs_", [np.zeros((3, 2)), np.zeros((9, 1))]),
    "selection": lambda: changed(SelectKBest(f_classif, k=1).fit(X, LABELS), "scores_", X),
    "constant": lambda: changed(DummyRegressor().fit(X, X[:, 0]), "n_outputs_", 2**31),
    "bagging": lambda: changed(
        BaggingClassifier(GaussianNB(), 2).fit(X, LABELS), "n_classes_", 10**9
    ),
    "bagging, columns": lambda: changed(
        BaggingRegressor(Ridge(), 1).fit(X, X[:, 0]), "estimators_features_", [np.array([0, 9])]
    ),
    "vote": lambda: VotingClassifier([("a", GaussianNB())]).fit(X, LABELS),
    "stack": lambda: changed(
        StackingRegressor([("a", Ridge())], cv=2).fit(X, X[:, 0]), "stack_method_", ["set_params"]
    ),
    "forest": lambda: changed(
        RandomForestRegressor(1).fit(X, X[:, 0]), "estimators_", [Ridge().fit(X, X[:, 0])]
    ),
    "forest, columns": lambda: changed(
        RandomForestRegressor(1).fit(X, X[:, 0]),
        "estimators_",
        [DecisionTreeRegressor().fit(X[:, :1], X[:, 0])],
    ),
    "forest, outputs": lambda: changed(RandomForestRegressor(1).fit(X, X[:, 0]), "n_outputs_", 9),
    "forest, classes": lambda: changed(
        RandomForestClassifier(1).fit(X, LABELS), "n_classes_", 10**9
    ),
    "jobs": lambda: changed(ColumnTransformer([("a", "passthrough", [0])]).fit(X), "n_jobs", "9"),
}


def NETWORK():
    model = MLPRegressor(hidden_layer_sizes=(2,), max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, X[:, 0])


@pytest.mark.parametrize("name", BROKEN)
def test_attributes_that_do_not_fit_each_other(path, name):
    model = BROKEN[name]()
    with pytest.warns(TrustWarning):
        plcp.save(model, path)
    refused(path, f"attributes of a {type(model).__name__} do not fit")


def test_other_parameters_of_lightgbm_reach_no_prediction(path):
    def change(entries):
        others = next(each["dict"] for each in entries if ["verbose", -1] in each.get("dict", ()))
        others.append(["predict_disable_shape_check", True])

    refused(altered(model("lightgbm"), change, path), "has the parameters")


def test_as_many_jobs_as_the_machine_has(path):
    """A hundred thousand threads would end the process."""
    model = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1).fit(X, X[:, 0])
    model.set_params(n_jobs=100_000)  # noted twice
    plcp.save(model, path)
    loaded = plcp.load(path)
    assert loaded.get_params()["n_jobs"] == loaded.n_jobs == os.cpu_count()
    assert loaded.predict(X).shape == (20,)


def test_a_value_in_a_message_is_cut(path):
    described = {"guarantee": "It covers all. " * 1000}
    resealed(opened(plcp.SplitConformal()), path, **described)
    refused(path, "it says that its guarantee is")


@pytest.mark.parametrize("alpha", [[0.1] * 5000, {"a": [*range(9999)]}, "x" * 9999])
def test_an_option_in_a_message_is_cut(alpha):
    with pytest.raises(ValueError, match="alpha") as raised:
        plcp.SplitConformal(alpha=alpha).fit(X, X[:, 0])
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (DecisionTreeRegressor(), "_validate_X_predict"),
        (plcp.SplitConformal(), "predict"),
    ],
)
def test_a_method_replaced_by_another_function(path, model, method):
    """Without the check of columns a tree reads any."""
    setattr(model.fit(X, X[:, 0]), method, without_rare)
    with pytest.raises(TypeError, match=rf"has its own {type(model).__name__}\.{method}"):
        plcp.save(model, path)


def test_trees_and_texts_that_are_made_again_and_again(path):
    """One entry, repeated, of what was written once."""
    rng = np.random.default_rng(0)
    rows, y = rng.uniform(size=(5000, 2)), rng.uniform(size=5000)
    cases = {
        "decision_tree": (DecisionTreeRegressor(), 2000, "more memory than a model"),
        "booster": (HistGradientBoostingRegressor(), 2000, "more memory than a model"),
        "lightgbm": (lightgbm.LGBMRegressor(n_estimators=1, verbose=-1), 2, "share one text"),
    }
    for kind, (model, times, words) in cases.items():

        def change(entries, kind=kind, times=times):
            entries[-1:] = [{kind: entry(entries, kind)}] * times + entries[-1:]

        refused(altered(model.fit(rows, y), change, path), words)


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_constant_that_json_does_not_have(path, constant):
    parts = opened(plcp.SplitConformal().fit(X, X[:, 0]))
    parts[MODEL] = parts[MODEL].replace(b'"alpha":0.1', b'"alpha":' + constant)
    refused(resealed(parts, path), f"{constant.decode()} stands for no value")


@pytest.mark.parametrize(
    "described",
    [
        {"class": "plcp.tables.model.TabularModel"},
        {"alpha": 0.01},
        {"guarantee": "It covers all."},
    ],
)
def test_a_manifest_that_describes_another_model(path, described):
    parts = opened(plcp.SplitConformal().fit(X, X[:, 0]))
    refused(resealed(parts, path, **described), "it says that")


@pytest.mark.parametrize("path", [None, 3, b"m.plcp", io.BytesIO()])
def test_a_path_of_another_type(path):
    for call in (lambda: plcp.save(LINE, path), lambda: plcp.load(path)):
        with pytest.raises(TypeError, match="path must be a str or a Path, got"):
            call()


@pytest.mark.parametrize("trusted", [True, None, "os.system", len, plcp.PLCP, ["os.system"]])
def test_trusted_is_a_list_of_classes_not_of_names(path, trusted):
    plcp.save(LINE, path)
    with pytest.raises(TypeError, match="trusted must be a list of classes and functions, got"):
        plcp.load(path, trusted=trusted)


def test_a_path_with_more_rows_in_reach_than_there_are(path):
    """Prediction would go on for ever."""
    rule = plcp.ConditionalCalibration(alpha=0.3, random_state=0).fit(X % 7, X[:, 0] % 5)
    wanted = rule.predict(X % 7)
    rule._program = replace(rule._program, reach=np.repeat(rule._program.reach, 2))
    plcp.save(rule, path)
    np.testing.assert_array_equal(plcp.load(path).predict(X % 7), wanted)


def test_a_kernel_that_would_draw_without_end(path):
    rule, rows = FITTED["PosteriorConformal"][0]()
    rule.kernel_ = replace(rule.kernel_, precision=10**9)
    plcp.save(rule, path)
    with pytest.raises(ValueError, match="precision must be at most"):
        plcp.load(path).predict(rows)


def test_groups_merged_into_more_than_there_are(path):
    rule, rows = FITTED["PLCP"][3]()  # with memberships of each group
    rule._merged = np.where(rule._merged == rule._merged.max(), 2**31 - 1, rule._merged)
    plcp.save(rule, path)
    with pytest.raises(ValueError, match="groups are merged into a group 2147483647"):
        plcp.load(path).predict(rows)
