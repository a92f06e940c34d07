"""Which tests of other projects are run against plcp, which cannot pass, and why.

``failures`` and ``not_run`` name tests as ``file::test`` or ``file::Class::test``, with all their
parameters or with those of one case. A test that fails for no reason given here is an error, and so
is one that passes in spite of it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "build" / "foreign"  # made by: make foreign


class Reason(NamedTuple):
    """Why a test does not pass, "our choice" or "their bug", and what its failure says."""

    kind: str
    text: str
    says: str = ""


@dataclass(frozen=True)
class Suite:
    """Tests of one package.

    Files lie in its source distribution, and are given a name of their own. Without files the
    package itself runs the checks, and ``runner`` calls them.
    """

    title: str
    package: str
    of: str
    files: dict[str, str] = field(default_factory=dict)
    adapter: str = ""
    failures: dict[str, Reason] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)

    def source(self) -> Path | None:
        """Return the unpacked source distribution, if it was downloaded."""
        return next((path for path in SOURCES.glob(f"{self.package}-*") if path.is_dir()), None)


def ours(text: str, *tests: str, says: str) -> dict[str, Reason]:
    return dict.fromkeys(tests, Reason("our choice", text, says))


def theirs(text: str, *tests: str, says: str) -> dict[str, Reason]:
    return dict.fromkeys(tests, Reason("their bug", text, says))


def no(text: str, *tests: str) -> dict[str, str]:
    return dict.fromkeys(tests, text)


METRICS, CONDITIONAL, PROGRAMS = "test_metrics", "test_conditional_metrics", "test_conditional"

MAPIE_METRICS = Suite(
    title="MAPIE, metrics",
    package="mapie",
    of="`plcp.metrics`",
    files={
        METRICS: "mapie/tests/test_metrics.py",
        CONDITIONAL: "mapie/tests/test_conditional_metrics.py",
    },
    adapter="mapie_adapter",
    failures=ours(
        "each group counts alike in `coverage_gap`, however few rows it has",
        f"{CONDITIONAL}::test_coverage_gap_with_intervals"
        "[y2-groups2-0.5-y_intervals2-True-0.16666666666666666]",
        f"{CONDITIONAL}::test_coverage_gap_with_sets"
        "[y2-groups2-0.5-y_sets2-True-0.16666666666666666]",
        says="plcp counts all groups alike",
    )
    | ours(
        "labels and groups may be of any type, so 1.0 is the class 1",
        f"{CONDITIONAL}::test_coverage_gap_with_float_class_labels",
        f"{CONDITIONAL}::test_coverage_gap_with_float_groups",
        says="DID NOT RAISE",
    )
    | ours(
        "`worst_slab` without random directions tries each column alone",
        f"{CONDITIONAL}::test_worst_slab_coverage_invalid_inputs[x6-0.5-0-n_directions]",
        says="DID NOT RAISE",
    )
    | ours(
        "`ert` gives X to its classifier as it is: texts have one dimension, and trees take NaN",
        f"{CONDITIONAL}::test_excess_risk_target_coverage_invalid_inputs[x0-2-2D array]",
        f"{CONDITIONAL}::test_excess_risk_target_coverage_invalid_inputs[x1-2-NaN]",
        says="DID NOT RAISE",
    )
    | ours(
        "`ert` learns from the rows before each block, so that one block is enough",
        f"{CONDITIONAL}::test_excess_risk_target_coverage_invalid_inputs[x2-1-n_splits]",
        says="DID NOT RAISE",
    )
    | ours(
        "plcp has no coverage width-based criterion, which these call after metrics that pass",
        f"{METRICS}::test_regression_ytrue_invalid_shape",
        f"{METRICS}::test_regression_valid_input_shape",
        f"{METRICS}::test_regression_same_length",
        says="plcp has nothing like it",
    )
    | ours(
        "coverage of a bin without rows is NaN without NumPy's warning of an empty slice",
        f"{METRICS}::test_classification_valid_input_shape",
        says="DID NOT WARN",
    )
    | ours(
        "where fewer sizes differ than bins were requested, bins are fewer",
        f"{METRICS}::test_invalid_splits_regression_ssc[10]",
        f"{METRICS}::test_invalid_splits_regression_ssc[5]",
        f"{METRICS}::test_invalid_splits_regression_ssc_score[10]",
        says="DID NOT RAISE",
    )
    | ours(
        "an interval whose ends cross is the empty set, not the one with its ends swapped",
        f"{METRICS}::test_regression_mwi_score",
        says="the interval of row 2 is empty",
    ),
    not_run=no(
        "calibration of probabilities, which plcp does not measure",
        f"{METRICS}::test_ece_score",
        f"{METRICS}::test_ece_scores",
        f"{METRICS}::test_ece_classwise_basic",
        f"{METRICS}::test_ece_classwise_vs_default",
        f"{METRICS}::test_ece_classwise_1d_raises_error",
        f"{METRICS}::test_ece_classwise_requires_class_labels",
        f"{METRICS}::test_ece_classwise_perfect_calibration",
        f"{METRICS}::test_top_label_ece",
        f"{METRICS}::test_top_label_same_result",
        f"{METRICS}::test_add_jitter_amplitude",
        f"{METRICS}::test_sort_xy_by_y",
        f"{METRICS}::test_cumulative_differences",
        f"{METRICS}::test_length_scale",
        f"{METRICS}::test_kolmogorov_smirnov_statistic",
        f"{METRICS}::test_kolmogorov_smirnov_cdf",
        f"{METRICS}::test_kolmogorov_smirnov_p_value_non_calibrated",
        f"{METRICS}::test_kolmogorov_smirnov_p_value_calibrated",
        f"{METRICS}::test_kuiper_statistic",
        f"{METRICS}::test_kuiper_cdf",
        f"{METRICS}::test_kuiper_p_value_non_calibrated",
        f"{METRICS}::test_kuiper_p_value_calibrated",
        f"{METRICS}::test_spiegelhalter_statistic",
        f"{METRICS}::test_spiegelhalter_p_value_non_calibrated",
        f"{METRICS}::test_spiegelhalter_p_value_calibrated",
    )
    | no(
        "the coverage width-based criterion, which plcp has not",
        f"{METRICS}::test_regression_ypredlow_shape",
        f"{METRICS}::test_regression_ypredup_shape",
        f"{METRICS}::test_alpha_invalid_cwc_score",
        f"{METRICS}::test_valid_eta",
    )
    | no(
        "two kernel widths of HSIC, where plcp has the unit of sizes",
        f"{METRICS}::test_hsic_invalid_kernel_sizes",
        f"{METRICS}::test_hsic_valid_kernel_sizes[kernel_sizes1]",
        f"{METRICS}::test_hsic_return_shape[kernel_sizes1]",
    )
    | no(
        "the number of bins of label set sizes, where plcp takes edges",
        f"{METRICS}::test_invalid_splits_classification_ssc",
        f"{METRICS}::test_invalid_splits_classification_ssc_score",
    )
    | no(
        "which of MAPIE's arguments are given together; plcp takes what was covered",
        f"{CONDITIONAL}::test_coverage_gap_without_coverage_input",
        f"{CONDITIONAL}::test_coverage_gap_with_two_coverage_inputs",
        f"{CONDITIONAL}::test_coverage_gap_with_multiple_interval_confidence_levels",
        f"{CONDITIONAL}::test_coverage_gap_with_multiple_set_confidence_levels",
        f"{CONDITIONAL}::test_worst_slab_coverage_without_coverage_input",
        f"{CONDITIONAL}::test_worst_slab_coverage_with_two_coverage_inputs",
        f"{CONDITIONAL}::test_excess_risk_target_coverage_without_coverage_input",
        f"{CONDITIONAL}::test_excess_risk_target_coverage_with_two_coverage_inputs",
    )
    | no(
        "calls of covmetrics by MAPIE, whose answers are replaced",
        f"{CONDITIONAL}::test_worst_slab_coverage_with_intervals",
        f"{CONDITIONAL}::test_worst_slab_coverage_with_sets",
        f"{CONDITIONAL}::test_excess_risk_target_coverage_with_intervals",
        f"{CONDITIONAL}::test_excess_risk_target_coverage_with_sets",
    ),
)

OF_CLASSES = f"{PROGRAMS}::TestConditionalSplitConformalClassifier"
MAPIE_CONDITIONAL = Suite(
    title="MAPIE, conditional estimators",
    package="mapie",
    of="`ConditionalCalibration` in both conformal estimators",
    files={PROGRAMS: "mapie/tests/test_conditional.py"},
    adapter="mapie_adapter",
    failures=ours(
        "a column that follows from others is refused by its name",
        f"{PROGRAMS}::test_rank_deficient_basis",
        says="columns [2] follow from those before them",
    )
    | ours(
        "a constant is always among the features, so that coverage also holds on average",
        f"{PROGRAMS}::test_infinite_bounds_when_basis_degenerate",
        says="isfinite",
    ),
    not_run=no(
        "internal functions of MAPIE's solver",
        f"{PROGRAMS}::test_predict_conditional_cutoff_with_explicit_bounds",
        f"{PROGRAMS}::test_binary_search_function",
        f"{PROGRAMS}::test_import_cvxpy_missing",
        f"{PROGRAMS}::test_solve_dual_default_threshold",
        f"{PROGRAMS}::test_setup_cvx_problem_default_phi",
        f"{PROGRAMS}::test_finish_dual_setup_without_kernel",
        f"{PROGRAMS}::test_setup_cvx_problem_with_kernel",
        f"{PROGRAMS}::test_get_kernel_matrix",
    )
    | no(
        "options that MAPIE refuses, and plcp has not or names otherwise",
        f"{PROGRAMS}::test_minimize_interval_width_not_supported",
        f"{PROGRAMS}::test_rkhs_kernel_path_raises",
        f"{OF_CLASSES}::test_unsupported_conformity_score_raises",
    ),
)

OF_LABELS, OF_NUMBERS = "test_classification_metrics", "test_regression_metrics"
TORCHCP = Suite(
    title="TorchCP, metrics",
    package="torchcp",
    of="`plcp.metrics`",
    files={
        OF_LABELS: "tests/classification/utils/test_classification_metrics.py",
        OF_NUMBERS: "tests/regression/utils/test_metrics.py",
    },
    adapter="torchcp_adapter",
    failures=theirs(
        "a sample may lack a class: its labels need not be as many as the columns of the sets",
        f"{OF_LABELS}::test_wsc_class_mismatch",
        says="DID NOT RAISE",
    )
    | ours(
        "no rows are refused by ValueError, as scikit-learn does, where they raise AssertionError",
        f"{OF_LABELS}::test_singleton_hit_ratio[cpu]",
        says="n at least 1, got (0,)",
    )
    | ours(
        "the slab is chosen on one half of the rows and measured on the other, in no other share",
        f"{OF_LABELS}::test_wsc_parameter_ranges",
        says="one half of the rows",
    )
    | ours(
        "the words of the error, which the test reads after it was raised",
        f"{OF_NUMBERS}::test_column_validation",
        says="pass one end per row",
    ),
    not_run=no(
        "the mean of coverage over classes, in which a class without rows has coverage 0",
        f"{OF_LABELS}::test_coverage_rate_macro",
        f"{OF_LABELS}::test_coverage_rate_errors",
    )
    | no(
        "p-values, which plcp does not compute",
        f"{OF_LABELS}::test_compute_p_values_shape",
        *(
            f"{OF_LABELS}::test_pvalue_criterion_{letter}"
            for letter in ("S", "N", "U", "F", "M", "E", "OU", "OF", "OM", "OE")
        ),
    )
    | no(
        "the largest deviation among strata of difficulty or size, where plcp has the smallest "
        "coverage",
        f"{OF_LABELS}::test_diff_violation",
        f"{OF_LABELS}::test_sscv",
    )
    | no(
        "finding a metric by its name, which plcp does not offer",
        f"{OF_LABELS}::test_metrics_class",
        f"{OF_NUMBERS}::test_metrics_class",
    )
    | no(
        "devices, which plcp's metrics do not know",
        f"{OF_LABELS}::test_device_compatibility",
        f"{OF_LABELS}::test_singleton_hit_ratio[cuda]",
    ),
)

SKPRO = Suite(
    title="skpro, `check_estimator`",
    package="skpro",
    of="`SkproConformal`",
)
SKLEARN = Suite(
    title="scikit-learn, `check_estimator`",
    package="scikit-learn",
    of="every public estimator",
)

SUITES = {
    "sklearn": SKLEARN,
    "skpro": SKPRO,
    "mapie": MAPIE_METRICS,
    "mapie-conditional": MAPIE_CONDITIONAL,
    "torchcp": TORCHCP,
}
