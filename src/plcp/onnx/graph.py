"""The graph under construction: nodes, constants, inputs, and the rows that parts read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from plcp._rows import TEXT
from plcp.exceptions import NotExportableError
from plcp.regressors.encoding import TableEncoder
from plcp.thresholds import Mondrian
from plcp.thresholds.base import fitted_at_several


def refused(part: Any, why: str, remedy: str) -> NotExportableError:
    """Return an error that names the part and the remedy."""
    name = part if isinstance(part, str) else type(part).__name__
    return NotExportableError(f"{name} cannot be exported to ONNX: {why}; {remedy}")


ML = "ai.onnx.ml"
VERSIONS = {"": 21, ML: 5}  # the first with trees in double precision
IR_VERSION = 10  # of the same release: later runtimes read it too
TYPES = {
    "double": TensorProto.DOUBLE,
    "float": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
    "string": TensorProto.STRING,
}


class Graph:
    """Nodes, constants and inputs, by name. Values of rows are columns, (n, 1), of doubles.

    Sums are nodes "Sum": onnxruntime drops an "Add" or "Sub" of one number that is zero in single
    precision, which an intercept of 1e-50 is.
    """

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.inputs: dict[str, ValueInfoProto] = {}
        self.outputs: list[ValueInfoProto] = []
        self.sums = False  # whether a part is in it that refuses numbers too large to be squared
        self._constants: dict[tuple[str, tuple[int, ...], bytes], TensorProto] = {}
        self._built: dict[int, str] = {}
        self._numbers = count()

    def add(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node of one output, and return the name of that."""
        name = self._new(kind)
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes)
        )
        return name

    def once(self, part: Any, build: Callable[[], str]) -> str:
        """Return what is built of a part of the model, built once however often it is met."""
        if id(part) not in self._built:
            self._built[id(part)] = build()
        return self._built[id(part)]

    def constant(self, values: ArrayLike) -> str:
        """Return the name of some numbers; the same ones are kept once."""
        array = np.ascontiguousarray(values)
        key = (array.dtype.str, np.shape(values), array.tobytes())
        if key not in self._constants:
            array = array.reshape(np.shape(values))  # a number alone would become a row
            self._constants[key] = numpy_helper.from_array(array, self._new("constant"))
        return str(self._constants[key].name)

    @property
    def constants(self) -> list[TensorProto]:
        """All constants."""
        return list(self._constants.values())

    def input(self, name: str, kind: str, *shape: int) -> str:
        """Add an input of so many numbers per row."""
        self.inputs[name] = described(name, kind, *shape)
        return name

    def output(self, name: str, table: str, kind: str, columns: int) -> None:
        """Give a table a name of its own; a single column becomes a vector, (n,)."""
        inputs = [table] if columns > 1 else [table, self.constant(np.array([1]))]
        self.nodes.append(
            helper.make_node("Identity" if columns > 1 else "Squeeze", inputs, [name])
        )
        self.outputs.append(described(name, kind, *([columns] if columns > 1 else [])))

    def used_inputs(self) -> list[ValueInfoProto]:
        """Inputs that some node reads."""
        read = {name for node in self.nodes for name in node.input}
        return [described for name, described in self.inputs.items() if name in read]

    def cast(self, values: str, kind: str) -> str:
        """Return values in another type."""
        return self.add("Cast", values, to=TYPES[kind])

    def columns(self, table: str, places: ArrayLike) -> str:
        """Return some columns of a table."""
        return self.add("Gather", table, self.constant(np.asarray(places, dtype=np.int64)), axis=1)

    def side_by_side(self, tables: list[str]) -> str:
        """Return tables joined column by column."""
        return tables[0] if len(tables) == 1 else self.add("Concat", *tables, axis=1)

    def reduce(self, kind: str, table: str) -> str:
        """Return one number per row: "ReduceSum", "ReduceMean", "ReduceMax" of its columns."""
        return self.add(kind, table, self.constant(np.array([1])), keepdims=1)

    def look_up(self, values: NDArray[Any], places: str) -> str:
        """Return the value at each place, which are whole numbers, one per row."""
        return self.add("Gather", self.constant(values), places, axis=0)

    def flat(self, column: str) -> str:
        """Return a column as a vector, (n,)."""
        return self.add("Squeeze", column, self.constant(np.array([1])))

    def constant_like(self, column: str, value: ArrayLike) -> str:
        """Return the same number for each row of a column."""
        number = np.asarray(value, dtype=float).reshape(1, 1)
        return self.add("Expand", self.constant(number), self.add("Shape", column))

    def line(self, table: str, coef: ArrayLike, intercept: ArrayLike = 0.0) -> str:
        """Return ``table @ coef + intercept``, a column for each column of ``coef``."""
        weights = np.asarray(coef, dtype=float)
        product = self.add("MatMul", table, self.constant(weights.reshape(len(weights), -1)))
        return self.add("Sum", product, self.constant(np.asarray(intercept, dtype=float)))

    def encoded(
        self, column: str, known: NDArray[Any], values: NDArray[Any], otherwise: float
    ) -> str:
        """Return the value that stands for each known one, and ``otherwise`` for all others."""
        return self.add(
            "LabelEncoder",
            column,
            domain=ML,
            keys_tensor=numpy_helper.from_array(known, "keys"),
            values_tensor=numpy_helper.from_array(values, "values"),
            default_tensor=numpy_helper.from_array(np.array([otherwise]), "default"),
        )

    def _new(self, kind: str) -> str:
        return f"plcp/{kind}/{next(self._numbers)}"


