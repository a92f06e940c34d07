"""Draw the page of benchmarks and the tables of README.md from the JSON of accuracy and speed.

python -m benchmarks.accuracy.tables
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.shared import ROOT, Records, fill, load, mean, pick, short, table, unique
from benchmarks.speed.tables import cli_section, readme_cli
from scipy.stats import rankdata


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
    """Return the section of docs/explanation/benchmarks.md about every method under one roof."""
    records = rivals["table"]["results"]
    text = "\n## Every method under one roof\n\n"
    text += f"Commit {rivals['table']['provenance']['commit']}. "
    text += (
        "Conditional error relative to Split's: exact MSCE on the paper's task (10,000 rows), "
        "ERT of `covmetrics` elsewhere; means over seeds, the best in bold. Worst group gap: "
        "largest distance of a group's coverage from 0.9, over fifths of columns and categories "
        "of 200 test rows or more; BatchGCP, BatchMVP and *conditional, groups* are given these "
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


def metrics_section(metrics: dict[str, Any], intervals: dict[str, Any]) -> str:
    text = "\n## Diagnostics\n\n"
    entry = intervals["exact"]
    text += (
        f"Share of {entry['results']['data_sets']:,} simulated data sets in which a nominal 95 % "
        "interval held the truth, by the number of rows (`benchmarks/accuracy/intervals.py`, "
        f"commit {entry['provenance']['commit']}). Exact intervals are never short, and "
        "may be long:\n\n"
    )
    text += held(intervals["exact"]["results"]["held"])
    text += "\nApproximate ones:\n\n" + held(intervals["approximate"]["results"]["held"])
    text += "\nWhat they cost, as `benchmarks/speed/metrics.py` says:\n\n"
    for part, entry in metrics.items():
        text += f"- **{part}** (commit {entry['provenance']['commit']}): "
        text += "; ".join(fact(*each) for each in entry["results"].items()) + "\n"
    return text


def held(shares: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(shares.values())))
    rows = [[name, *(f"{by_name[name]:.3f}" for by_name in shares.values())] for name in names]
    return table(["", *(f"n = {n}" for n in shares)], rows)


def fact(name: str, value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(fact(*each) for each in value.items())
        return f"*{name}*: {inner}"
    return f"{name.replace('_', ' ')} {short(value)}"


def theory_section(theory: dict[str, Any]) -> str:
    population, learned = theory["population"]["results"], theory["learned"]["results"]
    text = "\n## Bounds beside what they bound\n\n"
    text += (
        f"`benchmarks/accuracy/theory.py`, commit {theory['population']['provenance']['commit']}. "
        "Populations whose best groups can be computed (laws of the conditional quantile × laws of "
        "the score): the largest share that the measured number is of its bound. None may exceed "
        "one.\n\n"
    )
    text += shares(population, "m") + "\nLearned from n points, the worst of twenty runs each:\n\n"
    text += shares(learned, "n")
    text += "\nNumber of groups that minimises the finite-sample bound:\n\n"
    choice = theory["choice"]["results"]
    rows = [[f"{row['n']:,}", str(row["paper"]), str(row["sharp"])] for row in choice]
    return text + table(["n", "Theorem 3.11", "sharp"], rows)


def shares(records: Records, by: str) -> str:
    """Largest ratio of measured to bound, over all populations."""
    bounds = [f"{which} {what}" for what in ("excess", "msce") for which in ("paper", "sharp")]
    rows = [
        [f"{by} = {value:,}"]
        + [
            f"{max(r[bound.split()[1]] / r[bound] for r in pick(records, **{by: value})):.2g}"
            for bound in bounds
        ]
        for value in unique(records, by)
    ]
    return table(["", *bounds], rows)


LIMITS = {
    "paper:50000": (0.06, 0.03),
    "paper:10000": (0.13, 0.08),
    "paper:2000": (0.6, 0.4),
    "paper:300": (1.05, 0.85),
    "nonlinear:50000": (0.07, 0.04),
    "nonlinear:5000": (0.25, 0.18),
    "nonlinear:300": (1.05, 0.85),
}


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
        split, ours = (pick(records, task=task, method=m) for m in ("Split", "PLCP, cross"))
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
    header += ["empty %", "groups of 2 %", "fit / predictor", "collapse warning"]
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


def modes_section(modes: dict[str, Any]) -> str:
    """Return the section of docs/explanation/benchmarks.md about the ways to calibrate."""
    sentences = {
        "msce": "MSCE relative to that of `cross` on the same rows, on average over the rule "
        "that a row draws, ± standard error over seeds; in brackets the time of the fit "
        "relative to it (median). `one draw` is the threshold that is served: each row has that "
        "of one rule.",
        "coverage": "Coverage of new rows, in per cent, ± standard error over calibration sets: "
        "targets are 90, and exact modes may not lie below it by more than three standard errors.",
        "taught": "6,000 rows of real sets, trained and calibrated on; `taught`: out-of-fold "
        "scores of the training rows teach the rule, and each learned group is exact. L1-ERT × "
        "100 / largest distance of a group's coverage from .9, in points / length relative to "
        "Split's.",
    }
    draw = {"msce": modes_msce, "coverage": modes_coverage, "taught": modes_taught}
    text = "\n## Ways to calibrate\n\n`benchmarks/accuracy/modes.py`; proofs in "
    text += "[guarantees.md](guarantees.md).\n"
    for part, entry in modes.items():
        text += f"\n{sentences[part]} Commit {entry['provenance']['commit']}.\n\n"
        text += draw[part](entry["results"])
    return text


def with_error(values: Any, digits: int) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def modes_msce(records: Records) -> str:
    tasks = list(dict.fromkeys((record["task"], record["n"]) for record in records))
    rows = []
    for mode in unique(records, "mode"):
        kinds = ("msce", "msce of one draw") if mode == "rotate" else ("msce",)
        for kind in kinds:
            row = [mode if kind == "msce" else f"{mode}, one draw"]
            for task, n in tasks:
                own = pick(records, task=task, n=n, mode=mode)
                base = pick(records, task=task, n=n, mode="cross")
                pairs = list(zip(own, base, strict=True))
                times = [a["fit_seconds"] / b["fit_seconds"] for a, b in pairs]
                ratios = [a[kind] / b["msce"] for a, b in pairs]
                row.append(f"{with_error(ratios, 2)} ({np.median(times):.1f})")
            rows.append(row)
    return table(["", *(f"{task}:{n}" for task, n in tasks)], rows)


def readme_modes(records: Records) -> str:
    """MSCE of each way to calibrate, relative to Split's."""
    tasks = list(dict.fromkeys((record["task"], record["n"]) for record in records))
    rows = []
    for mode in unique(records, "mode"):
        row = [mode]
        for task, n in tasks:
            own, split = (
                mean(pick(records, task=task, n=n, mode=name), "msce") for name in (mode, "Split")
            )
            row.append(f"{own / split:.3f}")
        rows.append(row)
    return table(["", *(f"{task}:{n}" for task, n in tasks)], rows)


