"""Run the tests of other projects against plcp, and record what passes.

    python tests/foreign/runner.py          # every suite, into benchmarks/reliability/results
    python tests/foreign/runner.py mapie    # one of them, as JSON on the standard output

Their test files come from source distributions that ``make foreign`` downloads, and are run as
they are, with functions of ours under the names that they import. An input that they want refused
must be refused by plcp itself, with the type of error they name; the words are our own.
"""

import contextlib
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
import zlib
from collections import Counter
from importlib.metadata import version
from pathlib import Path

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn skips its array API checks without it

import numpy as np
import pytest
from modules import install
from suites import ROOT, SUITES, Reason

import plcp

RESULTS = ROOT / "benchmarks" / "reliability" / "results" / "foreign.json"
OURS = str(Path(plcp.__file__).parent)


def seed(name):
    """Their tests draw without a seed; ours is the name of the test, as in the whole suite."""
    number = zlib.crc32(name.encode())
    np.random.seed(number)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


class RefusedByPlcp:
    """``pytest.raises`` without ``match``: the error must come from plcp, in words of its own."""

    raises = staticmethod(pytest.raises)

    def __init__(self, expected, *, match=None):
        self.context = self.raises(expected)

    def __enter__(self):
        return self.context.__enter__()

    def __exit__(self, kind, error, trace):
        caught = self.context.__exit__(kind, error, trace)
        files = [frame.filename for frame in traceback.extract_tb(trace)]
        if caught and not any(file.startswith(OURS) for file in files):
            pytest.fail(f"refused by the adapter, not by plcp: {error!r}")
        return caught


class Recorder:
    """Leaves out what plcp has not, and notes how each other test ends."""

    def __init__(self, suite):
        self.suite = suite
        self.outcomes = {}

    def pytest_collection_modifyitems(self, items):
        left = [item for item in items if matching(self.suite.not_run, name_of(item.nodeid))]
        self.outcomes |= {name_of(item.nodeid): ("not run", "") for item in left}
        items[:] = [item for item in items if item not in left]

    def pytest_runtest_setup(self, item):
        seed(name_of(item.nodeid))

    def pytest_runtest_logreport(self, report):
        name = name_of(report.nodeid)
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[name] = (report.outcome, report.longreprtext.strip()[-400:])


def name_of(node):
    """``file::test[case]``, without folder and ending."""
    file, _, test = node.partition("::")
    return f"{Path(file).stem}::{test}"


def matching(keys, name):
    """Which of the keys name this test, with all its cases or with this one."""
    return [key for key in keys if name == key or name.startswith(f"{key}[")]


def run_files(suite):
    """Run files of the source distribution, with an adapter in the place of their package."""
    source = suite.source()
    install(importlib.import_module(suite.adapter).MODULES)
    pytest.raises = RefusedByPlcp
    recorder = Recorder(suite)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in suite.files.items():
            shutil.copy(source / path, f"{folder}/{name}.py")
        settings = Path(folder, "pytest.ini")
        settings.write_text("[pytest]\n", encoding="utf-8")
        options = ["-q", "-p", "no:cacheprovider", "-c", str(settings), "--rootdir", folder]
        pytest.main([*options, folder], plugins=[recorder])
    return source.name.rpartition("-")[2], recorder.outcomes


def run_skpro(suite):
    from skpro.utils import check_estimator

    from plcp.interop.skpro import SkproConformal

    seed(suite.title)
    found = check_estimator(SkproConformal, verbose=False)
    return version(suite.package), {
        name: ("passed", "") if outcome == "PASSED" else ("failed", repr(outcome)[-400:])
        for name, outcome in found.items()
    }


def run_sklearn(suite):
    """Run scikit-learn's checks on every public estimator, as the suite does."""
    sys.path.insert(0, str(ROOT / "tests"))
    from sklearn.utils.estimator_checks import check_estimator

    from test_estimator_checks import ESTIMATORS, KNOWN_FAILURES

    outcomes = {}
    for estimator in [*ESTIMATORS, plcp.LinearQuantile()]:
        kind, times = type(estimator), Counter()
        known = KNOWN_FAILURES.get(kind, {})
        seed(kind.__name__)
        checks = check_estimator(
            estimator, expected_failed_checks=known, on_skip=None, on_fail=None
        )
        for check in checks:
            name = f"{kind.__name__}::{check['check_name']}"
            times[name] += 1
            status = {"xfail": "failed"}.get(check["status"], check["status"])
            outcomes[f"{name}[{times[name]}]"] = (status, repr(check["exception"])[-400:])
        suite.failures.update(
            {f"{kind.__name__}::{name}": Reason("our choice", why) for name, why in known.items()}
        )
    return version(suite.package), outcomes


OWN_RUNNERS = {"skpro": run_skpro, "sklearn": run_sklearn}


def surprises(suite, outcomes):
    """Tests that fail for another reason, pass in spite of one, or are named and not there."""
    found = [] if outcomes else ["no test was found"]
    for name, (outcome, message) in outcomes.items():
        expected = [suite.failures[key] for key in matching(suite.failures, name)]
        if outcome == "failed" and not any(reason.says in message for reason in expected):
            found.append(f"{name} fails: {message}")
        if outcome != "failed" and expected:
            found.append(f"{name} is expected to fail: {outcome}")
    for key in [*suite.failures, *suite.not_run]:
        if not any(matching([key], name) for name in outcomes):
            found.append(f"{key} is named, and is no test")
    return found


def grouped(reasons):
    """Texts with the tests that each explains, in the order they were written."""
    found = {}
    for key, reason in reasons.items():
        found.setdefault(reason, []).append(key)
    return found


def record(suite, number, outcomes):
    """What the page shows."""
    counts = Counter(outcome for outcome, _ in outcomes.values())

    def times(keys):
        return sum(bool(matching(keys, name)) for name in outcomes)

    return {
        "title": suite.title,
        "package": suite.package,
        "version": number,
        "of": suite.of,
        **{outcome: counts[outcome] for outcome in ("passed", "failed", "skipped", "not run")},
        "failures": [
            {"kind": reason.kind, "reason": reason.text, "tests": keys, "times": times(keys)}
            for reason, keys in grouped(suite.failures).items()
        ],
        "left out": [
            {"reason": reason, "times": times(keys)}
            for reason, keys in grouped(suite.not_run).items()
        ],
    }


def run(name):
    """Run one suite in this process, which its adapters change for good."""
    suite = SUITES[name]
    run_it = OWN_RUNNERS.get(name, run_files)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number, outcomes = run_it(suite)
    return {"record": record(suite, number, outcomes), "surprises": surprises(suite, outcomes)}


def run_apart(name):
    """Run one suite in a process of its own."""
    command = [sys.executable, __file__, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"the suite {name} did not end: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main(names):
    if names:
        print(json.dumps(run(names[0])))
        return
    found = {name: run_apart(name) for name in SUITES}
    wrong = [text for each in found.values() for text in each["surprises"]]
    if wrong:
        sys.exit("\n".join(wrong))
    records = {name: each["record"] for name, each in found.items()}
    RESULTS.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
