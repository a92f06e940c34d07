"""Trees of scikit-learn and LightGBM predict as before, to the bit, for many rows and for one."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from opened_files import opened
from saved_examples import labels, quietly, task
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
from plcp.storage.trees import pack, unpack

rng = np.random.default_rng(0)
N = len(task.y)
X = np.column_stack([task.X[:, 0], rng.normal(size=N), rng.integers(0, 9, N)])
X[rng.uniform(size=X.shape) < 0.1] = np.nan
frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(rng.choice(list("xyzuvw"), N))})
three = rng.integers(0, 3, N)
CODES = [False, False, True]
FEW = {"max_iter": 8, "min_samples_leaf": 5}
MODELS = {
    "numbers": lambda: HistGradientBoostingRegressor(**FEW).fit(X, task.y),
    "codes": lambda: HistGradientBoostingRegressor(
        loss="gamma", categorical_features=CODES, **FEW
    ).fit(X, task.scores + 0.1),
    "quantile": lambda: HistGradientBoostingRegressor(loss="quantile", quantile=0.3, **FEW).fit(
        X, task.y
    ),
    "frame": lambda: HistGradientBoostingRegressor(**FEW).fit(frame, task.y),
    "two classes": lambda: HistGradientBoostingClassifier(**FEW).fit(X, labels),
    "three classes": lambda: HistGradientBoostingClassifier(**FEW).fit(X, three),
    "one leaf": lambda: HistGradientBoostingRegressor(max_iter=2).fit(X[:3], task.y[:3]),
    "tree": lambda: DecisionTreeRegressor(random_state=0).fit(X, task.y),
    "tree of classes": lambda: DecisionTreeClassifier(random_state=0).fit(X, three),
    "forest": lambda: RandomForestRegressor(3, random_state=0).fit(X, task.y),
    "forest of classes": lambda: RandomForestClassifier(3, random_state=0).fit(X, labels),
    "extra trees": lambda: ExtraTreesClassifier(3, random_state=0).fit(X, three),
    "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, task.y),
    "lightgbm, codes": lambda: lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(
        X, task.y, categorical_feature=[2]
    ),
    "lightgbm, frame": lambda: lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(
        frame, task.y
    ),
    "lightgbm, classes": lambda: lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, labels),
}


def again(model, tmp_path):
    plcp.save(model, tmp_path / "m.plcp")
    return plcp.load(tmp_path / "m.plcp")


@pytest.mark.parametrize("name", MODELS)
def test_trees_predict_as_before(name, tmp_path):
    model = quietly(MODELS[name])
    other = again(model, tmp_path)
    rows = frame if "frame" in name else X
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    for some in (rows, rows[:1], rows[7:9]):
        wanted = quietly(lambda some=some: getattr(model, method)(some))
        np.testing.assert_array_equal(
            quietly(lambda some=some: getattr(other, method)(some)), wanted
        )
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
    np.testing.assert_array_equal(other.predict(many[:5]), wanted[:5])


@pytest.mark.parametrize("width", [np.uint32, np.uint64, np.int64])
def test_a_branch_that_overflows_is_refused(width):
    state = pack(HistGradientBoostingRegressor(**FEW).fit(X, task.y))
    long = state["trees"]["left"].astype(width)
    long[0] = np.iinfo(np.uint32).max  # one beyond is zero: the root would be its own child
    state["trees"]["left"] = long
    with pytest.raises(ValueError, match=r"out of range|other shapes"):
        unpack("HistGradientBoostingRegressor", state)
