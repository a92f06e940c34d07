"""Models of LightGBM: their text is parsed, checked and written again before LightGBM reads it.

A wrong number of trees, size or option sends LightGBM's parser out of bounds, and what it refuses
itself it also prints, past all loggers. What is no number to it, such as a digit of another script,
ends the process: it parses lists in threads, whose errors cannot be caught. So every number is
parsed here, and LightGBM is given a text that is written from the numbers.
"""

import json
import re
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp._options import shown
from plcp.storage.codec import Codec, Decoder, Encoder

# infinities and missing values are words; \d would match the digits of any script
NUMBER = r"[-+]?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?(?:e[-+]?[0-9]{1,3})?|inf|nan)"
COUNT = re.compile(r"[0-9]{1,6}")
IS_NUMBER, IS_INTEGER = (re.compile(each).fullmatch for each in (NUMBER, r"-?[0-9]{1,10}"))
MAX_CATEGORIES_TEXT = 2**24  # characters of the JSON that names categories
OBJECTIVES = (
    *("binary", "cross_entropy", "cross_entropy_lambda", "custom", "fair", "gamma", "huber"),
    *("lambdarank", "mape", "multiclass", "multiclassova", "none", "poisson", "quantile"),
    *("rank_xendcg", "regression", "regression_l1", "tweedie"),
)
WITH_SIGMOID = ("binary", "multiclassova")
HEADER = {
    "version": re.compile(r"v[0-9]{1,2}"),
    "num_class": COUNT,
    "num_tree_per_iteration": COUNT,
    "label_index": COUNT,
    "max_feature_idx": re.compile(r"[0-9]{1,8}"),
    "objective": re.compile(rf"(?:{'|'.join(OBJECTIVES)})(?: [a-z_]+(?::{NUMBER})?)*"),
    "feature_names": re.compile(r"[^\s\x00-\x1f\x7f]+(?: [^\s\x00-\x1f\x7f]+)*"),
    "monotone_constraints": re.compile(r"-?[01](?: -?[01])*"),
    "feature_infos": re.compile(r"\S+(?: \S+)*"),
}
REQUIRED = ("label_index", "feature_names", "feature_infos")
PER_COLUMN = ("feature_names", "monotone_constraints", "feature_infos")
AVERAGED = "average_output"  # a word alone, of random forests
PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
PER_SPLIT = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
PER_TREE = ("num_leaves", "num_cat", "cat_boundaries", "cat_threshold", "is_linear", "shrinkage")
INTEGERS = (
    *("split_feature", "left_child", "right_child", "leaf_count", "internal_count"),
    *("num_leaves", "num_cat", "cat_boundaries", "is_linear"),
)
MAX_INTEGER = dict.fromkeys(INTEGERS, 2**31 - 1) | {"decision_type": 15, "cat_threshold": 2**32 - 1}
NEGATIVE = ("left_child", "right_child")  # a leaf
Lists = dict[str, list[Any]]
END, CATEGORIES = "end of trees", "pandas_categorical:"


def checked_text(text: str) -> str:
    """Return the text of a model without the options it was grown with.

    Refused is a line that LightGBM does not write, a list of another length than its tree declares,
    a child before its parent or beyond the leaves, and a split on a column that does not exist.
    """
    body, found, rest = text.partition(f"\n\n\n{END}\n")
    first, *blocks = body.split("\n\nTree=")
    if not found and blocks:
        raise ValueError("the text of LightGBM has no end of trees")
    header = _checked_header(first.partition(f"\n\n{END}\n")[0], len(blocks))
    trees = []
    for i, block in enumerate(blocks):
        stored = _lines(block.partition("\n")[2])
        lists = {name: _numbers(name, numbers) for name, numbers in stored.items()}
        _check_tree(lists, int(header["max_feature_idx"]))
        written = "\n".join(f"{name}={' '.join(map(repr, lists[name]))}" for name in lists)
        trees.append(f"Tree={i}\n{written}\n\n\n")
    lines = ["tree", *(f"{name}={value}" if value else name for name, value in header.items())]
    lines.append(f"tree_sizes={' '.join(str(len(tree)) for tree in trees)}")
    known = [line for line in (rest or text).split("\n") if line.startswith(CATEGORIES)]
    categories = [_checked_categories(line) for line in known[-1:]]
    return "\n".join([*lines, "", "".join(trees) + END, "", *categories, ""])


def _checked_categories(line: str) -> str:
    """Return the line of pandas' categories: lists of plain values, or null."""
    if len(line) > MAX_CATEGORIES_TEXT:
        raise ValueError(f"the categories of a text of LightGBM have {len(line):,} characters")
    found = json.loads(line.removeprefix(CATEGORIES))
    plain = found is None or (
        isinstance(found, list)
        and all(isinstance(each, list) for each in found)
        and not any(isinstance(value, list | dict) for each in found for value in each)
    )
    if not plain:
        raise ValueError("the categories of a text of LightGBM are no lists of values")
    return f"{CATEGORIES}{json.dumps(found)}"


