"""The explanation of learned groups: rules, profiles, importance and sensitive columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plcp._files import printable
from plcp._rows import count, is_frame, take, to_plain_array
from plcp.conformal import Conformal, check_one_alpha
from plcp.explain.columns import percent, read_columns, runs
from plcp.explain.importance import Importance, partition_importance
from plcp.explain.profile import (
    Difference,
    Sensitive,
    compare_sensitive,
    count_tests,
    profile,
    screen_columns,
)
from plcp.explain.rules import Kind, find_rule, fit_surrogate, name_group
from plcp.quantiles import FloatArray, IntArray
from plcp.thresholds import PLCP


class GroupExplanation(NamedTuple):
    """One learned group: a rule that describes it, and what sets it apart.

    ``rule`` describes the group: on rows held out, at least 0.8 of the rule's rows are in the group
    (``precision``), and it holds for at least 0.8 of the group's rows (``recall``). Where no short
    rule does, it is empty, both are None, and ``profile`` has what is typical of the group.

    Attributes
    ----------
    group : int
        Number of the group.
    name : str
        Its name.
    rule : str
        The rule that describes it, empty where none does.
    precision, recall : float or None
        Share of the rule's rows that are in the group, and of the group's that meet the rule.
    n, share : int, float
        Number of rows in the group, and their share.
    profile : tuple of Difference
        Where the group differs from the rest, the largest differences first.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import explain_groups
    >>> X = np.repeat([[0.0, 5.0], [1.0, 5.0]], 500, axis=0)
    >>> explanation = explain_groups(None, X, groups=X[:, 0].astype(int))
    >>> first = explanation.groups[0]
    >>> first.rule, first.precision, first.recall, first.n
    ('x0 ≤ 0', 1.0, 1.0, 500)
    """

    group: int
    name: str
    rule: str
    precision: float | None
    recall: float | None
    n: int
    share: float
    profile: tuple[Difference, ...]


@dataclass(frozen=True)
class Explanation:
    """Learned groups in the words of the data; made by `explain_groups`.

    Attributes
    ----------
    groups : tuple of GroupExplanation
        By rising threshold.
    kinds : tuple of Kind
        A few rules that part all rows, from those with small thresholds to those with large ones,
        and the groups each of them lies in.
    fidelity, chance : float
        Share of rows whose group is the commonest of their kind, on rows held out; and the share of
        the largest group.
    order : float
        Rank correlation of a row's group with the mean group of its kind, on rows held out.
    importance : tuple of Importance
        Columns that move rows between groups when shuffled, the one that moves them most first.
    sensitive : tuple of Sensitive
        Named columns beside the groups.
    n_columns, n_considered : int
        Columns of the table, and those that rules, profiles and importance consider: of more than
        32, the 32 that depend most on the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.explain import Explanation, explain_groups
    >>> X = np.repeat([[0.0, 5.0], [1.0, 5.0]], 500, axis=0)
    >>> explanation = explain_groups(None, X, groups=X[:, 0].astype(int))
    >>> [group.rule for group in explanation.groups]
    ['x0 ≤ 0', 'x0 ≥ 1']
    >>> explanation.fidelity, explanation.chance
    (1.0, 0.514)
    >>> Explanation.from_dict(explanation.to_dict()) == explanation
    True
    """

    groups: tuple[GroupExplanation, ...]
    kinds: tuple[Kind, ...]
    fidelity: float
    chance: float
    order: float
    importance: tuple[Importance, ...]
    sensitive: tuple[Sensitive, ...]
    n_columns: int
    n_considered: int

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and text."""
        return {
            "fidelity": self.fidelity,
            "chance": self.chance,
            "order": self.order,
            "n_columns": self.n_columns,
            "n_considered": self.n_considered,
            "groups": [
                one._asdict() | {"profile": [difference._asdict() for difference in one.profile]}
                for one in self.groups
            ],
            "kinds": [one._asdict() | {"groups": list(one.groups)} for one in self.kinds],
            "importance": [one._asdict() for one in self.importance],
            "sensitive": [
                one._asdict()
                | {
                    "values": list(one.values),
                    "overall": list(one.overall),
                    "shares": [list(row) for row in one.shares],
                }
                for one in self.sensitive
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read back what ``to_dict`` gave."""
        return cls(
            groups=tuple(
                GroupExplanation(
                    **{
                        **one,
                        "profile": tuple(Difference(**difference) for difference in one["profile"]),
                    }
                )
                for one in plain["groups"]
            ),
            kinds=tuple(Kind(**{**one, "groups": tuple(one["groups"])}) for one in plain["kinds"]),
            fidelity=plain["fidelity"],
            chance=plain["chance"],
            order=plain["order"],
            # in files of earlier versions all columns were shuffled
            n_columns=plain.get("n_columns", len(plain["importance"])),
            n_considered=plain.get("n_considered", len(plain["importance"])),
            importance=tuple(Importance(**one) for one in plain["importance"]),
            sensitive=tuple(
                Sensitive(
                    **{
                        **one,
                        "values": tuple(one["values"]),
                        "overall": tuple(one["overall"]),
                        "shares": tuple(map(tuple, one["shares"])),
                    }
                )
                for one in plain["sensitive"]
            ),
        )

    def to_text(self) -> str:
        """Lines of at most 100 columns."""
        parts = [
            ["Kinds of rows, from small thresholds to large ones", *_kinds(self)],
            ["Groups", *_groups(self)],
        ]
        if self.importance:
            parts.append(["Columns that move rows between groups", *_importance(self)])
        if self.sensitive:
            parts.append(["Named columns", *_sensitive(self)])
        if screened := what_was_considered(self.n_columns, self.n_considered):
            parts.append(wrap(screened, WIDTH))
        return printable("\n\n".join("\n".join(part) for part in parts)) + "\n"

    def _repr_markdown_(self) -> str:
        """Tables, in which nothing that came from data is taken for markup."""
        kinds = [[_span(kind), percent(kind.share), kind.rule] for kind in self.kinds]
        groups = [
            [
                str(one.group),
                percent(one.share),
                one.rule or "no short rule",
                "" if one.precision is None else percent(one.precision),
                "" if one.recall is None else percent(one.recall),
                "; ".join(difference.text for difference in one.profile),
            ]
            for one in self.groups
        ]
        parts = [
            _table(["groups", "share of rows", "kind of rows"], kinds),
            _marked(how_well(self)),
            _table(["group", "share", "rule", "precision", "recall", "special"], groups),
        ]
        if self.importance:
            moved = [
                [one.feature, f"{one.value:.3f}", f"{one.error:.3f}"] for one in self.importance
            ]
            parts.append(_table(["column", "importance", "standard error"], moved))
        if self.sensitive:
            named = [[one.column, f"{one.dependence:.2f}", one.text] for one in self.sensitive]
            parts.append(_table(["named column", "dependence (Cramér's V)", "most unlike"], named))
        if screened := what_was_considered(self.n_columns, self.n_considered):
            parts.append(_marked(screened))
        return "\n\n".join(parts) + "\n"

    def __str__(self) -> str:
        return self.to_text()


WIDTH = 100
MOST_COLUMNS = 10  # of importance that are listed; the rest move next to nothing


def how_well(explanation: Explanation) -> str:
    """Say how much of the groups the kinds describe."""
    if len(explanation.groups) == 1:
        return "There is one group, so there are no others to compare it with."
    return (
        f"On rows held out, the kinds give the group of {percent(explanation.fidelity)} of rows "
        f"(the largest group holds {percent(explanation.chance)}), and their order with a rank "
        f"correlation of {explanation.order:.2f}."
    )


def what_was_considered(n_columns: int | None, n_considered: int | None) -> str:
    """Say which of many columns were considered; nothing where all were, or it is not known.

    Examples
    --------
    >>> what_was_considered(16, 16)
    ''
    """
    if n_columns is None or n_columns == n_considered:
        return ""
    return (
        f"Of {n_columns:,} columns the {n_considered} that depend most on the groups, each on its "
        "own, were considered: no rule names any other, and no other was shuffled."
    )


def _kinds(explanation: Explanation) -> Iterator[str]:
    for kind in explanation.kinds:
        head = f"  {_span(kind):>14}  {percent(kind.share):>6}  "
        yield from _hanging(head, kind.rule)
    yield from wrap(how_well(explanation), WIDTH)


def _groups(explanation: Explanation) -> Iterator[str]:
    for one in explanation.groups:
        yield from _hanging(f"  group {one.group}, {percent(one.share)} of rows: ", _quality(one))
        for difference in one.profile:
            yield from _hanging("    - ", difference.text)


def _quality(one: GroupExplanation) -> str:
    if one.precision is None or one.recall is None:
        return "no short rule describes it" + "; it differs in:" * bool(one.profile)
    return (
        f"{one.rule} ({percent(one.precision)} of such rows are in the group, "
        f"{percent(one.recall)} of the group are such rows)"
    )


def _importance(explanation: Explanation) -> Iterator[str]:
    width = max(len(one.feature) for one in explanation.importance)
    for one in explanation.importance[:MOST_COLUMNS]:
        yield from _hanging(
            f"  {one.value:6.3f} ± {one.error:.3f}  ", one.feature.ljust(min(width, 40)).rstrip()
        )
    left = len(explanation.importance) - MOST_COLUMNS
    if left > 0:
        yield f"  and {left} more that move rows less"
    yield "0: rows stay in their group; 1: they move as if all columns were shuffled."


def _sensitive(explanation: Explanation) -> Iterator[str]:
    for one in explanation.sensitive:
        yield from _hanging(f"  {one.dependence:.2f}  ", one.text)
    yield "0: groups and column are independent; 1: groups determine it (Cramér's V)."


def _span(kind: Kind) -> str:
    return f"group{'s' * (len(kind.groups) > 1)} {runs(kind.groups)}"


def _hanging(head: str, text: str) -> list[str]:
    """Text after a head, folded below itself."""
    indent = " " * min(len(head), 30)
    return wrap(text, WIDTH, initial_indent=head, subsequent_indent=indent) or [head.rstrip()]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([_marked(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _marked(text: str) -> str:
    r"""Text that Markdown shows as it is.

    Examples
    --------
    >>> print(_marked("a|b `c` <i>"))
    a\|b \`c\` &lt;i&gt;
    """
    one_line = " ".join(escape(text, quote=False).split())
    return re.sub(r"([\\`*_{}\[\]|$~#])", r"\\\1", one_line)


# Of importance. A column that moves rows less may follow the groups, but does not make them
LEAST_IMPORTANCE = 0.01
MOST_ROWS = 20_000  # half of them fit the rules, half evaluate them
LEAST_ROWS = 4  # two to learn from, two to judge by


def explain_groups(
    rule: Any,
    X: Any,
    *,
    groups: ArrayLike | None = None,
    sensitive: Any = (),
    random_state: Any = 0,
) -> Explanation:
    """Say who is in each learned group, in the columns and codes of ``X``.

    Rules are learned from one half of the rows and judged by the other; a group is named by a rule
    only if the rule describes it (`GroupExplanation`). Rules and profiles name columns that move
    rows between groups when shuffled (an importance of 0.01 or more), if there are any. At most
    20,000 rows are read, and of more than 32 columns only the 32 that depend most on the groups are
    considered. The same rows and the same seed give the same names.

    Parameters
    ----------
    rule : PLCP, conformal estimator or None
        Fitted; None if ``groups`` are given.
    X : DataFrame or array
        Features, best of rows that the rule did not learn from; columns of an array are x0, x1, …
    groups : array of int or None
        Group of each row, if known already: numbers in the order of thresholds if there is no rule.
    sensitive : list of column names or DataFrame
        Columns to compare the groups with: by name, of X; or as a table of as many rows.
    random_state : int, RandomState or None
        Seed of the rows used, their halves, and shuffles.

    Examples
    --------
    >>> from plcp import PLCP
    >>> from plcp.datasets import make_toy
    >>> from plcp.explain import explain_groups
    >>> task = make_toy(4000, random_state=0)
    >>> rule = PLCP(n_groups=2, random_state=0).fit(task.X, task.scores)
    >>> explanation = explain_groups(rule, task.X)
    >>> [group.precision >= 0.8 for group in explanation.groups]
    [True, True]
    """
    _check_rule(rule, groups)
    X = to_plain_array(X)
    n, rng = count(X), check_random_state(random_state)
    if n < LEAST_ROWS:
        raise ValueError(f"X has {n} rows, but rules need at least {LEAST_ROWS}: give more")
    named = _named_columns(X, sensitive)
    rows = rng.permutation(n)[:MOST_ROWS]
    X = take(X, rows)
    numbers = rule.groups(X) if groups is None else _check_groups(groups, n)[rows]
    labels = np.unique(numbers) if rule is None else np.argsort(_thresholds(rule), kind="stable")
    places = _places(labels, numbers)
    learn, judge = np.array_split(np.arange(len(rows)), 2)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    columns = read_columns(X, places.astype(float), min_rows=LEAST_ROWS)
    values = [column.read(X) for column in columns]
    # rows that judge have no part in the choice of columns
    kept = screen_columns(columns, [known[learn] for known in values], places[learn])

    importance: tuple[Importance, ...] = ()
    if rule is not None:
        importance = partition_importance(
            lambda table: _places(labels, rule.groups(table)), take(X, judge), seed, columns=kept
        )
    used = {one.feature for one in importance if one.value >= LEAST_IMPORTANCE}
    nameable = [i for i in kept if columns[i].label in used] or kept

    def explain(number: int) -> GroupExplanation:
        inside, label, m = places == number, int(labels[number]), len(labels)
        found = find_rule(X, inside, learn, judge, seed=seed, tries=m, columns=nameable)
        typical = profile(
            [columns[i] for i in nameable],
            [values[i] for i in nameable],
            inside,
            tries=m,
            tests=count_tests(columns),
        )
        return GroupExplanation(
            group=label,
            name=name_group(label, found.text, typical),
            rule=found.text,
            precision=found.precision,
            recall=found.recall,
            n=int(inside.sum()),
            share=float(inside.mean()),
            profile=typical,
        )

    return Explanation(
        groups=tuple(explain(number) for number in range(len(labels))),
        importance=importance,
        sensitive=() if named is None else compare_sensitive(take(named, rows), places, labels),
        n_columns=len(columns),
        n_considered=len(kept),
        **fit_surrogate(X, places, labels, learn, judge, seed=seed, columns=nameable)._asdict(),
    )


def _places(labels: IntArray, numbers: IntArray) -> IntArray:
    """Place of each row's group among the labels."""
    order = np.argsort(labels)
    return np.asarray(order[np.searchsorted(labels, numbers, sorter=order)])


def _thresholds(rule: Any) -> FloatArray:
    learned = rule.tail_rules_[0] if isinstance(rule, Conformal) else rule
    return np.asarray(learned.thresholds_)


def _check_rule(rule: Any, groups: ArrayLike | None) -> None:
    if rule is None and groups is None:
        raise ValueError("there is neither a rule nor groups: give one of them")
    if rule is not None and not isinstance(rule, PLCP | Conformal):
        raise ValueError(
            f"rule must be a PLCP, a conformal estimator or None, got {type(rule).__name__}, which "
            "learns no groups: give its groups as groups=, and None for the rule"
        )
    if rule is not None:
        check_is_fitted(rule)
        check_one_alpha(rule)


def _check_groups(groups: ArrayLike, n: int) -> IntArray:
    numbers = np.asarray(groups)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"groups must be {n} whole numbers, one for each row of X, got {numbers.dtype} of "
            f"shape {numbers.shape}"
        )
    return numbers.astype(np.intp)


def _named_columns(X: Any, sensitive: Any) -> Any:
    """Table of the columns that were named, or None."""
    if is_frame(sensitive):
        if count(sensitive) != count(X):
            raise ValueError(
                f"sensitive has {count(sensitive)} rows and X has {count(X)}: give the same rows"
            )
        return sensitive
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    known = list(X.columns) if is_frame(X) else []
    for name in names:
        if name not in known:
            raise ValueError(
                f"no column {name!r} in X: name one of its columns, or give a DataFrame with it"
            )
    return X[names] if names else None
