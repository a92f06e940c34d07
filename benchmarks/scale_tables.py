"""What was measured at scale, one table a part."""

from drawing import Records, pick, table, unique
from scale_asked import difference
from scale_data import N_TEST
from scale_laws import growth, ratio_without_making, total_seconds
from scale_rules import RULES, title
from scale_words import megabytes, power, rate, seconds


def fits(records: Records) -> str:
    """Every rule at every size."""
    header = ["", "rows", "fit", "passes", "one pass, nothing learned", "peak of a worker"]
    header += ["peak of client and scheduler", "MSCE", "of Split's"]
    rows = []
    for run in sorted(records, key=lambda run: list(unique(records, "rule")).index(run["rule"])):
        split = pick(records, rule="split", rows=run["rows"])
        rows.append(
            [
                title(run["rule"]),
                power(run["rows"]),
                seconds(run["fit_seconds"]),
                f"{run['passes']:.1f}",
                seconds(run["pass_seconds"]),
                megabytes(max(run["worker_megabytes"])),
                megabytes(run["client_megabytes"]),
                f"{run['msce']:.2e}",
                f"{run['msce'] / split[0]['msce']:.3f}" if split else "–",
            ]
        )
    return table(header, rows)


def growths(records: Records) -> str:
    """How time and memory grow with n."""
    rows = []
    for rule in unique(records, "rule"):
        runs = pick(records, rule=rule)
        n = [run["rows"] for run in runs]
        if len(n) < 2:
            continue
        time = growth(n, [run["fit_seconds"] for run in runs])
        peak = growth(n, [max(run["worker_megabytes"]) for run in runs])
        cells = [f"{value:.2f}" for value in (*time, *peak)]
        rows.append([title(rule), *cells])
    header = ["exponent of n", "time", "time, worst step", "memory", "memory, worst step"]
    return table(header, rows)


def beside_memory(records: Records) -> str:
    """Dask and memory on the same rows."""
    header = ["", "rows", "Dask", "memory", "ratio", "… without making rows"]
    header += ["thresholds (and those)", "MSCE ratio", "peak of a worker", "peak in memory"]
    rows = [
        [
            title(run["rule"]),
            power(run["rows"]),
            seconds(run["dask"]["fit_seconds"]),
            seconds(run["memory"]["fit_seconds"]),
            f"{run['time_ratio']:.2f}",
            f"{ratio_without_making(run):.2f}",
            f"{difference(run)} ({RULES[run['rule']].beside})",
            f"{run['msce_ratio']:.4f}",
            megabytes(max(run["dask"]["worker_megabytes"])),
            megabytes(run["memory"]["megabytes"]),
        ]
        for run in records
    ]
    return table(header, rows)


def predictions(records: Records) -> str:
    header = ["", "rows", "rows a second", "… without making them", "peak of a worker"]
    rows = [
        [
            title(run["rule"]),
            power(run["rows"]),
            f"{rate(run, alone=False):,.0f}",
            f"{rate(run, alone=True):,.0f}",
            megabytes(max(run["worker_megabytes"])),
        ]
        for run in records
    ]
    return table(header, rows)


def beside_rivals(records: Records) -> str:
    """In memory, one process each; a cost that was not waited for is marked."""
    header = ["", "rows", "fit", "a prediction", f"{N_TEST:,} predictions", "peak of the process"]
    header += ["MSCE (95 % interval)", "MSCE of the first", "exponent of fit and predictions"]
    rows = []
    for rule in unique(records, "rule"):
        runs = pick(records, rule=rule)
        n, times = [run["rows"] for run in runs], [total_seconds(run) for run in runs]
        exponent = f"{growth(n, times).exponent:.2f}" if len(n) > 1 else "–"
        for run in runs:
            each = run["predict_seconds"] / run["points"]
            guess = "" if run["points"] == N_TEST else f" (extrapolated from {run['points']})"
            rows.append(
                [
                    title(rule),
                    power(run["rows"]),
                    seconds(run["fit_seconds"]),
                    f"{1e6 * each:,.1f} µs",
                    seconds(each * N_TEST) + guess,
                    megabytes(run["megabytes"]),
                    f"{run['msce']:.2e} ({run['msce_low']:.1e} to {run['msce_high']:.1e})",
                    f"{run['few']}: {run['msce_of_few']:.2e}",
                    exponent if run is runs[-1] else "",
                ]
            )
    return table(header, rows)
