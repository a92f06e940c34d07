"""Options as they must be, and messages that name the value and the remedy."""

import json
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from reprlib import Repr
from typing import Any, NamedTuple, NoReturn, TypeGuard

import numpy as np

from plcp.exceptions import (
    InfiniteThresholdWarning,
    RowOrderWarning,
    SmallGroupWarning,
    UnseenCategoryWarning,
)
from plcp.quantiles import FloatArray, IntArray, least_points, shared_confidence

INSIDE = ("plcp.", "contextlib.", "sklearn.")  # which wrap methods of ours, or call them
NAMED = 3  # values of a column that a warning names

LEAST_NAMED, LINE = 3, 160  # names of a list in a message, and the characters of more

SHOWN = 80  # characters of a value in a message
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, SHOWN, SHOWN


def caller_stacklevel() -> int:
    """Return the stack level of the first caller outside this package, for ``warnings.warn``.

    A warning names the user's line, however many lines of this package lie in between.
    """
    level, frame = 1, sys._getframe(1)
    # code run by exec may have no __name__
    while frame.f_back and f"{frame.f_globals.get('__name__')}.".startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    return level


EVERY_OUTCOME = "the set holds every outcome"


def warn_infinite(what: str, effect: str = EVERY_OUTCOME) -> None:
    """Warn of what has too few points for a finite threshold."""
    warnings.warn(
        f"{what}: the only valid threshold is infinite, and {effect}",
        InfiniteThresholdWarning,
        stacklevel=caller_stacklevel(),
    )


def check_same_rows(X: Any, **others: Any) -> None:
    """Warn if the index of a value differs from that of X: rows are paired by position."""
    from plcp._rows import row_labels

    index = row_labels(X)
    for name, values in others.items():
        labels = None if index is None else row_labels(values)
        if labels is None or len(labels) != len(index) or labels.equals(index):
            continue
        same = set(labels) == set(index)
        how = "the labels of X in another order" if same else "other labels than X"
        remedy = f"{name}.loc[X.index]" if same else f"{name}.to_numpy(), if the order is the same"
        warnings.warn(
            f"the index of {name} has {how}, but rows are paired by position: give {remedy}",
            RowOrderWarning,
            stacklevel=caller_stacklevel(),
        )


def warn_unseen(unseen: Mapping[Any, Counter[str]], fate: str) -> None:
    """Warn of rows with categories that fit did not have, by column, and say how they count.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_unseen({"state": Counter({"NY ": 2})}, "count as missing")
    >>> print(caught[0].message)
    2 rows hold values of 'state' that fit never saw ('NY ': 2): they count as missing
    """
    for name, counts in unseen.items():
        n = counts.total()
        rows = "1 row holds a value" if n == 1 else f"{n:,} rows hold values"
        often = ", ".join(f"{value!r}: {times:,}" for value, times in counts.most_common(NAMED))
        others = len(counts) - NAMED
        more = f", and {others:,} other value{'' if others == 1 else 's'}" if others > 0 else ""
        warnings.warn(
            f"{rows} of {name!r} that fit never saw ({often}{more}): they {fate}",
            UnseenCategoryWarning,
            stacklevel=caller_stacklevel(),
        )


def warn_if_small(names: list[str], sizes: FloatArray, alpha: float) -> None:
    """Name the given groups that hold fewer points than a finite conformal threshold needs."""
    needed = least_points(alpha)
    small = [name for name, size in zip(names, sizes, strict=True) if size < needed]
    if small:
        warnings.warn(
            f"groups {shortened(small)} hold fewer than {needed} calibration points: their "
            "coverage of new rows is not to be relied on; join or drop them, or use "
            "ConditionalCalibration, which gives them infinite thresholds",
            SmallGroupWarning,
            stacklevel=caller_stacklevel(),
        )


def shortened(names: list[Any]) -> str:
    """Ten names, or at least three that fit into a line, and how many more there are.

    Examples
    --------
    >>> shortened(["a", "b"]), shortened(list(range(13)))
    ("['a', 'b']", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] and 3 more')
    >>> shortened([0.1234567, 1.0])
    '[0.1235, 1.0]'
    """
    first = [_short_name(name) for name in names[:10]]
    while len(first) > LEAST_NAMED and len(f"{first}") > LINE:
        first.pop()
    return f"{first}" + (f" and {len(names) - len(first)} more" if len(names) > len(first) else "")


def _short_name(name: Any) -> Any:
    if isinstance(name, str):  # numpy's too
        return str(name)
    return float(f"{name:.4g}") if isinstance(name, float) else name


def shown(value: Any) -> str:
    """Return a value for a message, cut where it is long.

    Examples
    --------
    >>> shown("a" * 1000)[-5:], len(shown(["a" * 50] * 1000)) <= SHOWN
    ("aaaa'", True)
    """
    text = _SHORT.repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def too_few(
    weights: FloatArray | None,
    n: int,
    alpha: float,
    confidence: float | None = None,
    clusters: IntArray | None = None,
) -> str:
    """Message that n points, or what they weigh, are too few for this alpha and confidence."""
    number = f"{n if weights is None else weights.sum():g}"
    points = f"{number} {'calibration points' if clusters is None else 'groups of rows'}"
    return f"{points} are fewer than {_needed(alpha, confidence, 1)}"


