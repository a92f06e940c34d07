"""Tests of other projects pass against plcp, but for those that are listed with a reason."""

import json
import os

import pytest
from runner import RESULTS, run_apart
from suites import SUITES


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_other_projects_tests_pass_as_recorded(name):
    suite = SUITES[name]
    if suite.files and suite.source() is None:
        (pytest.fail if "CI" in os.environ else pytest.skip)("download them: make foreign")
    found = run_apart(name)
    assert not found["surprises"]
    recorded = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert found["record"] == recorded[name], "record them for the page: make foreign"
