"""What a user may choose: the roles of columns, how CSV files are written, methods by name.

Each option is a field of a dataclass: the functions of `plcp.tables` take it as a keyword, and the
command line as an option, with the help that its field has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import plcp  # rules are loaded on first use: a wrong option is found before
from plcp._files import find_column, match_columns

if TYPE_CHECKING:
    from plcp.thresholds import ThresholdRule

MOST_GROUPS = 8  # as many as people read; thresholds follow the regressor, and more gain little
SEPARATORS = ",;|:^~\t "


def _option(help_text: str, metavar: str | None = None, default: Any = None) -> Any:
    return field(default=default, metadata={"help": help_text, "metavar": metavar})


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is written.

    Examples
    --------
    >>> from plcp.tables import CsvOptions
    >>> CsvOptions(decimal=",")
    Traceback (most recent call last):
    ValueError: decimal ',' separates values too: name what separates them, as in --sep ';'
    """

    sep: str | None = _option(
        "Between the values of CSV files: , (the default) ; | tab (that of .tsv) or another.",
        "SIGN",
    )
    decimal: str = _option("Before the decimals of a number in CSV files: . or ,", "SIGN", ".")
    day_first: bool = _option("Dates of CSV files are written as 31/12/2026.", default=False)

    def __post_init__(self) -> None:
        if self.sep in ("tab", "\\t"):  # easier to type in a shell
            object.__setattr__(self, "sep", "\t")
        if self.sep is not None and self.sep not in SEPARATORS:
            raise ValueError(
                f"sep must be one of {' '.join(SEPARATORS.strip())}, a tab or a space, "
                f"got {self.sep!r}"
            )
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be . or , got {self.decimal!r}")
        if self.decimal == (self.sep or ","):
            raise ValueError(
                f"decimal {self.decimal!r} separates values too: name what separates them, as in "
                "--sep ';'"
            )


@dataclass(frozen=True)
class FeatureOptions:
    """Columns that groups are learned from; all take wildcards."""

    features: str | None = _option("Columns to learn groups from: a,b,c_*.", "COLUMNS")
    exclude: str | None = _option("Columns that are not used as features.", "COLUMNS")
    categories: str | None = _option("Features whose numbers are codes, not amounts.", "COLUMNS")


@dataclass(frozen=True)
class PredictionOptions:
    """Columns of outcomes and predictions, and of weights."""

    target: str | None = _option("Column of outcomes.")
    prediction: str | None = _option("Column of predicted numbers.")
    lower: str | None = _option("Column of a lower quantile (CQR).")
    upper: str | None = _option("Column of an upper quantile (CQR).")
    probabilities: str | None = _option("Columns of class probabilities: 'p_*'.", "COLUMNS")
    score: str | None = _option("Column of precomputed scores.")
    weight: str | None = _option("Column of weights of the rows.")


@dataclass(frozen=True)
class ColumnOptions(FeatureOptions, PredictionOptions):
    """Columns of a table by the role each plays.

    Parameters
    ----------
    target, prediction, lower, upper, score, weight : str or None
        Names of columns: outcomes; predicted numbers; quantiles; scores; weights of the rows.
    probabilities, features, exclude, categories : str or None
        Names and wildcards with commas between them: class probabilities; columns to learn groups
        from, or not; features whose numbers are codes.

    Examples
    --------
    >>> from plcp.tables import ColumnOptions
    >>> ColumnOptions(target="income", prediction="predicted", exclude="id").features is None
    True
    """


@dataclass(frozen=True)
class CalibrationOptions:
    """How to calibrate.

    Parameters
    ----------
    method : str, default="plcp"
        One of ``METHODS``.
    alpha : float or sequence of float, default=0.1
        Miscoverage rate. Of several, the first has the groups and their description, and each has
        sets.
    confidence : float or None
        Share of calibration sets that cover 1 - alpha at least, for methods that can.
    by : sequence of str or None
        Columns whose values are groups, for methods that are given groups.
    groups : int or None
        How many groups are learned, where some are; None: by the number of rows.
    label_conditional : bool, default=False
        Whether each label has thresholds of its own, so that coverage holds given the label.
    seed : int, default=0
        Seed of all that is drawn.
    explain : bool, default=True
        Whether learned groups are described.
    sensitive : sequence of str
        Columns that learned groups are compared with, features or not.
    about : mapping or None
        What else the model shall remember of its making: a digest of the file, the time.

    Examples
    --------
    >>> from plcp.tables import CalibrationOptions
    >>> CalibrationOptions(method="mondrian", by=["sex"]).alpha
    0.1
    """

    method: str = "plcp"
    alpha: float | Sequence[float] = 0.1
    confidence: float | None = None
    by: Sequence[str] | None = None
    groups: int | None = None
    label_conditional: bool = False
    seed: int = 0
    explain: bool = True
    sensitive: Sequence[str] = ()
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Method:
    """A rule by its name on the command line."""

    make: "Callable[[Any, int], ThresholdRule]"  # of CalibrationOptions and the number of rows
    help: str
    input: str | None = "features"  # or the columns "by" which it groups, or nothing
    learns_groups: bool = False
    in_memory: bool = False  # whether it needs all its rows at once
    takes_confidence: bool = True  # whether a share of calibration sets may be asked for


