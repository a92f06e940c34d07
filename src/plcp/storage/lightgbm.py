"""The text that LightGBM keeps a model in, read with care: its own reader follows any text.

A number of trees, a size or an option that is not what it must be sends LightGBM to memory that is
not its own, and what it refuses itself it also prints, past all loggers. What is no number to it,
such as a digit of another script, ends the process: it reads lists in threads, whose errors cannot
be caught. So every number is parsed here, and LightGBM is given a text that is written from them.
"""

import json
import re
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp._options import shown
from plcp.storage.kinds import Kind
from plcp.storage.reader import Reader
from plcp.storage.writer import Writer

# infinities and gaps are written as words; without re.ASCII \d is any script's digit
A_NUMBER = r"[-+]?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?(?:e[-+]?[0-9]{1,3})?|inf|nan)"
A_COUNT = re.compile(r"[0-9]{1,6}")
IS_NUMBER, IS_WHOLE = (re.compile(each).fullmatch for each in (A_NUMBER, r"-?[0-9]{1,10}"))
MOST_CATEGORIES_TEXT = 2**24  # characters of the JSON that names categories
OBJECTIVES = (
    *("binary", "cross_entropy", "cross_entropy_lambda", "custom", "fair", "gamma", "huber"),
    *("lambdarank", "mape", "multiclass", "multiclassova", "none", "poisson", "quantile"),
    *("rank_xendcg", "regression", "regression_l1", "tweedie"),
)
STEEP = ("binary", "multiclassova")  # probabilities by a sigmoid, which has a slope
HEAD = {
    "version": re.compile(r"v[0-9]{1,2}"),
    "num_class": A_COUNT,
    "num_tree_per_iteration": A_COUNT,
    "label_index": A_COUNT,
    "max_feature_idx": re.compile(r"[0-9]{1,8}"),
    "objective": re.compile(rf"(?:{'|'.join(OBJECTIVES)})(?: [a-z_]+(?::{A_NUMBER})?)*"),
    "feature_names": re.compile(r"[^\s\x00-\x1f\x7f]+(?: [^\s\x00-\x1f\x7f]+)*"),
    "monotone_constraints": re.compile(r"-?[01](?: -?[01])*"),
    "feature_infos": re.compile(r"\S+(?: \S+)*"),
}
NEEDED = ("label_index", "feature_names", "feature_infos")  # beside those that are counted
A_COLUMN = ("feature_names", "monotone_constraints", "feature_infos")  # one each
AVERAGED = "average_output"  # a word alone, of random forests
A_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
A_SPLIT = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
A_TREE = ("num_leaves", "num_cat", "cat_boundaries", "cat_threshold", "is_linear", "shrinkage")
WHOLE = (  # the largest that LightGBM has room for
    *("split_feature", "left_child", "right_child", "leaf_count", "internal_count"),
    *("num_leaves", "num_cat", "cat_boundaries", "is_linear"),
)
MOST_WHOLE = dict.fromkeys(WHOLE, 2**31 - 1) | {"decision_type": 15, "cat_threshold": 2**32 - 1}
NEGATIVE = ("left_child", "right_child")  # a leaf
Lists = dict[str, list[Any]]
END, CATEGORIES = "end of trees", "pandas_categorical:"


def sound_text(text: str) -> str:
    """Return the text of a model without what only tells how it was grown.

    Raises
    ------
    ValueError
        Where a line is none that LightGBM writes, a list of numbers has another length than its
        tree says, a child lies before its parent or beyond the leaves, or a column is asked about
        that there is none of.
    """
    body, found, rest = text.partition(f"\n\n\n{END}\n")
    first, *blocks = body.split("\n\nTree=")
    if not found and blocks:
        raise ValueError("the text of LightGBM has no end of trees")
    head = _checked_head(first.partition(f"\n\n{END}\n")[0], len(blocks))
    most = int(head["max_feature_idx"])
    trees = [_sound_tree(i, block, most) for i, block in enumerate(blocks)]
    lines = ["tree", *(f"{name}={value}" if value else name for name, value in head.items())]
    lines.append(f"tree_sizes={' '.join(str(len(tree)) for tree in trees)}")
    known = [line for line in (rest or text).split("\n") if line.startswith(CATEGORIES)]
    categories = [_sound_categories(line) for line in known[-1:]]
    return "\n".join([*lines, "", "".join(trees) + END, "", *categories, ""])


