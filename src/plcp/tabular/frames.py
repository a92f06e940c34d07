"""Tables as data frames: what a rule is asked with."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from plcp.tabular.arrow import Column, Data, coded, dates, durations, labelled, numbers
from plcp.tabular.features import AS_TEXT, Feature, remember_all
from plcp.tabular.kinds import (
    DATES,
    DURATIONS,
    EMPTY,
    LABELS,
    check_kind,
    kind_of,
)

READERS = {DATES: dates, DURATIONS: durations}


class Framer:
    """Turns batches of Arrow into data frames of the remembered columns, in the same order.

    Text becomes pandas categories, always the same ones; values that calibration never saw are
    counted in ``unseen``, by column and value.

    Examples
    --------
    >>> from plcp.tabular.features import learn_features
    >>> table = pa.table({"age": [31, 48], "sex": ["f", "m"]})
    >>> framer = Framer(learn_features(table, ["age", "sex"], named=True)[0])
    >>> framer.frame(pa.table({"sex": ["m", "x"], "age": [20, None]}))["age"].tolist()
    [20.0, nan]
    >>> framer.unseen
    {'sex': Counter({'x': 1})}
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self.unseen: dict[str, Counter[str]] = {}
        known = (feature for feature in features if feature.kind in AS_TEXT)
        self._known = {
            feature.column: pa.array(feature.categories, pa.string()) for feature in known
        }
        self._types = {name: pd.CategoricalDtype(v.to_pylist()) for name, v in self._known.items()}

    def check(self, schema: pa.Schema) -> None:
        """Refuse columns that changed their kind."""
        for feature in self.features:
            check_kind(
                feature.column, feature.kind, feature.type, schema.field(feature.column).type
            )

    def frame(self, data: Data) -> pd.DataFrame:
        """Return the remembered columns of some rows."""
        columns = {feature.column: self._values(feature, data) for feature in self.features}
        return pd.DataFrame(columns, index=pd.RangeIndex(data.num_rows), copy=False)

    def _values(self, feature: Feature, data: Data) -> Any:
        column = data.column(feature.column)
        if feature.kind == LABELS:
            return self._labels(feature.column, column)
        if kind_of(column.type) == EMPTY:
            return np.full(len(column), np.nan)
        if feature.kind in AS_TEXT:
            return self._categories(feature.column, AS_TEXT[feature.kind](column))
        return READERS.get(feature.kind, numbers)(column)

    def _categories(self, name: str, column: Column) -> pd.Categorical:
        codes, values = coded(column)
        places = self._places(name, codes, values)
        return pd.Categorical.from_codes(
            np.append(places, -1)[codes],  # a code of -1, missing, is the last place
            dtype=self._types[name],
            validate=False,
        )

    def _labels(self, name: str, column: Column) -> NDArray[Any]:
        codes, values = coded(labelled(column))
        self._places(name, codes, values)
        return np.array(values.to_pylist(), dtype=object)[codes]

    def _places(self, name: str, codes: NDArray[Any], values: pa.Array) -> NDArray[Any]:
        """Place of each value among the known categories, -1 if it is new; new ones are counted."""
        places = pc.index_in(values, value_set=self._known[name])
        new = pc.and_(places.is_null(), values.is_valid()).to_numpy(zero_copy_only=False)
        if new.any():
            rows = np.bincount(codes[codes >= 0], minlength=len(values))
            tally = self.unseen.setdefault(name, Counter())
            tally.update({values[int(i)].as_py(): int(rows[i]) for i in np.flatnonzero(new)})
            tally += Counter()  # a dictionary may name values that no row has
        return np.asarray(pc.fill_null(places, -1))


def to_frame(data: pa.Table) -> pd.DataFrame:
    """All columns of a table that are not nested, by their own types: text as categories.

    Examples
    --------
    >>> to_frame(pa.table({"sex": ["f", "m"], "n": [1, None]})).dtypes.astype(str).tolist()
    ['category', 'float64']
    """
    return Framer(remember_all(data)).frame(data)


def rule_input(framer: Framer, data: Data) -> Any:
    """Frame of the columns a rule looks at; rows of zeros for a rule that looks at none."""
    return framer.frame(data) if framer.features else np.zeros((data.num_rows, 1))
