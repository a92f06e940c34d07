"""Classes of users, and of scikit-learn without checks, come back if they are trusted."""

import subprocess
import sys

import numpy as np
import pytest
from own_classes import Halved, Mean, Sides
from saved_examples import fitted, outputs, plane, task
from sklearn._loss._loss import CyHalfSquaredError
from sklearn._loss.link import IdentityLink, Interval
from sklearn._loss.loss import HalfSquaredError
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR

import plcp
import plcp.dask
from plcp.storage import TrustWarning

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
        [CyHalfSquaredError, GradientBoostingRegressor, HalfSquaredError, IdentityLink, Interval],
    ),
    "neighbours": (
        lambda: fitted(plcp.ConformalRegressor(KNeighborsRegressor(algorithm="brute")), y=task.y),
        [KNeighborsRegressor],
    ),
    "support vectors": (lambda: fitted(plcp.ConformalRegressor(SVR()), y=task.y), [SVR]),
    "universal function": (
        lambda: fitted(
            plcp.ConformalRegressor(make_pipeline(FunctionTransformer(np.exp), Mean())), y=task.y
        ),
        [np.exp, Mean],
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_they_are_refused_by_name_until_they_are_trusted(kind, tmp_path):
    make, trusted = MODELS[kind]
    model, path = make(), tmp_path / "m.plcp"
    with pytest.warns(TrustWarning) as warned:
        plcp.save(model, path)
    with pytest.raises(ValueError, match=r"names .*, which plcp does not list") as raised:
        plcp.load(path)
    assert str(path) in str(raised.value)
    for again in (plcp.load(path, trusted=trusted), called(str(warned[0].message))):
        before, after = outputs(model, plane), outputs(again, plane)
        for method, wanted in before.items():
            np.testing.assert_array_equal(after[method], wanted)


def test_a_tree_of_neighbours_is_named_at_once(tmp_path):
    model = KNeighborsRegressor(algorithm="kd_tree").fit(plane, task.y)
    with pytest.raises(TypeError, match=r"^KNeighborsRegressor\._tree is a .*KDTree, which cannot"):
        plcp.save(model, tmp_path / "m.plcp")


def called(message):
    """What the call in a message gives, run as it stands."""
    imports, _, call = message.partition("it loads only by ")[2].partition("; ")
    names = {"plcp": plcp}
    exec(imports, names)
    return eval(call, names)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(copy=False), make_pipeline(StandardScaler(), memory="cache")]
)
def test_what_would_touch_rows_or_files_has_to_be_trusted(scaler, tmp_path):
    path = tmp_path / "m.plcp"
    with pytest.warns(TrustWarning, match=rf"trusted=\[sklearn\..*\.{type(scaler).__name__}\]"):
        plcp.save(scaler.fit(plane), path)
    with pytest.raises(ValueError, match=r"copy=False would overwrite|memory= names files"):
        plcp.load(path)
    again = plcp.load(path, trusted=[type(scaler)])
    np.testing.assert_array_equal(again.transform(plane.copy()), scaler.transform(plane.copy()))


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
    import warnings
    warnings.simplefilter("ignore")
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
