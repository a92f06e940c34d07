"""Certificates of coverage: exact bounds for a fitted rule in each group, with provenance."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from inspect import signature
from numbers import Real
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from plcp._formatting import WIDTH, text_table
from plcp._options import PlainValues, check_share
from plcp._rows import count, frame_package, is_dataset, is_frame, is_missing, to_plain_array
from plcp._verdict import (
    CHANCE,
    Verdict,
    default_target,
    down,
    explain_verdicts,
    in_words,
    rounded,
    rows_to_decide,
    up,
    verdict_of,
)
from plcp.conformal import Conformal
from plcp.evaluation.outcome import (
    Outcome,
    alpha_of,
    cautions_of,
    check_kind,
    draws,
    outcome_of,
)
from plcp.groups.groups import label_text
from plcp.metrics import coverage_by_group
from plcp.metrics.groups import Grouping, as_grouping, column_groups
from plcp.quantiles import IntArray
from plcp.storage.files import versions_of
from plcp.thresholds.base import distinct
from plcp.thresholds.guarantees import Guarantee

if TYPE_CHECKING:
    import pandas


def fingerprint(X: Any, y: Any) -> str:
    """SHA-256 of all values of X and y in the order of the rows, as 64 hexadecimal digits.

    Numbers count as doubles and all else as text, so that an array, a pandas and a polars frame of
    the same values have one fingerprint on every machine, and so have images in an array and in a
    data set. Names of columns have no part in it. It
    shows whether two data sets are the same, and nothing else of them, unless rows are so few and
    simple that all possibilities can be tried.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [30, 70], "weight": [60.5, 70.0]})
    >>> fingerprint(X, [1, 2]) == fingerprint(X.to_numpy(), [1.0, 2.0])
    True
    """
    digest = hashlib.sha256()
    for part in (X, y):
        digest.update(f"rows {count(part)}\n".encode())
        for values in _columns_of(part):
            digest.update(_encoded(values))
    return digest.hexdigest()


def _columns_of(X: Any) -> Iterator[NDArray[Any]]:
    """One vector at a time: the columns of a table, or the rows of images and of a data set."""
    if is_dataset(X):
        items = (X[row] for row in range(count(X)))
        parts = (item[0] if isinstance(item, tuple | list) else item for item in items)
        yield from (np.ravel(to_plain_array(part)) for part in parts)
    elif is_frame(X):
        yield from (np.asarray(X[name]) for name in X.columns)
    elif issparse(X):
        yield from (X[:, [j]].toarray()[:, 0] for j in range(X.shape[1]))
    else:
        array = np.asarray(to_plain_array(X))
        yield from map(np.ravel, array) if array.ndim > 2 else array.reshape(len(array), -1).T


def _encoded(values: NDArray[Any]) -> bytes:
    """Bytes that determine the values, after a mark of their kind and number."""
    mark = f" {len(values)}\n".encode()
    if values.dtype.kind in "mM":
        return b"times" + mark + values.astype("M8[ns]").astype("<i8").tobytes()
    missing = is_missing(values)
    if values.dtype.kind == "O" and all(isinstance(value, Real) for value in values[~missing]):
        values = np.where(missing, np.nan, values).astype(float)
    if values.dtype.kind in "biuf":
        numbers = values.astype("<f8") + 0.0  # minus zero is zero,
        numbers[missing] = np.nan  # and every NaN the same one
        return b"numbers" + mark + numbers.tobytes()
    texts = [
        b"" if gap else label_text(value).encode()
        for gap, value in zip(missing, values, strict=True)
    ]
    lengths = np.where(missing, -1, [len(text) for text in texts])
    return b"texts" + mark + lengths.astype("<i8").tobytes() + b"".join(texts)


def parameters_of(rule: Any) -> dict[str, Any]:
    """Parameters of an estimator: numbers and text as they are, parts of it as they print.

    Examples
    --------
    >>> from plcp import BatchGCP
    >>> parameters_of(BatchGCP(groups=lambda X: X[:, 0] > 0))
    {'alpha': 0.1, 'groups': '<function <lambda>>'}
    """
    return {name: _plain(value) for name, value in rule.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value
    # an address in memory means nothing elsewhere
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))


def groups_of(rule: Any, X: Any, y: ArrayLike, n: int, given: Mapping[str, ArrayLike]) -> Grouping:
    """Groups that a fitted rule learned or was given; most rules have none."""
    members = rule.members(X, y) if isinstance(rule, Conformal) else rule.members(X, **given)
    codes = np.repeat(np.arange(len(members)), [len(rows) for rows in members.values()])
    rows = np.concatenate([np.zeros(0, dtype=np.intp), *members.values()])
    return _by_row(np.array([*members], dtype=str), codes, rows, n)


def named_groups(groups: Any, X: Any, n: int) -> Grouping:
    """Groups in any form that metrics take, or by columns and functions of X."""
    sources = groups.values() if isinstance(groups, Mapping) else groups
    is_list = isinstance(groups, Mapping) or (isinstance(groups, list) and len(groups) != n)
    # a list as long as X is one of labels
    if _is_source(groups) or (is_list and any(_is_source(source) for source in sources)):
        return column_groups(X, groups)
    return as_grouping(groups, n)


def _is_source(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


def with_all_rows(groups: Grouping) -> Grouping:
    """All rows as the first group, then the groups given, no two of one name.

    Examples
    --------
    >>> from plcp.metrics.groups import as_grouping
    >>> with_all_rows(as_grouping({"old": [True, False, True]}, 3))
    Grouping(['all', 'old'] of 3 rows)
    """
    all_rows = np.arange(groups.n_rows)
    rows = np.r_[all_rows, all_rows if groups.rows is None else groups.rows]
    codes = np.r_[np.zeros_like(all_rows), groups.codes + 1]
    names = np.array(distinct(["all", *(label_text(name) for name in groups.names)]))
    return _by_row(names, codes, rows, groups.n_rows)


def _by_row(names: NDArray[Any], codes: IntArray, rows: IntArray, n: int) -> Grouping:
    """List memberships by rising row, as a grouping wants them."""
    order = np.argsort(rows, kind="stable")
    return Grouping(names, codes[order], rows[order], n)


def check_rows(X: Any, y: Any) -> int:
    """Return the number of rows, which must be that of the labels, and not zero."""
    if X is None or y is None:
        raise ValueError("X and y must be given, one of them is None: a certificate needs both")
    n, labels = count(X), count(y)
    if n != labels:
        raise ValueError(f"X has {n} rows and y has {labels}: give one label or score per row")
    if n == 0:
        raise ValueError("X and y are empty, 0 rows: a certificate needs at least one row")
    return n


def check_rule_groups(rule: Any, rule_groups: ArrayLike | None) -> dict[str, ArrayLike]:
    """Return what ``predict`` must be given besides X."""
    if rule_groups is not None:
        if "groups" not in signature(rule.predict).parameters:
            raise ValueError(
                f"rule_groups are for rules whose predict takes groups, which {type(rule).__name__}"
                " does not: name groups to certify as groups="
            )
        return {"groups": rule_groups}
    if getattr(rule, "groups", ()) is None and len(rule.groups_):
        raise ValueError(
            f"this {type(rule).__name__} was fitted with groups given by hand: give those of these "
            "rows as rule_groups="
        )
    return {}


DECIDED = (Verdict.ABOVE, Verdict.BELOW)


def _head(c: Certificate) -> list[str]:
    title = f"Certificate of coverage: {c.rule}, alpha = {c.alpha:g}"
    lines = [title, "=" * min(len(title), WIDTH), ""]
    lines += [line for sentence in _found(c) for line in wrap(sentence, WIDTH)]
    for caution in c.cautions:
        lines += ["", *wrap(f"CAUTION: {caution}", WIDTH)]
    return lines


def _found(c: Certificate) -> list[str]:
    """Return what a reader should know who reads nothing else."""
    all_rows, *groups = c.groups
    least = min(groups or c.groups, key=lambda group: group.low_all)
    lowest = f", and in no group below {down(least.low_all)} ({_name(least)})"
    bounds = all_rows.low_all, all_rows.high_all
    verdict = in_words(all_rows.verdict, c.target, bounds, all_rows.rows_needed)
    found = [
        f"Each set is meant to hold the outcome of its row with probability {1 - c.alpha:g}. Here "
        f"{all_rows.hits:,} of {all_rows.n:,} did. With {100 * c.confidence:g} % confidence the "
        f"true probability lies between {down(all_rows.low_all)} and {up(all_rows.high_all)}"
        f"{lowest if groups and least.low_all >= 0.001 else ''}.",
        f"Verdict on all rows together: {verdict}.",
    ]
    if groups:
        counts = Counter(group.verdict for group in groups)
        listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
        if len(groups) == 1:
            which, listed = f"The one group, {_name(groups[0])}", str(groups[0].verdict)
        else:
            which = f"Of {len(groups)} groups"
        found.append(f"{which}, beside the target {c.target:g}: {listed}.")
    if names := [_name(group) for group in groups if group.verdict == Verdict.BELOW]:
        found.append(f"{_groups(names)} below the target: {'; '.join(names)}.")
    below = [g for g in groups if g.verdict != Verdict.BELOW and g.high_all < 1 - c.alpha]
    if below:
        names = [_name(group) for group in below]
        verb = "covers" if len(names) == 1 else "cover"
        meant = f"{1 - c.alpha:g}"
        found.append(f"{_groups(names)} that surely {verb} less than {meant}: {'; '.join(names)}.")
    return found


def _groups(names: list[str]) -> str:
    return "Group" if len(names) == 1 else "Groups"


def _table(c: Certificate) -> list[str]:
    """One line per group, more for a long name; columns that would say nothing are left out."""
    head, *body = zip(["group", *map(_name, c.groups)], *_columns(c), strict=True)
    return text_table(head, body, WIDTH)


def _columns(c: Certificate) -> Iterator[list[str]]:
    """Heading and cells of each column but the names."""
    groups = c.groups
    yield ["rows", *(f"{g.n:,}" for g in groups)]
    yield ["coverage", *("-" if g.coverage is None else f"{g.coverage:.4f}" for g in groups)]
    yield [f"{100 * c.confidence:g} % bounds", *(_between(g.low, g.high) for g in groups)]
    if len(groups) > 1:
        yield ["all at once", *(_between(g.low_all, g.high_all) for g in groups)]
    if _has_sizes(c):
        yield ["mean size", *(_size(g.size) for g in groups)]
    yield ["verdict", *(g.verdict for g in groups)]
    if _needs_rows(c):
        needed = (g.rows_needed for g in groups)
        yield ["rows needed", *("" if rows is None else f"{rounded(rows):,}" for rows in needed)]


def _name(group: GroupBounds) -> str:
    return " ".join(group.group.split()) or "(no name)"


def _has_sizes(c: Certificate) -> bool:
    return any(group.size is not None for group in c.groups)


def _needs_rows(c: Certificate) -> bool:
    return any(group.rows_needed is not None for group in c.groups)


def _size(size: float | None) -> str:
    return "-" if size is None else f"{size:{',.0f' if size >= 1000 else '.3g'}}"


def _between(low: float, high: float) -> str:
    return f"{down(low)}–{up(high)}"


def _explanations(c: Certificate) -> Iterator[str]:
    confidence, several = f"{100 * c.confidence:g} %", len(c.groups) > 1
    yield "Coverage is the share of rows whose set held the outcome."
    yield (
        "Bounds are exact (Clopper–Pearson): each pair holds the probability of covering with "
        f"{confidence} confidence{'' if several else '.'}"
    )
    if several:
        yield f"of its own, and the pairs of all at once hold all {len(c.groups)} together with it."
    verdicts = [verdict for verdict in Verdict if any(g.verdict == verdict for g in c.groups)]
    wider = ", with the bounds of all at once" * several
    yield f"Verdicts beside the target {c.target:g}{wider}: {explain_verdicts(*verdicts)}"
    if c.target < 1 - c.alpha:
        yield (
            f"That is {1 - c.alpha - c.target:g} less than the {1 - c.alpha:g} meant: no number of "
            f"rows can decide whether a coverage of just {1 - c.alpha:g} is less."
        )
    if _has_sizes(c):
        yield "Size is the length of an interval, or the number of labels in a set."
    if _needs_rows(c):
        yield (
            "Rows needed: with so many rows of the group the verdict would be above or below with "
            f"probability {CHANCE:g}, if its coverage is the share observed."
        )


def _sections(c: Certificate) -> list[list[str]]:
    columns = "" if c.n_columns is None else f" and {c.n_columns:,} columns"
    names = "" if c.column_names is None else f" ({', '.join(c.column_names)})"
    data = f"{c.n_rows:,} rows{columns}{names}, with their {c.outcomes}."
    parameters = ", ".join(f"{key}={value}" for key, value in c.parameters.items())
    versions = ", ".join(f"{name} {number}" for name, number in c.versions.items())
    return [
        ["Assumed", *(line for item in c.assumptions for line in _item(item))],
        ["Rule", *_item(f"{c.rule}({parameters})"), *_item(f"Its own promise: {c.guarantee}")],
        ["Data", *_item(data), *_item(f"SHA-256 of all values: {c.fingerprint}")],
        ["Made", *_item(f"{c.made_at} with {versions}")],
    ]


def _item(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")


FORMAT = "plcp certificate 1"
DICT = PlainValues("certificate", "those of to_dict")
JSON = PlainValues("certificate", "what to_json wrote")


@dataclass(frozen=True)
class GroupBounds:
    """Exact bounds on the coverage of one group.

    Parameters
    ----------
    group : str
        Its name.
    n, hits : int
        Number of its rows, and how many of them were covered.
    coverage : float or None
        The share covered; None of no rows.
    low, high : float
        Clopper–Pearson bounds on the probability of being covered: they hold it with the
        certificate's confidence, whatever it is.
    low_all, high_all : float
        Wider bounds, which hold the probabilities of all groups at once with that confidence.
    size : float or None
        Mean size of the sets, infinite if one of them is; None of no rows or of a bare threshold
        rule, which knows no sets.
    verdict : Verdict
        What the bounds of all at once say of the target: above, below, on target or undecided.
    rows_needed : int or None
        Where they contain the target: the number of rows of the group that would decide between
        above and below with probability 0.8, if its coverage is the share observed. None: too
        close to the target.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import SplitConformal, certify
    >>> X, scores = np.zeros((2000, 1)), np.random.default_rng(0).exponential(size=2000)
    >>> rule = SplitConformal(alpha=0.1).fit(X[:1000], scores[:1000])
    >>> everything = certify(rule, X[1000:], scores[1000:], target=0.9).groups[0]
    >>> everything.group, everything.n, str(everything.verdict)
    ('all', 1000, 'on target')
    >>> everything.low < 0.9 < everything.high
    True
    """

    group: str
    n: int
    hits: int
    coverage: float | None
    low: float
    high: float
    low_all: float
    high_all: float
    size: float | None
    verdict: Verdict
    rows_needed: int | None


@dataclass(frozen=True)
class Certificate:
    """How often a rule's sets cover, in each group, on new rows.

    Made by `plcp.certify`. It holds no row of the data, prints as a page, and can be handed on as a
    dict, as JSON or as a frame; read back it equals itself. It is not signed: to verify
    that it was not changed, certify the same rule on the same rows again, and compare.

    Parameters
    ----------
    rule, parameters : str, dict
        Class of what was certified, and its parameters.
    guarantee : Guarantee
        What the rule promises of itself.
    alpha, target, confidence : float
        Miscoverage rate of the rule; the coverage that verdicts compare with; the probability
        with which bounds hold.
    groups : tuple of GroupBounds
        "all" first, then each group.
    assumptions, cautions : tuple of str
        What the bounds rest on, and what was noticed that speaks against it.
    n_rows, n_columns : int, int or None
        Of the data; None where rows are no rows of a table.
    column_names : tuple of str or None
        Of a frame.
    outcomes : str
        "labels" or "scores": what was given as y.
    fingerprint : str
        SHA-256 of the values of X and y, in the order of the rows.
    made_at : str
        Time in ISO 8601, UTC.
    versions : dict
        Of Python and of the libraries.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp import Certificate, SplitConformal, certify
    >>> X, scores = np.zeros((2000, 1)), np.random.default_rng(0).exponential(size=2000)
    >>> rule = SplitConformal(alpha=0.1).fit(X[:1000], scores[:1000])
    >>> certificate = certify(rule, X[1000:], scores[1000:])
    >>> certificate.n_rows, [group.group for group in certificate.groups]
    (1000, ['all'])
    >>> Certificate.from_json(certificate.to_json()) == certificate
    True
    """

    rule: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    alpha: float
    target: float
    confidence: float
    groups: tuple[GroupBounds, ...]
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...]
    n_rows: int
    n_columns: int | None
    column_names: tuple[str, ...] | None
    outcomes: str
    fingerprint: str
    made_at: str
    versions: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values that strict JSON can hold: an infinite size is "inf"."""
        lists = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }
        for group in lists["groups"]:
            group["size"] = "inf" if group["size"] == float("inf") else group["size"]
        return {"format": FORMAT, **lists, "guarantee": self.guarantee.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """Return the certificate of a dict that `to_dict` made."""
        DICT.check_keys(values, {"format", *(field.name for field in fields(cls))})
        if values["format"] != FORMAT:
            DICT.refuse(f"of format {values['format']!r}")
        kept: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in values.items()
            if key != "format"
        }
        kept["groups"] = tuple(_group(row) for row in values["groups"])
        kept["guarantee"] = Guarantee.from_dict(values["guarantee"])
        return cls(**kept)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return JSON without NaN or Infinity, and write it to a file if one is named."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Certificate:
        """Return the certificate of a JSON text, which begins with a brace, or of a file."""
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
        return cls.from_dict(JSON.parse(text))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame, one row per group."""
        pandas = frame_package("pandas")

        return pandas.DataFrame([asdict(group) for group in self.groups])

    def to_text(self) -> str:
        """Return a page of at most 100 columns: what was found, then what it rests on."""
        legend = wrap(" ".join(_explanations(self)), WIDTH)
        parts = [_head(self), _table(self), legend, *_sections(self)]
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    def __str__(self) -> str:
        return self.to_text()


def _group(values: Mapping[str, Any]) -> GroupBounds:
    DICT.check_keys(values, {field.name for field in fields(GroupBounds)})
    size = values["size"]
    return GroupBounds(
        **{
            **values,
            "size": None if size is None else float(size),
            "verdict": Verdict(values["verdict"]),
        }
    )


ASSUMPTIONS = (
    "The rows were drawn independently from the population that coverage is claimed of.",
    "None of them was used to train, tune or calibrate the rule: this cannot be checked here.",
    "Groups and target were settled without knowing which of these rows are covered.",
)
DRAWN = "The rule draws at random: coverage is that of the sets as drawn, over rows and draws."


def certify(
    rule: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: Any = None,
    rule_groups: ArrayLike | None = None,
    target: float | None = None,
    confidence: float = 0.95,
    made_at: datetime | None = None,
) -> Certificate:
    """Bound the coverage of a fitted rule from below and above, in each group.

    Coverage counts of rows drawn independently from one distribution follow the binomial law
    whatever the rule is and however it was fitted, so the bounds hold for every number of rows:
    they need no guarantee of the rule's own. They are about that distribution.

    Parameters
    ----------
    rule : threshold rule, ConformalRegressor or ConformalClassifier
        Fitted.
    X : array, frame or data set of n rows
        Rows that had no part in training or calibration. This cannot be checked in general; you
        get a warning if a threshold is the very score of a row given here.
    y : array-like of shape (n,)
        Labels, for a conformal estimator; scores, for a threshold rule.
    groups : labels, boolean matrix, dict of name to booleans, frame, columns of X, or None
        Groups to speak of, as in `plcp.metrics.coverage_by_group`, or columns and functions of X,
        as in `plcp.Groups`; they may overlap. None: those that the rule learned or was given. All
        rows together always come first.
    rule_groups : array-like or None
        What ``rule.predict`` takes as ``groups``, for a rule that was fitted with such.
    target : float or None
        Coverage that verdicts compare with. None: 1 - alpha less a margin of
        sqrt(alpha (1 - alpha) / 100), rounded to one digit: 0.87 for alpha = 0.1, 0.93 for 0.05,
        0.98 for 0.01.
    confidence : float, default=0.95
        Probability with which bounds hold: of each group, and of all groups together.
    made_at : datetime with a time zone, or None
        Time to state; None: now.

    Returns
    -------
    Certificate
        Prints as a page; ``to_dict``, ``to_json``, ``to_pandas``.

    Notes
    -----
    A rule that works covers 1 - alpha, and no number of rows can decide whether a coverage of just
    1 - alpha is less than that. Hence the margin of the default target. It is a tenth of the
    standard deviation of one row's outcome, and so decided by about as many rows whatever alpha
    is; it is also the standard deviation of the coverage that remains after calibration on 100
    rows, which a verdict should not hold against a rule. By the binomial law a rule that covers
    0.9 is certified to cover at least 0.87 with these probabilities, at confidence 0.95:

    ======  ========  =========  ==========  ==========
    rows    together  5 groups   10 groups   20 groups
    ======  ========  =========  ==========  ==========
    1,000   0.84      0.06       0.01        0.01
    5,000   1.00      0.61       0.21        0.03
    20,000  1.00      1.00       0.90        0.44
    ======  ========  =========  ==========  ==========

    for a given one of the groups, if they are of one size. With many groups and few rows a lower
    target can be decided: 0.85 with probability 0.98, 0.65 and 0.17 for 5, 10 and 20 groups of
    5,000 rows.

    References
    ----------
    Clopper, Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika.

    Examples
    --------
    >>> from plcp import Mondrian, certify
    >>> from plcp.datasets import make_toy
    >>> calibration, new = make_toy(1000, random_state=0), make_toy(5000, random_state=1)
    >>> rule = Mondrian(lambda X: X[:, 0] > 0).fit(calibration.X, calibration.scores)
    >>> certificate = certify(rule, new.X, new.scores)
    >>> for row in certificate.groups:
    ...     print(f"{row.group:5} {row.n:5} rows: {row.low:.2f} to {row.high:.2f}, {row.verdict}")
    all    5000 rows: 0.88 to 0.90, above
    False  2485 rows: 0.88 to 0.91, above
    True   2515 rows: 0.88 to 0.90, above
    """
    check_kind(rule)
    check_is_fitted(rule, "guarantee_")
    confidence = check_share("confidence", confidence)
    alpha = alpha_of(rule)
    target = default_target(alpha) if target is None else check_share("target", target)
    if made_at is None:
        made_at = datetime.now(UTC)
    if made_at.tzinfo is None:
        raise ValueError(f"made_at must name its time zone, got {made_at!r}: add tzinfo=UTC")
    X = to_plain_array(X)
    n, given = check_rows(X, y), check_rule_groups(rule, rule_groups)
    named = groups_of(rule, X, y, n, given) if groups is None else named_groups(groups, X, n)
    outcome = outcome_of(rule, X, y, given)
    shape: tuple[int, ...] = np.shape(X) if isinstance(X, list | tuple) else getattr(X, "shape", ())
    return Certificate(
        rule=type(rule).__name__,
        parameters=parameters_of(rule),
        guarantee=rule.guarantee_,
        alpha=alpha,
        target=target,
        confidence=confidence,
        groups=tuple(_bounds(outcome, named, target, confidence)),
        assumptions=(*ASSUMPTIONS, *[DRAWN] * draws(rule)),
        cautions=tuple(cautions_of(outcome)),
        n_rows=n,
        n_columns=int(shape[1]) if len(shape) == 2 else None,
        column_names=tuple(str(name) for name in X.columns) if is_frame(X) else None,
        outcomes="labels" if isinstance(rule, Conformal) else "scores",
        fingerprint=fingerprint(X, y),
        made_at=made_at.astimezone(UTC).isoformat(timespec="seconds"),
        versions=versions_of(rule),
    )


def _bounds(
    outcome: Outcome, groups: Grouping, target: float, confidence: float
) -> list[GroupBounds]:
    """Exact bounds and a verdict for all rows together and for each group."""
    all_rows = with_all_rows(groups)
    table = coverage_by_group(outcome.covered, all_rows, outcome.size, confidence=confidence)
    tail = (1 - confidence) / (table.n > 0).sum() / 2  # of one end of bounds for all at once
    needed = rows_to_decide(table.hits, table.n, target, tail)
    found = []
    for i, name in enumerate(table.group):
        rows = int(table.n[i])
        verdict = verdict_of(table.low_all[i], table.high_all[i], target)
        is_open = verdict not in DECIDED and needed[i] > 0
        found.append(
            GroupBounds(
                group=str(name),
                n=rows,
                hits=int(table.hits[i]),
                coverage=float(table.coverage[i]) if rows else None,
                low=float(table.low[i]),
                high=float(table.high[i]),
                low_all=float(table.low_all[i]),
                high_all=float(table.high_all[i]),
                size=float(table.size[i]) if rows and outcome.size is not None else None,
                verdict=verdict,
                rows_needed=int(needed[i]) if is_open else None,
            )
        )
    return found
