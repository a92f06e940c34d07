"""The types that a model file may hold: a file that names another is not read."""

TRUSTED = (
    "functools.partial",  # of check_array, within scikit-learn's boosting
    "plcp.indices.boosted.ScaledQuantile",
    "plcp.indices.category_means.CategoryMeans",
    "plcp.indices.crossfit.CrossFitted",
    "plcp.indices.mixture.MixedIndex",
    "plcp.indices.sparse.SparseScale",
    "plcp.indices.sparse._Columns",
    "plcp.indices.tables.TableEncoder",
    "plcp.indices.tables.without_rare",
    "plcp.partitions.ordered.OrderedPartition",
    "plcp.programs.span.Span",
    "plcp.shifts.groups.Groups",
    "plcp.shifts.groups._Block",
    "plcp.thresholds.batch_gcp.BatchGCP",
    "plcp.thresholds.mondrian.Mondrian",
    "plcp.thresholds.plcp.PLCP",
    "plcp.thresholds.rectified.Rectified",
    "plcp.thresholds.split.SplitConformal",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
)
