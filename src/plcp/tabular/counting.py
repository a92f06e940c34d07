"""Thresholds from all rows of a table on disk, by counting; only a sample is held in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plcp.blocks import Held, Passes
from plcp.blocks.passes import Block
from plcp.files import TableFile
from plcp.files.table import changed
from plcp.quantiles import FloatArray, IntArray, conformal_rank
from plcp.tabular.features import Feature
from plcp.tabular.fitting import Fitted, Task, fit_in_memory, warned
from plcp.tabular.frames import Framer, rule_input
from plcp.tabular.methods import MOST_GROUPS
from plcp.tabular.pairs import Pairs, read_pairs
from plcp.tabular.stored import Stored
from plcp.tabular.tally import Counts
from plcp.tabular.words import unseen_note
from plcp.thresholds import PLCP, Mondrian, SplitConformal
from plcp.thresholds.blockwise import calibrate, teach
from plcp.thresholds.labels import labels_of
from plcp.thresholds.learned.selection import most_groups
from plcp.validation import check_features


@dataclass(frozen=True)
class Counting:
    """Fits rules to all rows of a table, of which some were drawn into memory.

    On disk it needs, for a while, about 24 bytes for each row.

    Parameters
    ----------
    file : TableFile
        All rows.
    columns : list of str
        The columns in use.
    drawn : ndarray of int
        Numbers of the rows in memory, rising.
    """

    file: TableFile
    columns: list[str]
    drawn: NDArray[np.int64]

    def fit(self, task: Task) -> Fitted:
        """Fit the rule of a task, whose rows are those that were drawn."""
        rule = task.method.make(task.choice)
        if isinstance(rule, PLCP):
            return self._plcp(rule, task)
        return self._mondrian(rule, task) if isinstance(rule, Mondrian) else self._split(task)

    def _split(self, task: Task) -> Fitted:
        scores, counts = self._kept(task, lambda pairs: (pairs.scores,))
        split, told = _split_of(scores, task.choice.alpha)
        return Fitted(split, split, (), counts, told)

    def _mondrian(self, rule: Mondrian, task: Task) -> Fitted:
        framer, numbers = Framer(task.features), Numbers()

        def numbered(pairs: Pairs) -> Block:
            X = check_features(rule, framer.frame(pairs.table), reset=True, allow_nan=True)
            return numbers.of(labels_of(rule.groups, X)), pairs.scores

        rows, counts = self._kept(task, numbered)
        told = warned(lambda: rule.fit_blocks(rows.then(_labelled, numbers.labels)))
        split, _ = _split_of(rows.then(_scores), task.choice.alpha)
        features = tuple(_with_unseen(feature, framer) for feature in task.features)
        return Fitted(rule, split, features, counts, tuple(told))

    def _plcp(self, rule: PLCP, task: Task) -> Fitted:
        n = len(task.pairs.scores)  # all of them teach, whatever the method
        rule.set_params(n_groups=task.choice.groups or most_groups(n, MOST_GROUPS))
        taught, index = teach(rule, task.X, task.pairs.scores)
        framer = Framer(task.features)

        def placed(pairs: Pairs) -> Block:
            X = rule_input(framer, pairs.table)
            return taught.partition_.predict_index(X), pairs.scores

        others, counts = self._kept(task, placed, with_drawn=False)
        if counts.used == n:  # no other row is of use
            return replace(fit_in_memory(task), counts=counts)
        if conformal_rank(counts.used, rule.alpha) > counts.used:
            return fit_in_memory(task)  # too few for a finite threshold, however they are used
        drawn = index, task.pairs.scores
        rows = others.beside(drawn)
        honest, seen = (others, Held([drawn])) if rule.calibration == "split" else (rows, rows)
        told = warned(lambda: calibrate(taught, seen, honest, min(rows.each(_least))))
        split, _ = _split_of(rows.then(_scores), rule.alpha)
        which = f"the other {counts.used - n:,}" if honest is others else f"all {counts.used:,}"
        whose = (
            f"the groups were learned from a random sample of {n:,} rows, and their thresholds "
            f"read off {which} rows of {self.file.name}"
        )
        notes = (whose, *_unseen_notes(framer), *told)
        return Fitted(taught, split, task.features, counts, notes, taught=n)

    def _kept(
        self, task: Task, columns: Callable[[Pairs], Block], *, with_drawn: bool = True
    ) -> tuple[Passes, Counts]:
        """Columns of all rows of use, kept on disk in one pass over the table, and their counts."""
        counts = [task.pairs.counts]

        def blocks() -> Iterator[Block]:
            if with_drawn and task.pairs.counts.used:
                yield (task.pairs,)
            for pairs in self._others(task):
                counts.append(pairs.counts)
                if pairs.counts.used:
                    yield (pairs,)

        kept, total = Stored(blocks).keep(columns), sum(counts, start=Counts())
        total.check_any("calibrate")
        return kept, total

    def _others(self, task: Task) -> Iterator[Pairs]:
        """Rows that were not drawn, a batch at a time."""
        start = 0
        for batch in self.file.batches(self.columns):
            end = start + len(batch)
            first, last = np.searchsorted(self.drawn, [start, end])
            others = np.ones(len(batch), dtype=bool)
            others[self.drawn[first:last] - start] = False
            if others.any():
                table = pa.Table.from_batches([batch.filter(pa.array(others))])
                yield read_pairs(table, task.roles, task.classes)
            start = end
        if start != self.file.n_rows:  # as they were counted when rows were drawn
            raise ValueError(changed(self.file.path))


class Numbers:
    """Labels by numbers, in the order in which they come.

    Examples
    --------
    >>> numbers = Numbers()
    >>> numbers.of(np.array(["b", "a", "b"])), numbers.of(np.array(["c", "a"])), numbers.labels
    (array([1, 0, 1], dtype=int32), array([2, 0], dtype=int32), array(['a', 'b', 'c'], dtype='<U1'))
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def of(self, labels: NDArray[Any]) -> IntArray:
        """Return the number of each label."""
        distinct, places = np.unique(labels, return_inverse=True)
        known = [self._known.setdefault(one, len(self._known)) for one in distinct.tolist()]
        return np.array(known, dtype=np.int32)[places]

    @property
    def labels(self) -> NDArray[Any]:
        """The labels by their numbers."""
        return np.array([*self._known])


def _split_of(scores: Passes, alpha: float) -> tuple[SplitConformal, tuple[str, ...]]:
    """Split conformal prediction of all rows, and what it warns of."""
    split = SplitConformal(alpha=alpha)
    check_features(split, np.zeros((1, 1)), reset=True, allow_nan=True)
    told = warned(lambda: split.fit_blocks(scores))
    return split, tuple(told)


def _labelled(numbers: IntArray, scores: FloatArray, labels: NDArray[Any]) -> Block:
    return labels[numbers], scores


def _scores(_: Any, scores: FloatArray) -> Block:
    return (scores,)


def _least(_: Any, scores: FloatArray) -> float:
    return float(scores.min(initial=np.inf))


def _with_unseen(feature: Feature, framer: Framer) -> Feature:
    """Return the feature with the values that were not among the rows drawn."""
    unseen = framer.unseen.get(feature.column, ())
    return replace(feature, categories=tuple(sorted({*feature.categories, *unseen})))


def _unseen_notes(framer: Framer) -> list[str]:
    notes = (
        unseen_note(feature, framer.unseen.get(feature.column), by="the sample")
        for feature in framer.features
    )
    return [note for note in notes if note]
