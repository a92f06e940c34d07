"""The tables of docs/explanation/benchmarks*.md, from the committed JSON alone.

The text of the pages is written there; what stands between <!-- name --> and <!-- /name --> is
drawn.

    python -m benchmarks.accuracy.page
"""

from collections.abc import Callable
from typing import Any

from benchmarks.accuracy.tables import (
    by_task,
    census,
    corrupted,
    held,
    levels,
    mean_by,
    modes_coverage,
    modes_msce,
    modes_taught,
    ranked,
    ratio_of,
    shares,
    shifted,
    taught_summary,
    worst_gaps,
)
from benchmarks.shared import ROOT, Records, fill, load, mean, pick, table, unique
from benchmarks.speed.tables import BLOCKS, cli_tables

FOLDER = ROOT / "docs" / "explanation"
OURS, SPLIT = "PLCP", "Split"
Results = dict[str, Any]
Blocks = dict[str, str]


def measured(entry: Results, module: str) -> str:
    """Line with the script, the commit and the seeds of a table."""
    results = entry["results"]
    seeds = {record["seed"] for record in results if "seed" in record} if _listed(results) else []
    times = f", {len(seeds)} seed{'s' * (len(seeds) > 1)}" if seeds else ""
    commit = entry["provenance"]["commit"]
    return f"*Measured by `python -m benchmarks.{module}`, commit {commit}{times}.*\n\n"


def _listed(results: Any) -> bool:
    return isinstance(results, list)


def overview(results: Results) -> Blocks:
    """Blocks of benchmarks.md."""
    conditional, rivals, modes = (results[name] for name in ("conditional", "rivals", "modes"))
    simulated, every, people = conditional["synthetic"], rivals["table"], conditional["census"]
    return {
        "simulated": measured(simulated, "accuracy.conditional synthetic")
        + by_task(simulated["results"], ratio_of("msce")),
        "every": measured(every, "accuracy.rivals table") + ranked(every["results"]),
        "better": ahead(every["results"]),
        "incomes": measured(people, "accuracy.conditional census") + census(people["results"]),
        "modes": measured(modes["msce"], "accuracy.modes msce")
        + modes_msce(modes["msce"]["results"]),
        "taught": measured(modes["taught"], "accuracy.modes taught")
        + taught_summary(modes["taught"]["results"]),
    }


def ahead(records: Records) -> str:
    """List on each task the methods whose error is below that of the default."""
    lines = []
    for task, errors in mean_by(records, "error").items():
        ours = errors[OURS]
        better = sorted((value, name) for name, value in errors.items() if value < ours)
        named = ", ".join(f"{name} ({value / errors[SPLIT]:.2f})" for value, name in better)
        lines.append(f"- {task}, where PLCP has {ours / errors[SPLIT]:.2f}: {named or '–'}")
    return "\n".join(lines) + "\n"


def tabular(results: Results) -> Blocks:
    """Blocks of benchmarks_tabular.md."""
    conditional, rivals, modes = (results[name] for name in ("conditional", "rivals", "modes"))
    simulated = conditional["synthetic"]
    return {
        "seeds": measured(simulated, "accuracy.conditional synthetic")
        + spread_of_seeds(simulated["results"]),
        "coverage": by_task(simulated["results"], coverage_cell),
        "real": measured(conditional["real"], "accuracy.conditional real")
        + real(conditional["real"]["results"], "mean_threshold"),
        "cqr": measured(conditional["cqr"], "accuracy.conditional cqr")
        + real(conditional["cqr"]["results"], "length"),
        "gaps": measured(rivals["table"], "accuracy.rivals table")
        + worst_gaps(rivals["table"]["results"]),
        "taught": measured(modes["taught"], "accuracy.modes taught")
        + modes_taught(modes["taught"]["results"]),
        "hard": measured(modes["coverage"], "accuracy.modes coverage")
        + modes_coverage(modes["coverage"]["results"]),
    }


def coverage_cell(runs: Records, _: Records) -> str:
    return f"{mean(runs, 'coverage'):.4f}"


