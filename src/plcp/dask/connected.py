"""What estimators on Dask have in common: a connection, which cannot be copied nor sent."""

from typing import Any, ClassVar

from sklearn.base import clone

from plcp.estimator import Estimator


class Connected(Estimator):
    """An estimator with a ``client``, the connection to whoever computes."""

    client: Any
    _shared: ClassVar[tuple[str, ...]] = ("client",)  # a clone has the same, not a copy

    def __sklearn_clone__(self) -> Any:
        params = self.get_params(deep=False)
        return type(self)(
            **{k: v if k in self._shared else clone(v, safe=False) for k, v in params.items()}
        )

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}
