from . import (
    comparison as comparison,
    conformal as conformal,
    datasets as datasets,
    evaluation as evaluation,
    exceptions as exceptions,
    groups as groups,
    kernels as kernels,
    metrics as metrics,
    models as models,
    monitoring as monitoring,
    partitions as partitions,
    quantiles as quantiles,
    regressors as regressors,
    scores as scores,
    sets as sets,
    storage as storage,
    theory as theory,
    thresholds as thresholds,
)
from .comparison import (
    MethodComparison as MethodComparison,
    compare_methods as compare_methods,
)
from .conformal import (
    ConformalClassifier as ConformalClassifier,
    ConformalRegressor as ConformalRegressor,
)
from .evaluation.certificate import (
    Certificate as Certificate,
    certify as certify,
)
from .exceptions import (
    ColumnOrderWarning as ColumnOrderWarning,
    InfiniteThresholdWarning as InfiniteThresholdWarning,
    RowOrderWarning as RowOrderWarning,
    SmallGroupWarning as SmallGroupWarning,
    UnseenCategoryWarning as UnseenCategoryWarning,
)
from .groups import (
    GroupProbabilities as GroupProbabilities,
    Groups as Groups,
    KernelShifts as KernelShifts,
)
from .models import (
    MeanScalePair as MeanScalePair,
    QuantilePair as QuantilePair,
)
from .partitions import (
    ClassifierPartition as ClassifierPartition,
    OrderedPartition as OrderedPartition,
    SoftmaxPartition as SoftmaxPartition,
    TreePartition as TreePartition,
)
from .regressors import (
    LinearQuantile as LinearQuantile,
)
from .scores import (
    AbsoluteResidual as AbsoluteResidual,
    CumulativeProbability as CumulativeProbability,
    LabelProbability as LabelProbability,
    NormalizedResidual as NormalizedResidual,
    QuantileResidual as QuantileResidual,
    SignedResidual as SignedResidual,
)
from .sets import (
    Intervals as Intervals,
    LabelSets as LabelSets,
    NestedSets as NestedSets,
)
from .storage import (
    load as load,
    save as save,
)
from .thresholds import (
    PLCP as PLCP,
    RLCP as RLCP,
    BatchGCP as BatchGCP,
    BatchMVP as BatchMVP,
    ConditionalCalibration as ConditionalCalibration,
    Guarantee as Guarantee,
    LocalCP as LocalCP,
    Mondrian as Mondrian,
    PosteriorConformal as PosteriorConformal,
    Rectified as Rectified,
    SplitConformal as SplitConformal,
)

__version__: str
