"""Trees of scikit-learn and LightGBM predict as before, to the bit; their texts are checked."""

import re

import numpy as np
import pandas as pd
import pytest
from lightgbm import Booster, LGBMClassifier, LGBMRegressor
from opened_files import again, opened
from saved_examples import labels, outputs, quietly, task
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.inspection import partial_dependence
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import plcp
from plcp.regressors import CrossFitted, ScaledQuantile
from plcp.storage.lightgbm import checked_text
from plcp.storage.trees import pack, unpack

rng = np.random.default_rng(0)
N = len(task.y)
X = np.column_stack([task.X[:, 0], rng.normal(size=N), rng.integers(0, 9, N)])
X[rng.uniform(size=X.shape) < 0.1] = np.nan
frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(rng.choice(list("xyzuvw"), N))})
three = rng.integers(0, 3, N)
CODES = [False, False, True]
FEW = {"max_iter": 8, "min_samples_leaf": 5}
GAMMA = HistGradientBoostingRegressor(loss="gamma", categorical_features=CODES, **FEW)
LOW = HistGradientBoostingRegressor(loss="quantile", quantile=0.3, **FEW)
LIGHT = {"n_estimators": 5, "verbose": -1}
MODELS = {
    "numbers": lambda: HistGradientBoostingRegressor(**FEW).fit(X, task.y),
    "codes": lambda: GAMMA.fit(X, task.scores + 0.1),
    "quantile": lambda: LOW.fit(X, task.y),
    "frame": lambda: HistGradientBoostingRegressor(**FEW).fit(frame, task.y),
    "two classes": lambda: HistGradientBoostingClassifier(**FEW).fit(X, labels),
    "three classes": lambda: HistGradientBoostingClassifier(**FEW).fit(X, three),
    "one leaf": lambda: HistGradientBoostingRegressor(max_iter=2).fit(X[:3], task.y[:3]),
    "tree": lambda: DecisionTreeRegressor(random_state=0).fit(X, task.y),
    "tree of classes": lambda: DecisionTreeClassifier(random_state=0).fit(X, three),
    "forest": lambda: RandomForestRegressor(3, random_state=0).fit(X, task.y),
    "forest of classes": lambda: RandomForestClassifier(3, random_state=0).fit(X, labels),
    "extra trees": lambda: ExtraTreesClassifier(3, random_state=0).fit(X, three),
    "lightgbm": lambda: LGBMRegressor(**LIGHT).fit(X, task.y),
    "lightgbm, codes": lambda: LGBMRegressor(**LIGHT).fit(X, task.y, categorical_feature=[2]),
    "lightgbm, frame": lambda: LGBMRegressor(**LIGHT).fit(frame, task.y),
    "lightgbm, classes": lambda: LGBMClassifier(**LIGHT).fit(X, labels),
}


@pytest.mark.parametrize("name", MODELS)
def test_trees_predict_as_before(name, tmp_path):
    model = quietly(MODELS[name])
    other = again(model, tmp_path)
    rows = frame if "frame" in name else X
    for some in (rows, rows[:1], rows[7:9]):
        for method, wanted in outputs(model, some).items():
            np.testing.assert_array_equal(outputs(other, some)[method], wanted)
    assert repr(other) == repr(model)
    assert again(other, tmp_path).__dict__.keys() == other.__dict__.keys()


def test_a_booster_with_warm_start_is_refused_with_the_remedy(tmp_path):
    model = HistGradientBoostingRegressor(warm_start=True, **FEW).fit(X, task.y)
    with pytest.raises(TypeError, match="fit it with warm_start=False"):
        plcp.save(model, tmp_path / "m.plcp")


def test_the_bins_of_the_rows_are_not_stored():
    model = HistGradientBoostingRegressor(max_iter=1).fit(
        rng.normal(size=(9000, 9)), rng.random(9000)
    )
    numbers = sum(len(part) for name, part in opened(model).items() if name.startswith("arrays/"))
    assert numbers < sum(cuts.nbytes for cuts in model._bin_mapper.bin_thresholds_)


def test_partial_dependence_is_that_of_before(tmp_path):
    model = HistGradientBoostingRegressor(**FEW).fit(np.nan_to_num(X), task.y)
    wanted, found = (
        partial_dependence(each, np.nan_to_num(X), [0], method="recursion")["average"]
        for each in (model, again(model, tmp_path))
    )
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("regressor", [ScaledQuantile(0.9), HistGradientBoostingRegressor(**FEW)])
def test_tables_of_all_trees_are_the_same_too(regressor, tmp_path):
    many = rng.normal(size=(10_000, 3))
    model = CrossFitted(regressor, n_repeats=1, cv=2, random_state=0).fit(
        np.nan_to_num(X), task.scores
    )
    wanted = model.predict(many)
    assert "_tables" in vars(model)
    other = again(model, tmp_path)
    assert "_tables" not in vars(other)
    np.testing.assert_array_equal(other.predict(many), wanted)


@pytest.mark.parametrize("width", [np.uint32, np.uint64, np.int64])
def test_a_branch_that_overflows_is_refused(width):
    state = pack(HistGradientBoostingRegressor(**FEW).fit(X, task.y))
    long = state["trees"]["left"].astype(width)
    long[0] = np.iinfo(np.uint32).max  # one beyond is zero: the root would be its own child
    state["trees"]["left"] = long
    with pytest.raises(ValueError, match=r"out of range|other shapes"):
        unpack("HistGradientBoostingRegressor", state)


