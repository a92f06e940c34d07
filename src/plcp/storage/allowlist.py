"""The classes and functions that a file may name: those listed here, and those that are trusted.

Nothing else is imported or called. A partial or a universal function of numpy is code of the file's
author: ``partial(np.add, a, b)`` would write into the rows that it is given.
"""

import sys
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from plcp._options import shown
from plcp.storage.codec import Codec, Decoder, Encoder

NAMES_BY_MODULE = {
    "lightgbm.sklearn": "LGBMClassifier LGBMRegressor",
    "plcp.conformal": "ConformalClassifier ConformalRegressor",
    "plcp.groups.features": "GroupProbabilities",
    "plcp.groups.groups": "Groups _Block",
    "plcp.groups.shifts": "KernelProgram KernelShifts",
    "plcp.kernels": "BoxKernel GaussianKernel MultinomialKernel Space",
    "plcp.models": "MeanScalePair QuantilePair",
    "plcp.partitions.classifier": "ClassifierPartition",
    "plcp.partitions.crossfit": "CrossFittedPartition",
    "plcp.partitions.ordered": "OrderedPartition",
    "plcp.partitions.softmax": "SoftmaxPartition",
    "plcp.partitions.torch.partition": "SoftmaxGroups TorchPartition",
    "plcp.partitions.torch.quantile": "TorchQuantile Scale",
    "plcp.partitions.torch.training": "Standardise",
    "plcp.partitions.tree": "TreePartition",
    "plcp.quantile_programs.kernel": "Position Tableau KernelSolution",
    "plcp.quantile_programs.path": "Track",
    "plcp.quantile_programs.vertex": "Program Vertex Span",
    "plcp.regressors.boosted": "ScaledQuantile",
    "plcp.regressors.colorful": "ColorfulQuantile",
    "plcp.regressors.crossfit": "CrossFitted",
    "plcp.regressors.encoding": "CategoryMeans TableEncoder without_rare",
    "plcp.regressors.linear": "LinearQuantile",
    "plcp.regressors.sparse": "SparseScale _Columns",
    "plcp.regressors.stacking": "StackedQuantile",
    "plcp.scores": (
        "CumulativeProbability LabelProbability AbsoluteResidual "
        "NormalizedResidual QuantileResidual SignedResidual"
    ),
    "plcp.tables.columns": "Feature LeftOut",
    "plcp.tables.model": "TabularModel",
    "plcp.tables.roles": "Roles",
    "plcp.thresholds.base": "DrawnRanks",
    "plcp.thresholds.batch_gcp": "BatchGCP",
    "plcp.thresholds.batch_mvp": "BatchMVP",
    "plcp.thresholds.conditional": "ConditionalCalibration",
    "plcp.thresholds.guarantees": "Guarantee Guarantees",
    "plcp.thresholds.labels": "LabelConditional",
    "plcp.thresholds.local": "LocalCP RLCP",
    "plcp.thresholds.mondrian": "Mondrian",
    "plcp.thresholds.plcp": "PLCP",
    "plcp.thresholds.posterior": "PosteriorConformal",
    "plcp.thresholds.rectified": "Rectified",
    "plcp.thresholds.split": "SplitConformal",
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "sklearn.compose._column_transformer": "ColumnTransformer make_column_selector",
    "sklearn.compose._target": "TransformedTargetRegressor",
    "sklearn.decomposition._pca": "PCA",
    "sklearn.dummy": "DummyRegressor",
    "sklearn.ensemble._bagging": "BaggingClassifier BaggingRegressor",
    "sklearn.ensemble._forest": (
        "ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor"
    ),
    "sklearn.ensemble._stacking": "StackingClassifier StackingRegressor",
    "sklearn.ensemble._voting": "VotingClassifier VotingRegressor",
    "sklearn.feature_selection._univariate_selection": "SelectKBest chi2 f_classif f_regression",
    "sklearn.frozen._frozen": "FrozenEstimator",
    "sklearn.impute._base": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.linear_model._base": "LinearRegression",
    "sklearn.linear_model._bayes": "BayesianRidge",
    "sklearn.linear_model._coordinate_descent": "ElasticNet ElasticNetCV Lasso LassoCV",
    "sklearn.linear_model._glm.glm": "GammaRegressor PoissonRegressor TweedieRegressor",
    "sklearn.linear_model._huber": "HuberRegressor",
    "sklearn.linear_model._logistic": "LogisticRegression LogisticRegressionCV",
    "sklearn.linear_model._quantile": "QuantileRegressor",
    "sklearn.linear_model._ridge": "Ridge RidgeClassifier RidgeCV",
    "sklearn.linear_model._stochastic_gradient": "SGDClassifier SGDRegressor",
    "sklearn.metrics._scorer": "_PassthroughScorer",
    "sklearn.model_selection._search": "GridSearchCV RandomizedSearchCV",
    "sklearn.model_selection._split": "KFold StratifiedKFold",
    "sklearn.naive_bayes": "GaussianNB",
    "sklearn.neural_network._multilayer_perceptron": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "Pipeline",
    "sklearn.preprocessing._data": "MaxAbsScaler MinMaxScaler RobustScaler StandardScaler",
    "sklearn.preprocessing._discretization": "KBinsDiscretizer",
    "sklearn.preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "sklearn.preprocessing._function_transformer": "FunctionTransformer",
    "sklearn.preprocessing._label": "LabelBinarizer LabelEncoder",
    "sklearn.svm._classes": "LinearSVC LinearSVR",
    "sklearn.tree._classes": (
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"
    ),
}
HOME_OF = {name: home for home, names in NAMES_BY_MODULE.items() for name in names.split()}
REMEDY = (
    "at the top of a module that both programs import, and name it in load(path, trusted=[...])"
)


