"""Which column of a table is what: target, predictions, weight, and what a rule may look at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from plcp._files import find_column, match_columns

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
        One column a class, and the name of each class.
    features : tuple of str
        What a rule may look at.
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
        """Columns that a set is made from; none where only a threshold is asked for."""
        single = (self.prediction, self.lower, self.upper)
        return self.probabilities or tuple(name for name in single if name is not None)

    @property
    def unknown_later(self) -> tuple[str, ...]:
        """Columns that new rows need not have."""
        return tuple(name for name in (self.target, self.score, self.weight) if name is not None)


def choose_roles(
    names: Sequence[str],
    *,
    target: str | None = None,
    prediction: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    probabilities: str | None = None,
    score: str | None = None,
    weight: str | None = None,
    features: str | None = None,
    exclude: str | None = None,
    categories: str | None = None,
    where: str = "the table",
) -> Roles:
    """Give each column its role; columns of which there may be many take wildcards.

    Unless told otherwise, features are all columns that new rows will have, too: all but the
    target, the score and the weight. Predictions are among them. ``categories`` are features whose
    numbers are codes. Messages call the table ``where``.

    Examples
    --------
    >>> choose_roles(["age", "y", "p_no", "p_yes"], target="y", probabilities="p_*").classes
    ('no', 'yes')
    """
    _check_task(target, prediction, lower, upper, probabilities, score)
    single = {
        "target": target,
        "prediction": prediction,
        "lower": lower,
        "upper": upper,
        "score": score,
        "weight": weight,
    }
    given = {role: name for role, name in single.items() if name is not None}
    found = {role: find_column(name, names, where) for role, name in given.items()}
    columns = () if probabilities is None else match_columns(probabilities, names, where)
    if probabilities is not None and len(columns) == 1:
        raise ValueError(
            f"probabilities names the column {columns[0]!r} alone, but each class has one: name "
            "them all, as in 'p_*'"
        )
    _check_distinct([*found.items(), *(("probabilities", name) for name in columns)])
    hidden = [found[role] for role in ("target", "score", "weight") if role in found]
    looked_at = _features(names, hidden, features, exclude, where)
    return Roles(
        target=found.get("target"),
        prediction=found.get("prediction"),
        lower=found.get("lower"),
        upper=found.get("upper"),
        probabilities=tuple(columns),
        score=found.get("score"),
        weight=found.get("weight"),
        features=looked_at,
        codes=_codes(looked_at, categories, names, where),
        classes=tuple(_class_of(name, probabilities or "") for name in columns),
        named=features is not None,
    )


def _check_task(
    target: str | None,
    prediction: str | None,
    lower: str | None,
    upper: str | None,
    probabilities: str | None,
    score: str | None,
) -> None:
    """Refuse all but one way of saying what was predicted."""
    if (lower is None) != (upper is None):
        given, lacking = ("lower", "upper") if upper is None else ("upper", "lower")
        raise ValueError(f"{given} is given without {lacking}: a band has two ends, name both")
    ways = {
        "prediction": prediction,
        "lower and upper": lower,
        "probabilities": probabilities,
        "score": score,
    }
    chosen = [way for way, name in ways.items() if name is not None]
    if not chosen:
        raise ValueError(
            "nothing says what was predicted: name its column by --prediction, --lower and "
            "--upper, --probabilities or --score"
        )
    if len(chosen) > 1:
        raise ValueError(f"{chosen[0]} and {chosen[1]} contradict each other: give one of them")
    if target is None and score is None:
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
    names: Sequence[str],
    hidden: Sequence[str],
    features: str | None,
    exclude: str | None,
    where: str,
) -> tuple[str, ...]:
    """Columns that a rule may look at: those named, or all, without those that are hidden."""
    asked = {part.strip() for part in (features or "").split(",")}
    taken = [name for name in hidden if name in asked]
    if taken:
        raise ValueError(
            f"column {taken[0]!r} cannot be a feature: new rows do not have it, since it is the "
            "target, the score or the weight; leave it out of features"
        )
    chosen = list(names) if features is None else match_columns(features, names, where)
    dropped = {*hidden, *(() if exclude is None else match_columns(exclude, names, where))}
    return tuple(name for name in chosen if name not in dropped)


def _codes(
    features: Sequence[str], categories: str | None, names: Sequence[str], where: str
) -> tuple[str, ...]:
    """Columns of codes, all of them features."""
    chosen = () if categories is None else match_columns(categories, names, where)
    for name in chosen:
        if name not in features:
            raise ValueError(f"categories names {name!r}, which is no feature: leave it out")
    return tuple(chosen)


def _class_of(column: str, patterns: str) -> str:
    """Part of a column's name that a star stands for; the whole name where there is no star."""
    for pattern in (part.strip() for part in patterns.split(",")):
        before, star, after = pattern.partition("*")
        plain = star and not any(sign in before + after for sign in WILDCARDS)
        long_enough = len(column) > len(before) + len(after)
        if plain and long_enough and column.startswith(before) and column.endswith(after):
            return column[len(before) : len(column) - len(after)]
    return column
