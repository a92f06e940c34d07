"""What importing plcp brings, and what it does not."""

import ast
import importlib
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import plcp

MODULES = [
    "plcp",
    "plcp.adapters",
    "plcp.certificate",
    "plcp.conformal",
    "plcp.experiments",
    "plcp.indices",
    "plcp.metrics",
    "plcp.monitoring",
    "plcp.onnx",
    "plcp.partitions",
    "plcp.partitions.torch",
    "plcp.thresholds",
    "plcp.shifts",
    "plcp.storage",
    "plcp.locality",
    "plcp.datasets",
    "plcp.scores",
    "plcp.theory",
    "plcp.audit",
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


@pytest.mark.parametrize("name", MODULES)
def test_all_is_sorted_and_exactly_what_is_visible(name):
    module = importlib.import_module(name)
    names = module.__all__
    capitals_first = sorted(names, key=lambda n: (not n.isupper(), n[0].islower(), n))
    assert names == capitals_first
    assert all(hasattr(module, public) for public in names)  # fetched when asked for
    visible = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not isinstance(value, ModuleType)
    }
    assert visible == set(names)


@pytest.mark.parametrize("package", [plcp, plcp.experiments], ids=lambda package: package.__name__)
def test_editors_are_told_of_every_name_that_is_fetched_when_asked_for(package):
    tree = ast.parse(Path(package.__file__).read_text())
    told = {
        (node.module, alias.name)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        for alias in node.names
    }
    assert told == {(home, name) for home, names in package._HOMES.items() for name in names}
    assert set(package.__all__) == {name for _, name in told}
    assert set(package.__all__) < set(dir(package))


def test_a_name_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = plcp.nothing


def test_nothing_heavy_is_imported_before_it_is_asked_for():
    heavy = ["numpy", "scipy", "sklearn", "joblib"]
    assert run(f"import sys, plcp; print(set({heavy!r}) & set(sys.modules))") == "set()"


def test_version_is_that_of_the_package():
    assert plcp.__version__ == version("plcp")


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_says_what_it_is(name):
    module = importlib.import_module(name)
    assert all(getattr(module, public).__doc__.strip() for public in module.__all__)


@pytest.mark.parametrize(
    ("module", "package", "message"),
    [
        (
            "plcp.partitions.torch",
            "torch",
            "plcp.partitions.torch needs PyTorch: pip install 'plcp[torch]'",
        ),
        ("plcp.onnx", "onnx", "plcp.onnx needs onnx: pip install 'plcp[onnx]'"),
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
