"""Checks that the attributes of a listed estimator fit each other, before it predicts.

Its methods trust what `fit` has set: an index out of bounds leads compiled code out of memory that
is its own, and a size fills memory. Each class that a file may name without being trusted has its
check here, or holds nothing but objects that have one.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.neural_network._base import ACTIVATIONS
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from plcp.storage.lightgbm import check_lightgbm

State = Mapping[str, Any]
METHODS = ("predict", "predict_proba", "decision_function")
MEMBERS = {
    "ExtraTreesClassifier": ExtraTreeClassifier,
    "ExtraTreesRegressor": ExtraTreeRegressor,
    "RandomForestClassifier": DecisionTreeClassifier,
    "RandomForestRegressor": DecisionTreeRegressor,
}
LINEAR = (
    *("BayesianRidge", "ElasticNet", "ElasticNetCV", "GammaRegressor", "HuberRegressor", "Lasso"),
    *("LassoCV", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression"),
    *("LogisticRegressionCV", "PoissonRegressor", "QuantileRegressor", "Ridge", "RidgeClassifier"),
    *("RidgeCV", "SGDClassifier", "SGDRegressor", "TweedieRegressor"),
)
SCALERS = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler")
LOSSES = ("GammaRegressor", "PoissonRegressor", "TweedieRegressor")
# not stored: made again from the rest, or needed by fit alone
REMADE = {
    "IsotonicRegression": ("f_",),
    "MLPClassifier": ("_optimizer",),
    "MLPRegressor": ("_optimizer",),
    "SGDClassifier": ("_loss_function_",),
    **dict.fromkeys(LOSSES, ("_base_loss",)),
}


def check_estimator(value: Any) -> None:
    """Refuse an estimator of a listed class whose attributes do not fit each other."""
    cls = type(value)
    package = cls.__module__.partition(".")[0]
    if package == "lightgbm":
        check_lightgbm(value)
    if package != "sklearn":
        return
    name, state = cls.__name__, vars(value)
    wrong = _common(state)
    if not wrong and (check := CHECKS.get(name)) is not None:
        try:
            wrong = check(name, state)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            wrong = f"{type(error).__name__}: {error}"
    if wrong:
        raise ValueError(
            f"the attributes of a {name} do not fit each other ({wrong}): do not use it"
        )


def remade(value: Any) -> tuple[str, ...]:
    """Return the attributes of an estimator that are not stored."""
    cls = type(value)
    return REMADE.get(cls.__name__, ()) if cls.__module__.startswith("sklearn.") else ()


def complete(value: Any) -> None:
    """Make the attributes of an estimator that are not stored; limit n_jobs to the CPUs here."""
    cls = type(value)
    if not cls.__module__.startswith(("sklearn.", "lightgbm.")):
        return
    state = vars(value)
    for given in (state, state.get("_other_params", {})):  # LightGBM keeps them twice
        if type(given.get("n_jobs")) is int:
            given["n_jobs"] = min(given["n_jobs"], os.cpu_count() or 1)
    if cls.__name__ == "IsotonicRegression" and "X_thresholds_" in state:
        value._build_f(value.X_thresholds_, value.y_thresholds_)
    if cls.__name__ in LOSSES and "coef_" in state:
        value._base_loss = value._get_loss()


def _common(state: State) -> str:
    """Return what is wrong with attributes that many estimators have, if anything."""
    n = state.get("n_features_in_", 1)
    if type(n) is not int or n < 0:
        return "n_features_in_ is no number of columns"
    if "classes_" in state and "n_classes_" not in state and not _is_array(state["classes_"], 1):
        return "classes_ is no array"
    if state.get("n_jobs") is not None and type(state["n_jobs"]) is not int:
        return "n_jobs is no number"
    if state.get("copy", True) is not True:
        return "copy=False would overwrite the rows that it is given"
    if state.get("memory") is not None:
        return "memory= names files to read"
    return ""


def _is_array(value: Any, ndim: int) -> bool:
    return type(value) is np.ndarray and value.ndim == ndim


def _is_real(value: Any, shape: tuple[int, ...]) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biuf" and value.shape == shape


def _linear(name: str, state: State) -> str:
    if "coef_" not in state:
        return ""
    n, coef, intercept = state["n_features_in_"], state["coef_"], np.asarray(state["intercept_"])
    k = len(coef) if _is_array(coef, 2) else 1
    if not _is_real(coef, (k, n) if np.ndim(coef) == 2 else (n,)):
        return "coef_ has another shape"
    if intercept.dtype.kind not in "biuf" or intercept.shape not in ((), (1,), (k,)):
        return "intercept_ has another shape"
    if "classes_" in state and len(state["classes_"]) != (k if k > 1 else 2):
        return "classes_ has another length"
    return ""


def _scaler(name: str, state: State) -> str:
    """All fitted arrays have one number per column."""
    if "n_features_in_" not in state:
        return ""
    n, others = state["n_features_in_"], ("feature_names_in_", "n_features_in_", "n_samples_seen_")
    fitted = {key: each for key, each in state.items() if key.endswith("_") and key not in others}
    wrong = (key for key, each in fitted.items() if each is not None and not _is_real(each, (n,)))
    return next((f"{key} has another shape" for key in wrong), "")


def _categories(state: State) -> bool:
    """Whether each column has its categories, and numbers lie in order, as they are searched."""
    found = state["categories_"]
    return (
        type(found) is list
        and len(found) == state["n_features_in_"]
        and all(_is_array(each, 1) and len(each) and _is_in_order(each) for each in found)
    )


def _is_in_order(values: Any) -> bool:
    if values.dtype.kind in "OUS":
        return True
    if values.dtype.kind in "mM":
        values = values.view(np.int64)
    is_missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    known = values[~is_missing]
    return bool((known[1:] > known[:-1]).all()) and not is_missing[:-1].any()


def _ordinal(name: str, state: State) -> str:
    if "categories_" not in state:
        return ""
    return "" if _categories(state) else "categories_ are not in order"


def _one_hot(name: str, state: State) -> str:
    """Return what is wrong with its columns: it fills a sparse array by their numbers."""
    if wrong := _ordinal(name, state):
        return wrong
    if "categories_" not in state:
        return ""
    sizes = [len(each) for each in state["categories_"]]
    if state["_infrequent_enabled"]:
        for i, rare in enumerate(state["_infrequent_indices"]):
            mapping = state["_default_to_infrequent_mappings"][i]
            if (rare is None) != (mapping is None):
                return "_infrequent_indices has gaps"
            if rare is not None:
                before, sizes[i] = sizes[i], sizes[i] - len(rare) + 1
                if not _indexes(rare, before) or not _indexes(mapping, sizes[i]):
                    return "_default_to_infrequent_mappings is out of range"
                if len(mapping) != before:
                    return "_default_to_infrequent_mappings has another length"
    dropped = state["_drop_idx_after_grouping"]
    for i, place in enumerate([None] * len(sizes) if dropped is None else dropped):
        if place is not None:
            if not isinstance(place, int | np.integer) or not 0 <= place < sizes[i]:
                return "_drop_idx_after_grouping is out of range"
            sizes[i] -= 1
    if dropped is not None and not _is_array(dropped, 1):
        return "_drop_idx_after_grouping is no array"
    widths = state["_n_features_outs"]
    return "" if type(widths) is list and widths == sizes else "_n_features_outs are others"


def _indexes(places: Any, n: int) -> bool:
    """Whether these are places among so many."""
    return (
        _is_array(places, 1)
        and places.dtype.kind in "iu"
        and bool(((places >= 0) & (places < n)).all())
    )


def _bins(name: str, state: State) -> str:
    if "bin_edges_" not in state:
        return ""
    n, edges = state["n_features_in_"], state["bin_edges_"]
    if not _is_array(edges, 1) or len(edges) != n or not _indexes(state["n_bins_"], 2**16):
        return "bin_edges_ has another shape"
    fits = all(_is_real(e, (b + 1,)) for e, b in zip(edges, state["n_bins_"], strict=True))
    return "" if fits else "n_bins_ are others"


def _imputer(name: str, state: State) -> str:
    if "statistics_" not in state:
        return ""
    fits = (
        _is_array(state["statistics_"], 1) and len(state["statistics_"]) == state["n_features_in_"]
    )
    return "" if fits else "statistics_ has another shape"


def _indicator(name: str, state: State) -> str:
    if "features_" not in state:
        return ""
    return "" if _indexes(state["features_"], state["_n_features"]) else "features_ is out of range"


def _pca(name: str, state: State) -> str:
    if "components_" not in state:
        return ""
    n, k = state["n_features_in_"], len(state["components_"])
    shapes = {"components_": (k, n), "mean_": (n,), "explained_variance_": (k,)}
    return next(
        (f"{key} has another shape" for key in shapes if not _is_real(state[key], shapes[key])), ""
    )


def _normal(name: str, state: State) -> str:
    if "theta_" not in state:
        return ""
    n, k = state["n_features_in_"], len(state["classes_"])
    shapes = {"theta_": (k, n), "var_": (k, n), "class_prior_": (k,)}
    return next(
        (f"{key} has another shape" for key in shapes if not _is_real(state[key], shapes[key])), ""
    )


def _network(name: str, state: State) -> str:
    """Return what is wrong with its layers; without any it would overwrite its rows."""
    if "coefs_" not in state:
        return ""
    coefs, intercepts, width = state["coefs_"], state["intercepts_"], state["n_features_in_"]
    if not 1 <= len(coefs) == len(intercepts) == state["n_layers_"] - 1:
        return "n_layers_ is another"
    for coef, intercept in zip(coefs, intercepts, strict=True):
        below, width = width, len(intercept)
        if not _is_real(coef, (below, width)) or not _is_real(intercept, (width,)):
            return "coefs_ do not follow each other"
    known = {state["activation"], state["out_activation_"]} <= ACTIVATIONS.keys()
    return "" if known and state["n_outputs_"] == width else "n_outputs_ is another"


def _selection(name: str, state: State) -> str:
    fits = "scores_" not in state or _is_real(state["scores_"], (state["n_features_in_"],))
    return "" if fits else "scores_ has another shape"


def _constant(name: str, state: State) -> str:
    fits = "constant_" not in state or _is_real(state["constant_"], (1, state["n_outputs_"]))
    return "" if fits else "n_outputs_ is another"


def _curve(name: str, state: State) -> str:
    if "X_thresholds_" not in state:
        return ""
    X, y = state["X_thresholds_"], state["y_thresholds_"]
    fits = _is_array(X, 1) and len(X) and _is_real(X, X.shape) and _is_real(y, X.shape)
    return "" if fits else "X_thresholds_ has another shape"


def _bagging(name: str, state: State) -> str:
    if "estimators_" not in state:
        return ""
    features = state["estimators_features_"]
    if "classes_" in state and state["n_classes_"] != len(state["classes_"]):
        return "n_classes_ is another"
    if len(features) != len(state["estimators_"]):
        return "estimators_features_ has another length"
    fits = all(_indexes(np.asarray(each), state["n_features_in_"]) for each in features)
    return "" if fits else "estimators_features_ is out of range"


def _voting(name: str, state: State) -> str:
    # by hard votes it counts up to the largest label, which may be any
    return "" if state["voting"] == "soft" else "voting counts up to any label"


def _stacking(name: str, state: State) -> str:
    methods = state.get("stack_method_", [])
    known = type(methods) is list and all(each in METHODS for each in methods)
    return "" if known else "stack_method_ has other names"


def _forest(name: str, state: State) -> str:
    """Return what is wrong with its trees, for which it checks the rows."""
    if "estimators_" not in state:
        return ""
    members = state["estimators_"]
    if type(members) is not list or not members:
        return "it has no trees"
    for member in members:
        own = vars(member)
        if type(member) is not MEMBERS[name] or own["n_features_in_"] != state["n_features_in_"]:
            return "a tree is for other columns"
        for key in ("n_outputs_", "n_classes_"):
            if (key in own) != (key in state):
                return f"{key} is missing"
            if key in own and not np.array_equal(own[key], state[key]):
                return f"{key} is another than that of a tree"
    return ""


CHECKS: dict[str, Callable[[str, State], str]] = {
    **dict.fromkeys(LINEAR, _linear),
    **dict.fromkeys(SCALERS, _scaler),
    **dict.fromkeys(MEMBERS, _forest),
    "BaggingClassifier": _bagging,
    "BaggingRegressor": _bagging,
    "DummyRegressor": _constant,
    "GaussianNB": _normal,
    "IsotonicRegression": _curve,
    "KBinsDiscretizer": _bins,
    "MissingIndicator": _indicator,
    "MLPClassifier": _network,
    "MLPRegressor": _network,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "PCA": _pca,
    "SelectKBest": _selection,
    "SimpleImputer": _imputer,
    "StackingClassifier": _stacking,
    "StackingRegressor": _stacking,
    "VotingClassifier": _voting,
}
