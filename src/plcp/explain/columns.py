"""Columns in rules: how values are read, cut at round numbers and written in words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import floor, isfinite, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp._rows import DATES, DURATIONS, TEXT, is_boolean, is_frame, is_missing
from plcp._validation import as_floats
from plcp.quantiles import FloatArray, IntArray
from plcp.regressors.encoding import TableEncoder

MOST_DECIMALS = 6


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in percent; 0 and 100 are said only of shares that are exactly so.

    Examples
    --------
    >>> percent(0.614), percent(0.0031), percent(0.9996), percent(0.9, 1), percent(1.0, 1)
    ('61 %', '0.3 %', '99.96 %', '90.0 %', '100 %')
    """
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    for places in range(decimals, decimals + MOST_DECIMALS):
        text = f"{100 * share:.{places}f}"
        if 0 < float(text) < 100:
            break
    return f"{text} %"


def runs(numbers: Iterable[int]) -> str:
    """Return numbers of groups in their order, neighbours together.

    Examples
    --------
    >>> runs([3, 2, 4]), runs([0, 2]), runs([5])
    ('2–4', '0, 2', '5')
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in found)


SECONDS_PER_DAY = 86_400
MOST_DIGITS = 20  # a double has 17
CALENDAR = ("Y", "M", "D", "h", "m", "s")


def round_number(below: float, above: float, *, whole: bool = False) -> float:
    """Return the number c of the fewest decimals with below < c ≤ above.

    Examples
    --------
    >>> round_number(0.123, 0.187), round_number(22, 23, whole=True), round_number(1203, 4890)
    (0.15, 23.0, 3000.0)
    """
    if not isfinite(below):
        below = min(2 * above, -1.0) if isfinite(above) else -1.0
    if not isfinite(above):
        above = max(2 * below, 1.0)
    middle = below / 2 + above / 2
    largest = max(abs(below), abs(above))
    first = -floor(log10(largest)) if largest > 0 else 0
    for decimals in range(first - 1, first + MOST_DIGITS):
        if whole and decimals > 0:
            break
        for candidate in (round(middle, decimals), round(above, decimals)):
            if below < candidate <= above:
                return candidate + 0.0  # no minus before zero
    return above


def round_date(below: float, above: float) -> float:
    """Return the start of a year, month, day, hour, … with below < c ≤ above, in days since 1970.

    Examples
    --------
    >>> day = np.datetime64("2019-02-27").astype(int), np.datetime64("2019-03-04").astype(int)
    >>> date_text(round_date(*day))
    '2019-03-01'
    """
    end = np.datetime64(floor(above * SECONDS_PER_DAY + 0.5), "s")
    for unit in CALENDAR:
        days = float(end.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64)) / SECONDS_PER_DAY
        if below < days:
            return days
    return above


def number_text(value: float) -> str:
    """Return a number as short as it can be read back.

    Examples
    --------
    >>> number_text(45.0), number_text(0.1), number_text(-1e-9), number_text(3e20)
    ('45', '0.1', '-1e-09', '3e+20')
    """
    if not isfinite(value):
        return str(float(value))
    return str(int(value)) if abs(value) < 1e16 and value == int(value) else repr(float(value))


def date_text(days: float) -> str:
    """Return a moment by its date, and by its time of day (UTC) where that is not midnight."""
    moment = np.datetime64(floor(days * SECONDS_PER_DAY + 0.5), "s")
    text = str(moment).replace("T", " ")
    return text.removesuffix(":00").removesuffix(" 00:00")


MOST_CUTS = 255  # finer ones have more digits, and say little more
SLACK = 0.25  # of the rows between two cuts may be given up on either side for a rounder one
LARGEST_WHOLE = 2.0**53  # beyond it a double has no neighbour at distance one


def are_whole(values: FloatArray) -> bool:
    """Whether all finite values are whole numbers, and small enough to count by one.

    Examples
    --------
    >>> are_whole(np.array([1.0, np.nan, np.inf])), are_whole(np.array([0.5])), are_whole([2.0**60])
    (True, False, False)
    """
    finite = np.asarray(values)[np.isfinite(values)]
    return bool(((np.abs(finite) < LARGEST_WHOLE) & (finite == np.floor(finite))).all())


class Column:
    """Numbers: read from a table, cut at round values, and ranges of them in words.

    A range is half open, low ≤ x < high, and None where it has no end. Whole numbers are written by
    the first and last of them: SCHL ≥ 23, not SCHL > 22.5.

    Parameters
    ----------
    name : object
        Name in a DataFrame, or place in an array.
    encoder : TableEncoder or None
        Fitted to the column alone; None for an array of numbers.
    X : table
        Rows to learn from.
    """

    unit = ""

    def __init__(self, name: Any, encoder: TableEncoder | None, X: Any) -> None:
        self.name, self.label = name, f"x{name}" if encoder is None else str(name)
        self._encoder = encoder
        self.has_missing, self.whole = False, True
        self.meet(self.read(X))

    def meet(self, values: FloatArray) -> None:
        """Note what words must say about these values too: gaps, and fractions."""
        self.has_missing |= bool(np.isnan(values).any())
        self.whole &= are_whole(values)

    def read(self, X: Any) -> FloatArray:
        """Values in the rows of X; nan is missing."""
        if self._encoder is None:
            return _numbers(X, self.name)
        return self._encoder.transform(alone(X, self.name))[:, 0]

    def cuts(self, values: FloatArray, most: int = MOST_CUTS) -> FloatArray:
        """Cuts between any two values, or, if they are many, ``most`` that part rows evenly."""
        known = np.unique(values[~np.isnan(values)])
        if len(known) <= most + 1:
            return np.array([self.cut(*pair) for pair in pairwise(known.tolist())])
        shares = (np.arange(1, most + 1)[:, None] + [-SLACK, SLACK]) / (most + 1)
        first, last = np.searchsorted(known, np.nanquantile(values, shares, method="lower").T)
        # a value so common that it fills the slack is parted from both of its neighbours
        common = first[first == last]
        below = np.concatenate([first[first < last], common - 1, common])
        above = np.concatenate([last[first < last], common, common + 1])
        inner = (below >= 0) & (above < len(known))
        pairs = zip(known[below[inner]].tolist(), known[above[inner]].tolist(), strict=True)
        return np.unique([self.cut(*pair) for pair in pairs])

    def cut(self, below: float, above: float) -> float:
        """Round value c that parts two neighbours: below < c ≤ above."""
        return round_number(below, above, whole=self.whole)

    def words(self, low: float | None, high: float | None) -> str:
        """Say that x lies in a range that has an end."""
        sign, last = ("<", high) if high is None or not self.whole else ("≤", high - 1)
        if last is None:
            return f"{self.label} ≥ {self._text(low)}"
        if low is None:
            return f"{self.label} {sign} {self._text(last)}"
        if low == last:
            return f"{self.label} = {self._text(low)}"
        return f"{self._text(low)} ≤ {self.label} {sign} {self._text(last)}"

    def value_words(self, value: float) -> str:
        """Say that x is one value."""
        return f"{self.label} is {self._text(value)}"

    def rounded(self, value: float) -> str:
        """Return a value to print, not to compare with: three digits, or the whole number."""
        return (
            number_text(float(f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}")) + self.unit
        )

    def _text(self, value: float | None) -> str:
        return "" if value is None else number_text(value) + self.unit


class DurationColumn(Column):
    """Durations, in days."""

    unit = " days"


class TruthColumn(Column):
    """Booleans: x is true, x is false."""

    def words(self, low: float | None, high: float | None) -> str:
        """Say which of the two it is."""
        return f"{self.label} is {'false' if low is None else 'true'}"

    def value_words(self, value: float) -> str:
        """Say which of the two it is."""
        return f"{self.label} is {'true' if value else 'false'}"


class DateColumn(Column):
    """Dates, cut at the start of a year, month, day, …; those of a time zone are in UTC."""

    def cut(self, below: float, above: float) -> float:
        """Round date that parts two neighbours."""
        return round_date(below, above)

    def words(self, low: float | None, high: float | None) -> str:
        """Say that x lies in a range of dates that has an end."""
        if high is None:
            return f"{self.label} from {self._text(low)} on"
        if low is None:
            return f"{self.label} before {self._text(high)}"
        return f"{self._text(low)} ≤ {self.label} < {self._text(high)}"

    def rounded(self, value: float) -> str:
        """Return the day."""
        return date_text(np.floor(value))

    def _text(self, value: float | None) -> str:
        return "" if value is None else date_text(value)


def _numbers(X: Any, place: int) -> FloatArray:
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] <= place:
        raise ValueError(
            f"no column x{place} in X of shape {array.shape}, which the rule uses: give as "
            "many columns as in fit"
        )
    return array[:, place].astype(float)


def alone(X: Any, name: Any) -> Any:
    """Return the table of one column of a table."""
    if not is_frame(X):
        raise ValueError(f"the rule was learned from a table with a column {str(name)!r}: give one")
    if name not in X.columns:
        raise ValueError(f"no column {str(name)!r} in X, which the rule uses: add it")
    return X[[name]]


MOST_CATEGORIES = 12  # so that no list in a rule has more than half a dozen names
RARE = "a rare one"


class CategoryColumn(Column):
    """Categories by rising mean of y; those with few rows are one category together.

    A category that was not there in fit goes with the rare ones, if there are none, where the mean
    of all rows has its place.

    Parameters
    ----------
    name, encoder, X
        As for `Column`.
    y : array
        What orders the categories.
    min_rows : int
        A category with fewer rows is rare, and so are all beyond the 12 most frequent.
    """

    def __init__(
        self, name: Any, encoder: TableEncoder, X: Any, y: FloatArray, min_rows: int
    ) -> None:
        self.name, self.label, self._encoder = name, str(name), encoder
        self._known = np.asarray(encoder.categories_[0]).tolist()
        codes, missing = self._codes(X)
        kept = _frequent(codes[~missing], len(self._known), min_rows)
        self._names = [self._known[code] for code in kept]
        self._place = np.full(len(self._known) + 1, len(kept))  # the rare come last
        self._place[kept] = np.arange(len(kept))
        places = self._place[codes]
        self._rank = _ranks(places[~missing], y[~missing], len(kept) + 1)
        self.has_missing, self.has_rare = False, False
        self.meet(np.where(missing, np.nan, self._rank[places]))

    def meet(self, values: FloatArray) -> None:
        """Note what words must say about these ranks too: gaps, and rare categories."""
        self.has_missing |= bool(np.isnan(values).any())
        self.has_rare |= bool((values == self._rank[-1]).any())

    def read(self, X: Any) -> FloatArray:
        """Rank of each row's category; nan is missing."""
        codes, missing = self._codes(X)
        return np.where(missing, np.nan, self._rank[self._place[codes]])

    def cut(self, below: float, above: float) -> float:
        """Half way between two ranks."""
        return (below + above) / 2

    def words(self, low: float | None, high: float | None) -> str:
        """Name the categories in a range of ranks, or those outside it if they are fewer."""
        inside = np.ones(len(self._rank), dtype=bool)
        if low is not None:
            inside &= self._rank >= low
        if high is not None:
            inside &= self._rank < high
        listed, left_out = self._listed(inside), self._listed(~inside)
        if listed and len(listed) <= len(left_out):
            return f"{self.label} is {either(listed)}"
        return f"{self.label} is not {either(left_out)}"

    def value_words(self, value: float) -> str:
        """Name the category of one rank."""
        return f"{self.label} is {dict(self.ranked())[value]}"

    def ranked(self) -> Iterator[tuple[float, str]]:
        """Rank and name of each category; the rare ones have one name together."""
        names = [*self._names, RARE] if self.has_rare else self._names
        yield from zip(self._rank.tolist(), names, strict=False)

    def _listed(self, members: NDArray[np.bool_]) -> list[str]:
        names = sorted(name for name, is_in in zip(self._names, members[:-1], strict=True) if is_in)
        return [*names, RARE] if self.has_rare and members[-1] else names

    def _codes(self, X: Any) -> tuple[IntArray, NDArray[np.bool_]]:
        """Codes, the last of all for an unseen category, and which values are missing."""
        table = alone(X, self.name)
        codes = self._encoder.transform(table)[:, 0]  # type: ignore[union-attr]
        filled = np.where(np.isnan(codes), len(self._known), codes).astype(np.intp)
        return filled, is_missing(np.asarray(table[self.name]))


