"""What was measured of speed and memory, as tables."""

from collections.abc import Callable
from typing import Any

from benchmarks.shared import Records, pick, table, unique

Results = Any
ONE = "one boosted quantile model"
FACTS = {  # by block of the page: the quantities of a measurement, in words with their units
    "linear": {
        "seconds": "`LinearQuantile`, seconds",
        "sklearn_seconds": "`QuantileRegressor`, seconds",
        "times_faster": "`LinearQuantile` is faster by a factor of",
        "excess_loss": "its pinball loss is larger by a share of",
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


def ratio_to_one(records: Records, key: str, **where: Any) -> str:
    """Return one record's value in units of that of one boosted model, which has the rest alike."""
    found = pick(records, **where)
    if not found:
        return "–"
    unit = pick(records, **{**where, "method": ONE})[0][key]
    return number(found[0][key] / unit)


def fits(results: Results) -> str:
    """One row a mode: fits in units of one boosted model's."""
    shapes = unique(results, "rows")
    rows = [
        [method, *(ratio_to_one(results, "seconds", method=method, rows=shape) for shape in shapes)]
        for method in unique(results, "method")[1:]
    ]
    units = [number(pick(results, method=ONE, rows=shape)[0]["seconds"]) for shape in shapes]
    return table(["`calibration`", *shapes], [*rows, ["one model, seconds", *units]])


def batches(results: Results) -> str:
    """One row a size: predictions in units of one boosted model's, and how time per row falls."""
    methods, sizes = unique(results, "method"), unique(results, "rows")
    seconds = {(r["method"], r["rows"]): r["seconds"] for r in results}
    rows = []
    for size in sizes:
        tenfold = [
            number(10 * seconds[method, size] / seconds[method, 10 * size])
            if 10 * size in sizes
            else "–"
            for method in methods[:2]
        ]
        ratios = (ratio_to_one(results, "seconds", method=m, rows=size) for m in methods[1:])
        rows.append([f"{size:,}", number(1000 * seconds[ONE, size]), *ratios, *tenfold])
    falls = [f"per row ÷ per row at 10 ×: {name}" for name in ("one model", "rotate")]
    return table(["rows", "one model, ms", *methods[1:], *falls], rows)


def peers(results: Results) -> str:
    """Fit and prediction of each method in units of one boosted model's, and memory."""
    sizes = unique(results, "n")
    text = ""
    for title, key in (("Fit", "fit_seconds"), ("Prediction", "predict_seconds_per_row")):
        rows = [
            [method, *(ratio_to_one(results, key, method=method, n=n) for n in sizes)]
            for method in unique(results, "method")
        ]
        text += table([f"{title}, n =", *(f"{n:,}" for n in sizes)], rows) + "\n"
    scale = {"fit_seconds": 1, "predict_seconds_per_row": 1e6}
    units = [
        [name, *(number(scale[key] * pick(results, method=ONE, n=n)[0][key]) for n in sizes)]
        for name, key in (
            ("its fit, seconds", "fit_seconds"),
            ("its prediction, microseconds per row", "predict_seconds_per_row"),
        )
    ]
    text += table(["One boosted quantile model, n =", *(f"{n:,}" for n in sizes)], units) + "\n"
    large = [n for n in sizes if n >= 100_000]  # below, imports and tables of trees count
    rows = []
    for method in unique(pick(results, n=large[-1]), "method"):
        found = [pick(results, method=method, n=n)[0] for n in large]
        peaks = [number(one["fit_megabytes"] / one["X_megabytes"]) for one in found]
        predict = pick(results, method=method, n=10_000)[0]["predict_megabytes"]
        rows.append([method, *peaks, f"{max(predict, 0):,.0f}"])
    header = [f"fit of {n:,} rows, in sizes of X" for n in large]
    return text + table(["Memory", *header, "prediction of 100,000 rows, MB"], rows)


def classifiers(results: Results) -> str:
    """Milliseconds of each method of labels."""
    sizes = unique(results, "n")
    rows = []
    for method in unique(results, "method"):
        own = pick(results, method=method)
        fit = [number(1000 * pick(own, n=n)[0]["fit_seconds"]) for n in sizes]
        rows.append([method, *fit, number(1e6 * own[-1]["predict_seconds_per_row"])])
    header = [f"fit of {n:,} rows, ms" for n in sizes]
    return table(["", *header, "prediction of a row, µs"], rows)


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
    "peers-fits": fits,
    "peers-batches": batches,
    "peers-peers": peers,
    "peers-classifiers": classifiers,
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