def _checked_header(text: str, n_trees: int) -> dict[str, str]:
    header = _lines(text)
    header.pop("tree", None)
    header.pop("tree_sizes", None)
    for name, value in header.items():
        known = not value if name == AVERAGED else name in HEADER and HEADER[name].fullmatch(value)
        if not known:
            raise ValueError(f"no model of LightGBM has {name[:40]}={value[:40]!r}")
    width, classes = int(header["num_tree_per_iteration"]), int(header["num_class"])
    meant = re.search(r"num_class:(\S+)", header.get("objective", ""))
    if missing := [name for name in REQUIRED if name not in header]:
        raise ValueError(f"a text of LightGBM has no {missing[0]}")
    if not 1 <= width == classes <= max(n_trees, 1) or (meant and meant[1] != str(classes)):
        raise ValueError(f"{n_trees} trees of LightGBM are not {width} for each step")
    objective, *options = header.get("objective", "none").split(" ")
    given = {key: value for key, _, value in (option.partition(":") for option in options)}
    # without the numbers that it needs LightGBM would print an error
    if objective.startswith("multiclass") and "num_class" not in given:
        raise ValueError("an objective of LightGBM has no number of classes")
    if objective in WITH_SIGMOID and not float(given.get("sigmoid") or 0) > 0:
        raise ValueError("an objective of LightGBM has no slope above zero")
    n = int(header["max_feature_idx"]) + 1
    if any(len(header[name].split(" ")) != n for name in PER_COLUMN if name in header):
        raise ValueError(f"a list of LightGBM's columns does not have {n}")
    # not needed to predict, and LightGBM parses them without a check
    return header | {"feature_infos": " ".join(["none"] * n)}


def _lines(block: str) -> dict[str, str]:
    lines = (line.partition("=") for line in block.split("\n"))
    return {name: value for name, _, value in lines if name}


def _numbers(name: str, text: str) -> list[Any]:
    """Return the numbers of a line of a tree, integers within LightGBM's types."""
    words = text.split(" ") if text else []
    if words and not words[-1]:  # LightGBM ends some lists by a space
        words.pop()
    is_valid = IS_INTEGER if name in MAX_INTEGER else IS_NUMBER
    if name not in PER_LEAF + PER_SPLIT + PER_TREE or not all(map(is_valid, words)):
        raise ValueError(f"no tree of LightGBM has {name[:40]}={text[:40]!r}")
    if name not in MAX_INTEGER:
        return [float(word) for word in words]
    numbers, most = [int(word) for word in words], MAX_INTEGER[name]
    if not all((-most if name in NEGATIVE else 0) <= number <= most for number in numbers):
        raise ValueError(f"no tree of LightGBM has {name}={text[:40]!r}")
    return numbers


def _check_tree(lists: Lists, last_column: int) -> None:
    (n,), (n_categorical,) = lists["num_leaves"], lists["num_cat"]
    columns, kinds, left, right = (
        _integers(lists, name, n - 1)
        for name in ("split_feature", "decision_type", "left_child", "right_child")
    )
    children, parents = np.stack([left, right]), np.arange(len(left))
    is_inside = np.where(children < 0, ~children < n, (children > parents) & (children < n - 1))
    bounds = _integers(lists, "cat_boundaries", n_categorical + 1 if n_categorical else 0)
    _integers(lists, "cat_threshold", int(bounds[-1]) if n_categorical else 0)
    cuts = np.array(lists.get("threshold", []), dtype=float)
    lengths = dict.fromkeys(PER_LEAF, n) | dict.fromkeys(PER_SPLIT, n - 1)
    # in a tree of one leaf some lists are empty
    empty = {name for name in lengths if n == 1 and not lists.get(name)}
    fits = (
        n >= 1
        and lists.get("is_linear", [0]) == [0]
        and len(lists.get("shrinkage", [1.0])) == 1
        and len(cuts) == n - 1
        and len(lists["leaf_value"]) == n
        and all(len(lists[k]) == lengths[k] for k in lengths.keys() & lists.keys() - empty)
        and bool(is_inside.all())
        and bool((columns <= last_column).all())
        and bool((np.diff(bounds, prepend=0) >= 0).all())
        and bool(((cuts >= 0) & (cuts < n_categorical))[kinds & 1 == 1].all())
    )
    if not fits:
        raise ValueError("a tree of LightGBM has a length, a child or a column out of range")