def full_name(thing: Any) -> str:
    """Return module and name of a class or function."""
    if isinstance(thing, np.ufunc):  # has no module of its own
        home = "numpy" if getattr(np, thing.__name__, None) is thing else "scipy.special"
        return f"{home}.{thing.__name__}"
    return f"{thing.__module__}.{thing.__qualname__}"


def public_name(thing: Any) -> str:
    """Return the shortest name by which a class or function can be imported.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> full_name(SVC), public_name(SVC)
    ('sklearn.svm._classes.SVC', 'sklearn.svm.SVC')
    """
    home, _, name = full_name(thing).rpartition(".")
    parts = home.split(".")
    homes = (".".join(parts[:i]) for i in range(1, len(parts) + 1))
    found = (each for each in homes if getattr(sys.modules.get(each), name, None) is thing)
    return f"{next(found, home)}.{name}"


def is_importable(thing: Any) -> bool:
    """Whether a class or function is at the top of its module, under its own name."""
    module = sys.modules.get(str(getattr(thing, "__module__", None)))
    name = getattr(thing, "__qualname__", None)
    return isinstance(name, str) and getattr(module, name, None) is thing


def is_listed(thing: Any) -> bool:
    """Whether a class or function is one that every file may name."""
    return HOME_OF.get(getattr(thing, "__qualname__", "")) == getattr(thing, "__module__", None)


def stored_name(thing: Any) -> str:
    """Return the name of a class or function in files; one that is not listed has dots."""
    return str(thing.__qualname__) if is_listed(thing) else full_name(thing)


def find(name: Any, trusted: Any) -> Any:
    """Return the class or function of a name, if it is listed or trusted."""
    if isinstance(name, str) and name in HOME_OF:
        return getattr(import_module(HOME_OF[name]), name)
    return find_trusted(name, trusted)


def find_trusted(name: Any, trusted: Any) -> Any:
    """Return the class or function of ``trusted`` that has this name."""
    for thing in trusted:
        # what a script defined has another module in every other program
        full = full_name(thing)
        if name in (full, f"__main__.{getattr(thing, '__qualname__', full)}"):
            return thing
    short = str(name).rpartition(".")[2]
    raise ValueError(
        f"it names {shown(str(name))[1:-1]}, which plcp does not list: if you trust the author of "
        f"the file, import it and call load(path, trusted=[{shown(short)[1:-1]}])"
    )


def check_trusted(trusted: Any) -> None:
    """Refuse anything but a list of classes and functions."""
    is_list = isinstance(trusted, Iterable) and not isinstance(trusted, str | type)
    for thing in trusted if is_list else [None]:
        if not hasattr(thing, "__qualname__") and not isinstance(thing, np.ufunc):
            raise TypeError(
                "trusted must be a list of classes and functions, got "
                f"{shown(thing if is_list else trusted)}: import them, as in load(path, "
                "trusted=[MyScore])"
            )


def _encode_function(function: Any, encoder: Encoder) -> str:
    if not isinstance(function, np.ufunc) and not is_importable(function):
        raise encoder.refusal(function, f"define it by def {REMEDY}")
    if isinstance(function, type) or not is_listed(function):
        encoder.needs_trust(function)
    return stored_name(function)


def _decode_function(name: Any, decoder: Decoder) -> Any:
    function = find(name, decoder.trusted)
    # a class in place of a function would be made of the rows that the function is for
    return find_trusted(name, decoder.trusted) if isinstance(function, type) else function


def _encode_partial(value: Any, encoder: Encoder) -> list[Any]:
    encoder.needs_trust(partial)
    steps = ((value.func, ".func"), (value.args, ""), (value.keywords, ""))
    return [encoder.value(part, step) for part, step in steps]


def _decode_partial(content: Any, decoder: Decoder) -> Any:
    function, arguments, keywords = (decoder.value(part) for part in content)
    return find_trusted("functools.partial", decoder.trusted)(function, *arguments, **keywords)


CODECS = (
    Codec("partial", lambda v: type(v) is partial, _encode_partial, _decode_partial),
    Codec(
        "function",
        lambda v: isinstance(v, FunctionType | BuiltinFunctionType | np.ufunc | type),
        _encode_function,
        _decode_function,
    ),
)
