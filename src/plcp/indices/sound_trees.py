"""Which packed trees of a histogram booster compiled code may follow, as it looks at no bounds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

Arrays = dict[str, NDArray[Any]]
LEAF, GAPS_LEFT, CATEGORICAL = 1, 2, 4  # bits of a node's flags
BY_NODE = ("numbers", "flags", "columns", "left", "right", "depths", "counts")
WORDS = 8  # of a set of categories, 32 bits each


def check_arrays(arrays: Arrays, codes: NDArray[np.bool_]) -> None:
    """Refuse trees that are not whole, lead out of themselves, or around in circles.

    ``codes``: which columns hold categories.
    """
    if not _go_together(arrays):
        raise ValueError("the arrays of its trees do not go together")
    if not _lead_on(arrays, codes):
        raise ValueError("its trees lead nowhere")


def _go_together(arrays: Arrays) -> bool:
    whole = [array.dtype for name, array in arrays.items() if name != "numbers"]
    if arrays["numbers"].dtype != np.float64 or any(
        dtype.kind != "u" or dtype.itemsize > 4 for dtype in whole
    ):
        return False
    n_nodes, n_sets = (int(arrays[name].sum(dtype=np.int64)) for name in ("sizes", "bitset_sizes"))
    n_categorical = int(np.count_nonzero(arrays["flags"] & CATEGORICAL))
    return (
        all(arrays[name].shape == (n_nodes,) for name in BY_NODE)
        and arrays["sizes"].ndim == 1
        and arrays["bitset_sizes"].shape == arrays["sizes"].shape
        and arrays["bitset_places"].shape == (n_categorical,)
        and arrays["bitsets"].shape == (n_sets, WORDS)
        and bool((arrays["sizes"] > 0).all())
    )


def _lead_on(arrays: Arrays, codes: NDArray[np.bool_]) -> bool:
    """Whether each split asks about a column that is there, and goes on to nodes behind it."""
    flags, sizes = arrays["flags"], arrays["sizes"].astype(np.int64)
    inner, categorical = (flags & LEAF) == 0, (flags & CATEGORICAL) > 0
    places, ends = places_of(sizes), np.repeat(sizes, sizes)
    sides = (
        (arrays[side] > 0) & (places + arrays[side].astype(np.int64) < ends)
        for side in ("left", "right")
    )
    if not all(bool(side[inner].all()) for side in sides):
        return False
    if not (arrays["columns"] < len(codes)).all():
        return False
    sets = np.repeat(arrays["bitset_sizes"].astype(np.int64), sizes)[categorical]
    known = codes[arrays["columns"][categorical]] & (arrays["bitset_places"] < sets)
    return bool(known.all())


def places_of(sizes: NDArray[Any]) -> NDArray[Any]:
    """Place of each node within its tree."""
    lengths = sizes.astype(np.intp)
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def is_categorical(model: Any) -> NDArray[np.bool_]:
    """Which columns hold categories, in the order in which the trees know them."""
    given = model._is_categorical_remapped
    if given is None:
        return np.zeros(int(model.n_features_in_), dtype=bool)
    return np.asarray(given, dtype=bool)


def check_columns(model: Any) -> None:
    """Refuse a booster whose trees would be given fewer columns than they ask about."""
    n, masks = int(model.n_features_in_), []
    if model.is_categorical_ is not None:
        fitted = model._preprocessor
        if type(fitted) is not ColumnTransformer or fitted.n_features_in_ != n:
            raise ValueError("its columns are not those of its trees")
        masks = [np.asarray(mask, dtype=bool) for _, _, mask in fitted.transformers_[:2]]
        if not np.array_equal(masks[0], ~masks[1]) or masks[0].shape != (n,):
            raise ValueError("its columns are not those of its trees")
    elif model._preprocessor is not None:
        raise ValueError("its columns are not those of its trees")
    if len(is_categorical(model)) != n:
        raise ValueError("its columns are not those of its trees")