def too_few_in(groups: str, n_groups: int, alpha: float, confidence: float | None) -> str:
    """Message that some of ``n_groups`` groups hold too few points.

    Examples
    --------
    >>> print(too_few_in("groups ['a']", 3, 0.1, 0.95))
    groups ['a'] hold too few calibration points, fewer than the 39 that alpha = 0.1 with \
confidence = 0.95 in 3 groups at once needs
    """
    needed = _needed(alpha, confidence, n_groups)
    return f"{groups} hold too few calibration points, fewer than {needed}"


def _needed(alpha: float, confidence: float | None, n_groups: int) -> str:
    least = least_points(alpha, shared_confidence(confidence, n_groups))
    sure = "" if confidence is None else f" with confidence = {confidence:g}"
    if sure and n_groups > 1:
        sure += f" in {n_groups} groups at once"
    return f"the {least} that alpha = {alpha:g}{sure} needs"


def check_rate(alpha: Any) -> float:
    """Miscoverage rate as a float in (0, 1)."""
    if isinstance(alpha, list | tuple | np.ndarray):
        raise ValueError(f"alpha must be one rate here, got {shown(alpha)}: fit one rule per alpha")
    return check_share("alpha", alpha, ": 0.1 asks for sets that cover 90 %")


def check_alpha(alpha: Any) -> float:
    """Miscoverage rate as a float in (0, 1), with a warning if most labels would be missed."""
    rate = check_rate(alpha)
    if rate > 0.5:
        warnings.warn(
            f"alpha = {rate:g} is the rate of misses, and asks for sets that cover only "
            f"{100 * (1 - rate):g} %: for sets that cover {100 * rate:g} % give "
            f"alpha = {1 - rate:g}",
            stacklevel=caller_stacklevel(),
        )
    return rate


def place_of_alpha(alphas: Sequence[float], alpha: Any) -> int | None:
    """Place of ``alpha`` among some rates, None if it is not there: 1 - 0.9 counts as 0.1.

    What may differ are the last bits of 1 - alpha, whichever of the two was given.

    Examples
    --------
    >>> place_of_alpha([1 - 0.9, 0.2], 0.1), place_of_alpha([0.1, 0.2], 0.3)
    (0, None)
    """
    if not is_real(alpha):
        return None
    distances = [abs(float(each) - float(alpha)) for each in alphas]
    nearest = min(range(len(alphas)), key=distances.__getitem__, default=None)
    if nearest is None or not distances[nearest] <= 2 * sys.float_info.epsilon:
        return None
    return nearest


def check_instance(name: str, value: Any) -> None:
    """Refuse a class where an instance of it is needed."""
    if isinstance(value, type):
        raise TypeError(
            f"{name} must be an instance, got the class {value.__name__}: give an instance, "
            f"{name}={value.__name__}()"
        )


def check_count(name: str, value: Any, least: int) -> int:
    """``value`` if it is a whole number and not below ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {shown(value)}")
    return int(value)


def is_real(value: Any) -> TypeGuard[float]:
    """Whether it is a real number, which True and False are not."""
    return False if isinstance(value, bool) else isinstance(value, Real)


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether it is a whole number, which True and False are not."""
    return False if isinstance(value, bool) else isinstance(value, Integral)


def check_share(name: str, value: Any, remedy: str = "") -> float:
    """``value`` if it lies strictly between zero and one."""
    number = float(value) if is_real(value) else np.nan
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie in (0, 1), got {shown(value)}{remedy}")
    return number


def check_positive(name: str, value: Any) -> float:
    """``value`` if it is a finite number above zero."""
    number = float(value) if is_real(value) else np.nan
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be a finite positive number, got {shown(value)}")
    return number


def check_option(name: str, value: Any, options: tuple[str, ...]) -> str:
    """``value`` if it is one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, options))}, got {shown(value)}"
        )
    return value


class PlainValues(NamedTuple):
    """What plain values should be, and what wrote them.

    Examples
    --------
    >>> values = PlainValues("certificate", "those of to_dict")
    >>> values.check_keys({"alpha": 0.1}, {"alpha", "target"})
    Traceback (most recent call last):
    ValueError: no certificate but values without ['target']: give those of to_dict
    """

    what: str
    source: str

    def parse(self, text: Any) -> Any:
        """Return the values of a JSON text, which may hold no NaN or Infinity."""
        constants: list[str] = []
        try:
            values = json.loads(text, parse_constant=constants.append)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"no {self.what}: {error}; give {self.source}") from error
        if constants:
            self.refuse(f"with {constants[0]}")
        return values

    def check_keys(self, values: Any, wanted: set[str]) -> None:
        """Raise unless ``values`` is a mapping with exactly these keys."""
        found = {*values} if isinstance(values, Mapping) else set()
        if missing := sorted(wanted - found):
            self.refuse(f"without {missing}")
        if extra := sorted(map(str, found - wanted)):
            self.refuse(f"with {extra}")

    def refuse(self, fault: str) -> NoReturn:
        """Say what is wrong with values."""
        raise ValueError(f"no {self.what} but values {fault}: give {self.source}")
