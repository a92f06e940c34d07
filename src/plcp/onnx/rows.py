"""Rows that a graph is asked about: a table of numbers, or columns of which some hold text."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plcp.indices.tables import TEXT, TableEncoder
from plcp.onnx.graph import Graph
from plcp.onnx.refusal import refused


@dataclass(frozen=True)
class Rows(ABC):
    """What every part of a graph starts from."""

    graph: Graph

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns."""

    @abstractmethod
    def numbers(self, asking: Any) -> str:
        """Return the table of all columns, for a part that reads numbers alone."""

    @abstractmethod
    def all_numbers(self) -> str | None:
        """Return all that are numbers, (n, k), if any are."""

    @abstractmethod
    def column(self, place: int) -> str:
        """Return one column, (n, 1)."""

    @abstractmethod
    def select(self, places: Sequence[int]) -> "Rows":
        """Return the rows with some of their columns."""

    def encoded(self, encoder: TableEncoder) -> "Table":
        """Return the numbers that an encoder makes of the columns."""
        columns = [
            self._encoded(i, kind, known)
            for i, (kind, known) in enumerate(zip(encoder.kinds_, encoder.categories_, strict=True))
        ]
        return Table(self.graph, self.graph.side_by_side(columns), (self.width,))

    def _encoded(self, place: int, kind: str | None, known: Any) -> str:
        if kind is None:  # it had no value in fit
            return self.graph.constant_like(self.column(0), 0.0)
        if kind != TEXT:
            return self.column(place)
        codes = np.arange(len(known), dtype=float)
        known = np.asarray(known, dtype=object)
        return self.graph.encoded(self.column(place), known, codes, np.nan)


@dataclass(frozen=True)
class Table(Rows):
    """Numbers, (n, d), or images for a network."""

    name: str
    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.shape[0]

    def numbers(self, asking: Any) -> str:
        """Return the table itself."""
        return self.name

    def all_numbers(self) -> str:
        """Return all numbers, one row after the other."""
        return self.name if len(self.shape) == 1 else self.graph.add("Flatten", self.name)

    def column(self, place: int) -> str:
        """Return one column, (n, 1)."""
        return self.graph.columns(self.name, [place])

    def select(self, places: Sequence[int]) -> "Table":
        """Return the table of some columns."""
        return Table(self.graph, self.graph.columns(self.name, places), (len(places),))

    def encoded(self, encoder: TableEncoder) -> "Table":
        """Return the table: numbers stay, unless a column had none in fit."""
        return super().encoded(encoder) if None in encoder.kinds_ else self


@dataclass(frozen=True)
class Frame(Rows):
    """Columns that are inputs of their own, (n, 1), some of which hold text."""

    names: tuple[str, ...]
    text: frozenset[str]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    def numbers(self, asking: Any) -> str:
        """Return the table of all columns, if none holds text."""
        text = [name for name in self.names if name in self.text]
        if text:
            raise refused(
                asking,
                f"the columns {text} hold text, which only the default index reads",
                "encode them before the fit, or use the default partition",
            )
        return self.graph.side_by_side(list(self.names))

    def all_numbers(self) -> str | None:
        """Return the columns that are numbers, if any are."""
        numbers = [name for name in self.names if name not in self.text]
        return self.graph.side_by_side(numbers) if numbers else None

    def column(self, place: int) -> str:
        """Return one column, (n, 1)."""
        return self.names[place]

    def select(self, places: Sequence[int]) -> "Frame":
        """Return some of the columns."""
        return Frame(self.graph, tuple(self.names[i] for i in places), self.text)
