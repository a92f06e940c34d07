"""Checks every estimator makes: one sentence that names the value and the remedy."""

from plcp.validation.asking import asking
from plcp.validation.features import (
    NAN_REMEDY,
    check_dataset,
    check_features,
    check_index,
    check_names,
    check_rows,
    check_table,
    in_order,
    naming_the_boosted_index,
    takes_images,
    takes_nan,
)
from plcp.validation.labels import check_labels
from plcp.validation.missing import is_gap, is_missing
from plcp.validation.options import (
    check_alpha,
    check_count,
    check_option,
    check_share,
)
from plcp.validation.pairs import (
    check_lengths,
    check_pairs,
    check_response,
    check_scores,
    check_some,
    check_weights,
    drop_weightless,
    relative_weights,
)
from plcp.validation.saying import (
    ColumnOrderWarning,
    InfiniteThresholdWarning,
    SmallGroupWarning,
    least_points,
    shortened,
    too_few,
    warn_if_small,
    warn_infinite,
)
from plcp.validation.values import (
    check_at_hand,
    first_not_finite,
)

__all__ = [
    "NAN_REMEDY",
    "ColumnOrderWarning",
    "InfiniteThresholdWarning",
    "SmallGroupWarning",
    "asking",
    "check_alpha",
    "check_at_hand",
    "check_count",
    "check_dataset",
    "check_features",
    "check_index",
    "check_labels",
    "check_lengths",
    "check_names",
    "check_option",
    "check_pairs",
    "check_response",
    "check_rows",
    "check_scores",
    "check_share",
    "check_some",
    "check_table",
    "check_weights",
    "drop_weightless",
    "first_not_finite",
    "in_order",
    "is_gap",
    "is_missing",
    "least_points",
    "naming_the_boosted_index",
    "relative_weights",
    "shortened",
    "takes_images",
    "takes_nan",
    "too_few",
    "warn_if_small",
    "warn_infinite",
]
