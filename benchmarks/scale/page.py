"""Draw docs/results/scale.md, its plot and the numbers of its page from results/scale.json.

python -m benchmarks.scale.page
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.scale.data import FEATURES, N_TEST
from benchmarks.scale.laws import total_seconds
from benchmarks.scale.rules import RIVALS, title
from benchmarks.scale.tables import (
    beside_memory,
    beside_rivals,
    fits,
    formula,
    growths,
    plan,
    predictions,
    summary,
    tasks,
)
from benchmarks.shared import ROOT, Records, fill, pick, unique

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
        style = {"color": f"C{number}", "marker": "o", "label": f"{title(rule)}, on Dask"}
        time.plot(n, [total_seconds(run) for run in runs], **style)
        memory.plot(n, [max(run["worker_megabytes"]) for run in runs], **style)
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
    style = {"color": color, "marker": "s", "linestyle": "--", "label": title(rule) + where}
    fill = {"markerfacecolor": "none", "label": f"{title(rule)} (extrapolated)"} if guessed else {}
    time.plot(n, [total_seconds(run) for run in runs], **style | fill)
    memory.plot(n, [run["megabytes"] for run in runs], **style)


FOLDER = ROOT / "docs" / "results"
RESULTS = ROOT / "benchmarks" / "scale" / "results"
PAGE = ROOT / "docs" / "explanation" / "scale.md"
NOT_YET = "Not measured yet.\n"
PICTURE = "![Time and memory against the number of rows](scale.png)\n\n"

Results = dict[str, Any]


def section(results: Results, part: str, *parts: Callable[[Records], str]) -> str:
    if part not in results:
        return NOT_YET
    return "\n".join(draw_part(results[part]["results"]) for draw_part in parts)


def surroundings(results: Results) -> str:
    """Where each part was measured."""
    lines = []
    for part, entry in results.items():
        here = entry["provenance"]
        versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items())
        origin = f"commit {here['commit']}, {here['date']}, {here['cores']} cores"
        later = {(run["rule"], run["commit"]) for run in entry["results"] if "commit" in run}
        origin += "".join(f" ({title(rule)}: commit {commit})" for rule, commit in sorted(later))
        lines.append(f"- **{part}**: {origin}, Python {here['python']}, {versions}\n")
    return "".join(lines) or NOT_YET


def results_page(results: Results) -> str:
    """docs/results/scale.md."""
    return (
        "# Scale: all measurements\n\n"
        "<!-- Drawn by `make docs-results` (benchmarks/scale/page.py): edit it there. -->\n\n"
        "What these numbers mean, and how to use plcp on clusters, is explained in "
        "[Beyond one machine](../explanation/scale.md). To repeat them: `python -m "
        "benchmarks.scale.run`.\n\n"
        f"Rows of {FEATURES} features are made block by block (`make_nonlinear`), on two workers "
        "of one thread each; the best of three fits up to 10^6 "
        "rows and one fit above. Times leave out the start of the cluster and contain making the "
        "rows again at every pass. Peaks are high-water marks of whole processes, interpreter and "
        f"libraries included. MSCE is exact, on {N_TEST:,} common new rows.\n\n"
        f"{PICTURE if results else ''}"
        f"## Fit\n\n{section(results, 'fit', fits, growths, tasks, formula)}\n"
        "## Compared with a fit in memory\n\nThe same rows in the order of their hashes, on both "
        "cores; "
        "Dask and memory in turns. In memory the rows are there, on Dask they are made within the "
        f"time, at every pass.\n\n{section(results, 'memory', beside_memory)}\n"
        "## Predict\n\nLazy thresholds, summed block by block.\n\n"
        f"{section(results, 'predict', predictions)}\n"
        "## Other libraries\n\nEach in a process of its own, rows in memory, both cores; plcp in "
        f"memory on the same rows.\n\n{section(results, 'rivals', beside_rivals)}\n"
        f"## Where it was measured\n\n{surroundings(results)}"
    )


def guide(text: str, results: Results) -> str:
    """The page of scale with the blocks between <!-- name --> and <!-- /name --> drawn again."""
    drawn = {
        "summary": summary(*(results[part]["results"] for part in ("fit", "memory", "predict"))),
        "tasks": section(results, "fit", tasks),
        "formula": section(results, "fit", formula),
        "plan": section(results, "fit", plan),
        "predict": section(results, "predict", predictions),
        "rivals": section(results, "rivals", beside_rivals),
    }
    return fill(text, drawn)


def load(folder: Path = RESULTS) -> Results:
    return json.loads((folder / "scale.json").read_text(encoding="utf-8"))


def draw() -> None:
    """Write the pages and the plot from the committed numbers."""
    results = load()
    plot(results, FOLDER / "scale.png")
    (FOLDER / "scale.md").write_text(results_page(results), encoding="utf-8")
    PAGE.write_text(guide(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    draw()
