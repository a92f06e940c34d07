"""Where sets fail: groups learned on one half of the rows, and measured on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plcp.audit.grouped import Described, GroupList
from plcp.audit.words import rows as rows_text
from plcp.certificate.verdicts import MOST_ROWS, rows_to_decide
from plcp.explain import RuleTree
from plcp.metrics.outcomes import check_covered
from plcp.quantiles import FloatArray, IntArray
from plcp.validation import check_alpha, check_lengths, check_share

if TYPE_CHECKING:
    import pandas as pd

MOST_LEAVES = 8
FOLDS = 3
MOST_TRIAL_ROWS = 30_000  # on which the number of groups is settled
NOTHING = "No kind of row was found on which the sets fail more often than on others"


def learn_failures(
    X: pd.DataFrame,
    covered: NDArray[np.bool_],
    *,
    alpha: float = 0.1,
    confidence: float = 0.95,
    seed: int = 0,
) -> GroupList:
    """Look for kinds of rows on which sets fail, by a tree of misses.

    Rows are parted into halves at random. A tree grows on one half; how many leaves it has, up to
    eight, is settled there too, by cross-validation. Its leaves are groups of the other half, which
    had no part in finding them, so that bounds measured there are exact. A leaf has so many rows
    that twice as many misses as promised would hardly go unnoticed.

    Parameters
    ----------
    X : DataFrame
        Columns that groups may be told by.
    covered : array of bool, shape (n,)
        Whether each set holds its outcome.
    alpha : float, default=0.1
        Miscoverage rate that the sets were made for.
    confidence : float, default=0.95
        Of the bounds that the groups are to be measured with.
    seed : int, default=0
        Of the halves, and of the tree.

    Returns
    -------
    GroupList
        Groups of the second half, from the least covered to the most covered; one group if no kind
        of row stands out.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.integers(18, 80, size=4000)})
    >>> covered = rng.random(4000) < np.where(X["age"] < 60, 0.95, 0.7)
    >>> [group.name for group in learn_failures(X, covered).groups]
    ['age ≥ 60', 'age ≤ 59']
    """
    alpha, confidence = check_alpha(alpha), check_share("confidence", confidence)
    least, covered = rows_to_tell(alpha, confidence), check_covered(covered)
    check_lengths(X, covered)
    order = np.random.default_rng(seed).permutation(len(covered))
    grow, rest = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    if X.shape[1] == 0 or len(grow) < 2 * least:
        return _unparted(len(covered), least, X.shape[1])
    missed = (~covered).astype(float)
    tree = RuleTree(count_leaves(X, missed, order[: len(grow)], least, seed), least, seed)
    tree.fit(X.iloc[grow], missed[grow])
    if len(tree.rules_) == 1:
        about = f"{NOTHING}: {rows_text(len(grow))} were searched, these are the others."
        return GroupList(
            [Described("rows not searched")], np.zeros(len(rest), np.intp), about, rest
        )
    leaf = tree.apply(X.iloc[rest])
    about = (
        f"Found by a tree of misses on {rows_text(len(grow))} and measured on the "
        f"{len(rest):,} others, which had no part in finding them; from the least covered to the "
        "most covered."
    )
    return _by_coverage([rule.text for rule in tree.rules_], leaf, covered[rest], about, rest)


def rows_to_tell(alpha: float, confidence: float) -> int:
    """Rows among which twice as many misses as promised are likely to be proven.

    Examples
    --------
    >>> rows_to_tell(0.1, 0.95)
    159
    """
    share, tail = max(1 - 2 * alpha, 0.0), (1 - confidence) / MOST_LEAVES / 2
    return int(rows_to_decide(share, 1, 1 - alpha, tail)) or MOST_ROWS  # more than anybody has


def count_leaves(
    X: pd.DataFrame, missed: FloatArray, order: IntArray, least: int, seed: int
) -> int:
    """Number of leaves that foretells misses best on rows held out, by cross-validation."""
    folds = np.array_split(order[:MOST_TRIAL_ROWS], FOLDS)

    def loss_of(n_leaves: int) -> float:
        tree = RuleTree(n_leaves, least * (FOLDS - 1) // FOLDS, seed)
        return sum(
            held_out_loss(tree, X, missed, np.concatenate(folds[:i] + folds[i + 1 :]), folds[i])
            for i in range(FOLDS)
        )

    return min(range(1, MOST_LEAVES + 1), key=loss_of)


def held_out_loss(
    tree: RuleTree, X: pd.DataFrame, missed: FloatArray, learn: IntArray, hold: IntArray
) -> float:
    """Sum of squared errors of the leaves' means, on rows that the tree did not learn from."""
    tree.fit(X.iloc[learn], missed[learn])
    means = np.array([rule.mean for rule in tree.rules_])
    return float(((missed[hold] - means[tree.apply(X.iloc[hold])]) ** 2).sum())


def _unparted(n: int, least: int, n_columns: int) -> GroupList:
    """All rows as one group: the outcomes had no say in that, so none need be set aside."""
    reason = (
        f"two groups that could be told apart need {rows_text(4 * least)}, and there are {n:,}"
        if n_columns
        else "there are no columns to tell rows apart by"
    )
    about = f"No kinds of rows were looked for: {reason}."
    return GroupList([Described("all rows")], np.zeros(n, dtype=np.intp), about)


def _by_coverage(
    names: list[str], codes: IntArray, covered: NDArray[np.bool_], about: str, rows: IntArray
) -> GroupList:
    """Order groups by coverage; those without rows come last."""
    n = np.bincount(codes, minlength=len(names))
    hits = np.bincount(codes, covered, minlength=len(names))
    order = np.argsort(np.where(n > 0, hits / np.maximum(n, 1), np.inf), kind="stable")
    place = np.argsort(order)
    groups = [Described(names[i], rule=names[i]) for i in order]
    return GroupList(groups, place[codes], about, rows)
