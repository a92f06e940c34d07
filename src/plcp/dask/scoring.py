"""Scores of labelled rows on Dask, and what a threshold rule sees of those rows."""

from math import nan
from typing import Any

import numpy as np
from dask.array import Array
from sklearn.utils.multiclass import check_classification_targets

from plcp.blocks.passes import Block
from plcp.conformal import ConformalClassifier
from plcp.conformal.base import Conformal, Features, selected
from plcp.dask.blockwise import blockwise
from plcp.dask.cluster import Spread, call_of, layer
from plcp.dask.collections import promised
from plcp.rows import count, is_frame
from plcp.scores import Score


def check_score(score: Score, *, to_fit: bool) -> None:
    """Refuse a score that would depend on how the rows are cut into blocks."""
    if to_fit and score.learned is not None:
        raise ValueError(
            f"{score} would learn its {score.learned} from all rows at once: fit the score on some "
            "rows in memory, and give the number it finds instead"
        )
    if getattr(score, "own_mass", None) == "random":
        raise ValueError(f"{score} would draw anew in every block: use own_mass='none', or 'full'")


def kept_scores(pairs: Spread, model: Conformal, X: Any) -> list[Array]:
    """Scores of labelled rows, one array a tail, cut as X is and kept where they were made."""
    kept = pairs.keep(_scored, model)
    lengths = X.chunks[0] if isinstance(X, Array) else (nan,) * len(kept.blocks)
    return [_column(kept, tail, lengths) for tail in range(model.conformity_.tails)]


def scores_of(X: Any, y: Any, model: Conformal) -> Any:
    """Scores of labelled rows, one column a tail."""
    if count(X) == 0:
        return np.empty((0, model.conformity_.tails))
    labels = model._labels(y)
    if isinstance(model, ConformalClassifier):
        check_classification_targets(labels)
    return model._scores(model._ask(X), model._encode(labels))


def _scored(X: Any, y: Any, model: Conformal) -> Block:
    return (scores_of(X, y, model),)


def _column(kept: Spread, tail: int, lengths: tuple[float, ...]) -> Array:
    parts = layer("scores", [(_of_tail, [block, tail]) for block in kept.blocks])
    return Array(parts[0].dask, parts[0].key[0], chunks=(lengths,), dtype=float)


def _of_tail(block: Block, tail: int) -> Any:
    return block[0][:, tail]


def rows_for_rule(pairs: Spread, features: Features, X: Any) -> Any:
    """What the rule sees of X, as a collection of Dask."""
    if features is None:
        return X
    like = selected(features, _first_row(pairs) if callable(features) else promised(X))
    if is_frame(like):
        call = call_of(selected, (features,), pure=True)
        return X.map_partitions(_of_part, call, like[:0], meta=like[:0])
    made = blockwise(_selected, X, features, dtype=like.dtype, columns=range(like.shape[1]))
    return made if isinstance(made, Array) else made.to_dask_array()


def _of_part(X: Any, call: Any, empty: Any) -> Any:
    function, args = call
    return function(*args, X) if count(X) else empty


def _selected(X: Any, features: Features) -> Any:
    return selected(features, X)


def _first_row(pairs: Spread) -> Any:
    """One row, to see what a function makes of it: of the first block that has any."""
    for block in pairs.blocks:
        (row,) = Spread([block], pairs.client).each(_head)
        if count(row):
            return row
    raise ValueError("the calibration set is empty: 0 sample(s), at least 1 is needed")


def _head(X: Any, y: Any) -> Any:
    return X[:1]
