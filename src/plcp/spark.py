"""Fitted rules and models as columns of a Spark data frame: pandas UDFs over batches."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plcp.conformal import (
    Conformal,
    ConformalClassifier,
    ConformalRegressor,
    check_one_alpha,
    columns_source,
)

__all__ = ["interval_udf", "set_udf", "threshold_udf"]

LABEL_TYPES = {"b": "boolean", "i": "bigint", "u": "bigint", "f": "double"}


def threshold_udf(rule: Any, columns: Sequence[str] | None = None) -> Callable[..., Any]:
    """Thresholds of a fitted rule as a Spark column.

    The rule is sent once to each executor, not with every batch. Executors need the same version
    of plcp. Nulls reach the rule as NaN.

    Parameters
    ----------
    rule : fitted ThresholdRule
        ``PLCP``, ``SplitConformal``, ``Mondrian``, …, or a rule of ``plcp.dask``.
    columns : sequence of str or None, default=None
        The Spark columns that hold the rule's features, in the order of its ``fit``.
        None: the names the rule was fitted with; for a rule fitted on an array, which has none,
        the columns as they are given in the call.

    Returns
    -------
    udf : callable
        Takes columns (names, or expressions with an alias) and returns one of type double. Columns
        are found by name if names are known, so their order does not matter, and without any column
        the known names are used. In SQL, after ``spark.udf.register("threshold", udf)``, write
        ``threshold(struct(x1, x2))``.

    Examples
    --------
    >>> from plcp.spark import threshold_udf
    >>> threshold = threshold_udf(rule)  # doctest: +SKIP
    >>> df.withColumn("threshold", threshold("x1", "x2"))  # doctest: +SKIP
    """
    if isinstance(rule, Conformal):
        raise TypeError(
            f"threshold_udf takes a threshold rule, got a {type(rule).__name__}: "
            "use interval_udf or set_udf, or one of its tail_rules_"
        )
    return _udf(rule, columns, "double", _thresholds)


def interval_udf(model: Any, columns: Sequence[str] | None = None) -> Callable[..., Any]:
    """Prediction intervals of a fitted ``ConformalRegressor`` as a column struct<lower, upper>.

    As `threshold_udf` otherwise. The ends of an empty interval are null.

    Examples
    --------
    >>> from plcp.spark import interval_udf
    >>> sets = df.withColumn("set", interval_udf(model)("x1", "x2"))  # doctest: +SKIP
    >>> sets.select("set.lower", "set.upper")  # doctest: +SKIP
    """
    return _udf(_of(ConformalRegressor, model), columns, "lower double, upper double", _intervals)


def set_udf(model: Any, columns: Sequence[str] | None = None) -> Callable[..., Any]:
    """Label sets of a fitted ``ConformalClassifier`` as a column of arrays of labels.

    As `threshold_udf` otherwise. Labels that are no numbers or booleans become strings.

    Examples
    --------
    >>> from plcp.spark import set_udf
    >>> df.withColumn("labels", set_udf(model)("x1", "x2"))  # doctest: +SKIP
    """
    check_is_fitted(_of(ConformalClassifier, model))
    label = LABEL_TYPES.get(model.classes_.dtype.kind, "string")
    return _udf(model, columns, f"array<{label}>", _strings if label == "string" else _labels)


def _of(kind: type, model: Any) -> Any:
    model = _local(model)
    if not isinstance(model, kind):
        raise TypeError(f"model must be a fitted {kind.__name__}, got {model!r}")
    return model


def _local(fitted: Any) -> Any:
    """Return the ordinary estimator in place of one of ``plcp.dask``."""
    return fitted.to_local() if hasattr(fitted, "to_local") else fitted


def _thresholds(rule: Any, X: Any) -> Any:
    import pandas as pd

    return pd.Series(rule.predict(X))


def _intervals(model: Any, X: Any) -> Any:
    return model.predict_set(X).to_pandas()


def _labels(model: Any, X: Any) -> Any:
    import pandas as pd

    return pd.Series(model.predict_set(X).to_lists())


def _strings(model: Any, X: Any) -> Any:
    return _labels(model, X).map(lambda labels: [str(label) for label in labels])


class Columns(NamedTuple):
    """Names of the features in a batch, and in the fit of the estimator."""

    given: list[str] | None
    known: list[str] | None

    def features(self, batch: Any) -> Any:
        """Features of a batch as a frame or an array, as in the fit of the estimator."""
        if not hasattr(batch, "columns"):
            raise ValueError("give the columns as struct(x1, x2, ...), which keeps their names")
        missing = [name for name in self.given or [] if name not in batch.columns]
        if missing:
            raise ValueError(
                f"the features {missing} are not among the columns {list(batch.columns)}: give "
                "those too, by alias if their names differ"
            )
        frame = batch if self.given is None else batch[self.given]
        frame = frame.where(frame.notna(), np.nan)  # None, where a column holds no numbers
        return frame.to_numpy() if self.known is None else frame.set_axis(self.known, axis=1)


def _columns(fitted: Any, given: Sequence[str] | None) -> Columns:
    """Columns by the names given, or else by those of calibration."""
    source = columns_source(fitted) if isinstance(fitted, Conformal) else fitted
    names = getattr(source, "feature_names_in_", None)
    known = None if names is None else [str(name) for name in names]
    if given is None:
        return Columns(known, known)
    if isinstance(given, str) or (known is not None and len(given) != len(known)):
        raise ValueError(f"columns must name one column for each of {known}, got {given!r}")
    return Columns(list(given), known)


def _udf(
    fitted: Any, given: Sequence[str] | None, returns: str, function: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    """Make a UDF of columns packed into one struct, which passes their names to the batches."""
    try:
        import pandas as pd
        from pyspark.sql.functions import struct
        from pyspark.sql.pandas.functions import pandas_udf
    except ImportError as error:
        raise ImportError("plcp.spark needs PySpark: pip install 'plcp[spark]'") from error

    fitted = _local(fitted)
    check_is_fitted(fitted)
    check_one_alpha(fitted)
    columns, fetch = _columns(fitted, given), _shipped(fitted)

    def predict(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        for batch in batches:
            yield function(fetch(), columns.features(batch))

    udf = pandas_udf(predict, returns)  # type: ignore[call-overload]  # its stubs know no iterator

    @wraps(udf)
    def column(*names: Any) -> Any:
        if not names and columns.given is None:
            raise ValueError("name the columns: the rule was fitted on an array, without names")
        return udf(struct(*(names or [f"`{name}`" for name in columns.given or []])))

    return column


def _shipped(fitted: Any) -> Callable[[], Any]:
    """Return a function that gives a worker the estimator, sent to each executor only once."""
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    if is_remote():  # Spark Connect has no broadcasts: Spark sends it once for each task
        return lambda: fitted
    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("no Spark session is active: SparkSession.builder.getOrCreate() first")
    broadcast = session.sparkContext.broadcast(Parcel(fitted))
    return lambda: broadcast.value


class Parcel:
    """Pickles its content by value, so that classes of a notebook can be in it."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __reduce__(self) -> tuple[Any, ...]:
        from pyspark import cloudpickle

        return cloudpickle.loads, (cloudpickle.dumps(self.held),)
