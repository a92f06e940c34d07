"""Classes of the user's own are stored, and come back to whoever says that they are trusted."""

import subprocess
import sys

import numpy as np
import pytest
from own_classes import Halved, Mean, Sides
from saved_examples import answers, fitted, plane, task
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree._tree import Tree

import plcp
import plcp.dask

MODELS = {
    "score": (
        lambda: fitted(plcp.ConformalRegressor(LinearRegression(), Halved()), y=task.y),
        [Halved],
    ),
    "model": (lambda: fitted(plcp.ConformalRegressor(Mean()), y=task.y), [Mean]),
    "frozen": (
        lambda: fitted(
            plcp.ConformalRegressor(FrozenEstimator(Mean().fit(plane, task.y))), y=task.y
        ),
        [Mean],
    ),
    "partition": (lambda: fitted(plcp.PLCP(Sides(), 2)), [Sides]),
    "pipeline": (
        lambda: fitted(plcp.ConformalRegressor(make_pipeline(StandardScaler(), Mean())), y=task.y),
        [Mean],
    ),
    "in a model of scikit-learn": (
        lambda: fitted(plcp.ConformalRegressor(BaggingRegressor(Mean(), 2)), y=task.y),
        [Mean],
    ),
    "trees of another kind": (
        lambda: fitted(
            plcp.ConformalRegressor(GradientBoostingRegressor(n_estimators=2)), y=task.y
        ),
        [Tree],
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_they_are_refused_by_name_until_they_are_trusted(kind, tmp_path):
    make, trusted = MODELS[kind]
    model, path = make(), tmp_path / "m.plcp"
    plcp.save(model, path)
    name = trusted[0].__name__
    with pytest.raises(ValueError, match=rf"names .*\.{name}.*trusted=\[.*{name}") as told:
        plcp.load(path)
    assert str(path) in str(told.value)
    again = plcp.load(path, trusted=trusted)
    before, after = answers(model, plane), answers(again, plane)
    for asked, wanted in before.items():
        np.testing.assert_array_equal(after[asked], wanted)


def test_a_search_that_found_a_rule_comes_back(tmp_path):
    search = GridSearchCV(plcp.Mondrian(2), {"alpha": [0.2, 0.4]}, cv=2)
    fitted(search)
    plcp.save(search, tmp_path / "m.plcp")
    again = plcp.load(tmp_path / "m.plcp")
    np.testing.assert_array_equal(again.predict(plane), search.predict(plane))


SCRIPT = """
import sys
import plcp
class Own(plcp.SplitConformal):
    pass
if len(sys.argv) > 2:
    plcp.save(Own(alpha=0.3), sys.argv[1])
else:
    print(plcp.load(sys.argv[1], trusted=[Own]).alpha)
"""


def test_a_class_of_a_script_comes_back_in_another_one(tmp_path):
    path = str(tmp_path / "m.plcp")
    for arguments in ([path, "save"], [path]):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True
        )
    assert done.stdout.strip() == "0.3"


@pytest.mark.parametrize("name", plcp.dask.__all__)
def test_a_model_of_a_cluster_names_what_to_store(name, tmp_path):
    cls = getattr(plcp.dask, name)
    model = cls(LinearRegression()) if "Conformal" in name and "Split" not in name else cls()
    with pytest.raises(TypeError, match=rf"{name}.* store what its to_local\(\) gives"):
        plcp.save(model, tmp_path / "m.plcp")
