"""Census: the right persons and columns, whichever way the files lie."""

import hashlib
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from plcp.datasets import census_files, fetch_census

CODES = {"CA": 6, "FL": 12, "NY": 36, "PA": 42, "TX": 48}
COMMON = ["AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "SEX", "RAC1P", "ST"]
FIVE = "census/acs_2018_workers_5states.parquet"
ALL = "census/acs_2018_workers_all_states.parquet"
LEAST = {"AGEP": 17, "PINCP": 101, "WKHP": 1, "PWGTP": 1}
EDGES = list(product(*((least - 1, least) for least in LEAST.values())))


def make_people(rng, states, n=300):
    """Persons of all ages and incomes, some of whom ACSIncome leaves out."""
    limits = {"AGEP": 96, "COW": 9, "SCHL": 25, "MAR": 6, "OCCP": 600, "POBP": 300, "SEX": 3}
    limits |= {"RAC1P": 10, "RELP": 18, "WKHP": 90, "PWGTP": 3}
    people = pd.DataFrame({name: rng.integers(1, limit, n) for name, limit in limits.items()})
    people["ST"] = np.sort(np.resize(states, n))
    people["PINCP"] = rng.integers(0, 400, n)
    people["WKHP"] *= rng.integers(0, 2, n)
    people["PWGTP"] -= 1
    people.loc[: len(EDGES) - 1, list(LEAST)] = EDGES
    return people


def write_parquet(root, people, name=FIVE):
    """Write the shared layout: narrow types, columns of other subjects, and three missing."""
    (root / "census").mkdir(exist_ok=True)
    narrow = people.drop(columns=["RELP", "WKHP", "PWGTP"]).astype("int16")
    narrow.assign(ENG=pd.array([None] * len(people), dtype="Int8")).to_parquet(root / name)


def write_folktables(root, people):
    """Write the Census Bureau's files, where blanks and texts occur."""
    folder = root / "census/2018/1-Year"
    folder.mkdir(parents=True)
    for code, rows in people.groupby("ST"):
        rows = rows.assign(SERIALNO="2018HU0000123", NAICSP="  ", RT="P")
        rows["WKHP"] = rows["WKHP"].where((rows["WKHP"] > 0) | (rows.index < len(EDGES)))
        rows.to_csv(folder / f"psam_p{code:02d}.csv", index=False)


def at_work(people, *conditions):
    """Select by a loop over persons."""
    rows = [all(row[key] >= LEAST[key] for key in conditions) for _, row in people.iterrows()]
    return people[rows]


def check(data, expected, columns):
    assert set(data.X.columns) == set(columns)
    for name in columns:
        assert_array_equal(data.X[name].to_numpy(dtype=float), expected[name])
        number = name in ("AGEP", "SCHL", "WKHP")
        assert (data.X[name].dtype == "float64") if number else (data.X[name].dtype == "category")
    assert_array_equal(data.y, expected["PINCP"])
    assert data.y.dtype == np.float64
    assert_array_equal(data.X.index, np.arange(len(expected)))


def test_the_shared_file_and_what_it_lacks(tmp_path, rng):
    people = make_people(rng, list(CODES.values()))
    write_parquet(tmp_path, people)
    data = fetch_census(tmp_path)
    expected = at_work(people, "AGEP", "PINCP")
    assert 0 < len(expected) < len(people)
    check(data, expected, COMMON)
    lacks, sample = data.notes
    assert f"{FIVE} lacks WKHP (hours worked a week) and RELP (relation" in lacks
    assert f"{len(expected):,} persons" in sample
    digest = hashlib.sha256((tmp_path / FIVE).read_bytes()).hexdigest()
    assert data.files == census_files(tmp_path) == {FIVE: digest}
    assert data.paths == (tmp_path / FIVE,)


def test_the_layout_of_folktables_lacks_nothing(tmp_path, rng):
    people = make_people(rng, list(CODES.values()))
    write_folktables(tmp_path, people)
    data = fetch_census(tmp_path)
    expected = at_work(people, "AGEP", "PINCP", "WKHP", "PWGTP")
    assert 0 < len(expected) < len(at_work(people, "AGEP", "PINCP"))
    check(data, expected, [*COMMON, "WKHP", "RELP"])
    assert data.notes == ()
    names = [f"census/2018/1-Year/psam_p{code:02d}.csv" for code in CODES.values()]
    assert list(data.files) == names
    write_parquet(tmp_path, people)
    assert list(fetch_census(tmp_path).files) == [FIVE]


def test_a_blank_code_is_zero(tmp_path, rng):
    people = make_people(rng, list(CODES.values())).assign(AGEP=30, PINCP=500, WKHP=8, PWGTP=1)
    people["COW"] = people["COW"].where(people["COW"] > 4)
    write_folktables(tmp_path, people)
    assert_array_equal(fetch_census(tmp_path).X["COW"].astype(float), people["COW"].fillna(0))


def test_only_the_states_requested(tmp_path, rng):
    people = make_people(rng, list(CODES.values()))
    write_parquet(tmp_path, people)
    data = fetch_census(tmp_path, states=["PA", "CA"])
    check(data, at_work(people[people["ST"].isin([6, 42])], "AGEP", "PINCP"), COMMON)
    assert data.X["ST"].cat.categories.tolist() == [6, 42]


def test_other_states_come_from_other_files(tmp_path, rng):
    people = make_people(rng, [6, 39])
    write_parquet(tmp_path, people[people["ST"] == 6])
    with pytest.raises(
        FileNotFoundError, match=rf"Put there\n +{ALL}\n +or .*psam_p06.csv"
    ) as message:
        fetch_census(tmp_path, states=["CA", "OH"])
    assert "csv_pca.zip, csv_poh.zip at https://www2.census.gov/" in str(message.value)
    write_parquet(tmp_path, people, ALL)
    assert list(census_files(tmp_path, ["CA", "OH"])) == [ALL]
    check(fetch_census(tmp_path, ["CA", "OH"]), at_work(people, "AGEP", "PINCP"), COMMON)


def test_what_is_missing_is_requested(tmp_path, rng):
    write_folktables(tmp_path, make_people(rng, [6, 12, 48]))
    for function in (fetch_census, census_files):
        with pytest.raises(FileNotFoundError) as caught:
            function(tmp_path)
        folder = "census/2018/1-Year"
        wanted = f"     {FIVE}\n  or {ALL}\n  or {folder}/psam_p36.csv, {folder}/psam_p42.csv\n"
        assert wanted in str(caught.value)


@pytest.mark.parametrize("states", ["CA", (), ("CA", "XX"), ("ca",), (6,)])
def test_states_must_be_states(tmp_path, states):
    with pytest.raises(ValueError, match=r"states=.*: give one or more of AL, AK, .*, PR"):
        fetch_census(tmp_path, states=states)


def test_a_state_where_no_person_lives_is_named(tmp_path, rng):
    write_parquet(tmp_path, make_people(rng, [6, 12, 36]))
    with pytest.raises(ValueError, match=f"{tmp_path / FIVE}: no person there lives in PA, TX"):
        fetch_census(tmp_path)


DAMAGE = {
    "no income": lambda people: people.drop(columns="PINCP"),
    "no race": lambda people: people.drop(columns="RAC1P"),
    "income in words": lambda people: people.assign(PINCP="much"),
    "half a code": lambda people: people.assign(COW=1.5),
    "an endless age": lambda people: people.assign(AGEP=np.inf),
    "no rows": lambda people: people[:0],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_table_is_named(tmp_path, rng, damage):
    people = make_people(rng, list(CODES.values()))
    (tmp_path / "census").mkdir()
    damage(people).to_parquet(tmp_path / FIVE)
    with pytest.raises(ValueError, match=f"{tmp_path / FIVE} cannot be read .*Remove it"):
        fetch_census(tmp_path)


@pytest.mark.parametrize("column", ["WKHP", "RELP", "PWGTP", "OCCP"])
def test_the_bureaus_files_have_all_columns(tmp_path, rng, column):
    people = make_people(rng, list(CODES.values()))
    write_folktables(tmp_path, people)
    path = tmp_path / "census/2018/1-Year/psam_p36.csv"
    people[people["ST"] == 36].drop(columns=column).to_csv(path)
    with pytest.raises(ValueError, match=f"{path} cannot be read .*{column}"):
        fetch_census(tmp_path)
