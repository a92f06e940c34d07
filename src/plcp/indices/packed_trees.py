"""A fitted histogram booster as a few plain arrays, and back: what prediction needs, no more.

With ``trees`` and ``sound_trees`` the one place that knows such a booster from inside. Left out are
the bins of the rows it learned from, most of its size, and what only growing asks for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import (
    PREDICTOR_RECORD_DTYPE,
    X_BITSET_INNER_DTYPE,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from plcp.indices.sound_trees import (
    CATEGORICAL,
    GAPS_LEFT,
    LEAF,
    Arrays,
    check_arrays,
    check_columns,
    is_categorical,
    places_of,
)

CLASSES = {
    cls.__name__: cls for cls in (HistGradientBoostingRegressor, HistGradientBoostingClassifier)
}
TREES, CATEGORIES = "trees", "known_categories"
# made anew, or asked for by nobody who predicts
REMADE = ("_predictors", "_bin_mapper", "_loss", "_feature_subsample_rng", "_scorer")


def is_packable(model: Any) -> bool:
    """Whether this is a booster of scikit-learn that will only predict from now on."""
    return (
        type(model) in CLASSES.values()
        and not model.warm_start  # growing on needs the bins
        and isinstance(model.loss, str)
    )


def pack(model: Any) -> dict[str, Any]:
    """Return the attributes of a booster, its trees as arrays.

    Examples
    --------
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0] ** 2)
    >>> again = unpack("HistGradientBoostingRegressor", pack(model))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    state = {name: value for name, value in vars(model).items() if name not in REMADE}
    if not hasattr(model, "_predictors"):
        return state
    state[TREES] = _packed([tree for step in model._predictors for tree in step])
    mapper = model._bin_mapper
    state[CATEGORIES] = [mapper.bin_thresholds_[i] for i in np.flatnonzero(mapper.is_categorical_)]
    return state


def unpack(name: str, state: dict[str, Any]) -> Any:
    """Return the booster of such attributes, unless its trees lead nowhere."""
    model = object.__new__(CLASSES[name])
    vars(model).update({key: state[key] for key in state if key not in (TREES, CATEGORIES)})
    if TREES not in state:
        return model
    check_columns(model)
    arrays, width = state[TREES], int(model.n_trees_per_iteration_)
    trees = _unpacked(arrays, is_categorical(model))
    if width < 1 or len(trees) % width or np.shape(model._baseline_prediction) != (1, width):
        raise ValueError(f"{len(trees)} trees are not {width} for each step")
    model._predictors = [trees[i : i + width] for i in range(0, len(trees), width)]
    model._bin_mapper = _mapper(model, state[CATEGORIES])
    model._loss = model._get_loss(sample_weight=None)
    return model


def check(model: Any) -> None:
    """Refuse a fitted booster, come from elsewhere, whose trees lead nowhere."""
    if not hasattr(model, "_predictors"):
        return
    if len(model._bin_mapper.is_categorical_) != model.n_features_in_:
        raise ValueError("its trees lead nowhere")
    again = unpack(type(model).__name__, pack(model))
    flags = [again._bin_mapper.is_categorical_, model._bin_mapper.is_categorical_]
    bits = ("is_leaf", "is_categorical", "missing_go_to_left")
    nodes = [tree.nodes for step in model._predictors for tree in step]
    if not np.array_equal(*flags) or any(each[bit].max() > 1 for each in nodes for bit in bits):
        raise ValueError("its trees lead nowhere")


