"""Tables of every method under one roof, drawn from results/rivals.json."""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from drawing import Records, mean, pick, short, table, unique


def mean_by(records: Records, key: str) -> dict[str, dict[str, float]]:
    """Mean over seeds of each method on each task."""
    return {
        task: {
            method: mean(pick(records, task=task, method=method), key)
            for method in unique(records, "method")
        }
        for task in unique(records, "task")
    }


def mean_ranks(records: Records) -> dict[str, float]:
    """Mean over tasks of the rank of a method's conditional error, the smallest error first."""
    by_task = mean_by(records, "error")
    methods = unique(records, "method")
    ranks = [rankdata([errors[method] for method in methods]) for errors in by_task.values()]
    return dict(zip(methods, np.mean(ranks, axis=0), strict=True))


def ranked(records: Records) -> str:
    """One row a method, best mean rank first: errors relative to Split's, and what they cost."""
    errors, lengths = mean_by(records, "error"), mean_by(records, "length")
    gaps, coverage = mean_by(records, "worst_gap"), mean_by(records, "coverage")
    ranks, tasks = mean_ranks(records), list(errors)
    rows = []
    for method in sorted(ranks, key=lambda name: ranks[name]):
        own = pick(records, method=method)
        relative = [errors[task][method] / errors[task]["Split"] for task in tasks]
        best = [errors[task][method] == min(errors[task].values()) for task in tasks]
        shorter = np.mean([lengths[task][method] / lengths[task]["Split"] for task in tasks])
        rows.append(
            [
                method,
                f"{ranks[method]:.1f}",
                *(
                    f"**{value:.2f}**" if wins else f"{value:.2f}"
                    for value, wins in zip(relative, best, strict=True)
                ),
                f"{np.mean([gaps[task][method] for task in tasks]):.3f}",
                f"{min(coverage[task][method] for task in tasks):.3f}–"
                f"{max(coverage[task][method] for task in tasks):.3f}",
                f"{shorter:.2f}",
                f"{mean(own, 'fit_seconds'):.1f}",
                f"{mean(own, 'predict_seconds'):.1f}",
            ]
        )
    header = [
        "",
        "mean rank",
        *tasks,
        "worst group gap",
        "coverage",
        "length",
        "fit s",
        "predict s",
    ]
    return table(header, rows)


def worst_gaps(records: Records) -> str:
    """Largest distance from 0.9 over fifths of columns and categories, on each task."""
    gaps = mean_by(records, "worst_gap")
    rows = [
        [method, *(f"{gaps[task][method]:.3f}" for task in gaps)]
        for method in unique(records, "method")
    ]
    return table(["", *gaps], rows)


def facts(results: Any) -> str:
    """Numbers of a comparison of two implementations, one list item a case."""
    cases = results if isinstance(results, list) else [results]
    return "".join(
        "- "
        + ", ".join(f"{key.replace('_', ' ')} {short(value)}" for key, value in case.items())
        + "\n"
        for case in cases
    )


def rivals_section(rivals: dict[str, Any]) -> str:
    """Return the section of docs/benchmarks.md about every method under one roof."""
    records = rivals["table"]["results"]
    text = "\n## Every method under one roof\n\n"
    text += f"Commit {rivals['table']['provenance']['commit']}. "
    text += (
        "Conditional error relative to Split's: exact MSCE on the paper's task (10,000 rows), "
        "ERT of `covmetrics` elsewhere; means over seeds, the best in bold. Worst group gap: "
        "largest distance of a group's coverage from 0.9, over fifths of columns and categories "
        "of 200 test rows or more; BatchGCP, BatchMVP and *conditional, groups* are told these "
        "groups. Length relative to Split's, an infinite threshold counted as the largest "
        "calibration score.\n\n"
    )
    text += ranked(records)
    text += "\nWorst group gap on each task:\n\n" + worst_gaps(records)
    titles = {
        "conditional": "`ConditionalCalibration` and MAPIE's `ConditionalSplitConformalRegressor`, "
        "2,000 calibration rows",
        "rlcp": "`RLCP` and a plain loop over test points, 20,000 rows of either, d = 10",
        "batch_gcp": "`BatchGCP` and `LinearQuantile` on the same matrix, 50,000 rows, 20 groups",
    }
    for part, title in titles.items():
        text += f"\n{title} (commit {rivals[part]['provenance']['commit']}):\n\n"
        text += facts(rivals[part]["results"])
    return text
