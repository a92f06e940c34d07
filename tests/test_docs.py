"""The reference has every public name, and each name has an example that runs as pasted."""

import ast
import builtins
import doctest
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parent.parent / "docs"
REFERENCE = (DOCS / "reference" / "api.rst").read_text()
LISTED = re.findall(r"^ +(plcp\.[\w.]+)$|^\.\. py:data:: (.+)$", REFERENCE, flags=re.MULTILINE)
NAMES = [name or data for name, data in LISTED]
MODULES = [
    f"plcp{name}"
    for name in (
        *(
            "",
            ".comparison",
            ".conformal",
            ".dask",
            ".datasets",
            ".evaluation",
            ".exceptions",
            ".experiments",
        ),
        *(".explain", ".groups", ".interop", ".interop.skpro", ".kernels", ".metrics"),
        *(".models", ".monitoring"),
        *(".onnx", ".out_of_core", ".partitions", ".partitions.torch", ".plotting", ".quantiles"),
        *(".regressors", ".scores", ".sets", ".spark", ".storage", ".tables", ".theory"),
        ".thresholds",
    )
]
OF_A_SESSION = ("df", "model", "rule")  # of Spark, which needs Java


def found(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def is_documented(name):
    return callable(found(name))


def test_no_name_is_listed_twice():
    assert len({id(found(name)) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    package = importlib.import_module(module)
    public = {name: getattr(package, name) for name in package.__all__}
    listed = {id(found(name)) for name in NAMES}
    missing = [
        name
        for name, value in public.items()
        if not isinstance(value, ModuleType) and id(value) not in listed
    ]
    assert not missing, f"{module}: add them to docs/reference/api.rst"


@pytest.mark.parametrize("name", [name for name in NAMES if is_documented(name)])
def test_every_public_name_has_an_example_that_runs_as_pasted(name):
    documented = found(name).__doc__
    assert re.search(r"^ *Examples\n *--------$", documented, flags=re.MULTILINE)
    source = "".join(one.source for one in doctest.DocTestParser().get_examples(documented))
    unknown = names_without_definition(source)
    assert not unknown - ({*OF_A_SESSION} if name.startswith("plcp.spark") else set())


def names_without_definition(source):
    nodes = [*ast.walk(ast.parse(source))]
    defined = {*dir(builtins)}
    for node in nodes:
        if isinstance(node, ast.alias):
            defined.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
    return {node.id for node in nodes if isinstance(node, ast.Name)} - defined


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isclass(found(name))])
def test_every_public_member_is_documented(name):
    owner = found(name)
    members = {
        key: inspect.getattr_static(owner, key) for key in dir(owner) if not key.startswith("_")
    }
    ours = {
        key: member
        for key, member in members.items()
        if isinstance(member, property | classmethod | staticmethod) or inspect.isroutine(member)
    }
    assert not [key for key, member in ours.items() if not inspect.getdoc(member)]
