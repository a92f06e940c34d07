"""Calibrate a table larger than memory: a sample learns the groups, all rows give thresholds."""

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plcp._files import naming_full_disk
from plcp._validation import check_features
from plcp.out_of_core import Held, Passes
from plcp.out_of_core.passes import Block, added
from plcp.quantiles import FloatArray, IntArray
from plcp.tables.application import unseen_notes
from plcp.tables.calibration import Fitted, Task, fit_in_memory, warnings_of
from plcp.tables.columns import Framer, rule_input
from plcp.tables.io import TableFile, changed
from plcp.tables.roles import MOST_GROUPS
from plcp.tables.scores import Counts, Pairs, read_pairs
from plcp.thresholds import PLCP, Mondrian, SplitConformal
from plcp.thresholds._plcp_blocks import calibrate_blocks, learn_without_thresholds
from plcp.thresholds._plcp_learning import held_out_share, most_groups
from plcp.thresholds.mondrian import labels_of

ELSEWHERE = "free some space, or name a folder on another disk by the variable TMPDIR"
Place = tuple[np.dtype[Any], tuple[int, ...], int]  # type, shape, and where an array begins


class Stored(Passes):
    """Blocks that are read again at every pass; what is kept goes to temporary files.

    The files have no name and are gone with the last reference to them, or with the program.

    Parameters
    ----------
    blocks : callable
        Gives the blocks one by one, whenever it is called.

    Examples
    --------
    >>> halves = Stored(lambda: ((np.arange(n) / 2,) for n in (2, 0, 3)))
    >>> halves.keep(lambda values: (values + 1,)).each(np.sum)
    [np.float64(2.5), np.float64(0.0), np.float64(4.5)]
    """

    def __init__(self, blocks: Callable[[], Iterable[Block]]) -> None:
        self._blocks = blocks

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(*block, *args)`` of every block, in their order: something small."""
        return [function(*block, *args) for block in self._blocks()]

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(*block, *args)`` over all blocks."""
        return added(function(*block, *args) for block in self._blocks())

    def keep(self, function: Callable[..., Block], *args: Any) -> "Stored":
        """Return the blocks ``function(*block, *args)``, arrays each, kept on disk."""
        kept = Kept()
        for block in self._blocks():
            kept.append(function(*block, *args))
        return Stored(kept.blocks)

    def beside(self, *blocks: Block) -> "Stored":
        """Return these blocks and more."""
        return Stored(lambda: chain(self._blocks(), blocks))


