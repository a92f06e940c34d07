"""What importing plcp brings, and what it does not."""

import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator

import plcp

MODULES = [
    "plcp",
    "plcp.interop",
    "plcp.comparison",
    "plcp.conformal",
    "plcp.experiments",
    "plcp.regressors",
    "plcp.metrics",
    "plcp.monitoring",
    "plcp.onnx",
    "plcp.partitions",
    "plcp.partitions.torch",
    "plcp.thresholds",
    "plcp.groups",
    "plcp.storage",
    "plcp.kernels",
    "plcp.datasets",
    "plcp.scores",
    "plcp.theory",
    "plcp.evaluation",
]
EXTRAS = ["torch", "dask", "lightgbm", "matplotlib", "pandas", "polars", "pyarrow", "pooch", "tqdm"]


def run(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_importing_plcp_imports_no_extra():
    """None but those that scikit-learn itself imports where it finds them (pandas, since 1.9)."""
    look = f"print(sorted(set({EXTRAS!r}) & set(sys.modules)))"
    alone = run(f"import sys, sklearn.ensemble, sklearn.linear_model; {look}")
    assert run(f"import sys; from plcp import *; {look}") == alone
    assert not {"torch", "dask", "lightgbm", "matplotlib", "polars", "tqdm"} & set(eval(alone))


def test_plcp_works_where_no_extra_is_installed():
    code = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRAS!r}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import numpy as np, plcp
from plcp.datasets import make_toy
task = make_toy(200, random_state=0)
print(plcp.PLCP(random_state=0).fit(task.X, task.scores).predict(task.X).shape)
"""
    assert run(code) == "(200,)"


LAZY = ["plcp", "plcp.comparison", "plcp.evaluation", "plcp.experiments", "plcp.tables"]


@pytest.mark.parametrize("name", LAZY)
def test_no_lazy_name_is_that_of_a_module(name):
    """An import of the module by its path would put it in the place of the name."""
    package = importlib.import_module(name)
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    names = {n for n in package.__all__ if not isinstance(getattr(package, n), ModuleType)}
    assert names
    assert not modules & names


@pytest.mark.parametrize("name", MODULES)
def test_all_is_exactly_what_is_visible(name):
    module = importlib.import_module(name)
    names = {n for n in module.__all__ if not isinstance(getattr(module, n), ModuleType)}
    if not hasattr(module, "__path__"):  # a chapter shows what it imports
        return
    visible = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not isinstance(value, ModuleType)
    }
    assert visible == names


RULE = {"assign", "at", "draws", "fit", "group_names", "members", "monitor", "predict", "score"}
MODEL = {"at", "examine", "fit", "groups", "members", "monitor", "predict", "predict_set", "score"}
METHODS = {
    "RLCP": RULE,
    "PLCP": RULE | {"groups", "memberships", "n_groups_"},
    "ConformalRegressor": MODEL | {"predict_interval", "set_output"},
    "ConformalClassifier": MODEL | {"classes_", "predict_proba"},
}


@pytest.mark.parametrize("name", METHODS)
def test_what_a_user_sees_of_an_estimator_is_for_users(name):
    theirs = {*dir(BaseEstimator)}
    seen = {key for key in dir(getattr(plcp, name)) if not key.startswith("_")} - theirs
    assert {key for key in seen if not key.endswith("_request")} == METHODS[name]


def test_nothing_heavy_is_imported_before_it_is_asked_for():
    heavy = ["numpy", "scipy", "sklearn", "joblib"]
    assert run(f"import sys, plcp; print(set({heavy!r}) & set(sys.modules))") == "set()"


def test_version_is_that_of_the_package():
    assert plcp.__version__ == version("plcp")


@pytest.mark.parametrize(
    ("module", "package", "message"),
    [
        (
            "plcp.partitions.torch",
            "torch",
            "plcp.partitions.torch needs PyTorch: pip install 'plcp[torch]'",
        ),
        ("plcp.onnx", "onnx", "plcp.onnx needs onnx: pip install 'plcp[onnx]'"),
        (
            "plcp.interop.skpro",
            "skpro",
            "plcp.interop.skpro needs skpro: pip install 'plcp[skpro]'",
        ),
    ],
)
def test_a_module_names_the_extra_whose_package_is_not_installed(module, package, message):
    code = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "{package}":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import plcp
try:
    import {module}
except ImportError as error:
    print(error)
"""
    assert run(code) == message
