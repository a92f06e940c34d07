"""Checks that the attributes of a listed estimator fit each other, before it predicts.

Its methods trust what `fit` has set: an index out of bounds leads compiled code out of memory that
is its own, and a size fills memory. Each class that a file may name without being trusted has its
check here, or holds nothing but objects that have one.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
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
    state = vars(value)
    wrong = _common(state)
    learned, check = CHECKS.get(cls.__name__, ("", None))
    if not wrong and check is not None and learned in state:
        try:
            wrong = check(state)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            wrong = f"{type(error).__name__}: {error}"
    if wrong:
        raise ValueError(
            f"the attributes of a {cls.__name__} do not fit each other ({wrong}): do not use it"
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
    voting = state.get("voting", "soft")
    if type(voting) is not str or voting != "soft":
        return "voting counts up to the largest label, which may be any"
    return ""


def _is_array(value: Any, ndim: int) -> bool:
    return type(value) is np.ndarray and value.ndim == ndim


def _is_real(value: Any, shape: tuple[int, ...]) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biuf" and value.shape == shape


def _indexes(places: Any, n: int) -> bool:
    """Whether these are places among so many."""
    return (
        _is_array(places, 1)
        and places.dtype.kind in "iu"
        and bool(((places >= 0) & (places < n)).all())
    )


def _wrong_shape(state: State, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return which attribute is no array of real numbers of its shape, if any."""
    wrong = (name for name, shape in shapes.items() if not _is_real(state[name], shape))
    return next((f"{name} has another shape" for name in wrong), "")


def _linear(state: State) -> str:
    n, coef, intercept = state["n_features_in_"], state["coef_"], np.asarray(state["intercept_"])
    k = len(coef) if _is_array(coef, 2) else 1
    if not _is_real(coef, (k, n) if np.ndim(coef) == 2 else (n,)):
        return "coef_ has another shape"
    if intercept.dtype.kind not in "biuf" or intercept.shape not in ((), (1,), (k,)):
        return "intercept_ has another shape"
    if "classes_" in state and len(state["classes_"]) != (k if k > 1 else 2):
        return "classes_ has another length"
    return ""


def _scaler(state: State) -> str:
    """All fitted arrays have one number per column."""
    n, others = state["n_features_in_"], ("feature_names_in_", "n_features_in_", "n_samples_seen_")
    fitted = [name for name in state if name.endswith("_") and name not in others]
    return _wrong_shape(state, {name: (n,) for name in fitted if state[name] is not None})


def _ordinal(state: State) -> str:
    """Each column has its categories, and numbers lie in order, as they are searched."""
    found = state["categories_"]
    fits = (
        type(found) is list
        and len(found) == state["n_features_in_"]
        and all(_is_array(each, 1) and len(each) and _is_in_order(each) for each in found)
    )
    return "" if fits else "categories_ are not in order"


def _is_in_order(values: Any) -> bool:
    if values.dtype.kind in "OUS":
        return True
    if values.dtype.kind in "mM":
        values = values.view(np.int64)
    is_missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    known = values[~is_missing]
    return bool((known[1:] > known[:-1]).all()) and not is_missing[:-1].any()


def _one_hot(state: State) -> str:
    """Return what is wrong with its columns: it fills a sparse array by their numbers."""
    if wrong := _ordinal(state):
        return wrong
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


def _bins(state: State) -> str:
    n, edges = state["n_features_in_"], state["bin_edges_"]
    if not _is_array(edges, 1) or len(edges) != n or not _indexes(state["n_bins_"], 2**16):
        return "bin_edges_ has another shape"
    fits = all(_is_real(e, (b + 1,)) for e, b in zip(edges, state["n_bins_"], strict=True))
    return "" if fits else "n_bins_ are others"


def _imputer(state: State) -> str:
    found = state["statistics_"]  # of text too
    fits = _is_array(found, 1) and len(found) == state["n_features_in_"]
    return "" if fits else "statistics_ has another shape"


def _indicator(state: State) -> str:
    return "" if _indexes(state["features_"], state["_n_features"]) else "features_ is out of range"