def modes_coverage(records: Records) -> str:
    modes = unique(records, "mode")
    rows = []
    for key in dict.fromkeys((r["learner"], r["case"], r["n"], r["fits"]) for r in records):
        learner, case, n, fits = key
        own = pick(records, learner=learner, case=case, n=n)
        cells = [f"{100 * r['coverage']:.2f} ± {100 * r['error']:.2f}" for r in own]
        rows.append([f"{case}, n = {n}", f"{learner} ({fits} fits)", *cells])
    return table(["", "regressor", *modes], rows)


def modes_taught(records: Records) -> str:
    tasks, text = unique(records, "task"), ""
    for share in unique(records, "share"):
        rows = []
        for method in unique(records, "method"):
            row, errors = [method], []
            for task in tasks:
                own = pick(records, task=task, share=share, method=method)
                split = pick(records, task=task, share=share, method="Split")
                errors += [r["ert"] for r in own]
                row.append(
                    f"{100 * mean(own, 'ert'):.1f} / {100 * mean(own, 'worst group'):.1f} / "
                    f"{mean(own, 'length') / mean(split, 'length'):.2f}"
                )
            coverages = [r["coverage"] for r in pick(records, share=share, method=method)]
            seconds = mean(pick(records, share=share, method=method), "seconds")
            rest = [f"{100 * np.mean(errors):.2f}", f"{np.mean(coverages):.3f}", f"{seconds:.1f}"]
            rows.append([*row, *rest])
        seeds = len(unique(pick(records, share=share), "seed"))
        text += f"{share:.0%} of the rows train, {seeds} seeds:\n\n"
        text += table(["", *tasks, "mean L1-ERT × 100", "coverage", "seconds"], rows) + "\n"
    return text