class Kept:
    """Blocks of arrays in temporary files, one for each place in a block."""

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = []
        self._arrays: list[list[Place]] = []
        self._open = ExitStack()
        weakref.finalize(self, self._open.close)

    def append(self, block: Block) -> None:
        """Write one more block."""
        while len(self._files) < len(block):
            new = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (the stack closes it)
            self._files.append(self._open.enter_context(new))
        places = []
        with naming_full_disk(f"temporary files in {tempfile.gettempdir()}", ELSEWHERE):
            for file, array in zip(self._files, block, strict=True):
                places.append((array.dtype, array.shape, file.seek(0, os.SEEK_END)))
                left = np.ascontiguousarray(array).data.cast("B") if array.size else b""
                while left:  # without a buffer a file may take a part only
                    left = left[file.write(left) :]
        self._arrays.append(places)

    def blocks(self) -> Iterator[Block]:
        """Give the blocks one by one, as arrays that are mapped into memory."""
        for places in self._arrays:
            yield tuple(
                # nothing cannot be mapped
                np.empty(shape, dtype) if 0 in shape else np.memmap(file, dtype, "r", start, shape)
                for file, (dtype, shape, start) in zip(self._files, places, strict=True)
            )


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
        rule = task.make_rule()
        if isinstance(rule, PLCP):
            return self._plcp(rule, task)
        return self._mondrian(rule, task) if isinstance(rule, Mondrian) else self._split(task)

    def _split(self, task: Task) -> Fitted:
        scores, counts = self._kept(task, lambda pairs: (pairs.scores,))
        split, notes = _split_of(scores, task)
        return Fitted(split, split, (), counts, notes)

    def _mondrian(self, rule: Mondrian, task: Task) -> Fitted:
        framer = Framer(task.features)
        numbers: dict[Any, int] = {}  # of labels, in the order in which they come

        def numbered(pairs: Pairs) -> Block:
            X = check_features(rule, framer.frame(pairs.table), reset=True, allow_nan=True)
            distinct, places = np.unique(labels_of(rule.groups, X), return_inverse=True)
            known = [numbers.setdefault(one, len(numbers)) for one in distinct.tolist()]
            return np.array(known, dtype=np.int32)[places], pairs.scores

        rows, counts = self._kept(task, numbered)
        labels = np.array([*numbers])
        notes = warnings_of(lambda: rule.fit_blocks(rows.then(_labelled, labels)))
        split, _ = _split_of(rows.then(_scores), task)
        features = tuple(
            replace(
                feature,
                categories=tuple(
                    sorted({*feature.categories, *framer.unseen.get(feature.column, ())})
                ),
            )
            for feature in task.features
        )
        return Fitted(rule, split, features, counts, tuple(notes))

    def _plcp(self, rule: PLCP, task: Task) -> Fitted:
        n = len(task.pairs.scores)  # the groups are learned from all of them, whatever the method
        rule.set_params(n_groups=task.options.groups or most_groups(n, MOST_GROUPS))
        if rule.calibration == "rotate":  # there are other rows to calibrate on
            rule.set_params(calibration="held-out")
        fitted, predicted = learn_without_thresholds(rule, task.X, task.pairs.scores)
        framer = Framer(task.features)

        def placed(pairs: Pairs) -> Block:
            X = rule_input(framer, pairs.table)
            return fitted.partition_.predict_quantile(X), pairs.scores

        others, counts = self._kept(task, placed, with_drawn=False)
        if counts.used == n:  # no other row is of use
            return replace(fit_in_memory(task), counts=counts)
        if counts.used - n < n * held_out_share(n, rule.alpha, rule.confidence):
            left = (
                f"the other {counts.used - n:,} rows are too few to calibrate on, and were left out"
            )
            found = fit_in_memory(task)
            return replace(found, notes=(*found.notes, left))
        drawn = predicted, task.pairs.scores
        rows = others.beside(drawn)
        warned = warnings_of(
            lambda: calibrate_blocks(fitted, Held([drawn]), others, min(rows.each(_least)))
        )
        split, _ = _split_of(rows.then(_scores), task)
        whose = (
            f"the groups were learned from a random sample of {n:,} rows, and their thresholds "
            f"read off the other {counts.used - n:,} rows of {self.file.name}"
        )
        notes = (whose, *unseen_notes(framer, "the sampled rows"), *warned)
        return Fitted(fitted, split, task.features, counts, notes, learned_from=n)

    def _kept(
        self, task: Task, columns: Callable[[Pairs], Block], *, with_drawn: bool = True
    ) -> tuple[Stored, Counts]:
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


def _split_of(scores: Passes, task: Task) -> tuple[SplitConformal, tuple[str, ...]]:
    """Split conformal prediction of all rows, and what it warns of."""
    split = SplitConformal(alpha=task.alpha, confidence=task.options.confidence)
    check_features(split, np.zeros((1, 1)), reset=True, allow_nan=True)
    notes = warnings_of(lambda: split.fit_blocks(scores))
    return split, tuple(notes)


def _labelled(numbers: IntArray, scores: FloatArray, labels: NDArray[Any]) -> Block:
    return labels[numbers], scores


def _scores(_: Any, scores: FloatArray) -> Block:
    return (scores,)


def _least(_: Any, scores: FloatArray) -> float:
    return float(scores.min(initial=np.inf))
