"""The classes and functions that a file may name, and where they live: it can name no others."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from plcp.storage.names import full_name

_HOMES = {
    "plcp.conformal.classifier": "ConformalClassifier",
    "plcp.conformal.regressor": "ConformalRegressor",
    "plcp.indices.boosted": "ScaledQuantile",
    "plcp.indices.category_means": "CategoryMeans",
    "plcp.indices.colorful": "ColorfulQuantile",
    "plcp.indices.crossfit": "CrossFitted",
    "plcp.indices.linear": "LinearQuantile",
    "plcp.indices.mixture": "MixedIndex",
    "plcp.indices.sparse": "SparseScale _Columns",
    "plcp.indices.tables": "TableEncoder without_rare",
    "plcp.locality.kernels": "BoxKernel GaussianKernel MultinomialKernel",
    "plcp.locality.space": "Space",
    "plcp.models": "MeanScalePair QuantilePair",
    "plcp.partitions.classifier": "ClassifierPartition",
    "plcp.partitions.crossfit": "CrossFittedPartition",
    "plcp.partitions.ordered": "OrderedPartition",
    "plcp.partitions.softmax": "SoftmaxPartition",
    "plcp.partitions.torch.algorithm": "SoftmaxGroups",
    "plcp.partitions.torch.network": "Standardise",
    "plcp.partitions.torch.partition": "TorchPartition",
    "plcp.partitions.torch.quantile": "TorchQuantile",
    "plcp.partitions.torch.scale": "Scale",
    "plcp.partitions.tree": "TreePartition",
    "plcp.programs.elbow": "Position Tableau",
    "plcp.programs.kernel": "KernelSolution",
    "plcp.programs.linear": "Program Vertex",
    "plcp.programs.path": "Track",
    "plcp.programs.span": "Span",
    "plcp.scores.probabilities": "CumulativeProbability LabelProbability",
    "plcp.scores.residuals": (
        "AbsoluteResidual NormalizedResidual QuantileResidual SignedResidual"
    ),
    "plcp.shifts.features": "GroupProbabilities",
    "plcp.shifts.groups": "Groups _Block",
    "plcp.shifts.smooth": "KernelProgram KernelShifts",
    "plcp.tabular.features": "Feature LeftOut",
    "plcp.tabular.model": "TabularModel",
    "plcp.tabular.roles": "Roles",
    "plcp.thresholds.batch_gcp": "BatchGCP",
    "plcp.thresholds.batch_mvp": "BatchMVP",
    "plcp.thresholds.conditional": "ConditionalCalibration",
    "plcp.thresholds.local": "LocalCP",
    "plcp.thresholds.mondrian": "Mondrian",
    "plcp.thresholds.plcp": "PLCP",
    "plcp.thresholds.posterior": "PosteriorConformal",
    "plcp.thresholds.rectified": "Rectified",
    "plcp.thresholds.rlcp": "RLCP",
    "plcp.thresholds.split": "SplitConformal",
    # of scikit-learn what rules are put together from, and trees; skops keeps all else of it
    "sklearn.compose._column_transformer": "ColumnTransformer",
    "sklearn.dummy": "DummyRegressor",
    "sklearn.ensemble._forest": (
        "ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor"
    ),
    "sklearn.frozen._frozen": "FrozenEstimator",
    "sklearn.pipeline": "Pipeline",
    "sklearn.preprocessing._encoders": "OrdinalEncoder",
    "sklearn.preprocessing._function_transformer": "FunctionTransformer",
    "sklearn.preprocessing._label": "LabelEncoder",
    "sklearn.tree._classes": (
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"
    ),
    "sklearn.utils.validation": "check_array",
    "lightgbm.sklearn": "LGBMClassifier LGBMRegressor",
}
HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def is_known(thing: Any) -> bool:
    """Whether a class or function is one that every file may name."""
    return HOME_OF.get(thing.__qualname__) == thing.__module__


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
        if name == full_name(thing) or name == f"__main__.{thing.__qualname__}":
            return thing
    raise ValueError(unknown([str(name)]))


def check_trusted(trusted: Any) -> None:
    """Refuse anything but a list of classes and functions."""
    listed = isinstance(trusted, Iterable) and not isinstance(trusted, str | type)
    strange = [thing for thing in trusted if not hasattr(thing, "__qualname__")] if listed else []
    if not listed or strange:
        raise TypeError(
            f"trusted must be a list of classes and functions, got {(strange or [trusted])[0]!r}: "
            "import them, as in load(path, trusted=[MyScore])"
        )


def unknown(names: Sequence[str]) -> str:
    """Say that a file names what plcp does not know, and what can be done about it."""
    short = ", ".join(name.rpartition(".")[2] for name in names)
    return (
        f"it names {', '.join(names)}, which plcp does not know: if you trust the code and whoever "
        f"made the file, import it and call load(path, trusted=[{short}])"
    )
