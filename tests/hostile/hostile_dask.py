"""Rules and models on Dask with clean arguments, in two parts, and what collections can hold."""

from functools import cache

import dask.array as da
import dask.dataframe as dd
import hostile_data as data
import numpy as np
import pandas as pd
from hostile_columns import LABELS, SCORES
from hostile_entries import DUMMY, SUBJECTS, TARGETS, fitted, plain
from hostile_essence import difference
from hostile_laws import SILENT
from hostile_rows import ROWS
from hostile_value import some
from sklearn.base import clone

import dask
from plcp import LinearQuantile, OrderedPartition, dask as on_dask

PARTS = 2
SPLIT = on_dask.DaskSplitConformal(data.ALPHA)
LINE = OrderedPartition(LinearQuantile())


EVERY = "nan, inf, one 1e308, empty, object text, float32, complex, masked"
DASK_ROWS = some(ROWS, f"{EVERY}, text, one dimension, None, pandas") | {
    name: ROWS[name] for name in ("pandas, nan", "pandas, duplicate names", "pandas, nullable")
}
DASK_NEW = some(ROWS, f"{EVERY}, too few columns, one row, one dimension, None")
DASK_SCORES = some(
    SCORES,
    "nan, inf, 1e308, shorter, two columns, text, float32, complex, masked, None, 1e300, 1e-290, "
    "constant",
)
DASK_LABELS = some(
    LABELS,
    "objects, masked, None at a row, nan at a row, shorter, two columns, fractions, None, "
    "two types",
)
DASK_RESPONSES = {name: bad for name, bad in DASK_SCORES.items() if name != "constant"}
KINDS = {"scores": "scores on dask", "y": "responses on dask", "labels": "labels on dask"}
LEARNERS = {  # an estimator on Dask, what it is fitted to, and the one whose tables it takes
    "DaskSplitConformal": (SPLIT, "scores", "SplitConformal"),
    "DaskMondrian": (on_dask.DaskMondrian(2, data.ALPHA), "scores", "Mondrian, column"),
    "DaskLinearQuantile": (on_dask.DaskLinearQuantile(0.8), "scores", "LinearQuantile"),
    "DaskPLCP": (
        on_dask.DaskPLCP(LINE, 2, data.ALPHA, calibration="split"),
        "scores",
        "PLCP, line, split",
    ),
    "DaskConformalRegressor": (
        on_dask.DaskConformalRegressor(DUMMY, threshold=SPLIT),
        "y",
        "SplitConformal",
    ),
    "DaskConformalClassifier": (
        on_dask.DaskConformalClassifier(
            fitted("ConformalClassifier", data.as_array).estimator_, threshold=SPLIT
        ),
        "labels",
        "ConformalClassifier",
    ),
}


def spread(values, like=None, parts=PARTS):
    """A collection in some parts; values beside a frame are a series."""
    if isinstance(values, pd.DataFrame):
        return dd.from_pandas(values, npartitions=parts)
    if values is None or np.ndim(values) == 0:
        return values
    if isinstance(like, pd.DataFrame):
        return dd.from_pandas(pd.Series(values, index=like.index), npartitions=parts)
    return da.from_array(values, chunks=(-(-data.N // parts), *np.shape(values)[1:]))


def answer_of(model, X):
    ask = getattr(model, "predict_set", getattr(model, "predict_interval", model.predict))
    answer = ask(X)
    if hasattr(answer, "compute"):
        return np.asarray(answer.compute())
    return answer if isinstance(answer, np.ndarray) else answer.to_numpy()


def learn(name, X, target, parts=PARTS):
    estimator, _, _ = LEARNERS[name]
    with dask.config.set(scheduler="synchronous"):
        rows = spread(X, parts=parts)
        model = clone(estimator).fit(rows, spread(target, X, parts))
        return model, answer_of(model, rows)


@cache
def learned(name):
    return learn(name, data.X, TARGETS[LEARNERS[name][1]])[0]


def asked(name, new):
    with dask.config.set(scheduler="synchronous"):
        return answer_of(learned(name), spread(new))


def in_one_part(entry, name, bad, given, answer):
    """What is learned depends on the rows alone, not on how they are cut into parts."""
    pairs = pd.DataFrame(np.column_stack([np.asarray(given["X"]), np.asarray(given["y"])]))
    if name.startswith("DaskPLCP") and pairs.duplicated().any():
        return SILENT  # copies in several parts are drawn together, as its documentation says
    return difference([entry.call(**given, parts=1)], [answer], None)


def as_in_memory(entry, name, bad, given, answer):
    """A model answers rows on Dask as it does rows in memory."""
    local = learned(name.split(".")[0]).to_local()
    if len(given["new"]) == 0:
        return None if len(answer) == 0 else "an answer of some rows"
    return difference([answer], [answer_of(local, given["new"])], None)


def of_dask():
    for name, (_, target, ordinary) in LEARNERS.items():
        subject = SUBJECTS[ordinary]
        takes = subject.takes | subject.also

        def fit(X, y, parts=PARTS, name=name):
            return learn(name, X, y, parts)[1]

        def ask(new, name=name):
            return asked(name, new)

        given = {"X": ("rows on dask", data.X), "y": (KINDS[target], TARGETS[target])}
        yield f"{name}.fit", plain(fit, takes, (in_one_part,), **given)
        yield (
            f"{name}.predict",
            plain(ask, takes | {"no rows"}, (as_in_memory,), new=("new rows on dask", data.X)),
        )


ON_DASK = dict(of_dask())
