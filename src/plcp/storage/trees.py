"""Trees of scikit-learn, whose compiled code follows any branch into any column: checked first.

Histogram boosters are stored with the nodes of all trees as narrow arrays, decision trees with the
estimator that checks the rows for them, and never apart from it.
"""

from functools import cache, partial
from typing import Any

import numpy as np
import sklearn.tree
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
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import check_array

from plcp.storage.codec import Codec, Decoder, Encoder
from plcp.storage.estimators import check_attributes, decode_attributes, encode_attributes

Arrays = dict[str, NDArray[Any]]
BOOSTERS = {
    cls.__name__: cls for cls in (HistGradientBoostingRegressor, HistGradientBoostingClassifier)
}
TREES, CATEGORIES = "trees", "categories"
MAX_CODES = 255  # of a column: a bitset has no more
# stored beside the parameters: all else is made again, or is only needed to grow trees
STORED = (
    *("_baseline_prediction", "_label_encoder", "_random_seed", "_sklearn_output_config"),
    *("_use_validation_data", "classes_", "do_early_stopping_", "feature_names_in_"),
    *("is_categorical_", "n_features_in_", "n_trees_per_iteration_", "train_score_"),
    "validation_score_",
)
LEAF, MISSING_LEFT, CATEGORICAL = 1, 2, 4  # bits of a node's flags
BY_NODE = ("numbers", "flags", "columns", "left", "right", "depths", "counts")
WORDS = 8  # of a set of categories, 32 bits each
BYTES_PER_COLUMN, BYTES_PER_NODE = 32, 64  # that a booster takes in memory, all in all

DECISION_TREES = {
    name: getattr(sklearn.tree, name)
    for kind in ("DecisionTree", "ExtraTree")
    for name in (f"{kind}Classifier", f"{kind}Regressor")
}
TREE = "tree_"
CHILDREN = ("left_child", "right_child")
NO_CHILD = -1
SHALLOW = 64  # depth of most trees, which is found by descending all branches at once


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
    """Return the booster of such attributes, after all sizes and branches are checked."""
    model = object.__new__(BOOSTERS[name])
    own = {key: state[key] for key in state if key not in (TREES, CATEGORIES)}
    unknown = own.keys() - _attributes(name)
    if unknown:
        raise ValueError(f"no booster has {min(unknown)!r}: do not use it")
    vars(model).update(own)
    if TREES not in state:
        return model
    _check_booster(model)
    _remake_preprocessing(model, state.get(CATEGORIES, []))
    width = model.n_trees_per_iteration_
    trees = _unpacked(state[TREES], model._bin_mapper.is_categorical_ > 0)
    if len(trees) % width:
        raise ValueError(f"{len(trees)} trees are not {width} for each step")
    model._predictors = [trees[i : i + width] for i in range(0, len(trees), width)]
    model._loss = model._get_loss(sample_weight=None)
    return model


@cache
def _attributes(name: str) -> frozenset[str]:
    return frozenset((*BOOSTERS[name]().get_params(deep=False), *STORED))


