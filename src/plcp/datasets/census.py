"""Incomes in the 2018 American Community Survey, as folktables' ACSIncome selects them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.datasets._files import Found, Kind, locate, needed, reading

# Kept short, for the axis of a figure; the codes are those of RAC1P, SEX and ST in 2018.
RACES = {
    1: "White",
    2: "Black",
    3: "American Indian",
    4: "Alaska Native",
    5: "Native American, other",
    6: "Asian",
    7: "Pacific Islander",
    8: "Other race",
    9: "Two or more races",
}
SEXES = {1: "Male", 2: "Female"}
STATES = {
    1: "AL",
    2: "AK",
    4: "AZ",
    5: "AR",
    6: "CA",
    8: "CO",
    9: "CT",
    10: "DE",
    12: "FL",
    13: "GA",
    15: "HI",
    16: "ID",
    17: "IL",
    18: "IN",
    19: "IA",
    20: "KS",
    21: "KY",
    22: "LA",
    23: "ME",
    24: "MD",
    25: "MA",
    26: "MI",
    27: "MN",
    28: "MS",
    29: "MO",
    30: "MT",
    31: "NE",
    32: "NV",
    33: "NH",
    34: "NJ",
    35: "NM",
    36: "NY",
    37: "NC",
    38: "ND",
    39: "OH",
    40: "OK",
    41: "OR",
    42: "PA",
    44: "RI",
    45: "SC",
    46: "SD",
    47: "TN",
    48: "TX",
    49: "UT",
    50: "VT",
    51: "VA",
    53: "WA",
    54: "WV",
    55: "WI",
    56: "WY",
    72: "PR",
}


FIVE_STATES = ("CA", "FL", "NY", "PA", "TX")
# What ACSIncome of folktables predicts income from, and the state.
NUMBERS = ("AGEP", "SCHL", "WKHP")
CATEGORIES = ("COW", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P", "ST")
# Not in the files that come as one parquet file.
OPTIONAL = ("WKHP", "RELP", "PWGTP")
# The people in ACSIncome: the least value of each column.
LEAST = {"AGEP": 17, "PINCP": 101, "WKHP": 1, "PWGTP": 1}
PUMS = "https://www2.census.gov/programs-surveys/acs/data/pums/2018/1-Year"
MEANING = {"WKHP": "hours worked a week", "RELP": "relation to the head of the household"}


@dataclass(frozen=True)
class Census:
    """Persons, their income, and what is to be known about the file they come from.

    Attributes
    ----------
    X : DataFrame
        PUMS codes: age (AGEP), schooling (SCHL) and hours a week (WKHP) as numbers, all else as
        pandas categories of whole numbers.
    y : array
        Income in dollars (PINCP).
    notes : tuple of str
        Sentences on what this file lacks of the paper's data.
    paths : tuple of Path
        Files that were read.
    files : dict
        Their names in the data directory, and their SHA-256.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from plcp.datasets import Census
    >>> persons = pd.DataFrame({"AGEP": [31.0, 48.0]})
    >>> census = Census(persons, np.array([40e3, 52e3]), notes=(), paths=(), files={})
    >>> census.X["AGEP"].mean(), census.y.mean()
    (np.float64(39.5), np.float64(46000.0))
    """

    X: Any
    y: NDArray[np.float64]
    notes: tuple[str, ...]
    paths: tuple[Path, ...]
    files: dict[str, str]


def census_files(
    data_dir: str | Path | None = None, states: Sequence[str] = FIVE_STATES
) -> dict[str, str]:
    """Name and SHA-256 of the files that ``fetch_census`` reads.

    Examples
    --------
    >>> from plcp.datasets import census_files
    >>> census_files("data")  # doctest: +SKIP
    """
    return locate(_kind(_check_states(states)), data_dir).files


def fetch_census(data_dir: str | Path | None = None, states: Sequence[str] = FIVE_STATES) -> Census:
    """2018 ACS income of persons at work, as folktables' ACSIncome selects them.

    Kept are persons over 16 with an income over $100, and, where the file has it, who worked at
    least an hour a week and have a weight. Columns are those of ACSIncome, as far as the file has
    them, and the state: AGEP, COW, SCHL, MAR, OCCP, POBP, SEX, RAC1P and ST in every layout, WKHP
    and RELP in folktables' only. ``notes`` lists those that are missing.

    Codes that are names stay pandas categories, which the default rule reads as they are;
    ``make_column_transformer((OneHotEncoder(), make_column_selector(dtype_include="category")),
    remainder="passthrough")`` makes columns for a linear model of them. Schooling rises with its
    code, and is a number. A code that is blank is zero, as in ACSIncome.

    Parameters
    ----------
    data_dir : path or None
        Directory that holds ``census/acs_2018_workers_5states.parquet`` (or ``…_all_states…``), or
        the Census Bureau's files as folktables keeps them, ``census/2018/1-Year/psam_p06.csv``
        and so on; None: the variable ``PLCP_DATA``, else the user's cache.
    states : sequence of str, default=("CA", "FL", "NY", "PA", "TX")
        Which states, by their postal codes; the paper's are the default.

    Examples
    --------
    >>> from plcp.datasets import fetch_census
    >>> census = fetch_census("data", states=["CA"])  # doctest: +SKIP
    >>> census.X[["AGEP", "SCHL"]].mean(), census.y.mean()  # doctest: +SKIP
    """
    wanted = _check_states(states)
    found = locate(_kind(wanted), data_dir)
    frame = _read(found, wanted)
    for column, least in LEAST.items():
        if column in frame:
            frame = frame[frame[column] >= least]
    frame = frame.reset_index(drop=True)
    X = frame[[name for name in (*NUMBERS, *CATEGORIES) if name in frame]].fillna(0).astype("int64")
    types = {name: "float64" if name in NUMBERS else "category" for name in X}
    y = frame["PINCP"].to_numpy(dtype=float)
    return Census(X.astype(types), y, _notes(X, found), found.paths, found.files)


def _kind(codes: dict[str, int]) -> Kind:
    """Ways in which these states may lie in a data directory."""
    five = [("census/acs_2018_workers_5states.parquet",)] if set(codes) <= set(FIVE_STATES) else []
    bureau = tuple(f"census/2018/1-Year/psam_p{code:02d}.csv" for code in codes.values())
    zips = ", ".join(f"csv_p{state.lower()}.zip" for state in codes)
    source = (
        f"The latter are in {zips} at {PUMS}/; folktables writes them by "
        "ACSDataSource('2018', '1-Year', 'person', root_dir='<data directory>/census')"
        f".get_data({list(codes)}, download=True)."
    )
    layouts = [*five, ("census/acs_2018_workers_all_states.parquet",), bureau]
    return Kind("2018 ACS census", layouts, source)


def _check_states(states: Sequence[str]) -> dict[str, int]:
    """Codes of the Census Bureau, by the states' names."""
    codes = {name: code for code, name in STATES.items()}
    unknown = [state for state in states if state not in codes]
    if unknown or not states:
        raise ValueError(f"states={states!r}: give one or more of {', '.join(codes)}")
    return {state: codes[state] for state in states}


