"""What was measured of speed and memory, as tables."""

from collections.abc import Callable
from typing import Any

from benchmarks.shared import table

Results = Any
FACTS = {  # by block of the page: the quantities of a measurement, in words with their units
    "linear": {
        "seconds": "`LinearQuantile`, seconds",
        "sklearn_seconds": "`QuantileRegressor`, seconds",
        "times_faster": "`LinearQuantile` is faster by a factor of",
        "excess_loss": "its pinball loss is larger by a share of",
    },
    "default": {
        "fit_ratio": "fit, in fits of one boosted model",
        "predict_ratio": "prediction of 200,000 rows, in predictions by one boosted model",
    },
    "predict": {"predict_ratio": "prediction, in predictions by `LinearRegression`"},
    "memory": {
        "default_200000": "default regressor, 200,000 rows, in sizes of X",
        "default_1000000": "default regressor, 1,000,000 rows, in sizes of X",
        "linear_1000000": "linear regressor, 1,000,000 rows, in sizes of X",
    },
    "import": {
        "ratio": "`import plcp`, in imports of `sklearn.linear_model`",
        "ratio_with_python": "the same, with the start of Python in both",
    },
    "metric-coverage": {
        "seconds": "twenty groups by number, seconds",
        "in_mean_of_floats": "the same, in means of one column of floats",
        "in_mean_of_booleans": "the same, in means of one column of booleans",
        "in_mean_of_each_part": "the same, in twenty means of rows already taken apart",
        "in_mean_of_each_group": "the same, in twenty comparisons of the label, each with a mean",
        "seconds_overlapping": "twenty groups that overlap, seconds",
        "seconds_text_labels": "twenty groups named by text, seconds",
    },
    "other-rlcp": {
        "fit_seconds": "fit, seconds",
        "predict_seconds": "prediction, seconds",
        "one_thread_seconds": "prediction in one thread, seconds",
        "loop_seconds": "loop over test points, seconds",
        "times_faster": "prediction is faster than the loop by a factor of",
        "times_faster_one_thread": "in one thread, by a factor of",
        "share_of_same_thresholds": "share of thresholds that are the same",
        "peak_megabytes": "peak memory, MB",
    },
    "other-batch_gcp": {
        "seconds": "`BatchGCP`, seconds",
        "linear_quantile_seconds": "`LinearQuantile`, seconds",
        "ratio": "`BatchGCP`, in fits of `LinearQuantile`",
    },
}


def number(value: float) -> str:
    """Three significant digits, in full where that is short."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def facts(block: str) -> Callable[[Results], str]:
    """Return the function that draws one row for each quantity of a block."""
    return lambda results: table(
        ["", "measured"], [[text, number(results[key])] for key, text in FACTS[block].items()]
    )


def growth(results: Results) -> str:
    rows = [
        [f"{n:,}", number(seconds)]
        for n, seconds in zip(results["rows"], results["seconds"], strict=True)
    ]
    exponent = f"\nTime grows by the power {number(results['exponent'])} of the number of rows.\n"
    return table(["rows", "fit, seconds"], rows) + exponent


def hsic(results: Results) -> str:
    rows = [
        [name, *(number(results[name][key]) for key in ("seconds", "peak_mib", "error"))]
        for name in ("units", "dollars")
    ]
    bound = f"\nProven bound of the relative error: {number(results['error_bound'])}.\n"
    return table(["sizes in", "seconds", "peak memory, MiB", "relative error"], rows) + bound


def ert(results: Results) -> str:
    keys = "covmetrics", "seconds", "covmetrics_seconds"
    rows = []
    for name, found in results.items():
        low, high = map(number, found["interval"])
        around = [number(found["truth"]), number(found["estimate"]), f"{low} to {high}"]
        rows.append([name, *around, *(number(found[key]) for key in keys)])
    header = ["", "truth", "estimate", "95 % interval", "`covmetrics`", "seconds", "its seconds"]
    largest = number(max(found["formula_difference"] for found in results.values()))
    same = f"\nGiven the same predictions, both formulas differ by at most {largest}.\n"
    return table(header, rows) + same


def conditional(results: Results) -> str:
    keys = {
        "d": "columns",
        "microseconds_per_point": "microseconds for each point",
        "mapie_microseconds_per_point": "MAPIE's",
        "times_faster": "faster by a factor of",
        "times_faster_with_fit": "the same with the fit",
        "points": "points",
        "differ": "thresholds that differ",
        "ours_right_by_linear_program": "ours is right",
        "mapie_right_by_linear_program": "MAPIE's is right",
    }
    return table([*keys.values()], [[number(case[key]) for key in keys] for case in results])


BLOCKS: dict[str, Callable[[Results], str]] = {
    **{block: facts(block) for block in FACTS},
    "growth": growth,
    "metric-hsic": hsic,
    "metric-ert": ert,
    "other-conditional": conditional,
}

METHODS = {"plcp": "default rule", "split": "Split"}


def cli_summary(cli: dict[str, Any]) -> str:
    """What the command takes: seconds, memory, and speed beside a copy of the file."""
    start, audit, apply = (cli[part]["results"] for part in ("start", "audit", "apply"))
    rows = [["`plcp --help`, seconds", f"{start['help_seconds']:.2f}"]]
    million = f"{audit['rows'] / 1e6:g} million rows × {audit['columns']}"
    rows.append([f"`audit` of {million}, seconds", f"{audit['seconds']:.0f}"])
    big = f"{apply['rows'] / 1e6:g} million rows × 20"
    for method, name in METHODS.items():
        found = apply[method]
        what = f"`apply` to {big}, {name}"
        rows += [
            [f"{what}: peak memory, MB", f"{found['peak_megabytes']:,.0f}"],
            [
                f"{what}: speed relative to copying the file by pyarrow",
                f"{found['share_of_copying_speed']:.2f}",
            ],
        ]
    return table(["command", "measured"], rows)


def cli_tables(cli: dict[str, Any]) -> str:
    """All figures, with the commits they were measured on."""
    commits = {part: entry["provenance"]["commit"] for part, entry in cli.items()}
    text = "*Measured by `python -m benchmarks.speed.cli`; commits: "
    text += ", ".join(f"{part} {commit}" for part, commit in commits.items()) + ".*\n\n"
    apply = cli["apply"]["results"]
    rows = [
        [key.replace("_", " "), *(f"{apply[method][key]:,.4g}" for method in METHODS)]
        for key in apply["plcp"]
    ]
    named = [
        f"`apply`, {apply['rows']:,} rows, {apply['file_megabytes']:,.0f} MB",
        *METHODS.values(),
    ]
    return text + cli_summary(cli) + "\n" + table(named, rows)
