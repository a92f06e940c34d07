"""The tables of docs/benchmarks.md and README.md, written from the JSON of the benchmarks alone.

python benchmarks/tables.py
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cli_tables import cli_section, readme_cli
from diagnostic_tables import metrics_section, theory_section
from drawing import Records, mean, pick, short, table, unique
from records import RESULTS
from rival_tables import ranked, rivals_section

LIMITS = {
    "paper:50000": (0.06, 0.03),
    "paper:10000": (0.13, 0.08),
    "paper:2000": (0.6, 0.4),
    "paper:300": (1.05, 0.85),
    "nonlinear:50000": (0.07, 0.04),
    "nonlinear:5000": (0.25, 0.18),
    "nonlinear:300": (1.05, 0.85),
}
ROOT = Path(__file__).parent.parent


def by_task(records: Records, cell: Callable[[Records, Records], str]) -> str:
    """One row a task, one column a method; a cell sees its runs and the first method's."""
    names = unique(records, "method")
    rows = []
    for task in unique(records, "task"):
        base = pick(records, task=task, method=names[0])
        rows.append([task, *(cell(pick(records, task=task, method=name), base) for name in names)])
    return table(["", *names], rows)


def ratio_of(key: str) -> Callable[[Records, Records], str]:
    return lambda runs, base: f"{mean(runs, key) / mean(base, key):.3f}"


def synthetic(records: Records) -> str:
    rows = []
    for task in unique(records, "task"):
        split, ours = (pick(records, task=task, method=m) for m in ("Split", "PLCP, default"))
        ratios = [a["msce"] / b["msce"] for a, b in zip(ours, split, strict=True)]
        limit, aim = LIMITS[task]
        rows.append(
            [
                task,
                f"{limit:g} / {aim:g}",
                f"{mean(ours, 'msce') / mean(split, 'msce'):.3f}",
                f"{min(ratios):.3f} to {max(ratios):.3f}",
                f"{mean(ours, 'coverage'):.4f}",
                f"{sum(r['in_band'] for r in ours)} of {len(ours)}",
            ]
        )
    header = ["task:n", "limit / aim", "MSCE / Split's", "over seeds", "coverage", "in band"]
    return (
        table(header, rows)
        + "\nAll methods, MSCE relative to Split's:\n\n"
        + by_task(records, ratio_of("msce"))
        + "\nMarginal coverage:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'coverage'):.4f}")
    )


def real(records: Records, size: str) -> str:
    return (
        "ERT (L1), relative to the first column's:\n\n"
        + by_task(records, ratio_of("ert"))
        + "\nERT (L1) × 100:\n\n"
        + by_task(records, lambda runs, _: f"{100 * mean(runs, 'ert'):.2f}")
        + "\nMarginal coverage:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'coverage'):.4f}")
        + "\nMean length, relative to the first column's:\n\n"
        + by_task(records, ratio_of(size))
        + "\nFit, seconds:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'fit_seconds'):.2f}")
    )


def census(records: Records) -> str:
    return by_task(
        records, lambda runs, _: f"{mean(runs, 'coverage'):.3f} ({mean(runs, 'length'):,.0f})"
    )


def readme_synthetic(records: Records) -> str:
    """MSCE of every method, relative to Split's, with the limit the default was held to."""
    return by_task(records, ratio_of("msce"))


def spread(records: Records, key: str, digits: int = 3) -> str:
    """Value of each seed, in order."""
    return " ".join(f"{record[key]:.{digits}f}".replace("0.", ".", 1) for record in records)


def levels(records: Records, key: str, digits: int) -> str:
    means = np.mean([record[key] for record in records], axis=0)
    return " ".join(f"{value:.{digits}f}" for value in means)


def shifted(records: Records) -> str:
    """Coverage by hidden level of every method, what it costs, and how size and coverage go."""
    rows, dependence = [], []
    for never_empty in (False, True):
        for name in unique(records, "method"):
            runs = pick(records, method=name, never_empty=never_empty)
            if not runs:
                continue
            title = f"{name}, never empty" if never_empty else name
            rows.append(
                [
                    title,
                    levels(runs, "coverage_by_level", 3),
                    spread(runs, "worst_level"),
                    f"{mean(runs, 'coverage'):.3f}",
                    levels(runs, "size_by_level", 2),
                    spread(runs, "size_over_oracle", 2),
                    f"{100 * mean(runs, 'empty'):.1f}",
                    " ".join(f"{run['groups_alive']}" for run in runs),
                    spread(runs, "fit_over_predictor", 2),
                    f"{sum(run['collapse_warning'] for run in runs)} of {len(runs)}",
                ]
            )
            cells = [spread(runs, key, d) for key, d in (("hsic", 5), ("pearson", 3))]
            gains = [spread(runs, key, 0) for key in ("hsic_gain", "pearson_gain")]
            dependence.append([title, cells[0], gains[0], cells[1], gains[1]])
    header = ["", "coverage by level", "worst level", "marginal", "size by level", "size / oracle"]
    header += ["empty %", "groups of 2 %", "fit / predictor", "collapse told"]
    titles = ["", "HSIC", "gain %", "Pearson r", "gain %"]
    accuracy = levels(pick(records, method="Split", never_empty=False), "predictor_accuracy", 2)
    return (
        f"Accuracy of the predictor by level: {accuracy}. Seeds in order where there are several "
        "numbers in a cell; else their mean.\n\n"
        + table(header, rows)
        + "\nDependence of set size and coverage: HSIC with Gaussian kernels exp(-d²), no square "
        "root; Pearson correlation; and the per cent of Split's that is gone (of the absolute "
        "value, for Pearson):\n\n" + table(titles, dependence)
    )