def _sound_categories(line: str) -> str:
    """Return the line of pandas' categories: lists of plain values, or null."""
    if len(line) > MOST_CATEGORIES_TEXT:
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


def _checked_head(text: str, n_trees: int) -> dict[str, str]:
    told = _told(text)
    told.pop("tree", None)
    told.pop("tree_sizes", None)
    for name, value in told.items():
        known = not value if name == AVERAGED else name in HEAD and HEAD[name].fullmatch(value)
        if not known:
            raise ValueError(f"no model of LightGBM has {name[:40]}={value[:40]!r}")
    width, classes = int(told["num_tree_per_iteration"]), int(told["num_class"])
    meant = re.search(r"num_class:(\S+)", told.get("objective", ""))
    if missing := [name for name in NEEDED if name not in told]:
        raise ValueError(f"a text of LightGBM has no {missing[0]}")
    if not 1 <= width == classes <= max(n_trees, 1) or (meant and meant[1] != str(classes)):
        raise ValueError(f"{n_trees} trees of LightGBM are not {width} for each step")
    _check_objective(told.get("objective", "none"))
    n = int(told["max_feature_idx"]) + 1
    if any(len(told[name].split(" ")) != n for name in A_COLUMN if name in told):
        raise ValueError(f"a list of LightGBM's columns does not have {n}")
    # not needed to predict, and LightGBM's JSON takes them apart without a check
    return told | {"feature_infos": " ".join(["none"] * n)}


def _check_objective(text: str) -> None:
    """Refuse an objective without the numbers that it needs: LightGBM would complain aloud."""
    name, *options = text.split(" ")
    told = {key: value for key, _, value in (option.partition(":") for option in options)}
    if name.startswith("multiclass") and "num_class" not in told:
        raise ValueError("an objective of LightGBM does not say how many classes it has")
    if name in STEEP and not float(told.get("sigmoid") or 0) > 0:
        raise ValueError("an objective of LightGBM has no slope above zero")


def _told(block: str) -> dict[str, str]:
    lines = (line.partition("=") for line in block.split("\n"))
    return {name: value for name, _, value in lines if name}


def _sound_tree(number: int, block: str, most: int) -> str:
    told = {name: _numbers(name, text) for name, text in _told(block.partition("\n")[2]).items()}
    _check_tree(told, most)
    lines = "\n".join(f"{name}={' '.join(map(repr, told[name]))}" for name in told)
    return f"Tree={number}\n{lines}\n\n\n"


def _numbers(name: str, text: str) -> list[Any]:
    """Return the numbers of a line of a tree, whole ones within what LightGBM has room for."""
    words = text.split(" ") if text else []
    if words and not words[-1]:  # LightGBM ends some lists by a space
        words.pop()
    is_one = IS_WHOLE if name in MOST_WHOLE else IS_NUMBER
    if name not in A_LEAF + A_SPLIT + A_TREE or not all(map(is_one, words)):
        raise ValueError(f"no tree of LightGBM has {name[:40]}={text[:40]!r}")
    if name not in MOST_WHOLE:
        return [float(word) for word in words]
    numbers, most = [int(word) for word in words], MOST_WHOLE[name]
    if not all((-most if name in NEGATIVE else 0) <= number <= most for number in numbers):
        raise ValueError(f"no tree of LightGBM has {name}={text[:40]!r}")
    return numbers


