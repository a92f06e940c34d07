"""Pipelines come back from files; classes of users, or without checks, if they are trusted."""

import subprocess
import sys

import numpy as np
import pytest
from opened_files import again
from own_classes import Halved, Mean, Sides
from saved_examples import PIPELINES, classes, fitted, outputs, people, plane, task, wages
from sklearn._loss._loss import CyHalfSquaredError
from sklearn._loss.link import IdentityLink, Interval
from sklearn._loss.loss import HalfSquaredError
from sklearn.base import is_classifier
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


def around(estimator, *options):
    """A function that fits intervals around a model."""
    return lambda: fitted(plcp.ConformalRegressor(estimator, *options), y=task.y)


MODELS = {
    "score": (around(LinearRegression(), Halved()), [Halved]),
    "model": (around(Mean()), [Mean]),
    "frozen": (around(FrozenEstimator(Mean().fit(plane, task.y))), [Mean]),
    "partition": (lambda: fitted(plcp.PLCP(Sides(), 2)), [Sides]),
    "pipeline": (around(make_pipeline(StandardScaler(), Mean())), [Mean]),
    "in a model of scikit-learn": (around(BaggingRegressor(Mean(), 2)), [Mean]),
    "trees of another kind": (
        around(GradientBoostingRegressor(n_estimators=2)),
        [CyHalfSquaredError, GradientBoostingRegressor, HalfSquaredError, IdentityLink, Interval],
    ),
    "neighbours": (around(KNeighborsRegressor(algorithm="brute")), [KNeighborsRegressor]),
    "support vectors": (around(SVR()), [SVR]),
    "universal function": (
        around(make_pipeline(FunctionTransformer(np.exp), Mean())),
        [np.exp, Mean],
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_predicts_as_before_to_the_bit(name, tmp_path):
    rule = plcp.PLCP(plcp.OrderedPartition(plcp.LinearQuantile()), 2, random_state=0)
    by_labels = is_classifier(PIPELINES[name])
    kind = plcp.ConformalClassifier if by_labels else plcp.ConformalRegressor
    model = kind(PIPELINES[name], threshold=rule, features=["age"], random_state=0)
    fitted(model, people, classes if by_labels else wages)
    other = outputs(again(model, tmp_path), people)
    for method, wanted in outputs(model, people).items():
        np.testing.assert_array_equal(other[method], wanted)


@pytest.mark.parametrize("kind", MODELS)
def test_they_are_refused_by_name_until_they_are_trusted(kind, tmp_path):
    make, trusted = MODELS[kind]
    model, path = make(), tmp_path / "m.plcp"
    with pytest.warns(TrustWarning) as warned:
        plcp.save(model, path)
    with pytest.raises(ValueError, match=r"names .*, which plcp does not list") as raised:
        plcp.load(path)
    assert str(path) in str(raised.value)
    for other in (plcp.load(path, trusted=trusted), called(str(warned[0].message))):
        after = outputs(other, plane)
        for method, wanted in outputs(model, plane).items():
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
    other = plcp.load(path, trusted=[type(scaler)])
    np.testing.assert_array_equal(other.transform(plane.copy()), scaler.transform(plane.copy()))


def test_a_search_that_found_a_rule_comes_back(tmp_path):
    search = fitted(GridSearchCV(plcp.Mondrian(2), {"alpha": [0.2, 0.4]}, cv=2))
    np.testing.assert_array_equal(again(search, tmp_path).predict(plane), search.predict(plane))


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
