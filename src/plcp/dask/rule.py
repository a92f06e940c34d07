"""What rules on Dask have in common: a local rule that was learned from all blocks."""

from copy import deepcopy
from typing import Any

from sklearn.utils.validation import check_is_fitted

from plcp.dask.blockwise import blockwise
from plcp.dask.collections import check_columns, is_lazy
from plcp.dask.connected import Connected


class DaskRule(Connected):
    """A rule that learns from collections of Dask, and is then as small as any other.

    What is learned depends on the rows alone: not on their order, nor on how they are cut into
    parts, nor on the workers.
    """

    def predict(self, X: Any) -> Any:
        """Thresholds q(x), one a row, computed block by block when they are asked for.

        An array for an array of Dask, a series called ``threshold`` for a frame of Dask; computed
        at once for what is not of Dask.
        """
        return self._predicted(X)

    def to_local(self) -> Any:
        """Return the ordinary rule, fitted: small, and without Dask."""
        check_is_fitted(self, "rule_")
        return deepcopy(self.rule_)

    def _predicted(self, X: Any, beside: Any = None) -> Any:
        check_is_fitted(self, "rule_")
        if not is_lazy(X):
            return self.rule_.predict(X, *([] if beside is None else [beside]))
        check_columns(self.rule_, X, reset=False)
        return blockwise(self.rule_.predict, X, beside=beside)

    def _learned(self, rule: Any) -> None:
        """Take over what a rule has learned, and forget what was learned before."""
        for name in _fitted(self):
            delattr(self, name)
        self.rule_ = rule
        for name in _fitted(rule):
            setattr(self, name, getattr(rule, name))


def _fitted(estimator: Any) -> list[str]:
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