def _read(found: Found, codes: dict[str, int]) -> Any:
    frames = [_read_file(path) for path in found.paths]
    frame = needed("pandas").concat(frames, ignore_index=True)
    absent = [state for state, code in codes.items() if not (frame["ST"] == code).any()]
    if absent:
        raise ValueError(
            f"{', '.join(map(str, found.paths))}: no person there lives in {', '.join(absent)}; "
            "name other states, or put there a file that has them"
        )
    return frame[frame["ST"].isin(codes.values())]


def _read_file(path: Path) -> Any:
    pandas = needed("pandas")
    columns = dict.fromkeys((*NUMBERS, *CATEGORIES, *LEAST))
    with reading(path):
        if path.suffix == ".csv":
            frame = pandas.read_csv(path, usecols=list(columns))
        else:
            needed("pyarrow")
            frame = pandas.read_parquet(path)
            frame = frame[[name for name in columns if name in frame or name not in OPTIONAL]]
        if not frame["PINCP"].notna().any():
            raise ValueError("it has no row with an income")
        return frame.astype("Int64")  # whole numbers, or blank


def _notes(X: Any, found: Found) -> tuple[str, ...]:
    missing = [f"{name} ({MEANING[name]})" for name in MEANING if name not in X]
    if not missing:
        return ()
    return (
        f"{found.names[0]} lacks {' and '.join(missing)}, which the paper's data have: the model "
        "and the rules do without.",
        f"It is a sample of the survey: {len(X):,} persons.",
    )
