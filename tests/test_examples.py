"""The examples run as they stand, on data that need no download."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from plcp import Certificate

EXAMPLES = Path(__file__).parent.parent / "examples"
CELL = r"0\.\d{3} \(\d\.\d{2}\)"  # coverage (size)


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


def rows_of(label, rules, text):
    """Rows of a printed table whose label starts so, with one cell a rule."""
    return re.findall(rf"^{label}.*?0\.\d{{3}}(?: +{CELL}){{{rules}}}$", text, flags=re.M)


def write_idx(path, values):
    """Write small whole numbers in the format of MNIST."""
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


def is_picture(path):
    return path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_images_prints_coverage_by_blur_and_draws_the_groups(tmp_path):
    text = run("plot_images.py", tmp_path, "--output", str(tmp_path / "figures"))
    assert "scikit-learn's digits" in text
    assert len(rows_of("blur", 3, text)) == 5
    assert len(rows_of("all", 3, text)) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"figures"}
    assert is_picture(tmp_path / "figures" / "learned_groups.png")
    assert is_picture(tmp_path / "figures" / "coverage_by_blur.png")


@pytest.mark.slow
def test_images_reads_mnist_where_it_is(tmp_path):
    digits = load_digits()
    (tmp_path / "mnist").mkdir()
    images = np.pad(15 * digits.images, ((0, 0), (10, 10), (10, 10)))
    write_idx(tmp_path / "mnist" / "train-images-idx3-ubyte.gz", images)
    write_idx(tmp_path / "mnist" / "train-labels-idx1-ubyte.gz", digits.target)
    text = run("plot_images.py", tmp_path, "--data-dir", str(tmp_path), "--images", "900")
    assert "MNIST: 270 images to train, 450 to calibrate, 180 to test" in text
    assert is_picture(tmp_path / "learned_groups.png")


@pytest.mark.slow
def test_skorch_predictor_prints_coverage_by_sensor(tmp_path):
    text = run("skorch_predictor.py", tmp_path, "--rows", "6000")
    assert len(rows_of("(?:new|worn) sensor", 2, text)) == 2
    assert len(rows_of("all", 2, text)) == 1
    assert "true label" in text


@pytest.mark.slow
def test_diagnostics_prints_tables_and_hands_on_a_certificate(tmp_path):
    text = run("plot_diagnostics.py", tmp_path, "--output", str(tmp_path / "results"))
    assert text.count("coverage by noise") == 2
    assert is_picture(tmp_path / "results" / "diagnostics.png")
    certificate = Certificate.from_json(tmp_path / "results" / "certificate.json")
    assert certificate.to_text() in text
    assert len(certificate.groups) == 9


def test_displays_draw_all_six(tmp_path):
    text = run("plot_displays.py", tmp_path, "--output", str(tmp_path / "figures"))
    assert text.count("work=own business") == 2
    assert is_picture(tmp_path / "figures" / "displays.png")


def test_onnx_serving_covers_as_python_does(tmp_path):
    text = run("onnx_serving.py", tmp_path, "--rows", "5000")
    assert len(re.findall(r"^covered 0\.\d{3}$", text, flags=re.M)) == 2
    assert "site: tensor(string)" in text
    assert "prediction: tensor(double)" in text
    assert {path.name for path in tmp_path.iterdir()} == {"machines.onnx", "forest.onnx"}


COVERED = r"0\.\d{3} \(\d+\.\d{2}\)$"


@pytest.mark.slow
def test_dask_cluster_prints_coverage_by_noise(tmp_path):
    text = run("dask_cluster.py", tmp_path, "--rows", "4000")
    found = re.findall(rf"^(\w+) +(\w+) {COVERED}", text, flags=re.M)
    assert found == [(rule, kind) for rule in ("Split", "PLCP") for kind in ("quiet", "noisy")]
    assert len(re.findall(r"^\[? ?\[ ?\S+ +\S+ *\]\]?$", text, flags=re.M)) == 2


@pytest.mark.slow
def test_spark_udf_prints_coverage_by_rain(tmp_path, monkeypatch):
    if shutil.which("java") is None:
        (pytest.fail if "CI" in os.environ else pytest.skip)("install a Java runtime, 17 or later")
    patient = "spark.network.timeout 1800s\nspark.python.authenticate.socketTimeout 1800s\n"
    (tmp_path / "spark-defaults.conf").write_text(patient)  # after 15 s it would give up
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    text = run("spark_udf.py", tmp_path, "--rows", "3000", warnings=[PANDAS_3])
    assert re.findall(rf"^rain (\w+) +{COVERED}", text, flags=re.M) == ["no", "yes"]
