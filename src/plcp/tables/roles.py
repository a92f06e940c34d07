"""Roles of columns: target, predictions, weight, and the features that a rule may use."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from plcp._files import find_column, match_columns
from plcp.tables.options import ColumnOptions

WILDCARDS = "*?["


@dataclass(frozen=True)
class Roles:
    """The columns that play a part, and the part each plays.

    Parameters
    ----------
    target : str or None
        The outcome; None where scores were made elsewhere.
    prediction, lower, upper, score, weight : str or None
        A point prediction, the ends of a predicted band, a score, a weight.
    probabilities, classes : tuple of str
        One column per class, and the name of each class.
    features : tuple of str
        What a rule may use.
    codes : tuple of str
        Features whose numbers are names: each value is a category.
    named : bool
        Whether the user named the features, so that none may be left out in silence.

    Examples
    --------
    >>> Roles(target="y", prediction="yhat").task
    'regression'
    """

    target: str | None
    prediction: str | None = None
    lower: str | None = None
    upper: str | None = None
    probabilities: tuple[str, ...] = ()
    score: str | None = None
    weight: str | None = None
    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    named: bool = False

    @property
    def task(self) -> str:
        """What is predicted: "regression", "quantiles", "classes" or "scores"."""
        if self.probabilities:
            return "classes"
        if self.score is not None:
            return "scores"
        return "regression" if self.prediction is not None else "quantiles"

    @property
    def predictions(self) -> tuple[str, ...]:
        """Columns that a set is made from; none where only a threshold is wanted."""
        single = (self.prediction, self.lower, self.upper)
        return self.probabilities or tuple(name for name in single if name is not None)

    @property
    def unknown_later(self) -> tuple[str, ...]:
        """Columns that new rows need not have."""
        return tuple(name for name in (self.target, self.score, self.weight) if name is not None)


def choose_roles(names: Sequence[str], *, where: str = "the table", **columns: str | None) -> Roles:
    """Give each column its role.

    By default features are all columns that new rows will have, too: all but the target, the score
    and the weight. Predictions are among them.

    Parameters
    ----------
    names : sequence of str
        The columns of the table.
    where : str
        What messages call the table.
    **columns
        Fields of `plcp.tables.options.ColumnOptions`.

    Examples
    --------
    >>> choose_roles(["age", "y", "p_no", "p_yes"], target="y", probabilities="p_*").classes
    ('no', 'yes')
    """
    given = ColumnOptions(**columns)
    _check_task(given)
    single = ("target", "prediction", "lower", "upper", "score", "weight")
    named = {role: name for role in single if (name := getattr(given, role)) is not None}
    found = {role: find_column(name, names, where) for role, name in named.items()}
    probabilities = _matched(given.probabilities, names, where)
    if len(probabilities) == 1:
        raise ValueError(
            f"probabilities names the column {probabilities[0]!r} alone, but each class has one: "
            "name them all, as in 'p_*'"
        )
    _check_distinct([*found.items(), *(("probabilities", name) for name in probabilities)])
    hidden = [found[role] for role in ("target", "score", "weight") if role in found]
    features = _features(names, hidden, given, where)
    return Roles(
        **{"target": None, **found},
        probabilities=probabilities,
        features=features,
        codes=_codes(features, _matched(given.categories, names, where)),
        classes=tuple(_class_of(name, given.probabilities or "") for name in probabilities),
        named=given.features is not None,
    )


def _matched(patterns: str | None, names: Sequence[str], where: str) -> tuple[str, ...]:
    return () if patterns is None else tuple(match_columns(patterns, names, where))


def _check_task(given: ColumnOptions) -> None:
    """Refuse all but one description of what was predicted."""
    if (given.lower is None) != (given.upper is None):
        one, other = ("lower", "upper") if given.upper is None else ("upper", "lower")
        raise ValueError(f"{one} is given without {other}: a band has two ends, name both")
    ways = {
        "prediction": given.prediction,
        "lower and upper": given.lower,
        "probabilities": given.probabilities,
        "score": given.score,
    }
    chosen = [way for way, name in ways.items() if name is not None]
    if not chosen:
        raise ValueError(
            "no column of predictions is given: name it by --prediction, --lower and --upper, "
            "--probabilities or --score"
        )
    if len(chosen) > 1:
        raise ValueError(f"{chosen[0]} and {chosen[1]} contradict each other: give one of them")
    if given.target is None and given.score is None:
        raise ValueError(
            f"{chosen[0]} needs a target to be compared with: name its column, as in --target y"
        )


def _check_distinct(roles: Iterable[tuple[str, str]]) -> None:
    for (first, name), (second, other) in combinations(roles, 2):
        if name == other:
            raise ValueError(
                f"column {name!r} is both {first} and {second}: name a different column for each"
            )


def _features(
    names: Sequence[str], hidden: Sequence[str], given: ColumnOptions, where: str
) -> tuple[str, ...]:
    """Columns that a rule may use: those named, or all, without those that are hidden."""
    listed = {part.strip() for part in (given.features or "").split(",")}
    taken = [name for name in hidden if name in listed]
    if taken:
        raise ValueError(
            f"column {taken[0]!r} cannot be a feature: new rows do not have it, since it is the "
            "target, the score or the weight; leave it out of features"
        )
    chosen = tuple(names) if given.features is None else _matched(given.features, names, where)
    dropped = {*hidden, *_matched(given.exclude, names, where)}
    return tuple(name for name in chosen if name not in dropped)


def _codes(features: Sequence[str], chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Columns of codes, all of them features."""
    for name in chosen:
        if name not in features:
            raise ValueError(f"categories names {name!r}, which is no feature: leave it out")
    return chosen


def _class_of(column: str, patterns: str) -> str:
    """Part of a column's name that a star stands for; the whole name where there is no star."""
    for pattern in (part.strip() for part in patterns.split(",")):
        before, star, after = pattern.partition("*")
        plain = star and not any(sign in before + after for sign in WILDCARDS)
        long_enough = len(column) > len(before) + len(after)
        if plain and long_enough and column.startswith(before) and column.endswith(after):
            return column[len(before) : len(column) - len(after)]
    return column
