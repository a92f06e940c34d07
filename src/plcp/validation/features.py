"""Features as they must be: tables, images, data sets, and what an index made of them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from plcp.quantiles import FloatArray
from plcp.rows import count, is_dataset, is_frame, is_stream, plain
from plcp.validation.values import check_at_hand, first_not_finite

NAN_REMEDY = (
    "This index cannot take missing values (NaN). Use the boosted index, which can: "
    'OrderedPartition(index=HistGradientBoostingRegressor(loss="quantile")), '
    "or put an imputer before it in a pipeline."
)


def check_features(estimator: Any, X: Any, *, reset: bool, allow_nan: bool) -> Any:
    """X with names and width recorded (fit) or compared (predict); DataFrames stay as they are.

    A DataFrame reaches the index untouched, so that a pipeline can select columns by name. Images
    and data sets go to those who can take them.
    """
    check_at_hand(X=X)
    if is_frame(X):
        check_names(X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): X is empty")
        return X
    images = takes_images(estimator)
    if is_dataset(X):
        if reset and hasattr(estimator, "n_features_in_"):
            del estimator.n_features_in_  # of an array fitted before
        return check_dataset(X, images)
    is_image = len(getattr(X, "shape", ())) > 2
    with nullcontext() if is_image else naming_the_boosted_index():
        return validate_data(
            estimator,
            plain(X),
            reset=reset,
            dtype="numeric",
            ensure_all_finite="allow-nan" if allow_nan else True,
            allow_nd=images,
        )


def check_dataset(X: Any, readable: bool) -> Any:
    """X if its rows can be counted and asked for one by one, by somebody who knows how."""
    if not readable:
        raise ValueError(
            f"only networks read a {type(X).__name__} row by row: use TorchPartition, or give an "
            "array of all rows"
        )
    if is_stream(X) or not hasattr(X, "__len__"):
        raise ValueError(
            f"{type(X).__name__} has no length or gives no single row, but folds need both: "
            "give a map-style Dataset, with __len__ and __getitem__"
        )
    if count(X) == 0:
        raise ValueError(f"Found array with 0 sample(s): the {type(X).__name__} is empty")
    return X


def check_names(X: Any) -> None:
    """Refuse a frame with two columns of one name."""
    counts = Counter(str(name) for name in X.columns)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"X has several columns named {', '.join(twice)}: rename them")


@contextmanager
def naming_the_boosted_index() -> Iterator[None]:
    """Add the remedy to an index's complaint about missing values."""
    try:
        yield
    except ValueError as error:
        told = str(error)
        missing = "contains NaN" in told or "got NaN" in told
        if missing and "y contains NaN" not in told and NAN_REMEDY not in told:
            raise ValueError(f"{error}\n{NAN_REMEDY}") from error
        raise


def check_index(values: Any, n: int) -> FloatArray:
    """One finite number a row, whatever regressor gave it."""
    index = np.asarray(values, dtype=float)
    if index.shape != (n,):
        raise ValueError(
            f"the index must predict one number a row, shape ({n},), got {index.shape}: "
            "use a regressor with one output"
        )
    fault = first_not_finite(index)
    if fault:
        raise ValueError(
            f"the index must predict finite numbers, got {fault}: "
            "mend the regressor, or what it is given there"
        )
    return index


def takes_nan(estimator: Any) -> bool:
    """Whether an estimator may accept missing values: it says so, or does not look at X.

    A pipeline is left to answer for itself, since an imputer anywhere in it changes its answer.
    """
    tags = get_tags(estimator)
    return bool(tags.input_tags.allow_nan or tags.no_validation or isinstance(estimator, Pipeline))


def takes_images(estimator: Any) -> bool:
    """Whether rows may be images or items of a data set: it says so, or does not look at X."""
    tags = get_tags(estimator)
    return bool(tags.input_tags.three_d_array or tags.no_validation)
