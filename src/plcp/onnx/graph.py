"""A graph under construction: nodes in order, and the numbers they share."""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

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
        """Add an input of so many numbers a row."""
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
        """Return one number a row: "ReduceSum", "ReduceMean", "ReduceMax" of its columns."""
        return self.add(kind, table, self.constant(np.array([1])), keepdims=1)

    def look_up(self, values: NDArray[Any], places: str) -> str:
        """Return the value at each place, which are whole numbers, one a row."""
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
