"""Which packed trees of a histogram booster compiled code may follow, as it looks at no bounds."""

from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import (
    PREDICTOR_RECORD_DTYPE,
    X_BITSET_INNER_DTYPE,
    X_DTYPE,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils import check_array

Arrays = dict[str, NDArray[Any]]
PACKED_LEAF, GAPS_LEFT, CATEGORICAL = 1, 2, 4  # bits of a node's flags
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
    if not all(type(array) is np.ndarray for array in arrays.values()):
        return False
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
    inner, categorical = (flags & PACKED_LEAF) == 0, (flags & CATEGORICAL) > 0
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


BOOSTERS = {
    cls.__name__: cls for cls in (HistGradientBoostingRegressor, HistGradientBoostingClassifier)
}
TREES, CATEGORIES = "trees", "categories"
MOST_CODES = 255  # of a column: more than a bitset has places for
# beside the parameters, what is stored: all else is made again, or is only needed to grow
STORED = (
    *("_baseline_prediction", "_label_encoder", "_random_seed", "_sklearn_output_config"),
    *("_use_validation_data", "classes_", "do_early_stopping_", "feature_names_in_"),
    *("is_categorical_", "n_features_in_", "n_trees_per_iteration_", "train_score_"),
    "validation_score_",
)


def is_booster(model: Any) -> bool:
    """Whether this is a histogram booster of scikit-learn."""
    return type(model) in BOOSTERS.values()


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
    known = _attributes(type(model).__name__)
    state = {name: value for name, value in vars(model).items() if name in known}
    if not hasattr(model, "_predictors"):
        return state
    state[TREES] = _packed([tree for step in model._predictors for tree in step])
    if model.is_categorical_ is not None:
        state[CATEGORIES] = model._preprocessor.named_transformers_["encoder"].categories_
    return state


def unpack(name: str, state: dict[str, Any]) -> Any:
    """Return the booster of such attributes, unless its trees lead nowhere."""
    model = object.__new__(BOOSTERS[name])
    own = {key: state[key] for key in state if key not in (TREES, CATEGORIES)}
    strange = own.keys() - _attributes(name)
    if strange:
        raise ValueError(f"no booster has {min(strange)!r}: do not use it")
    vars(model).update(own)
    if TREES not in state:
        return model
    _check_packed_sizes(model)
    codes = _remake_columns(model, state.get(CATEGORIES, []))
    width = model.n_trees_per_iteration_
    trees = _unpacked(state[TREES], codes)
    if len(trees) % width:
        raise ValueError(f"{len(trees)} trees are not {width} for each step")
    model._predictors = [trees[i : i + width] for i in range(0, len(trees), width)]
    model._loss = model._get_loss(sample_weight=None)
    return model


@cache
def _attributes(name: str) -> frozenset[str]:
    return frozenset((*BOOSTERS[name]().get_params(deep=False), *STORED))


def _check_packed_sizes(model: Any) -> None:
    """Refuse a booster that would make room for more than its trees fill."""
    n, width = model.n_features_in_, model.n_trees_per_iteration_
    start, flags = model._baseline_prediction, model.is_categorical_
    fits = (
        type(n) is type(width) is type(model.max_bins) is int
        and n >= 0
        and width >= 1
        and 2 <= model.max_bins <= MOST_CODES
        and type(start) is np.ndarray
        and (start.dtype, start.shape) == (np.dtype(np.float64), (1, width))
        and isinstance(model.loss, str)
        and not model.warm_start
    )
    if fits and flags is not None:
        fits = type(flags) is np.ndarray and flags.dtype == bool and flags.shape == (n,)
    if fits and isinstance(model, HistGradientBoostingClassifier):
        fits = len(model.classes_) == (2 if width == 1 else width)
    if not fits:
        raise ValueError("the sizes of a booster are not those of its trees")


def _remake_columns(model: Any, categories: Any) -> NDArray[np.bool_]:
    """Make what a booster does to rows before its trees see them; return which hold codes.

    As `fit` makes it: columns of categories first, encoded, then those of numbers.
    """
    n, flags = model.n_features_in_, model.is_categorical_
    n_codes = 0 if flags is None else int(flags.sum())
    if type(categories) is not list or len(categories) != n_codes:
        raise ValueError("a booster does not have the categories of its columns")
    known = [_known(each) for each in categories]
    model._n_features = n
    model._preprocessor = None if flags is None else _preprocessor(model, categories)
    codes = np.arange(n) < n_codes
    model._is_categorical_remapped = None if flags is None else codes
    model._bin_mapper = _mapper(model, codes, known)
    return codes


def _known(categories: Any) -> NDArray[Any]:
    """Return the codes of the categories of a column, among which a gap has none."""
    if type(categories) is not np.ndarray or categories.ndim != 1 or not len(categories):
        raise ValueError("a booster does not have the categories of its columns")
    last = categories[-1]
    n = len(categories) - bool(isinstance(last, float | np.floating) and np.isnan(last))
    if n > MOST_CODES:
        raise ValueError(f"a column of a booster has {n:,} categories")
    return np.arange(n, dtype=X_DTYPE)


def _preprocessor(model: Any, categories: list[NDArray[Any]]) -> ColumnTransformer:
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        dtype=X_DTYPE,
    )
    numbers = FunctionTransformer(partial(check_array, dtype=[X_DTYPE], ensure_all_finite=False))
    flags = model.is_categorical_
    made = ColumnTransformer([("encoder", encoder, flags), ("numerical", numbers, ~flags)])
    made.set_output(transform="default").fit(np.zeros((1, len(flags))))
    fitted = made.named_transformers_["encoder"]
    if len(categories):  # of no columns none is made
        fitted.categories_ = categories
        fitted._missing_indices = {
            i: len(each) - 1 for i, each in enumerate(categories) if len(_known(each)) < len(each)
        }
    if hasattr(model, "feature_names_in_"):
        names = np.asarray(model.feature_names_in_)
        if names.shape != flags.shape:
            raise ValueError("a booster does not have the names of its columns")
        made.feature_names_in_ = names
        for transformer, own in ((fitted, flags), (made.named_transformers_["numerical"], ~flags)):
            if hasattr(transformer, "n_features_in_"):
                transformer.feature_names_in_ = names[own]
    return made