def results_page(
    conditional: dict[str, Any],
    fit_and_predict: dict[str, Any],
    neural: dict[str, Any],
    rivals: dict[str, Any],
    metrics: dict[str, Any],
    intervals: dict[str, Any],
    theory: dict[str, Any],
    modes: dict[str, Any],
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
        (
            conditional["census"],
            "Census: coverage (mean length) of groups not given to the rule",
            census,
        ),
        (neural["mnist"], "Networks: digits at five levels of blur", shifted),
        (neural["noise"], "Networks, not tuned on: digits at five levels of noise", shifted),
        (neural["gas"], "Networks, not tuned on: batches of drifting gas sensors", shifted),
        (neural["synthetic"], "Networks: the paper's synthetic task", neural_synthetic),
    ]
    text = (
        "# Benchmarks\n\nDrawn by `make docs-results` from the JSON in "
        "`benchmarks/accuracy/results` and `benchmarks/speed/results`.\n"
    )
    for entry, title, draw in parts:
        text += f"\n## {title}\n\nCommit {entry['provenance']['commit']}.\n\n"
        text += draw(entry["results"])
    text += modes_section(modes) + rivals_section(rivals)
    text += metrics_section(metrics, intervals) + theory_section(theory)
    text += "\n## Speed and memory\n\nRatios (`benchmarks/speed/fit_and_predict.py`).\n\n"
    for part, entry in fit_and_predict.items():
        facts = ", ".join(f"{key} {short(value)}" for key, value in entry["results"].items())
        text += f"- **{part}** (commit {entry['provenance']['commit']}): {facts}\n"
    return text + cli_section(cli)


def readme_with_tables(
    readme: str,
    conditional: dict[str, Any],
    neural: dict[str, Any],
    rivals: dict[str, Any],
    modes: dict[str, Any],
    cli: dict[str, Any],
) -> str:
    """Return the README with the blocks between <!-- name --> and <!-- /name --> drawn again."""
    drawn = {
        "synthetic": readme_synthetic(conditional["synthetic"]["results"]),
        "census": census(conditional["census"]["results"]),
        "neural": readme_neural(neural["mnist"]["results"]),
        "modes": readme_modes(modes["msce"]["results"]),
        "rivals": ranked(rivals["table"]["results"]),
        "cli": readme_cli(cli),
    }
    return fill(readme, drawn)


FILES = {
    "accuracy": ("conditional", "neural", "rivals", "intervals", "theory", "modes"),
    "speed": ("fit_and_predict", "metrics", "cli"),
}


def main() -> None:
    results = {name: load(f"{folder}/{name}") for folder, names in FILES.items() for name in names}
    (ROOT / "docs" / "explanation" / "benchmarks.md").write_text(
        results_page(**results), encoding="utf-8"
    )
    readme = ROOT / "README.md"
    drawn = {name: results[name] for name in ("conditional", "neural", "rivals", "modes", "cli")}
    text = readme_with_tables(readme.read_text(encoding="utf-8"), **drawn)
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
