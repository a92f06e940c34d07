"""The examples run as they stand, on data that need no download."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
PANDAS_3 = "ignore:PySpark does not yet fully support pandas:FutureWarning"


def run(name, directory, *arguments, warnings=()):
    """What an example prints, run as a script in an empty directory; its warnings are errors."""
    environment = {key: value for key, value in os.environ.items() if key != "PLCP_DATA"}
    filters = [part for rule in ("error", *warnings) for part in ("-W", rule)]
    done = subprocess.run(
        [sys.executable, *filters, EXAMPLES / name, *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COVERED = r"0\.\d{3} \(\d+\.\d{2}\)$"


@pytest.mark.slow
def test_spark_udf_prints_coverage_by_rain(tmp_path, monkeypatch):
    if shutil.which("java") is None:
        (pytest.fail if "CI" in os.environ else pytest.skip)("install a Java runtime, 17 or later")
    patient = "spark.network.timeout 1800s\nspark.python.authenticate.socketTimeout 1800s\n"
    (tmp_path / "spark-defaults.conf").write_text(patient)  # after 15 s it would give up
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    text = run("spark_udf.py", tmp_path, "--rows", "3000", warnings=[PANDAS_3])
    assert re.findall(rf"^rain (\w+) +{COVERED}", text, flags=re.M) == ["no", "yes"]
