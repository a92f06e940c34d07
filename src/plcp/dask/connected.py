"""What estimators on Dask have in common: a connection, which cannot be copied nor sent."""

from typing import Any, ClassVar

from sklearn.base import clone

from plcp.estimator import Estimator

WITHIN = ("threshold", "partition", "index")  # where an estimator may hold another


class Connected(Estimator):
    """An estimator with a ``client``, the connection to whoever computes."""

    client: Any
    _shared: ClassVar[tuple[str, ...]] = ("client",)  # a clone has the same, not a copy

    def __sklearn_clone__(self) -> Any:
        return _anew(self, self._shared)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}


def _anew(estimator: Any, shared: tuple[str, ...] = ("client",)) -> Any:
    """Return an estimator with clones of its options, but for those that are shared."""
    options = estimator.get_params(deep=False).items()
    return type(estimator)(**{k: v if k in shared else _cloned(v) for k, v in options})


def _cloned(value: Any) -> Any:
    """Return a clone; one of scikit-learn's own would try to copy a client within it."""
    is_connected = hasattr(value, "get_params") and client_of(value) is not None
    return _anew(value) if is_connected else clone(value, safe=False)


def client_of(estimator: Any) -> Any:
    """Return the one client of a fit: the estimator's, else that of the rule or index within it."""
    given = [client for client in _clients(estimator) if client is not None]
    for other in given[1:]:
        if other is not given[0]:
            raise ValueError(
                f"one fit has one client, but {given[0]} and {other} are given: give the same to "
                "the estimator and to what is within it, or give it once"
            )
    return given[0] if given else None


def _clients(estimator: Any) -> list[Any]:
    if estimator is None:
        return []
    within = (_clients(getattr(estimator, name, None)) for name in WITHIN)
    return [getattr(estimator, "client", None), *(client for some in within for client in some)]
