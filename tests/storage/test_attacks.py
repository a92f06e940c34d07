"""Files made to do harm, with right checksums: each is refused before it can."""

import io
import json
import os
import struct
import tracemalloc
import warnings
import zipfile
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from opened_files import opened, resealed, with_entries
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
from plcp.storage.archive import write_parts

X = np.arange(60.0).reshape(20, 3)
LINE = LinearRegression().fit(X, X[:, 0])
LABELS = np.arange(20) % 3


def refused(parts, path, words, **options):
    with pytest.raises(ValueError, match=words) as raised:
        plcp.load(resealed(parts, path), **options)
    assert len(str(raised.value)) < len(str(path)) + 400


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.plcp"


def attribute(name, value, before=()):
    """A change that gives the first rule an attribute, made of entries before it."""

    def change(entries):
        entries[-1]["object"][1][name] = value
        entries[:] = [*before, *entries]
        assert len(entries) == len(before) + 1  # no other entry is referred to

    return change


def test_lists_that_are_shared_exponentially(path):
    """Each twice in the next: a kilobyte that would be walked for hours."""
    lists = [{"list": []}, *({"list": [[i], [i]]} for i in range(26))]
    for name in ("alpha", "guarantee_", "threshold_"):
        parts = with_entries(opened(plcp.SplitConformal()), attribute(name, [26], lists))
        refused(parts, path, "shared more often")