def _pca(state: State) -> str:
    n, k = state["n_features_in_"], len(state["components_"])
    shapes = {"components_": (k, n), "mean_": (n,), "explained_variance_": (k,)}
    return _wrong_shape(state, shapes)


def _naive_bayes(state: State) -> str:
    n, k = state["n_features_in_"], len(state["classes_"])
    return _wrong_shape(state, {"theta_": (k, n), "var_": (k, n), "class_prior_": (k,)})


def _network(state: State) -> str:
    """Return what is wrong with its layers; without any it would overwrite its rows."""
    coefs, intercepts, width = state["coefs_"], state["intercepts_"], state["n_features_in_"]
    if not 1 <= len(coefs) == len(intercepts) == state["n_layers_"] - 1:
        return "n_layers_ is another"
    for coef, intercept in zip(coefs, intercepts, strict=True):
        below, width = width, len(intercept)
        if not _is_real(coef, (below, width)) or not _is_real(intercept, (width,)):
            return "coefs_ do not follow each other"
    known = {state["activation"], state["out_activation_"]} <= ACTIVATIONS.keys()
    return "" if known and state["n_outputs_"] == width else "n_outputs_ is another"


def _isotonic(state: State) -> str:
    n = len(state["X_thresholds_"])
    return _wrong_shape(state, {"X_thresholds_": (n,), "y_thresholds_": (n,)}) if n else "no steps"


def _bagging(state: State) -> str:
    features = state["estimators_features_"]
    if "classes_" in state and state["n_classes_"] != len(state["classes_"]):
        return "n_classes_ is another"
    if len(features) != len(state["estimators_"]):
        return "estimators_features_ has another length"
    fits = all(_indexes(np.asarray(each), state["n_features_in_"]) for each in features)
    return "" if fits else "estimators_features_ is out of range"


def _stacking(state: State) -> str:
    methods = state["stack_method_"]
    known = type(methods) is list and all(each in METHODS for each in methods)
    return "" if known else "stack_method_ has other names"


def _forest(member_class: type[Any], state: State) -> str:
    """Return what is wrong with its trees, for which it checks the rows."""
    members = state["estimators_"]
    if type(members) is not list or not members:
        return "it has no trees"
    for member in members:
        own = vars(member)
        if type(member) is not member_class or own["n_features_in_"] != state["n_features_in_"]:
            return "a tree is for other columns"
        for key in ("n_outputs_", "n_classes_"):
            if (key in own) != (key in state):
                return f"{key} is missing"
            if key in own and not np.array_equal(own[key], state[key]):
                return f"{key} is another than that of a tree"
    return ""


# by class: an attribute that `fit` sets, and what is wrong with an object that has it
CHECKS: dict[str, tuple[str, Callable[[State], str]]] = {
    **dict.fromkeys(LINEAR, ("coef_", _linear)),
    **dict.fromkeys(SCALERS, ("n_features_in_", _scaler)),
    **{name: ("estimators_", partial(_forest, cls)) for name, cls in MEMBERS.items()},
    "BaggingClassifier": ("estimators_", _bagging),
    "BaggingRegressor": ("estimators_", _bagging),
    "DummyRegressor": (
        "constant_",
        lambda state: _wrong_shape(state, {"constant_": (1, state["n_outputs_"])}),
    ),
    "GaussianNB": ("theta_", _naive_bayes),
    "IsotonicRegression": ("X_thresholds_", _isotonic),
    "KBinsDiscretizer": ("bin_edges_", _bins),
    "MissingIndicator": ("features_", _indicator),
    "MLPClassifier": ("coefs_", _network),
    "MLPRegressor": ("coefs_", _network),
    "OneHotEncoder": ("categories_", _one_hot),
    "OrdinalEncoder": ("categories_", _ordinal),
    "PCA": ("components_", _pca),
    "SelectKBest": (
        "scores_",
        lambda state: _wrong_shape(state, {"scores_": (state["n_features_in_"],)}),
    ),
    "SimpleImputer": ("statistics_", _imputer),
    "StackingClassifier": ("stack_method_", _stacking),
    "StackingRegressor": ("stack_method_", _stacking),
}
