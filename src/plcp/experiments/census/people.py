"""People of the census: what groups they belong to, and into which part they fall."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from plcp.datasets import fetch_census
from plcp.experiments.by_group import Floats
from plcp.experiments.experiment import Settings

Masks = dict[str, NDArray[np.bool_]]

TEST_SHARE = 0.2
LEAST_PEOPLE = 50  # of fewer, a test part may hold none: 0.8⁵⁰ is 1e-5
# Codes of each group. The Census Bureau's own tables join RAC1P 3 to 5: 4, Alaska Native, is rare
GROUPS_BY_RACE = {
    "White": (1,),
    "Black": (2,),
    "Native American": (3, 4, 5),
    "Asian": (6,),
    "Pacific Islander": (7,),
    "other race": (8,),
    "two or more races": (9,),
}
GROUPS_BY_SEX = {"men": (1,), "women": (2,)}
GROUPS_BY_STATE = {"CA": (6,), "FL": (12,), "NY": (36,), "PA": (42,), "TX": (48,)}
UNDER_25, OVER_60 = "under 25", "over 60"
DOCTORATE = "doctorate or professional degree"  # SCHL 24 and 23, beyond a bachelor's
NAMED = (*GROUPS_BY_RACE, *GROUPS_BY_SEX, *GROUPS_BY_STATE)
GROUPS = (*NAMED, UNDER_25, OVER_60, DOCTORATE)


@dataclass(frozen=True)
class People:
    """PUMS codes, as ``fetch_census`` gives them, and incomes."""

    X: Any
    y: Floats

    def take(self, rows: Any) -> "People":
        """Return some of them."""
        return People(self.X.iloc[rows], self.y[rows])


def read_people(settings: Settings, data_dir: Path | None) -> tuple[People, list[str]]:
    """All people, or the first ``rows`` of them, and what is to be said of the data."""
    data = fetch_census(data_dir)
    everybody = People(data.X, data.y)
    return everybody.take(slice(settings["rows"])), list(data.notes)


def divide(people: People, state: int) -> tuple[People, People, People]:
    """Divide at random into 60 % to train, 20 % to calibrate and 20 % to test."""
    rows = np.arange(len(people.y))
    train, rest = train_test_split(rows, test_size=2 * TEST_SHARE, random_state=state)
    calibration, test = train_test_split(rest, test_size=0.5, random_state=state)
    return people.take(train), people.take(calibration), people.take(test)


def groups_of(X: Any) -> Masks:
    """Who belongs to each group, the named ones first.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"RAC1P": [4, 6], "SEX": 2, "ST": 48, "AGEP": [61, 24], "SCHL": [23, 22]})
    >>> [name for name, who in groups_of(X).items() if who[0]]
    ['Native American', 'women', 'TX', 'over 60', 'doctorate or professional degree']
    """
    return {
        **_with_codes(X["RAC1P"], GROUPS_BY_RACE),
        **_with_codes(X["SEX"], GROUPS_BY_SEX),
        **_with_codes(X["ST"], GROUPS_BY_STATE),
        UNDER_25: (X["AGEP"] < 25).to_numpy(),
        OVER_60: (X["AGEP"] > 60).to_numpy(),
        DOCTORATE: (X["SCHL"] >= 23).to_numpy(),
    }


def large_enough(people: People) -> list[str]:
    """Names of the groups that every test part holds somebody of."""
    return [name for name, who in groups_of(people.X).items() if who.sum() >= LEAST_PEOPLE]


def _with_codes(column: Any, codes: Mapping[str, tuple[int, ...]]) -> Masks:
    return {name: column.isin(wanted).to_numpy() for name, wanted in codes.items()}