def test_numbers_that_are_shared_many_times(path):
    rule = plcp.Mondrian(0, alpha=0.4).fit(X // 20, X[:, 0])
    parts = opened(rule)

    def change(entries):
        place = next(i for i, each in enumerate(entries) if "array" in each)
        last = len(entries) - 1
        wide, wider = {"list": [[place]] * 9999}, {"list": [[last]] * 9999}
        entries[-1:] = [wide, wider, *entries[-1:]]

    refused(with_entries(parts, change), path, "shared more often")


@pytest.mark.parametrize("kind", ["list", "tuple", "array", "slice"])
def test_a_chain_that_would_crash_when_it_is_freed(path, kind):
    content = {"array": lambda i: ["|O", [1], "C", [[i]]], "slice": lambda i: [[i], None, None]}
    link = content.get(kind, lambda i: [[i]])
    chain = [{"list": []}, *({kind: link(i)} for i in range(20_000))]
    parts = with_entries(opened(plcp.SplitConformal()), attribute("a", [20_000], chain))
    refused(parts, path, "nested deeper")


@pytest.mark.parametrize(
    "name", ["__array_interface__", "__array__", "__sklearn_is_fitted__", "__class__", "a b", ""]
)
def test_an_attribute_that_numpy_or_python_would_follow(path, name):
    change = attribute(name, 1)
    refused(with_entries(opened(plcp.SplitConformal()), change), path, "an attribute has the name")


def test_a_tree_apart_from_the_estimator_that_checks_its_rows(path):
    """Alone it follows any column: of a row of three, the one at 2**36."""
    tree = DecisionTreeRegressor().fit(X, X[:, 0])

    def apart(entries):
        each = next(each["decision_tree"] for each in entries if "decision_tree" in each)
        entries.insert(0, {"tree": each[2]})

    def within(entries):
        each = next(each["decision_tree"] for each in entries if "decision_tree" in each)
        each[1]["tree_"] = None

    def compiled(entries):
        entries.insert(0, {"extension": ["sklearn.tree._tree.Tree", []]})

    refused(with_entries(opened(tree), apart), path, "no value is of the type 'tree'")
    refused(with_entries(opened(tree), within), path, "is apart")
    refused(with_entries(opened(tree), compiled), path, r"names sklearn\.tree\._tree\.Tree")


@pytest.mark.parametrize(
    ("name", "value"),
    [
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
    ],
)
def test_a_booster_with_other_attributes_than_its_trees(path, name, value):
    def change(entries):
        next(each["booster"] for each in entries if "booster" in each)[1][name] = value

    model = HistGradientBoostingClassifier(
        max_iter=2, min_samples_leaf=2, categorical_features=[True, False, False]
    ).fit(X // 9, LABELS)
    refused(with_entries(opened(model), change), path, "cannot be read")


@pytest.mark.parametrize("name", ["sklearn.svm._classes.SVC", "sklearn.cluster._kmeans.KMeans"])
def test_an_estimator_whose_compiled_code_is_not_checked(path, name):
    def change(entries):
        entries.insert(0, {"object": [name, {}]})

    refused(with_entries(opened(LINE), change), path, f"names {name}, which plcp does not list")


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
    with pytest.raises(ValueError, match=f"attributes of a {type(model).__name__} do not fit"):
        plcp.load(path)


def test_a_curve_of_something_else_than_numbers(path):
    def change(entries):
        entries[-1]["object"][1]["y_thresholds_"] = 1

    model = IsotonicRegression().fit(X[:, 0], X[:, 0])
    refused(with_entries(opened(model), change), path, "y_thresholds_ has another shape")


def light(name, value, classes=False):
    """Parts of a model of LightGBM with an attribute that it never has."""
    kind, y = (lightgbm.LGBMClassifier, LABELS) if classes else (lightgbm.LGBMRegressor, X[:, 0])
    parts = opened(kind(n_estimators=1, verbose=-1, min_child_samples=2).fit(X, y))

    def change(entries):
        entries[-1]["object"][1][name] = value

    return with_entries(parts, change)


@pytest.mark.parametrize(
    ("name", "value"),
    [
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
    ],
)
def test_a_model_of_lightgbm_with_other_parameters(path, name, value):
    refused(light(name, value, classes=True), path, "LightGBM|stands for no value")


def test_other_parameters_of_lightgbm_reach_no_prediction(path):
    parts = light("a", 1)
    entries = json.loads(parts["model.json"])
    others = next(each["dict"] for each in entries if ["verbose", -1] in each.get("dict", ()))
    others.append(["predict_disable_shape_check", True])
    del entries[-1]["object"][1]["a"]
    refused(parts | {"model.json": json.dumps(entries).encode()}, path, "has the parameters")


def test_as_many_jobs_as_the_machine_has(path):
    """A hundred thousand threads would end the process."""
    model = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1).fit(X, X[:, 0])
    model.set_params(n_jobs=100_000)  # noted twice
    plcp.save(model, path)
    loaded = plcp.load(path)
    assert loaded.get_params()["n_jobs"] == loaded.n_jobs == os.cpu_count()
    assert loaded.predict(X).shape == (20,)


@pytest.mark.parametrize("part", ["manifest.json", "model.json"])
@pytest.mark.parametrize("each", ["[],", '"",', '{"a":0},'])
def test_json_that_would_fill_memory(path, part, each):
    """Of one megabyte, packed: it is refused before it is parsed."""
    parts = opened(plcp.SplitConformal())
    text = '{"format":3,"plcp":"1","a":[' + each * (60_000_000 // len(each)) + "0]}"
    changed = parts | {part: text.encode()}
    if part == "manifest.json":
        path.write_bytes(write_parts(changed))
    else:
        resealed(changed, path)
    tracemalloc.start()
    with pytest.raises(ValueError, match="more than"):
        plcp.load(path)
    assert tracemalloc.get_traced_memory()[1] < 4 * len(text)
    tracemalloc.stop()


def test_a_value_in_a_message_is_cut(path):
    parts = opened(plcp.SplitConformal())
    with pytest.raises(ValueError, match="it says that its guarantee is") as raised:
        plcp.load(resealed(parts, path, guarantee="It covers all. " * 1000))
    assert len(str(raised.value)) < len(str(path)) + 300


@pytest.mark.parametrize("alpha", [[0.1] * 5000, {"a": [*range(9999)]}, "x" * 9999])
def test_an_option_in_a_message_is_cut(alpha):
    with pytest.raises(ValueError, match="alpha") as raised:
        plcp.SplitConformal(alpha=alpha).fit(X, X[:, 0])
    assert len(str(raised.value)) < 200


def test_a_part_compressed_by_lzma_which_may_request_any_memory(path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("manifest.json", "{}")
    changed = bytearray(content.getvalue())
    struct.pack_into("<L", changed, changed.index(b"manifest.json") + 18, 2**32 - 1)
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="compressed as those of no model"):
        plcp.load(path)


def test_a_tree_that_is_deeper_than_declared(path):
    """scikit-learn makes room for a path by the depth, and writes on beyond it."""

    def change(entries):
        next(each["decision_tree"] for each in entries if "decision_tree" in each)[2][3] = 0

    parts = with_entries(opened(DecisionTreeRegressor().fit(X, X[:, 0])), change)
    refused(parts, path, "out of range")


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
            each = next(each for each in entries if kind in each)
            entries[-1:] = [each] * times + entries[-1:]

        refused(with_entries(opened(model.fit(rows, y)), change), path, words)


def test_labels_that_are_made_again_and_again(path):
    def change(entries):
        texts, labels = {"list": ["a" * 1000] * 100}, {"arrow": ["string", [0]]}
        entries[:] = [texts, *[labels] * 1000]

    refused(with_entries(opened(plcp.SplitConformal()), change), path, "more memory than a model")


@pytest.mark.parametrize("kind", ["set", "dict"])
def test_integers_that_all_have_one_hash(path, kind):
    alike = [(2**61 - 1) * i for i in range(2**10)]

    def change(entries):
        entries.insert(0, {kind: alike if kind == "set" else [[key, 1] for key in alike]})

    refused(with_entries(opened(plcp.SplitConformal()), change), path, "a key is")


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_constant_that_json_does_not_have(path, constant):
    parts = opened(plcp.SplitConformal().fit(X, X[:, 0]))
    parts["model.json"] = parts["model.json"].replace(b'"alpha":0.1', b'"alpha":' + constant)
    refused(parts, path, f"{constant.decode()} stands for no value")


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
    with pytest.raises(ValueError, match="it says that"):
        plcp.load(resealed(parts, path, **described))


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