def either(names: list[str]) -> str:
    """Join names by commas and an or.

    Examples
    --------
    >>> either(["CA", "NY", "TX"]), either(["CA"])
    ('CA, NY or TX', 'CA')
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _frequent(codes: IntArray, n_codes: int, min_rows: int) -> IntArray:
    """Codes with enough rows, in their order, and only the most frequent of them."""
    counts = np.bincount(codes, minlength=n_codes + 1)[:n_codes]
    often = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    return np.sort(often[counts[often] >= min_rows])


def _ranks(places: IntArray, y: FloatArray, n_places: int) -> FloatArray:
    """Rank of each place by its mean of y; an empty place has the mean of all."""
    counts = np.bincount(places, minlength=n_places)
    sums = np.bincount(places, y, minlength=n_places)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), y.mean())
    ranks = np.empty(n_places)
    ranks[np.argsort(means, kind="stable")] = np.arange(n_places)
    return ranks


KINDS: dict[str | None, type[Column]] = {DATES: DateColumn, DURATIONS: DurationColumn}


def read_columns(
    X: Any, y: FloatArray, min_rows: int, places: Sequence[int] | None = None
) -> list[Column]:
    """Columns of a DataFrame or of an array of numbers.

    Parameters
    ----------
    X : DataFrame or array
        Rows to learn from.
    y : array
        What orders categories.
    min_rows : int
        A category with fewer rows is rare.
    places : sequence of int or None
        Places of the columns to read; None: all of them.

    Examples
    --------
    >>> [column.label for column in read_columns(np.zeros((3, 2)), np.zeros(3), 1)]
    ['x0', 'x1']
    """
    if not is_frame(X):
        array = np.asarray(X)
        array = as_floats("X", array) if array.dtype.kind == "O" else array
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"X must be a DataFrame or a table of numbers, got an array of {array.dtype} and "
                f"shape {array.shape}: give a DataFrame"
            )
        every = range(array.shape[1])
        return [Column(place, None, array) for place in (every if places is None else places)]
    counts = Counter(map(str, X.columns))
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"X has several columns named {', '.join(twice)}: rename them")
    names = list(X.columns)
    kept = names if places is None else [names[place] for place in places]
    return [_column(X, name, y, min_rows) for name in kept]


def _column(X: Any, name: Any, y: FloatArray, min_rows: int) -> Column:
    encoder = TableEncoder().fit(X[[name]])
    kind = encoder.kinds_[0]
    if kind == TEXT:
        return CategoryColumn(name, encoder, X, y, min_rows)
    if is_boolean(X[name]):
        return TruthColumn(name, encoder, X)
    return KINDS.get(kind, Column)(name, encoder, X)