def _make_plcp(options: Any, rows: int) -> "plcp.PLCP":
    from plcp.thresholds._plcp_learning import most_groups

    m = options.groups or most_groups(rows, MOST_GROUPS)
    return plcp.PLCP(n_groups=m, alpha=options.alpha, random_state=options.seed)


def _make_plcp_split(options: Any, rows: int) -> "plcp.PLCP":
    rule = _make_plcp(options, rows).set_params(calibration="split")
    return rule.set_params(n_groups=options.groups or "auto", confidence=options.confidence)


def _make_plcp_held_out(options: Any, rows: int) -> "plcp.PLCP":
    rule = _make_plcp(options, rows)
    return rule.set_params(calibration="held-out", confidence=options.confidence)


METHODS = {
    "plcp": Method(_make_plcp, "learned groups", learns_groups=True, takes_confidence=False),
    "plcp-held-out": Method(
        _make_plcp_held_out, "the same, exact without a draw", learns_groups=True
    ),
    "plcp-split": Method(_make_plcp_split, "the same, exact in each group", learns_groups=True),
    "plcp-cross": Method(
        lambda given, rows: _make_plcp(given, rows).set_params(calibration="cross"),
        "the same, without a guarantee for few rows", learns_groups=True, takes_confidence=False,
    ),
    "split": Method(
        lambda given, _: plcp.SplitConformal(given.alpha, confidence=given.confidence),
        "one group", input=None,
    ),
    "rectified": Method(
        lambda given, _: plcp.Rectified(
            alpha=given.alpha, confidence=given.confidence, random_state=given.seed
        ),
        "no groups", in_memory=True,
    ),
    "mondrian": Method(
        lambda given, _: plcp.Mondrian([*given.by], given.alpha, confidence=given.confidence),
        "groups named by --by", input="by",
    ),
    "batch-gcp": Method(
        lambda given, _: plcp.BatchGCP([*given.by], alpha=given.alpha),
        "the same, overlapping", input="by", in_memory=True, takes_confidence=False,
    ),
}  # fmt: skip


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
    >>> from plcp.tables import Roles
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
        Fields of `plcp.tables.ColumnOptions`.

    Examples
    --------
    >>> from plcp.tables import choose_roles
    >>> choose_roles(["age", "y", "p_no", "p_yes"], target="y", probabilities="p_*").classes
    ('no', 'yes')
    """
    given = ColumnOptions(**columns)
    _check_task(given)

    def matched(patterns: str | None) -> tuple[str, ...]:
        return () if patterns is None else tuple(match_columns(patterns, names, where))

    single = ("target", "prediction", "lower", "upper", "score", "weight")
    named = {role: name for role in single if (name := getattr(given, role)) is not None}
    found = {role: find_column(name, names, where) for role, name in named.items()}
    probabilities = matched(given.probabilities)
    if len(probabilities) == 1:
        raise ValueError(
            f"probabilities names the column {probabilities[0]!r} alone, but each class has one: "
            "name them all, as in 'p_*'"
        )
    taken = [*found.items(), *(("probabilities", name) for name in probabilities)]
    for (first, name), (second, other) in combinations(taken, 2):
        if name == other:
            raise ValueError(
                f"column {name!r} is both {first} and {second}: name a different column for each"
            )
    hidden = [found[role] for role in ("target", "score", "weight") if role in found]
    listed = {part.strip() for part in (given.features or "").split(",")}
    if unknown := [name for name in hidden if name in listed]:
        raise ValueError(
            f"column {unknown[0]!r} cannot be a feature: new rows do not have it, since it is the "
            "target, the score or the weight; leave it out of features"
        )
    dropped = {*hidden, *matched(given.exclude)}
    chosen = names if given.features is None else matched(given.features)
    features = tuple(name for name in chosen if name not in dropped)
    codes = matched(given.categories)
    for name in codes:
        if name not in features:
            raise ValueError(f"categories names {name!r}, which is no feature: leave it out")
    return Roles(
        **{"target": None, **found},
        probabilities=probabilities,
        features=features,
        codes=codes,
        classes=tuple(_class_of(name, given.probabilities or "") for name in probabilities),
        named=given.features is not None,
    )


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


def _class_of(column: str, patterns: str) -> str:
    """Part of a column's name that a star stands for; the whole name where there is no star."""
    for pattern in (part.strip() for part in patterns.split(",")):
        before, star, after = pattern.partition("*")
        plain = star and not set(before + after) & set("*?[")
        long_enough = len(column) > len(before) + len(after)
        if plain and long_enough and column.startswith(before) and column.endswith(after):
            return column[len(before) : len(column) - len(after)]
    return column