def _integers(lists: Lists, name: str, n: int) -> NDArray[np.int64]:
    numbers = np.array(lists.get(name, []), dtype=np.int64)
    if len(numbers) != n:
        raise ValueError(f"a tree of LightGBM has {len(numbers)} of {name}, not {n}")
    return numbers


WORD = re.compile(r"[a-z0-9_]{1,40}", re.ASCII)
# beside its parameters, the attributes that a fitted estimator has
FITTED = (
    *("_Booster", "_best_iteration", "_best_score", "_class_map", "_class_weight", "_classes"),
    *("_evals_result", "_fitted_with_feature_names", "_le", "_n_classes", "_n_features"),
    *("_n_features_in", "_objective", "_other_params", "_sklearn_output_config", "fitted_"),
)
# LightGBM is given the parameters for every prediction; these only say how trees are grown
GROWING = (
    *("alpha", "bagging_fraction", "bagging_freq", "bagging_seed", "boost_from_average"),
    *("cat_l2", "cat_smooth", "deterministic", "drop_rate", "extra_trees", "feature_fraction"),
    *("feature_fraction_bynode", "feature_fraction_seed", "force_col_wise", "force_row_wise"),
    *("is_unbalance", "lambda_l1", "lambda_l2", "linear_lambda", "max_bin", "max_cat_threshold"),
    *("metric", "min_data_in_bin", "min_data_in_leaf", "min_data_per_group", "path_smooth"),
    *("scale_pos_weight", "seed", "verbose", "verbosity"),
)


def _is_booster(value: Any) -> bool:
    """Whether this is a booster of LightGBM; if so, it has been imported already."""
    lightgbm = sys.modules.get("lightgbm")
    return lightgbm is not None and type(value) is lightgbm.Booster


def check_lightgbm(model: Any) -> None:
    """Refuse an estimator with other classes or columns than its booster, or odd parameters.

    LightGBM reads parameters as one text: each has to be a plain number or word.
    """
    state, parameters = vars(model), _parameters(type(model).__name__)
    others = state.get("_other_params", {})
    if type(others) is not dict or others.keys() - {*GROWING, *parameters}:
        raise ValueError(f"a model of LightGBM has the parameters {shown(others)}: do not use it")
    if unknown := state.keys() - {*parameters, *others, *FITTED}:
        raise ValueError(f"a model of LightGBM has {shown(min(unknown))}: do not use it")
    given = {name: state.get(name) for name in (*parameters, "_objective")} | others
    for name, value in given.items():
        is_word = isinstance(value, str) and WORD.fullmatch(value) is not None
        is_plain = value is None or type(value) in (bool, int, float) or is_word
        if name not in ("class_weight", "random_state") and not is_plain:
            raise ValueError(f"a model of LightGBM has {name}={shown(value)}: do not use it")
    if type(given["n_jobs"]) not in (type(None), int):
        raise ValueError("the n_jobs of a model of LightGBM is no number: do not use it")
    if type(given["random_state"]) not in (type(None), int, np.random.RandomState):
        raise ValueError("the random_state of a model of LightGBM is no seed: do not use it")
    booster, classes = state.get("_Booster"), state.get("_classes")
    if booster is None:
        return
    if not _is_booster(booster):
        raise ValueError("a model of LightGBM has no booster of it: do not use it")
    n, n_classes = booster.num_feature(), -1 if classes is None else len(classes)
    if (
        (state.get("_n_features"), state.get("_n_features_in")) != (n, n)
        or state.get("_n_classes") != n_classes
        or (n_classes > 2 and booster.num_model_per_iteration() != n_classes)
    ):
        raise ValueError("a model of LightGBM has other sizes than its booster: do not use it")


@cache
def _parameters(name: str) -> tuple[str, ...]:
    import lightgbm

    return tuple(getattr(lightgbm, name)().get_params())


def _encode_booster(booster: Any, encoder: Encoder) -> list[Any]:
    encoder.packages.add("lightgbm")
    name = f"lightgbm/{len(encoder.texts)}.txt"
    encoder.texts[name] = checked_text(booster.model_to_string(num_iteration=-1)).encode()
    return [name, booster.best_iteration]


def _decode_booster(content: Any, decoder: Decoder) -> Any:
    import lightgbm

    name, best = content
    if name in decoder.cache:
        raise ValueError("two models of LightGBM share one text: do not use it")
    decoder.cache[name] = None
    booster = lightgbm.Booster(model_str=checked_text(decoder.parts[name].decode()))
    if type(best) is not int or not -1 <= best <= booster.num_trees():
        raise ValueError(f"a model of LightGBM has no step {shown(best)}")
    booster.best_iteration = best
    return booster


CODECS = (Codec("lightgbm", _is_booster, _encode_booster, _decode_booster),)
