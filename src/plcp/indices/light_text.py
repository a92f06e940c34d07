"""The text that LightGBM keeps a model in, read with care: its own reader follows any text.

A number of trees, a size or an option that is not what it must be sends LightGBM to memory that is
not its own, and what it refuses itself it also prints, past all loggers. So it is given a text that
was put together here, of what was looked at.
"""

import re

import numpy as np
from numpy.typing import NDArray

# Infinities and gaps are written as words. What is no number ends the process: LightGBM reads
# lists in threads, whose errors nobody can catch.
A_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d{1,3})?|inf|nan)"
NUMBERS = re.compile(rf"(?:{A_NUMBER}(?: {A_NUMBER})*)? ?")
OBJECTIVES = (
    *("binary", "cross_entropy", "cross_entropy_lambda", "custom", "fair", "gamma", "huber"),
    *("lambdarank", "mape", "multiclass", "multiclassova", "none", "poisson", "quantile"),
    *("rank_xendcg", "regression", "regression_l1", "tweedie"),
)
STEEP = ("binary", "multiclassova")  # probabilities by a sigmoid, which has a slope
HEAD = {
    "version": re.compile(r"v\d{1,2}"),
    "num_class": re.compile(r"\d{1,6}"),
    "num_tree_per_iteration": re.compile(r"\d{1,6}"),
    "label_index": re.compile(r"\d{1,6}"),
    "max_feature_idx": re.compile(r"\d{1,9}"),
    "objective": re.compile(rf"(?:{'|'.join(OBJECTIVES)})( [a-z_]+(:{A_NUMBER})?)*"),
    "feature_names": re.compile(r"\S+( \S+)*"),
    "monotone_constraints": re.compile(r"-?[01]( -?[01])*"),
    "feature_infos": re.compile(r"\S+( \S+)*"),
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
    categories = [line for line in (rest or text).splitlines() if line.startswith(CATEGORIES)]
    return "\n".join([*lines, "", "".join(trees) + END, "", *categories[-1:], ""])


def _checked_head(text: str, n_trees: int) -> dict[str, str]:
    told = _told(text)
    told.pop("tree", None)
    told.pop("tree_sizes", None)
    for name, value in told.items():
        wrong = value if name == AVERAGED else not HEAD.get(name, NUMBERS).fullmatch(value)
        if wrong or (name not in HEAD and name != AVERAGED):
            raise ValueError(f"no model of LightGBM says {name}={value[:40]!r}")
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
    return told


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
    told = _told(block.partition("\n")[2])
    for name, value in told.items():
        if name not in A_LEAF + A_SPLIT + A_TREE or not NUMBERS.fullmatch(value):
            raise ValueError(f"no tree of LightGBM says {name}={value[:40]!r}")
    _check_tree(told, most)
    lines = "\n".join(f"{name}={value}" for name, value in told.items())
    return f"Tree={number}\n{lines}\n\n\n"


def _check_tree(told: dict[str, str], most: int) -> None:
    n = int(told["num_leaves"])
    n_categorical = int(told["num_cat"])
    columns, kinds, left, right = (
        _whole(told, name, n - 1)
        for name in ("split_feature", "decision_type", "left_child", "right_child")
    )
    children, parents = np.stack([left, right]), np.arange(len(left))
    leads_on = np.where(children < 0, ~children < n, (children > parents) & (children < n - 1))
    bounds = _whole(told, "cat_boundaries", n_categorical + 1 if n_categorical else 0)
    words = _whole(told, "cat_threshold", int(bounds[-1]) if n_categorical else 0)
    cuts = np.array(told.get("threshold", "").split(), dtype=float)
    lengths = dict.fromkeys(A_LEAF, n) | dict.fromkeys(A_SPLIT, n - 1)
    bare = {
        name for name in lengths if n == 1 and not told.get(name)
    }  # of a tree that asks nothing
    fits = (
        n >= 1
        and told.get("is_linear", "0") == "0"
        and len(cuts) == n - 1
        and len(told["leaf_value"].split()) == n
        and all(len(told[k].split()) == lengths[k] for k in lengths.keys() & told.keys() - bare)
        and bool(leads_on.all())
        and bool(((columns >= 0) & (columns <= most)).all())
        and bool((np.diff(bounds, prepend=0) >= 0).all())
        and bool((words >= 0).all())
        and bool(((cuts >= 0) & (cuts < n_categorical))[kinds & 1 == 1].all())
    )
    if not fits:
        raise ValueError("a tree of LightGBM leads nowhere")


def _whole(told: dict[str, str], name: str, n: int) -> NDArray[np.int64]:
    numbers = np.array(told.get(name, "").split(), dtype=np.int64)
    if len(numbers) != n:
        raise ValueError(f"a tree of LightGBM has {len(numbers)} of {name}, not {n}")
    return numbers