def spread_of_seeds(records: Records) -> str:
    """One row a task: the error of PLCP over seeds, its coverage, and runs in band."""
    rows = []
    for task in unique(records, "task"):
        split, ours = (pick(records, task=task, method=m) for m in (SPLIT, OURS))
        ratios = [a["msce"] / b["msce"] for a, b in zip(ours, split, strict=True)]
        rows.append(
            [
                task,
                f"{mean(ours, 'msce') / mean(split, 'msce'):.3f}",
                f"{min(ratios):.3f} to {max(ratios):.3f}",
                f"{mean(ours, 'coverage'):.4f}",
                f"{sum(r['in_band'] for r in ours)} of {len(ours)}",
            ]
        )
    return table(["task:rows", "MSCE / Split's", "over seeds", "coverage", "in band"], rows)


def real(records: Records, size: str) -> str:
    """What was measured of real sets, each quantity in a table of its own."""
    first = unique(records, "method")[0]
    return (
        f"L1-ERT relative to that of {first}:\n\n"
        + by_task(records, ratio_of("ert"))
        + "\nL1-ERT × 100:\n\n"
        + by_task(records, lambda runs, _: f"{100 * mean(runs, 'ert'):.2f}")
        + "\nMarginal coverage:\n\n"
        + by_task(records, coverage_cell)
        + f"\nMean length relative to that of {first}:\n\n"
        + by_task(records, ratio_of(size))
        + "\nSeconds to fit the rule:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'fit_seconds'):.2f}")
    )


def images(results: Results) -> Blocks:
    """Blocks of benchmarks_images.md."""
    neural = results["neural"]
    blocks = {}
    for part in ("mnist", "noise", "gas"):
        records = neural[part]["results"]
        split = pick(records, method=SPLIT, never_empty=False)
        accuracy = levels(split, "predictor_accuracy", 2)
        blocks[part] = (
            measured(neural[part], f"accuracy.neural {part}")
            + f"Accuracy of the predictor by level: {accuracy}.\n\n"
            + shifted(records)
        )
    for part in ("corruptions", "clothes"):
        drawn = measured(neural[part], f"accuracy.neural {part}")
        blocks[part] = drawn + corrupted(neural[part]["results"])
    simulated = neural["synthetic"]
    blocks["synthetic"] = (
        measured(simulated, "accuracy.neural synthetic")
        + "MSCE relative to Split's:\n\n"
        + by_task(simulated["results"], ratio_of("msce"))
        + "\nMarginal coverage:\n\n"
        + by_task(simulated["results"], coverage_cell)
    )
    return blocks


def speed(results: Results) -> Blocks:
    """Blocks of benchmarks_speed.md."""
    drawn = {"cli": cli_tables(results["cli"])}
    for name, entries in (
        ("", results["linear_and_import"]),
        ("peers-", results["peers"]),
        ("metric-", results["metrics"]),
        ("other-", {k: v for k, v in results["rivals"].items() if k != "table"}),
    ):
        for part, entry in entries.items():
            commit = f"\nCommit {entry['provenance']['commit']}.\n"
            drawn[name + part] = BLOCKS[name + part](entry["results"]) + commit
    return drawn


def checks(results: Results) -> Blocks:
    """Blocks of benchmarks_checks.md."""
    intervals, theory = results["intervals"], results["theory"]
    exact, choice = intervals["exact"]["results"], theory["choice"]["results"]
    rows = [[f"{row['n']:,}", str(row["paper"]), str(row["sharp"])] for row in choice]
    return {
        "exact": measured(intervals["exact"], "accuracy.intervals")
        + f"{exact['data_sets']:,} simulated data sets each:\n\n"
        + held(exact["held"]),
        "approximate": held(intervals["approximate"]["results"]["held"]),
        "population": measured(theory["population"], "accuracy.theory")
        + shares(theory["population"]["results"], "m"),
        "learned": shares(theory["learned"]["results"], "n"),
        "choice": table(["n", "Theorem 3.11", "sharp"], rows),
    }


PAGES: dict[str, Callable[[Results], Blocks]] = {
    "benchmarks": overview,
    "benchmarks_tabular": tabular,
    "benchmarks_images": images,
    "benchmarks_speed": speed,
    "benchmarks_checks": checks,
}
FILES = {
    "accuracy": ("conditional", "neural", "rivals", "intervals", "theory", "modes"),
    "speed": ("linear_and_import", "peers", "metrics", "cli"),
}


def draw() -> None:
    """Fill the blocks of all pages."""
    results = {name: load(f"{folder}/{name}") for folder, names in FILES.items() for name in names}
    for name, blocks in PAGES.items():
        path = FOLDER / f"{name}.md"
        path.write_text(fill(path.read_text(encoding="utf-8"), blocks(results)), encoding="utf-8")


if __name__ == "__main__":
    draw()