def _check_booster(model: Any) -> None:
    """Refuse a booster with other sizes than its trees have."""
    n, width = model.n_features_in_, model.n_trees_per_iteration_
    start, flags = model._baseline_prediction, model.is_categorical_
    fits = (
        type(n) is type(width) is type(model.max_bins) is int
        and n >= 0
        and width >= 1
        and 2 <= model.max_bins <= MAX_CODES
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


def _remake_preprocessing(model: Any, categories: Any) -> None:
    """Make the preprocessing of a booster again, without the bins of numbers.

    As `fit` makes it: columns of categories first, encoded, then those of numbers.
    """
    n, flags = model.n_features_in_, model.is_categorical_
    n_codes = 0 if flags is None else int(flags.sum())
    if type(categories) is not list or len(categories) != n_codes:
        raise ValueError("a booster does not have the categories of its columns")
    known = [np.arange(_n_codes(each), dtype=X_DTYPE) for each in categories]
    model._n_features = n
    model._preprocessor = None if flags is None else _preprocessor(model, categories)
    is_code = np.arange(n) < n_codes
    model._is_categorical_remapped = None if flags is None else is_code
    mapper = model._bin_mapper = _BinMapper(n_bins=model.max_bins + 1)
    mapper.is_categorical_ = is_code.astype(np.uint8)
    mapper.missing_values_bin_idx_ = mapper.n_bins - 1
    mapper.bin_thresholds_ = [*known, *[np.zeros(0)] * (n - n_codes)]
    mapper.n_bins_non_missing_ = np.array([len(each) for each in mapper.bin_thresholds_])


def _n_codes(categories: Any) -> int:
    """Return how many categories of a column have a code; a missing value has none."""
    if type(categories) is not np.ndarray or categories.ndim != 1 or not len(categories):
        raise ValueError("a booster does not have the categories of its columns")
    last = categories[-1]
    n = len(categories) - bool(isinstance(last, float | np.floating) and np.isnan(last))
    if n > MAX_CODES:
        raise ValueError(f"a column of a booster has {n:,} categories")
    return n


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
            i: len(each) - 1 for i, each in enumerate(categories) if _n_codes(each) < len(each)
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
    """Return the nodes of all trees, concatenated; children by their distance, in few bytes."""
    # as bytes: numpy is slow to concatenate records
    nodes = np.frombuffer(b"".join([tree.nodes for tree in trees]), dtype=PREDICTOR_RECORD_DTYPE)
    places = np.concatenate([np.arange(len(tree.nodes)) for tree in trees])
    leaf, categorical = nodes["is_leaf"] == 1, nodes["is_categorical"] == 1
    flags = (
        LEAF * leaf + MISSING_LEFT * (nodes["missing_go_to_left"] == 1) + CATEGORICAL * categorical
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
    """Return integers in the narrowest type that holds them."""
    numbers = np.asarray(values)
    if numbers.min(initial=0) < 0:
        raise ValueError("a child comes before its parent")
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _unpacked(arrays: Arrays, codes: NDArray[np.bool_]) -> list[TreePredictor]:
    """Return the trees of arrays; ``codes``: which columns hold categories."""
    if not _have_right_shapes(arrays):
        raise ValueError("the arrays of its trees have other shapes or types")
    if not _stay_inside(arrays, codes):
        raise ValueError("its trees have a child or a column out of range")
    flags = arrays["flags"]
    leaf, categorical = (flags & LEAF) > 0, (flags & CATEGORICAL) > 0
    places = _places(arrays["sizes"])
    nodes = np.zeros(len(flags), dtype=PREDICTOR_RECORD_DTYPE)
    nodes["is_leaf"], nodes["is_categorical"] = leaf, categorical
    nodes["missing_go_to_left"] = (flags & MISSING_LEFT) > 0
    nodes["value"] = np.where(leaf, arrays["numbers"], 0.0)
    nodes["num_threshold"] = np.where(leaf, 0.0, arrays["numbers"])
    nodes["feature_idx"] = arrays["columns"]
    for side in ("left", "right"):
        nodes[side] = np.where(leaf, 0, places + arrays[side])
    nodes["depth"], nodes["count"] = arrays["depths"], arrays["counts"]
    nodes["gain"] = np.nan  # not stored
    nodes["bitset_idx"][categorical] = arrays["bitset_places"]
    bitsets = np.ascontiguousarray(arrays["bitsets"], dtype=X_BITSET_INNER_DTYPE)
    of_bins = np.zeros_like(bitsets)  # never used
    ends, set_ends = (np.cumsum(arrays[name], dtype=np.intp) for name in ("sizes", "bitset_sizes"))
    starts, set_starts = ends - arrays["sizes"], set_ends - arrays["bitset_sizes"]
    return [
        TreePredictor(nodes[a:b], of_bins[c:d], bitsets[c:d])
        for a, b, c, d in zip(starts, ends, set_starts, set_ends, strict=True)
    ]


def _have_right_shapes(arrays: Arrays) -> bool:
    if not all(type(array) is np.ndarray for array in arrays.values()):
        return False
    whole = [array.dtype for name, array in arrays.items() if name != "numbers"]
    narrow = all(dtype.kind == "u" and dtype.itemsize <= 4 for dtype in whole)
    if arrays["numbers"].dtype != np.float64 or not narrow:
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


def _stay_inside(arrays: Arrays, codes: NDArray[np.bool_]) -> bool:
    """Whether each split is on a column that exists, and its children come after it."""
    flags, sizes = arrays["flags"], arrays["sizes"].astype(np.int64)
    inner, categorical = (flags & LEAF) == 0, (flags & CATEGORICAL) > 0
    places, ends = _places(sizes), np.repeat(sizes, sizes)
    for side in ("left", "right"):
        steps = arrays[side].astype(np.int64)
        if not ((steps > 0) & (places + steps < ends))[inner].all():
            return False
    if not (arrays["columns"] < len(codes)).all():
        return False
    sets = np.repeat(arrays["bitset_sizes"].astype(np.int64), sizes)[categorical]
    known = codes[arrays["columns"][categorical]] & (arrays["bitset_places"] < sets)
    return bool(known.all())


def _places(sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the place of each node within its tree."""
    lengths = sizes.astype(np.intp)
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _encode_booster(model: Any, encoder: Encoder) -> list[Any]:
    encoder.packages.add("scikit-learn")
    if model.warm_start or not isinstance(model.loss, str):
        # more trees would need the bins of all rows, and a loss of the user's own is code
        raise encoder.refusal(model, "fit it with warm_start=False and a loss by its name")
    return [type(model).__name__, encode_attributes(pack(model), encoder)]


def _decode_booster(content: Any, decoder: Decoder) -> Any:
    name, stored = content
    state = decode_attributes(stored, decoder)
    decoder.charge(BYTES_PER_COLUMN * int(state.get("n_features_in_", 0)))
    decoder.charge(BYTES_PER_NODE * len(state.get(TREES, {}).get("flags", ())))
    return unpack(name, state)


def _encode_estimator(value: Any, encoder: Encoder) -> list[Any]:
    """Class, attributes and tree, if it has one: sizes, nodes and values."""
    encoder.packages.add("scikit-learn")
    state = dict(vars(value))
    tree = state.pop(TREE, None)
    name, attributes = type(value).__name__, encode_attributes(state, encoder)
    if tree is None:
        return [name, attributes, None]
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    fields = {name: np.ascontiguousarray(state["nodes"][name]) for name in NODE_DTYPE.names}
    sizes = (n_features, n_classes.tolist(), n_outputs, state["max_depth"])
    arrays = [encoder.value(fields, ".nodes"), encoder.value(state["values"], ".values")]
    return [name, attributes, [*sizes, *arrays]]


def _decode_estimator(content: Any, decoder: Decoder) -> Any:
    name, stored, tree = content
    cls, state = DECISION_TREES[name], decode_attributes(stored, decoder)
    check_attributes(cls, state)
    made = object.__new__(cls)
    vars(made).update(state)
    if TREE in state:
        raise ValueError("a decision tree is apart from its estimator")
    if tree is None:
        return made
    made.tree_ = _decode_tree(tree, decoder)
    own = (made.tree_.n_features, made.tree_.n_outputs)
    if own != (state.get("n_features_in_"), state.get("n_outputs_")):
        raise ValueError("a decision tree is for other columns than its estimator")
    classes = np.atleast_1d(state.get("n_classes_", made.tree_.n_classes))
    if not np.array_equal(classes, made.tree_.n_classes):
        raise ValueError("a decision tree has other classes than its estimator")
    return made


def _decode_tree(content: Any, decoder: Decoder) -> Any:
    n_features, n_classes, n_outputs, max_depth, *stored = content
    fields, values = (decoder.value(part) for part in stored)
    if type(values) is not np.ndarray or values.dtype != np.float64 or values.ndim != 3:
        raise ValueError("the values of a decision tree are not those of its classes")
    decoder.charge(2 * NODE_DTYPE.itemsize * len(values))
    nodes = np.zeros(len(values), dtype=NODE_DTYPE)
    for name in NODE_DTYPE.names:
        nodes[name] = fields[name]
    counts = np.array(n_classes, dtype=np.intp)
    if counts.shape != (n_outputs,) or values.shape[1:] != (n_outputs, counts.max(initial=0)):
        raise ValueError("the values of a decision tree are not those of its classes")
    inner, places = nodes["left_child"] != NO_CHILD, np.arange(len(nodes))
    fits = (nodes["feature"] >= 0) & (nodes["feature"] < n_features)
    for side in CHILDREN:  # which come after their parent
        fits &= (nodes[side] > places) & (nodes[side] < len(nodes))
    if not len(nodes) or counts.min() < 1 or not fits[inner].all() or _depth(nodes) != max_depth:
        raise ValueError("a decision tree has a child, a column or a depth out of range")
    tree = Tree(n_features, counts, n_outputs)
    tree.__setstate__(
        {"max_depth": max_depth, "node_count": len(nodes), "nodes": nodes, "values": values}
    )
    return tree


def _depth(nodes: NDArray[Any]) -> int:
    """Return the length of the longest path, for which scikit-learn allocates memory."""
    nodes_here, depth = np.zeros(1, dtype=np.intp), 0
    while len(nodes_here := nodes_here[nodes["left_child"][nodes_here] != NO_CHILD]):
        nodes_here = np.unique(np.concatenate([nodes[side][nodes_here] for side in CHILDREN]))
        depth += 1
        if depth > SHALLOW:
            return _depth_by_node(nodes)
    return depth


def _depth_by_node(nodes: NDArray[Any]) -> int:
    """Return the same in one pass over the nodes of a deep tree: children come later."""
    depths = [0] * len(nodes)
    left, right = (nodes[side].tolist() for side in CHILDREN)
    for own, sides in enumerate(zip(left, right, strict=True)):
        for child in sides if sides[0] != NO_CHILD else ():
            depths[child] = max(depths[child], depths[own] + 1)
    return max(depths)


CODECS = (
    Codec(
        "decision_tree",
        lambda v: type(v) in DECISION_TREES.values(),
        _encode_estimator,
        _decode_estimator,
    ),
    Codec("booster", lambda v: type(v) in BOOSTERS.values(), _encode_booster, _decode_booster),
)
