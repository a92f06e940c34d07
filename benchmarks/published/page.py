"""The tables of docs/explanation/benchmarks_published.md, from results/published.json alone.

python -m benchmarks.published.page
"""

from typing import Any

import numpy as np
from benchmarks.shared import ROOT, Records, fill, load, mean, pick, table, unique

PAGE = ROOT / "docs" / "explanation" / "benchmarks_published.md"
Results = dict[str, Any]
# as the papers print it: Chen and Li (arXiv 2512.24139), Braun et al. (arXiv 2512.11779)
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "bikes": {
        "Split": {"msce": 0.0031},
        "CQR": {"msce": 0.0011},
        "RCP": {"msce": 0.0010},
        "CPCP, Clip + Mix": {"msce": 0.0008, "slab": 0.888},
    },
    "diamonds": {
        "Split": {"msce": 0.0118},
        "PLCP, 20 groups": {"msce": 0.0032},
        "PLCP, 50 groups": {"msce": 0.0016},
        "CQR": {"msce": 0.0010},
        "RCP": {"msce": 0.0013},
        "CPCP, Clip + Mix": {"msce": 0.0004, "slab": 0.880, "l1": 0.0219, "size": 0.338},
    },
}
PUBLISHED_ERT = {"Split": "9.1 ± 0.7", "oracle": "-0.5"}  # × 100, of ten runs
BEST = "CPCP, Clip + Mix"
COLUMNS = {  # measure, factor, digits
    "MSCE10 × 10⁴": ("msce", 1e4, 1),
    "worst slab": ("slab", 1, 3),
    "L1-ERT × 100": ("l1", 100, 2),
    "L2-ERT × 10⁴": ("l2", 1e4, 1),
    "coverage": ("coverage", 1, 3),
    "mean size": ("size", 1, 3),
}


def error(records: Records, key: str) -> float:
    """Standard error of the mean over seeds."""
    values = [record[key] for record in records]
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def shown(records: Records, key: str, factor: float = 1, digits: int = 3) -> str:
    """Mean over seeds ± its standard error."""
    value, spread = factor * mean(records, key), factor * error(records, key)
    return f"{value:.{digits}f}" + ("" if np.isnan(spread) else f" ± {spread:.{digits}f}")


def of_set(records: Records, name: str) -> str:
    """One row per method, the smallest MSCE first; those with fewer seeds than the default last."""
    own = pick(records, set=name)
    rows, seeds = [], len(pick(own, method="PLCP"))
    for method in unique(own, "method"):
        runs = pick(own, method=method)
        place = len(runs) < seeds, mean(runs, "msce")
        cells = [shown(runs, *column) for column in COLUMNS.values()]
        times = [run["seconds"] for run in runs if "seconds" in run]
        seconds = f"{np.median(times):.1f}" if times else "–"
        rows.append((place, [method, *cells, seconds, str(len(runs))]))
    for method, values in PUBLISHED[name].items():
        cells = [
            f"{factor * values[key]:.{digits}f}" if key in values else "–"
            for key, factor, digits in COLUMNS.values()
        ]
        rows.append(((False, values["msce"]), [f"*published: {method}*", *cells, "–", "20"]))
    floor = mean(own, "floor")
    blank = [""] * (len(COLUMNS) - 1)
    rows.append(((False, floor), ["*noise floor*", f"{1e4 * floor:.1f}", *blank, "", ""]))
    ordered = [row for _, row in sorted(rows, key=lambda pair: pair[0])]
    return table(["", *COLUMNS, "fit s", "seeds"], ordered)


def check(records: Records) -> str:
    """Split here beside Split as published, in standard errors; both by one run of K-means, too."""
    one, rows = ("msce of one clustering", *COLUMNS["MSCE10 × 10⁴"][1:]), []
    for name in unique(records, "set"):
        for method in ("Split", "PLCP", "PLCP, held-out"):
            runs = pick(records, set=name, method=method)
            cells = ["–", "–"]
            if method == "Split":
                published = PUBLISHED[name][method]["msce"]
                away = (mean(runs, "msce") - published) / error(runs, "msce")
                cells = [f"{1e4 * published:.1f}", f"{away:+.1f}"]
            measured = [shown(runs, *COLUMNS["MSCE10 × 10⁴"]), *cells, shown(runs, *one)]
            rows.append([f"{name}, {method}", *measured, str(len(runs))])
    header = ["", "here", "*published*", "difference / standard error", "here, one run of K-means"]
    return table([*header, "seeds"], rows)


IN_README = {
    "PLCP": "`PLCP()`",
    "PLCP, held-out": '`PLCP(calibration="held-out")`',
    BEST: "CPCP, the best of its paper",
    "Split": "split conformal",
}


def in_readme(records: Records) -> str:
    """MSCE of the default, of the best published row and of Split, on each set."""
    sets = unique(records, "set")
    rows = []
    for name in sets:
        runs = pick(records, set=name)
        seeds = len(pick(runs, method="PLCP"))
        shown = []
        for method in IN_README:
            own = pick(runs, method=method)
            shown.append(mean(own, "msce") if own else PUBLISHED[name][method]["msce"])
        rows.append([f"{name}, {seeds} divisions", *shown, mean(runs, "floor")])
    text = [[name, *(f"{value:.4f}" for value in values)] for name, *values in rows]
    return table(["", *IN_README.values(), "by chance alone"], text)


def of_ert(records: Records) -> str:
    """One row per method of the simulated task, with what was published."""
    rows = []
    for method in unique(records, "method"):
        runs = pick(records, method=method)
        rows.append(
            [
                method,
                shown(runs, "ert", 100, 1),
                PUBLISHED_ERT.get(method, "–"),
                shown(runs, "l1", 100, 1),
                shown(runs, "msce", 1e4, 1),
                shown(runs, "coverage"),
                f"{mean(runs, 'size'):.3f}",
                str(len(runs)),
            ]
        )
    header = ["", "L1-ERT × 100", "*published*", "true L1 error × 100", "true MSCE × 10⁴"]
    return table([*header, "coverage", "size / oracle's", "runs"], rows)


def measured(entry: Results, module: str) -> str:
    """Line with the script and the commits of a table."""
    commit = entry["provenance"]["commit"]
    commits = dict.fromkeys(record.get("commit", commit) for record in entry["results"])
    return (
        f"*Measured by `python -m benchmarks.published.{module}`, commit {', '.join(commits)}.*\n\n"
    )


def blocks(results: Results) -> dict[str, str]:
    """Blocks of the page."""
    cpcp, ert = results["cpcp"], results["ert"]
    of_sets = {name: of_set(cpcp["results"], name) for name in unique(cpcp["results"], "set")}
    return {
        "check": measured(cpcp, "cpcp") + check(cpcp["results"]),
        **{name: measured(cpcp, "cpcp") + drawn for name, drawn in of_sets.items()},
        "ert": measured(ert, "ert") + of_ert(ert["results"]),
    }


def draw() -> None:
    """Fill the blocks of the page, and the table of README.md."""
    results = load("published/published")
    readme = ROOT / "README.md"
    for path, drawn in (
        (PAGE, blocks(results)),
        (readme, {"published": in_readme(results["cpcp"]["results"])}),
    ):
        path.write_text(fill(path.read_text(encoding="utf-8"), drawn), encoding="utf-8")


if __name__ == "__main__":
    draw()
