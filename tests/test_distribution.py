"""What is shipped: a source distribution whose tests run."""

import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_source_distribution_holds_all_that_tests_may_read():
    if not (ROOT / ".git").exists():
        pytest.skip("only a checkout lists what is tracked")
    listed = ["git", "-C", str(ROOT), "ls-files"]
    tracked = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    at_the_top = {path.split("/")[0] for path in tracked}
    shipped_anyway = {"pyproject.toml"}
    assert {f"/{name}" for name in at_the_top - shipped_anyway if name[0] != "."} == {*included}
