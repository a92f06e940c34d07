"""Dask clusters: estimators with a client, and passes over blocks that stay on the workers."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar
from uuid import uuid4

from dask.base import compute, persist
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef
from dask.utils import ensure_dict
from distributed import futures_of, wait
from sklearn.base import clone

from plcp._base import Estimator
from plcp.out_of_core import Passes
from plcp.out_of_core.passes import Block, added

WITHIN = ("threshold", "partition", "regressor")  # where an estimator may hold another


class Connected(Estimator):
    """An estimator with a ``client``: the connection to a cluster, which cannot be copied."""

    client: Any
    _shared: ClassVar[tuple[str, ...]] = ("client",)  # parameters that clones share

    def __sklearn_clone__(self) -> Any:
        return clone_connected(self, self._shared)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}


def clone_connected(estimator: Any, shared: tuple[str, ...] = ("client",), **changed: Any) -> Any:
    """Return an unfitted estimator with clones of its parameters, except the shared ones.

    scikit-learn's ``clone`` would try to copy a client within.
    """
    parameters = estimator.get_params(deep=False) | changed
    for name in parameters.keys() - changed.keys() - {*shared}:
        value = parameters[name]
        is_connected = hasattr(value, "get_params") and client_of(value) is not None
        parameters[name] = clone_connected(value) if is_connected else clone(value, safe=False)
    return type(estimator)(**parameters)


def client_of(estimator: Any) -> Any:
    """Return the one client of a fit: the estimator's, or that of the rule or regressor in it."""
    within = [getattr(estimator, name, None) for name in WITHIN]
    clients = [getattr(estimator, "client", None)]
    clients += [client_of(part) for part in within if part is not None]
    given = [client for client in clients if client is not None]
    for other in given[1:]:
        if other is not given[0]:
            raise ValueError(
                f"one fit has one client, but {given[0]} and {other} are given: give the same to "
                "the estimator and to what is within it, or give it once"
            )
    return given[0] if given else None


FAN_IN = 16  # sums that are added by one task


class DaskBlocks(Passes):
    """Blocks that Dask computes when they are needed, each where its rows are.

    Only what ``each`` and ``total`` return reaches the caller. Arguments may be references from
    ``gather``, whose values then go from worker to worker. Errors name the block.

    Parameters
    ----------
    blocks : sequence of Delayed
        Each gives a tuple of arrays or frames with the same number of rows.
    client : distributed.Client, default=None
        The client that computes; None: the current client, or Dask's own threads without any.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = DaskBlocks([delayed((np.array([1.0, 2.0]),)), delayed((np.array([3.0]),))])
    >>> blocks.total(len), blocks.keep(lambda values: (values + 1,)).each(max)
    (3, [np.float64(3.0), np.float64(4.0)])
    """

    def __init__(self, blocks: Sequence[Delayed], client: Any = None) -> None:
        self.blocks = _in_one_graph(blocks)
        self.client = client

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(*block, *args)`` of every block, in their order."""
        return list(compute(*self._made(function, args), scheduler=self.client))

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(*block, *args)`` over all blocks, added where they are."""
        parts = self._made(function, args)
        while len(parts) > 1:
            few = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            parts = layer("sum", [(_sum, some) for some in few])
        return added(compute(*parts, scheduler=self.client))

    def keep(self, function: Callable[..., Block], *args: Any) -> "DaskBlocks":
        """Return the blocks ``function(*block, *args)``, kept on the workers.

        The scheduler knows how they were made: those that die with a worker are made again.
        """
        made = self._made(function, args)
        return DaskBlocks(_when_computed(persist(*made, scheduler=self.client)), self.client)

    def gather(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call ``function(blocks, *args)`` with a list of all blocks, on one worker.

        The result stays there; the reference returned, and its items, are arguments for other
        passes.
        """
        call = call_of(function, args)
        (made,) = layer(_name(function), [(_applied_to_all, [call, *self.blocks])])
        (kept,) = _when_computed(persist(made, scheduler=self.client))
        return kept

    def fetch(self, reference: Delayed) -> Any:
        """Return the value of a reference to the caller."""
        (value,) = compute(reference, scheduler=self.client)
        return value

    def beside(self, *blocks: Delayed) -> "DaskBlocks":
        """Return these blocks and more, given as references."""
        return DaskBlocks([*self.blocks, *blocks], self.client)

    def _made(self, function: Callable[..., Any], args: tuple[Any, ...]) -> list[Delayed]:
        call, n = call_of(function, args), len(self.blocks)
        calls = [(applied, [call, block, number, n]) for number, block in enumerate(self.blocks)]
        return layer(_name(function), calls)


def _when_computed(kept: Sequence[Delayed]) -> Sequence[Delayed]:
    """Wait until blocks are computed: an overlapping pass would hold the blocks of both."""
    futures = futures_of(kept)
    if futures:
        with futures[0].client.as_current():  # ``wait`` uses the current client
            wait(futures)
        for failed in (future for future in futures if future.status == "error"):
            failed.result()  # raises its error now, not in a later pass
    return kept


def layer(name: str, calls: Sequence[tuple[Callable[..., Any], Sequence[Any]]]) -> list[Delayed]:
    """Return each function's result on its arguments, all in one layer of one graph.

    Arguments that are Delayed are computed; others go into the graph as they are.
    """
    name = f"{name}-{uuid4().hex}"
    tasks: dict[Any, Any] = {}
    needed: dict[Any, Any] = {}
    for number, (function, args) in enumerate(calls):
        needed.update({arg.key: arg for arg in args if isinstance(arg, Delayed)})
        refs = [TaskRef(arg.key) if isinstance(arg, Delayed) else arg for arg in args]
        tasks[name, number] = Task((name, number), function, *refs)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=list(needed.values()))
    return [Delayed(key, graph, layer=name) for key in tasks]


def _in_one_graph(blocks: Sequence[Delayed]) -> list[Delayed]:
    """Return the same blocks in one graph; a graph each would cost the square of their number."""
    graphs = {id(block.dask): block.dask for block in blocks}
    if len(graphs) < 2:
        return list(blocks)
    name = f"blocks-{uuid4().hex}"
    tasks = {key: task for graph in graphs.values() for key, task in ensure_dict(graph).items()}
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=())
    return [Delayed(block.key, graph, layer=name) for block in blocks]


def call_of(function: Callable[..., Any], args: tuple[Any, ...], *, pure: bool = False) -> Delayed:
    """A function and its arguments, which are in the graph once for all tasks."""
    return delayed(_together, pure=pure)(function, *args)


def _together(function: Callable[..., Any], *args: Any) -> tuple[Callable[..., Any], Any]:
    return function, args


def applied(call: tuple[Callable[..., Any], Any], block: Block, number: int, n: int) -> Any:
    """Apply a function to block ``number`` of n; a TypeError or ValueError names the block."""
    function, args = call
    try:
        return function(*block, *args)
    except (TypeError, ValueError) as error:
        if n == 1 or type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"part {number} of {n}, counted from 0: {error}") from error


def _applied_to_all(call: tuple[Callable[..., Any], Any], *blocks: Block) -> Any:
    function, args = call
    return function(list(blocks), *args)


def _sum(*parts: Any) -> Any:
    return added(parts)


def _name(function: Callable[..., Any]) -> str:
    """Name of the tasks on the dashboard."""
    return str(getattr(function, "__name__", type(function).__name__)).strip("_<>")