def _packed(trees: list[TreePredictor]) -> Arrays:
    """Nodes of all trees one after the other; children by their distance, in few bytes."""
    # as bytes: numpy takes long to see that records are of one type
    nodes = np.frombuffer(b"".join([tree.nodes for tree in trees]), dtype=PREDICTOR_RECORD_DTYPE)
    places = np.concatenate([np.arange(len(tree.nodes)) for tree in trees])
    leaf, categorical = nodes["is_leaf"] == 1, nodes["is_categorical"] == 1
    flags = (
        PACKED_LEAF * leaf
        + GAPS_LEFT * (nodes["missing_go_to_left"] == 1)
        + CATEGORICAL * categorical
    )
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
    leaf, categorical = (flags & PACKED_LEAF) > 0, (flags & CATEGORICAL) > 0
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


def _mapper(model: Any, codes: NDArray[np.bool_], known: list[NDArray[Any]]) -> _BinMapper:
    """Return what is left of the bins: which columns hold categories, and which."""
    mapper = _BinMapper(n_bins=model.max_bins + 1)
    mapper.is_categorical_ = codes.astype(np.uint8)
    mapper.missing_values_bin_idx_ = mapper.n_bins - 1
    none = np.zeros(0)
    mapper.bin_thresholds_ = [*known, *[none] * (len(codes) - len(known))]
    mapper.n_bins_non_missing_ = np.array([len(each) for each in mapper.bin_thresholds_])
    return mapper
