"""The text of a model of LightGBM is parsed and written again, unchanged where it is valid."""

import re

import numpy as np
import pandas as pd
import pytest
from lightgbm import Booster, LGBMClassifier, LGBMRegressor

from plcp.storage.lightgbm import checked_text

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
X[:, 2] = RNG.integers(0, 4, 200)
FRAME = pd.DataFrame(X, columns=["a", "b c", "d"]).assign(d=pd.Categorical(X[:, 2].astype(int)))
MODELS = {
    "line": (LGBMRegressor(), X, X[:, 0]),
    "quantile": (LGBMRegressor(objective="quantile", alpha=0.9), X, X[:, 0]),
    "tweedie": (LGBMRegressor(objective="tweedie"), X, np.abs(X[:, 1])),
    "forest": (
        LGBMRegressor(boosting_type="rf", bagging_freq=1, bagging_fraction=0.5), X, X[:, 0]
    ),
    "monotone": (LGBMRegressor(monotone_constraints=[1, 0, -1]), X, X[:, 0]),
    "constant": (LGBMRegressor(), X, np.zeros(200)),
    "categories": (LGBMRegressor(), FRAME, X[:, 2]),
    "two classes": (LGBMClassifier(), X, X[:, 0] > 0),
    "classes": (LGBMClassifier(), X, X[:, 2].astype(int)),
}  # fmt: skip


def written(name):
    model, rows, y = MODELS[name]
    model.set_params(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1, min_child_samples=5)
    return model.fit(rows, y).booster_, rows


@pytest.mark.filterwarnings("ignore")  # of what names LightGBM changes, and of few bins
@pytest.mark.parametrize("name", MODELS)
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
        (r"num_leaves=\d", "num_leaves=\u09e9"),
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
