"""Time and memory against the number of rows, ours and rivals', on logarithmic axes."""

from pathlib import Path
from typing import Any

from drawing import Records, pick, unique
from scale_data import N_TEST
from scale_laws import total_seconds
from scale_rules import RIVALS, title

LIMIT = 1000  # megabytes a worker may take


def plot(results: dict[str, Any], path: Path) -> None:
    """Solid: ours on Dask. Dashed: in memory. Hollow: not waited for."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    fits = results.get("fit", {}).get("results", [])
    rivals = results.get("rivals", {}).get("results", [])
    for number, rule in enumerate(unique(fits, "rule")):
        runs = pick(fits, rule=rule)
        n = [run["rows"] for run in runs]
        look = {"color": f"C{number}", "marker": "o", "label": f"{title(rule)}, on Dask"}
        time.plot(n, [total_seconds(run) for run in runs], **look)
        memory.plot(n, [max(run["worker_megabytes"]) for run in runs], **look)
    for number, rule in enumerate(unique(rivals, "rule")):
        _in_memory(time, memory, pick(rivals, rule=rule), f"C{number + 4}")
    memory.axhline(LIMIT, color="grey", linewidth=0.8, linestyle=":")
    time.set_ylabel(f"seconds to fit and to predict {N_TEST:,} rows")
    memory.set_ylabel("peak memory of a worker or process, MB")
    for axes in (time, memory):
        axes.set(xscale="log", yscale="log", xlabel="rows")
        axes.grid(alpha=0.3)
    time.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _in_memory(time: Any, memory: Any, runs: Records, color: str) -> None:
    n, rule = [run["rows"] for run in runs], runs[0]["rule"]
    guessed = any(run["points"] < N_TEST for run in runs)
    where = "" if rule in RIVALS else ", in memory"
    look = {"color": color, "marker": "s", "linestyle": "--", "label": title(rule) + where}
    fill = {"markerfacecolor": "none", "label": f"{title(rule)} (extrapolated)"} if guessed else {}
    time.plot(n, [total_seconds(run) for run in runs], **look | fill)
    memory.plot(n, [run["megabytes"] for run in runs], **look)