def _packed(trees: list[TreePredictor]) -> Arrays:
    """Nodes of all trees one after the other; children by their distance, in few bytes."""
    # as bytes: numpy takes long to see that records are of one type
    nodes = np.frombuffer(b"".join([tree.nodes for tree in trees]), dtype=PREDICTOR_RECORD_DTYPE)
    places = np.concatenate([np.arange(len(tree.nodes)) for tree in trees])
    leaf, categorical = nodes["is_leaf"] == 1, nodes["is_categorical"] == 1
    flags = LEAF * leaf + GAPS_LEFT * (nodes["missing_go_to_left"] == 1) + CATEGORICAL * categorical
    return {
        "sizes": _small([len(tree.nodes) for tree in trees]),
        "numbers": np.where(leaf, nodes["value"], nodes["num_threshold"]),
        "flags": flags.astype(np.uint8),
        "columns": _small(np.where(leaf, 0, nodes["feature_idx"])),
        "left": _small(np.where(leaf, 0, nodes["left"] - places)),
        "right": _small(np.where(leaf, 0, nodes["right"] - places)),
        "depths": _small(nodes["depth"]),
        "counts": _small(nodes["count"]),
        "bitsets": np.concatenate([tree.raw_left_cat_bitsets for tree in trees]),
        "bitset_sizes": _small([len(tree.raw_left_cat_bitsets) for tree in trees]),
        "bitset_places": _small(nodes["bitset_idx"][categorical]),
    }


def _small(values: Any) -> NDArray[Any]:
    """Whole numbers in the narrowest type that holds them."""
    numbers = np.asarray(values)
    if numbers.min(initial=0) < 0:
        raise ValueError("a tree leads back")
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _unpacked(arrays: Arrays, codes: NDArray[np.bool_]) -> list[TreePredictor]:
    check_arrays(arrays, codes)
    sizes, bitset_sizes = arrays["sizes"].astype(np.intp), arrays["bitset_sizes"].astype(np.intp)
    ends, bitset_ends = np.cumsum(sizes), np.cumsum(bitset_sizes)
    bitsets = np.ascontiguousarray(arrays["bitsets"], dtype=X_BITSET_INNER_DTYPE)
    nodes = _nodes(arrays)
    starts, bitset_starts = ends - sizes, bitset_ends - bitset_sizes
    of_bins = np.zeros_like(bitsets)  # asked for by nobody
    return [
        TreePredictor(nodes[a:b], of_bins[c:d], bitsets[c:d])
        for a, b, c, d in zip(starts, ends, bitset_starts, bitset_ends, strict=True)
    ]


def _nodes(arrays: Arrays) -> NDArray[Any]:
    flags = arrays["flags"]
    leaf, categorical = (flags & LEAF) > 0, (flags & CATEGORICAL) > 0
    places = places_of(arrays["sizes"])
    nodes = np.zeros(len(flags), dtype=PREDICTOR_RECORD_DTYPE)
    nodes["is_leaf"], nodes["is_categorical"] = leaf, categorical
    nodes["missing_go_to_left"] = (flags & GAPS_LEFT) > 0
    nodes["value"] = np.where(leaf, arrays["numbers"], 0.0)
    nodes["num_threshold"] = np.where(leaf, 0.0, arrays["numbers"])
    nodes["feature_idx"] = arrays["columns"]
    for side in ("left", "right"):
        nodes[side] = np.where(leaf, 0, places + arrays[side])
    nodes["depth"], nodes["count"] = arrays["depths"], arrays["counts"]
    nodes["gain"] = np.nan  # it is not known any more
    nodes["bitset_idx"][categorical] = arrays["bitset_places"]
    return nodes


def _mapper(model: Any, categories: list[NDArray[Any]]) -> _BinMapper:
    """Return what is left of the bins: which columns hold categories, and which."""
    flags, places = is_categorical(model), iter(categories)
    mapper = _BinMapper(n_bins=model.max_bins + 1)
    mapper.is_categorical_ = flags.astype(np.uint8)
    mapper.missing_values_bin_idx_ = mapper.n_bins - 1
    none = np.zeros(0)
    mapper.bin_thresholds_ = [next(places) if flag else none for flag in flags]
    mapper.n_bins_non_missing_ = np.array([len(known) for known in mapper.bin_thresholds_])
    return mapper
