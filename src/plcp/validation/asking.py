"""A model's complaint about its rows, with its name and what can be done."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from plcp.rows import is_frame
from plcp.validation.features import REMEDIES, TEXT_REMEDY
from plcp.validation.saying import shortened

REMEDY = "It is the model that complains: mend these rows until its own predict answers them."


@contextmanager
def asking(model: Any, X: Any = None) -> Iterator[None]:
    """Name the model whose complaint about its rows X it is, and not the rule's."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # its predictions are looked at
            yield
    except Exception as error:
        if not _is_of_rows(error):
            raise
        asked = model.estimator if isinstance(model, FrozenEstimator) else model
        told = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{type(asked).__name__} cannot read these rows: {told}\n{_remedy(told, asked, X)}"
        ) from error


def _is_of_rows(error: Exception) -> bool:
    """Whether a model may have said this of its rows; LightGBM has an error of its own for it."""
    own = Exception in type(error).__bases__ and type(error).__module__ != "builtins"
    is_complaint = own or isinstance(error, ValueError | LookupError)
    return is_complaint and not isinstance(error, NotFittedError)


def _remedy(told: str, model: Any, X: Any) -> str:
    known = next((remedy for complaint, remedy in REMEDIES.items() if complaint in told), None)
    if known is not None and known is not TEXT_REMEDY:
        return known
    return _about_columns(model, X) or known or REMEDY


def _about_columns(model: Any, X: Any) -> str | None:
    """Say which columns a model was fitted to, where these are others."""
    names = [*getattr(model, "feature_names_in_", ())]
    if names and is_frame(X):
        lacking = [name for name in names if name not in {*X.columns}]
        more = [name for name in X.columns if name not in {*names}]
        if lacking:
            return f"It was fitted to columns that are not there: add {shortened(lacking)}."
        if more:
            return f"It was not fitted to columns that are there: leave out {shortened(more)}."
    if names and X is not None and not is_frame(X):
        return f"It was fitted to a DataFrame: give one, with the columns {shortened(names)}."
    n, (_, *width) = getattr(model, "n_features_in_", None), getattr(X, "shape", (None,))
    if n is None or not width or width[0] == n:
        return None
    return f"It was fitted to {n} columns, and these rows have {width[0]}: give it those."