def described(name: str, kind: str, *shape: int) -> ValueInfoProto:
    """Describe an input or output of n rows."""
    return helper.make_tensor_value_info(name, TYPES[kind], ["n", *shape])


@dataclass(frozen=True)
class Rows(ABC):
    """What every part of a graph starts from."""

    graph: Graph

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns."""

    @abstractmethod
    def numbers(self, reader: Any) -> str:
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

    @abstractmethod
    def beside(self, table: str, n_columns: int) -> "Rows":
        """Return the rows with the columns of a table of numbers behind their own."""

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

    def numbers(self, reader: Any) -> str:
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

    def beside(self, table: str, n_columns: int) -> "Table":
        """Return the table with more columns."""
        wider = self.graph.side_by_side([self.name, table])
        return Table(self.graph, wider, (self.width + n_columns,))

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

    def numbers(self, reader: Any) -> str:
        """Return the table of all columns, if none holds text."""
        text = [name for name in self.names if name in self.text]
        if text:
            raise refused(
                reader,
                f"the columns {text} hold text, which only the default regressor reads",
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

    def beside(self, table: str, n_columns: int) -> "Frame":
        """Return more columns, which are no inputs."""
        added = [self.graph.columns(table, [i]) for i in range(n_columns)]
        return Frame(self.graph, (*self.names, *added), self.text)


OUTPUTS = ("threshold", "group", "prediction", "lower", "upper")


def inputs_of(graph: Graph, shown: Any, rule: Any, kept: Sequence[int] | None = None) -> Rows:
    """Give a graph the inputs of ``shown``, an estimator, of which a rule sees those ``kept``.

    Numbers alone are one input ``X``, (n, d). Beside text, and where a rule names a column, each
    column is an input of its own name, (n, 1), as scikit-learn's converters have it.
    """
    text = text_columns(rule)
    if not text and not names_a_column(rule):
        shape = row_shape(rule if kept is None else shown, shown)
        return Table(graph, graph.input("X", "double", *shape), shape)
    if not hasattr(shown, "feature_names_in_"):
        raise refused(shown, "columns beside text have no names", "name them by text and fit again")
    names = tuple(str(name) for name in shown.feature_names_in_)
    of_text = frozenset(names[i if kept is None else kept[i]] for i in text)
    for name in names:
        if name in OUTPUTS or name.startswith("plcp/"):
            raise refused(f"column {name!r}", "an output has that name", "rename the column")
        graph.input(name, "string" if name in of_text else "double", 1)
    return Frame(graph, names, of_text)


def row_shape(learned: Any, shown: Any) -> tuple[int, ...]:
    """Shape of a row: what a network within was shown, or the number of columns."""
    for part in parts_of(learned):
        if hasattr(part, "_row_shape"):
            return tuple(part._row_shape)
    if not hasattr(shown, "n_features_in_"):
        raise refused(shown, "it does not know how many columns it was shown", "fit it to an array")
    return (int(shown.n_features_in_),)


def text_columns(rule: Any) -> set[int]:
    """Places of the columns that hold text, among those that a rule was shown."""
    if names_a_column(rule) and labels_of(rule).dtype.kind == "U":
        return {place_of(rule, rule.groups)}
    kinds = [part.kinds_ for part in parts_of(rule) if isinstance(part, TableEncoder)]
    return {i for own in kinds for i, kind in enumerate(own) if kind == TEXT}


def names_a_column(rule: Any) -> bool:
    """Whether a rule reads one column of a frame alone, whatever the others hold."""
    single = isinstance(rule, Mondrian) and isinstance(rule.groups, str | int)
    return single and hasattr(rule, "feature_names_in_")


def labels_of(rule: Mondrian) -> NDArray[Any]:
    """Labels of given groups: text, or numbers that doubles can hold."""
    groups = rule.rules_[0].groups_ if fitted_at_several(rule) else rule.groups_
    labels = np.array(groups.tolist())
    if labels.dtype.kind == "U":
        return labels
    if labels.dtype.kind not in "biuf" or labels.astype(float).tolist() != labels.tolist():
        raise refused(
            rule,
            "its labels are neither text nor numbers that doubles can hold",
            "give labels of text",
        )
    return labels.astype(float)


def place_of(fitted: Any, column: Any) -> int:
    """Place of a column that is known by its name or its place."""
    names = list(getattr(fitted, "feature_names_in_", range(fitted.n_features_in_)))
    if column in names:
        return names.index(column)
    return range(len(names))[column]


def parts_of(fitted: Any) -> Iterator[Any]:
    """All that an estimator learned, and what those learned."""
    yield fitted
    learned = vars(fitted).items() if hasattr(fitted, "get_params") else ()
    for name, value in learned:
        if name.endswith("_"):
            for part in value if isinstance(value, list) else [value]:
                yield from parts_of(part)