def neural_synthetic(records: Records) -> str:
    return (
        "MSCE relative to Split's:\n\n"
        + by_task(records, ratio_of("msce"))
        + "\nMarginal coverage:\n\n"
        + by_task(records, lambda runs, _: f"{mean(runs, 'coverage'):.4f}")
    )


def readme_neural(records: Records) -> str:
    """Coverage and set size by level of blur, with the predictor's accuracy there."""
    names = ["Split", "PLCP, neural default", "Algorithm 1, kept alive", "oracle"]
    runs = {name: pick(records, method=name, never_empty=False) for name in names}
    accuracy = np.mean([run["predictor_accuracy"] for run in runs["Split"]], axis=0)
    by_level = {
        name: np.mean([[r["coverage_by_level"], r["size_by_level"]] for r in own], axis=0)
        for name, own in runs.items()
    }
    rows = [
        [f"{share:.0%}", *(f"{m[0, k]:.3f} ({m[1, k]:.2f})" for m in by_level.values())]
        for k, share in enumerate(accuracy)
    ]
    overall = [f"{mean(own, 'coverage'):.3f} ({mean(own, 'size'):.2f})" for own in runs.values()]
    return table(["accuracy of the predictor", *names], [*rows, ["all images", *overall]])


def results_page(
    conditional: dict[str, Any],
    speed: dict[str, Any],
    neural: dict[str, Any],
    rivals: dict[str, Any],
    metrics: dict[str, Any],
    intervals: dict[str, Any],
    theory: dict[str, Any],
    cli: dict[str, Any],
) -> str:
    parts: list[tuple[Any, str, Callable[[Records], str]]] = [
        (conditional["synthetic"], "Synthetic tasks, exact MSCE", synthetic),
        (
            conditional["real"],
            "Real sets, absolute residuals",
            lambda r: real(r, "mean_threshold"),
        ),
        (conditional["cqr"], "Real sets, scores of CQR", lambda r: real(r, "length")),
        (conditional["census"], "Census: coverage (mean length) of people nobody named", census),
        (neural["mnist"], "Networks: digits at five levels of blur", shifted),
        (neural["noise"], "Networks, not tuned on: digits at five levels of noise", shifted),
        (neural["gas"], "Networks, not tuned on: batches of drifting gas sensors", shifted),
        (neural["synthetic"], "Networks: the paper's synthetic task", neural_synthetic),
    ]
    text = "# Benchmarks\n\nWritten by `benchmarks/tables.py` from `benchmarks/results/*.json`.\n"
    for entry, title, draw in parts:
        text += f"\n## {title}\n\nCommit {entry['provenance']['commit']}.\n\n"
        text += draw(entry["results"])
    text += rivals_section(rivals)
    text += metrics_section(metrics, intervals) + theory_section(theory)
    text += "\n## Speed and memory\n\nRatios in one run, as `benchmarks/speed.py` says.\n\n"
    for part, entry in speed.items():
        facts = ", ".join(f"{key} {short(value)}" for key, value in entry["results"].items())
        text += f"- **{part}** (commit {entry['provenance']['commit']}): {facts}\n"
    return text + cli_section(cli)


def readme_with_tables(
    readme: str,
    conditional: dict[str, Any],
    neural: dict[str, Any],
    rivals: dict[str, Any],
    cli: dict[str, Any],
) -> str:
    """Return the README with the blocks between <!-- name --> and <!-- /name --> made anew."""
    drawn = {
        "synthetic": readme_synthetic(conditional["synthetic"]["results"]),
        "census": census(conditional["census"]["results"]),
        "neural": readme_neural(neural["mnist"]["results"]),
        "rivals": ranked(rivals["table"]["results"]),
        "cli": readme_cli(cli),
    }
    for name, text in drawn.items():
        block = f"<!-- {name} -->\n{text}<!-- /{name} -->"
        readme = re.sub(f"<!-- {name} -->.*?<!-- /{name} -->", block, readme, flags=re.S)
    return readme


def load() -> dict[str, dict[str, Any]]:
    names = ("conditional", "speed", "neural", "rivals", "metrics", "intervals", "theory", "cli")
    return {
        name: json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")) for name in names
    }


def main() -> None:
    results = load()
    (ROOT / "docs" / "benchmarks.md").write_text(results_page(**results), encoding="utf-8")
    readme = ROOT / "README.md"
    drawn = {name: results[name] for name in ("conditional", "neural", "rivals", "cli")}
    text = readme_with_tables(readme.read_text(encoding="utf-8"), **drawn)
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
