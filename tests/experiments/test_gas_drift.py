"""The stand-in for RxRx1, from a small file in the layout of the gas sensors."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from plcp.datasets import fetch_gas_drift
from plcp.experiments import find_experiment, reproduce
from plcp.experiments.gas_drift import later_batches, standardised
from shifted_worlds import write_gas


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_gas(root, seed=0)
    return root


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def done(data_dir, out):
    return reproduce("gas-drift", data_dir=data_dir, out=out, quick=True)


def test_the_quick_version_runs_and_is_named_a_stand_in(done):
    page = done.files[1].read_text(encoding="utf-8")
    assert "stand-in" in page.splitlines()[0]
    assert "lacks batches 7, 10 of UCI's ten" in page
    assert len(done.records) == 2
    assert list(done.records[0]["results"]["groups"]) == ["8", "9"]
    assert json.loads(done.files[2].read_text(encoding="utf-8"))["claims"]
    assert sum(path.suffix == ".svg" and path.stat().st_size > 0 for path in done.files) == 2


def test_only_later_batches_are_held_out_and_early_ones_set_the_scale(data_dir):
    data, settings = fetch_gas_drift(data_dir), find_experiment("gas-drift").quick
    rows = later_batches(data, settings, seed=0)
    later = data.batch > settings["last_early_batch"]
    assert 0 < later.sum() < len(later)
    assert (rows.experiment == data.batch[later]).all()
    assert (rows.label == data.y[later]).all()
    expected = (data.X - data.X[~later].mean(axis=0)) / data.X[~later].std(axis=0)
    assert_allclose(rows.features, expected[later])


def test_a_row_of_the_board_is_a_sensor(data_dir):
    rows = later_batches(fetch_gas_drift(data_dir), find_experiment("gas-drift").quick, seed=0)
    assert rows.inputs.shape[1:] == (1, 16, 8)
    for sensor in (0, 7, 15):  # its eight features stand side by side in the table
        columns = rows.features[:, 8 * sensor : 8 * sensor + 8]
        assert (rows.inputs[:, 0, sensor] == columns.astype(np.float32)).all()


def test_the_predictor_learns_from_early_rows_alone_and_repeats(data_dir):
    data, settings = fetch_gas_drift(data_dir), find_experiment("gas-drift").quick
    first, again = (later_batches(data, settings, seed=0).logits for _ in range(2))
    assert (first == again).all()
    assert (first != later_batches(data, settings, seed=1).logits).any()
    data.y[data.batch > settings["last_early_batch"]] = 0  # what later rows are does not matter
    assert (first == later_batches(data, settings, seed=0).logits).all()


def test_a_feature_that_never_changes_early_on_is_left_on_its_scale():
    X = np.array([[1.0, 5.0], [3.0, 5.0], [4.0, 7.0]])
    found = standardised(X, np.array([True, True, False]))
    assert_allclose(found, [[-1, 0], [1, 0], [2, 2]])