def _check_tree(told: Lists, most: int) -> None:
    (n,), (n_categorical,) = told["num_leaves"], told["num_cat"]
    columns, kinds, left, right = (
        _whole(told, name, n - 1)
        for name in ("split_feature", "decision_type", "left_child", "right_child")
    )
    children, parents = np.stack([left, right]), np.arange(len(left))
    leads_on = np.where(children < 0, ~children < n, (children > parents) & (children < n - 1))
    bounds = _whole(told, "cat_boundaries", n_categorical + 1 if n_categorical else 0)
    _whole(told, "cat_threshold", int(bounds[-1]) if n_categorical else 0)
    cuts = np.array(told.get("threshold", []), dtype=float)
    lengths = dict.fromkeys(A_LEAF, n) | dict.fromkeys(A_SPLIT, n - 1)
    # a tree of one leaf leaves some lists empty
    bare = {name for name in lengths if n == 1 and not told.get(name)}
    fits = (
        n >= 1
        and told.get("is_linear", [0]) == [0]
        and len(told.get("shrinkage", [1.0])) == 1
        and len(cuts) == n - 1
        and len(told["leaf_value"]) == n
        and all(len(told[k]) == lengths[k] for k in lengths.keys() & told.keys() - bare)
        and bool(leads_on.all())
        and bool((columns <= most).all())
        and bool((np.diff(bounds, prepend=0) >= 0).all())
        and bool(((cuts >= 0) & (cuts < n_categorical))[kinds & 1 == 1].all())
    )
    if not fits:
        raise ValueError("a tree of LightGBM leads nowhere")


def _whole(told: Lists, name: str, n: int) -> NDArray[np.int64]:
    numbers = np.array(told.get(name, []), dtype=np.int64)
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
# LightGBM is given the parameters for every prediction; these tell it nothing but how to grow
OTHER = (
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


def check_light(model: Any) -> None:
    """Refuse an estimator of LightGBM whose attributes do not go together.

    Raises
    ------
    ValueError
        Where it has other classes or columns than its booster, or a parameter that is no plain
        number or word: LightGBM reads parameters as one text.
    """
    state, parameters = vars(model), _parameters(type(model).__name__)
    others = state.get("_other_params", {})
    if type(others) is not dict or others.keys() - {*OTHER, *parameters}:
        raise ValueError(f"a model of LightGBM has the parameters {shown(others)}: do not use it")
    if strange := state.keys() - {*parameters, *others, *FITTED}:
        raise ValueError(f"a model of LightGBM has {shown(min(strange))}: do not use it")
    told = {name: state.get(name) for name in (*parameters, "_objective")} | others
    for name, value in told.items():
        if name not in ("class_weight", "random_state") and not _is_plain(value):
            raise ValueError(f"a model of LightGBM has {name}={shown(value)}: do not use it")
    if type(told["n_jobs"]) not in (type(None), int):
        raise ValueError("the n_jobs of a model of LightGBM is no number: do not use it")
    if type(told["random_state"]) not in (type(None), int, np.random.RandomState):
        raise ValueError("the random_state of a model of LightGBM is no seed: do not use it")
    booster = state.get("_Booster")
    if booster is not None:
        _check_sizes(state, booster)


@cache
def _parameters(name: str) -> tuple[str, ...]:
    import lightgbm

    return tuple(getattr(lightgbm, name)().get_params())


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return WORD.fullmatch(value) is not None
    return value is None or type(value) in (bool, int, float)


def _check_sizes(state: dict[str, Any], booster: Any) -> None:
    if not _is_booster(booster):
        raise ValueError("a model of LightGBM has no booster of it: do not use it")
    n, classes = booster.num_feature(), state.get("_classes")
    n_classes = -1 if classes is None else len(classes)
    width = booster.num_model_per_iteration()
    if (
        (state.get("_n_features"), state.get("_n_features_in")) != (n, n)
        or state.get("_n_classes") != n_classes
        or (n_classes > 2 and width != n_classes)
    ):
        raise ValueError("a model of LightGBM has other sizes than its booster: do not use it")


def _dump_booster(booster: Any, writer: Writer) -> list[Any]:
    writer.packages.add("lightgbm")
    name = f"lightgbm/{len(writer.texts)}.txt"
    writer.texts[name] = sound_text(booster.model_to_string(num_iteration=-1)).encode()
    return [name, booster.best_iteration]


def _load_booster(content: Any, reader: Reader) -> Any:
    import lightgbm

    name, best = content
    if name in reader.cache:
        raise ValueError("two models of LightGBM share one text: do not use it")
    reader.cache[name] = None
    booster = lightgbm.Booster(model_str=sound_text(reader.parts[name].decode()))
    if type(best) is not int or not -1 <= best <= booster.num_trees():
        raise ValueError(f"a model of LightGBM has no step {shown(best)}")
    booster.best_iteration = best
    return booster


KINDS = (Kind("lightgbm", _is_booster, _dump_booster, _load_booster),)
