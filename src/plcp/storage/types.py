"""The classes and functions that a file may name, and where they live: it can name no others."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from plcp._options import shown
from plcp.storage.names import full_name

_HOMES = {
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
    "plcp.thresholds.batch_gcp": "BatchGCP",
    "plcp.thresholds.batch_mvp": "BatchMVP",
    "plcp.thresholds.conditional": "ConditionalCalibration",
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
HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def is_known(thing: Any) -> bool:
    """Whether a class or function is one that every file may name."""
    return HOME_OF.get(getattr(thing, "__qualname__", "")) == getattr(thing, "__module__", None)


def name_of(thing: Any) -> str:
    """Return the name by which a file knows a class or function; a stranger's has dots."""
    return str(thing.__qualname__) if is_known(thing) else full_name(thing)


def found(name: Any, trusted: Any) -> Any:
    """Return the class or function of a name, if a file may name it.

    Nothing is imported but what the table above says; a stranger must be among the ``trusted``.
    """
    if isinstance(name, str) and name in HOME_OF:
        return getattr(import_module(HOME_OF[name]), name)
    return stranger(name, trusted)


def stranger(name: Any, trusted: Any) -> Any:
    """Return the one of the ``trusted`` that has this name."""
    for thing in trusted:
        # what a script defined has another module in every other program
        full = full_name(thing)
        if name in (full, f"__main__.{getattr(thing, '__qualname__', full)}"):
            return thing
    raise ValueError(unknown(str(name)))


def check_trusted(trusted: Any) -> None:
    """Refuse anything but a list of classes and functions."""
    listed = isinstance(trusted, Iterable) and not isinstance(trusted, str | type)
    strange = [thing for thing in trusted if not _has_name(thing)] if listed else []
    if not listed or strange:
        raise TypeError(
            "trusted must be a list of classes and functions, got "
            f"{shown((strange or [trusted])[0])}: import them, as in load(path, trusted=[MyScore])"
        )


def _has_name(thing: Any) -> bool:
    return hasattr(thing, "__qualname__") or isinstance(thing, np.ufunc)


def unknown(name: str) -> str:
    """Return the message for a file that names what plcp does not list."""
    short = name.rpartition(".")[2]
    return (
        f"it names {shown(name)[1:-1]}, which plcp does not list: if you trust the author of the "
        f"file, import it and call load(path, trusted=[{shown(short)[1:-1]}])"
    )