Z = rng.normal(size=(200, 3))
Z[:, 2] = rng.integers(0, 4, 200)
named = pd.DataFrame(Z, columns=["a", "b c", "d"]).assign(d=pd.Categorical(Z[:, 2].astype(int)))
TEXTS = {
    "line": (LGBMRegressor(), Z, Z[:, 0]),
    "quantile": (LGBMRegressor(objective="quantile", alpha=0.9), Z, Z[:, 0]),
    "tweedie": (LGBMRegressor(objective="tweedie"), Z, np.abs(Z[:, 1])),
    "forest": (
        LGBMRegressor(boosting_type="rf", bagging_freq=1, bagging_fraction=0.5), Z, Z[:, 0]
    ),
    "monotone": (LGBMRegressor(monotone_constraints=[1, 0, -1]), Z, Z[:, 0]),
    "constant": (LGBMRegressor(), Z, np.zeros(200)),
    "categories": (LGBMRegressor(), named, Z[:, 2]),
    "two classes": (LGBMClassifier(), Z, Z[:, 0] > 0),
    "classes": (LGBMClassifier(), Z, Z[:, 2].astype(int)),
}  # fmt: skip


def written(name):
    model, rows, y = TEXTS[name]
    model.set_params(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1, min_child_samples=5)
    return model.fit(rows, y).booster_, rows


@pytest.mark.filterwarnings("ignore")  # of what names LightGBM changes, and of few bins
@pytest.mark.parametrize("name", TEXTS)
def test_trees_stay_as_they_were_written(name):
    booster, rows = written(name)
    text = booster.model_to_string(num_iteration=-1)
    checked = checked_text(text)
    assert checked_text(checked) == checked
    again = Booster(model_str=checked)
    assert again.dump_model()["tree_info"] == booster.dump_model()["tree_info"]
    np.testing.assert_array_equal(again.predict(rows), booster.predict(rows))
    assert checked_text(again.model_to_string(num_iteration=-1)) == checked


@pytest.mark.parametrize(
    ("place", "put"),
    [
        (r"num_class=4", "num_class=300"),
        (r"left_child=\S+", "left_child=900"),
        (r"left_child=\S+", "left_child=-900"),
        (r"left_child=\S+", "left_child=0"),
        (r"right_child=\S+", "right_child=0.5"),
        (r"split_feature=\S+", "split_feature=77"),
        (r"split_feature=\S+", "split_feature=-1"),
        (r"leaf_value=", "leaf_value=1 "),
        (r"threshold=", "threshold=1 "),
        (r"num_leaves=", "num_leaves=9"),
        (r"num_cat=0", "num_cat=3"),
        (r"decision_type=\S+", "decision_type=1"),
        (r"is_linear=0", "is_linear=1"),
        (r"Tree=1", "Tree=1\nTree=2"),
        (r"max_feature_idx=2", "max_feature_idx=no"),
        (r"num_tree_per_iteration=\d", "num_tree_per_iteration=0"),
        (r"num_class:4", "num_class:400"),
        (r" num_class:4", ""),
        (r"max_feature_idx=2", "max_feature_idx=1"),
        (r"version=v4", "version=v4\nlinear_tree=1"),
        (r"leaf_count=", "leaf_count=1 "),
        (r"leaf_value=\S+", "leaf_value=0x1p3"),
        (r"leaf_value=\S+", "leaf_value=i0"),
        (r"leaf_value=\d", "leaf_value=\u0663"),  # digits of another script end the process
        (r"split_feature=\d", "split_feature=\uff11"),
        (r"version=v4", "version=v\u0664"),
        (r"decision_type=\d+", "decision_type=200"),
        (r"leaf_count=\d+", "leaf_count=99999999999"),
        (r"leaf_value=\S+", "leaf_value=" + "1" * 10_000),
        (r"split_gain=\S+", "split_gain=."),
        (r"internal_weight=\S+", "internal_weight=e-1"),
        (r"\nend of trees\n", "\n"),
        (r"objective=\w+", "objective=%n%n%n"),
        (r"feature_infos=\S+", "feature_infos="),
        (r"leaf_weight=.*", "leaf_weight="),  # ends the process
        (r"label_index=0\n", ""),
        (r"feature_names=.*\n", ""),
        (r"feature_infos=.*\n", ""),
        (r"objective=.*", "objective=regresion"),
        (r"objective=.*", "objective=binary"),
        (r"objective=.*", "objective=binary sigmoid:0"),
        (r"objective=.*", "objective=binary sigmoid"),
        (r"objective=.*", "objective=multiclassova num_class:4 sigmoid:nan"),
    ],
)
def test_what_lightgbm_would_not_check_is_refused(place, put):
    text = written("classes")[0].model_to_string(num_iteration=-1)
    changed = re.sub(place, put, text, count=1)
    assert changed != text
    with pytest.raises((KeyError, ValueError)):  # `load` names both
        checked_text(changed)


@pytest.mark.parametrize("sizes", ["tree_sizes=1", "tree_sizes=-5 99999999", "tree_sizes="])
def test_sizes_and_parameters_of_a_text_are_computed_again(sizes):
    text = written("line")[0].model_to_string(num_iteration=-1)
    changed = re.sub(r"tree_sizes=.*", sizes, text)
    changed = re.sub(r"\[num_leaves: \d+\]", "[[[[no parameter", changed)
    assert checked_text(changed) == checked_text(text)
