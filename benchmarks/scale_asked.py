"""What the rules on Dask were held to, beside what was measured: rows of one table."""

from typing import Any

from drawing import Records, pick, unique
from scale_laws import growth, ratio_without_making
from scale_rules import RULES, title
from scale_words import megabytes, power, rate

Rows = list[list[str]]


def asked_of_fit(records: Records) -> Rows:
    """Growth of every rule, and the largest worker it had."""
    rows = []
    for rule in unique(records, "rule"):
        runs = pick(records, rule=rule)
        if len(runs) > 1:
            g = growth([run["rows"] for run in runs], [run["fit_seconds"] for run in runs])
            told = f"{g.exponent:.2f} ({g.worst_step:.2f})"
            rows.append([f"{title(rule)}: exponent of time (worst step)", "at most 1.1", told])
        peaks = {run["rows"]: max(run["worker_megabytes"]) for run in runs}
        largest = max(peaks, key=lambda n: peaks[n])
        what = f"{title(rule)}: peak of any worker at any size ({power(largest)} rows)"
        rows.append([what, "under 1,000 MB", megabytes(peaks[largest])])
    return rows


def asked_of_memory(records: Records) -> Rows:
    """The same answer as in memory, and not much later."""
    rows = []
    for run in records:
        what = f"{title(run['rule'])}, {power(run['rows'])} rows"
        thresholds = f"{what}: thresholds on a cluster and {RULES[run['rule']].beside}"
        rows.append([thresholds, "equal", difference(run)])
        rows.append(
            [f"{what}: MSCE over that in memory", "0.98 to 1.02", f"{run['msce_ratio']:.4f}"]
        )
        if run["rows"] == 1_000_000:
            told = f"{run['time_ratio']:.2f} ({ratio_without_making(run):.2f})"
            rows.append(
                [f"{what}: time over that in memory (without making rows)", "at most 3", told]
            )
    return rows


def asked_of_predict(records: Records) -> Rows:
    rows = []
    for run in records:
        least = "2,000,000" if run["rule"] == "linear" else "300,000"
        rates = f"{rate(run, alone=False):,.0f} ({rate(run, alone=True):,.0f})"
        what = f"{title(run['rule'])}: rows a second predicted (without making them)"
        rows.append([what, f"at least {least}", rates])
    return rows


def difference(run: dict[str, Any]) -> str:
    """How far the thresholds compared lie apart, of groups and of new rows."""
    if run["same_thresholds"] and run["same_predictions"]:
        return "equal, all bits"
    return f"at most {run['largest_relative_difference']:.2%} apart"
