"""Numbers that are names: each value is a category, however it is stored."""

import numpy as np
import pyarrow as pa
import pytest

from plcp.tables import Applier, calibrate, choose_roles, describe_features

RNG = np.random.default_rng(0)
N = 400
JOB = RNG.integers(1, 4, N)
# noise that neither rises nor falls with the code
TABLE = pa.table(
    {"job": JOB, "y": np.where(JOB == 2, 9.0, 1.0) * RNG.normal(size=N), "yhat": np.zeros(N)}
)
ROLES = {"target": "y", "prediction": "yhat"}


@pytest.fixture(scope="module")
def model():
    roles = choose_roles(TABLE.column_names, **ROLES, categories="job")
    return calibrate(TABLE, roles, explain=False)


def test_codes_are_told_apart_from_numbers(model):
    kinds = {one["column"]: one["kind"] for one in describe_features(model)}
    assert kinds == {"job": "codes", "yhat": "left out"}  # yhat is 0 in every row
    assert model.features[0].categories == ("1", "2", "3")


@pytest.mark.parametrize(
    "jobs",
    [
        pa.array([1, 2, 3, None], pa.int8()),
        pa.array([1.0, 2.0, 3.0, None], pa.float32()),
        pa.array([1.0, 2.0, 3.0, np.nan]),
        pa.array(["1", "2", "3", None]),
        pa.array(["1", "2", "3", None]).dictionary_encode(),
    ],
    ids=lambda jobs: str(jobs.type),
)
def test_a_code_is_the_same_however_it_is_stored(model, jobs):
    def thresholds(column):
        batch = pa.record_batch({"job": column, "yhat": np.zeros(4)})
        return Applier(model).apply(batch)["threshold"].to_pylist()

    found = thresholds(jobs)
    assert found == thresholds(pa.array([1, 2, 3, None], pa.int64()))
    assert found[1] > max(found[0], found[2])


def test_a_code_never_seen_is_counted_and_a_fraction_is_no_code(model):
    applier = Applier(model)
    applier.apply(pa.record_batch({"job": [7, 7, 1], "yhat": np.zeros(3)}))
    (note,) = applier.notes()
    assert "'7'" in note
    applier = Applier(model)
    applier.apply(pa.record_batch({"job": [1.5, 1.0], "yhat": np.zeros(2)}))
    assert any("1.5" in note for note in applier.notes())


def test_dates_in_place_of_codes_are_refused(model):
    dates = pa.array(np.array(["2020-01-01"], dtype="M8[D]"))
    with pytest.raises(ValueError, match="column 'job' held codes"):
        Applier(model).apply(pa.record_batch({"job": dates, "yhat": np.zeros(1)}))


@pytest.mark.parametrize("wrong", ["y", "jbo"])
def test_codes_must_be_features(wrong):
    with pytest.raises(ValueError, match=wrong):
        choose_roles(TABLE.column_names, **ROLES, categories=wrong)


def test_categories_that_are_numbers_are_codes_without_being_called_so():
    column = TABLE["job"].dictionary_encode()
    table = TABLE.set_column(0, "job", column)
    roles = choose_roles(table.column_names, **ROLES)
    model = calibrate(table, roles, method="plcp-split", explain=False)
    assert model.features[0].kind == "codes"
    plain, stored = (
        Applier(model).apply(one.combine_chunks().to_batches()[0]) for one in (TABLE, table)
    )
    assert plain["threshold"].equals(stored["threshold"])  # Parquet stores such columns as numbers
