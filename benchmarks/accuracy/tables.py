"""Tables of what was measured of accuracy; from the JSON, those of README.md and all pages.

python -m benchmarks.accuracy.tables
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.shared import ROOT, Records, fill, load, mean, pick, table, unique
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


def held(shares: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(shares.values())))
    rows = [[name, *(f"{by_name[name]:.3f}" for by_name in shares.values())] for name in names]
    return table(["", *(f"n = {n}" for n in shares)], rows)


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


def census(records: Records) -> str:
    return by_task(
        records, lambda runs, _: f"{mean(runs, 'coverage'):.3f} ({mean(runs, 'length'):,.0f})"
    )


def spread(records: Records, key: str, digits: int = 3) -> str:
    """Value of each seed, in order."""
    return " ".join(f"{record[key]:.{digits}f}".replace("0.", ".", 1) for record in records)


def levels(records: Records, key: str, digits: int) -> str:
    means = np.mean([record[key] for record in records], axis=0)
    return " ".join(f"{value:.{digits}f}" for value in means)


def shifted(records: Records) -> str:
    """Coverage by hidden level of each method, its cost, and how coverage depends on size."""
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
    return (
        table(header, rows)
        + "\nDependence of set size and coverage:\n\n"
        + table(titles, dependence)
    )


NEURAL = "PLCP, neural default"


def corrupted(records: Records) -> str:
    """Each method on kinds of corruption tuned on and left out, then each kind."""
    methods, tasks = unique(records, "method"), unique(records, "task")
    rows = []
    for role in dict.fromkeys(task.partition(":")[0] for task in tasks):
        own = [record for record in records if record["task"].startswith(role)]
        n_kinds = len(unique(own, "task"))
        for name in methods:
            runs = pick(own, method=name)
            pairs = zip(runs, pick(own, method=NEURAL), strict=True)
            times = [run["fit_seconds"] / default["fit_seconds"] for run, default in pairs]
            rows.append(
                [
                    f"{n_kinds} kinds {role}: {name}",
                    with_error([run["worst_level"] for run in runs], 4),
                    f"{mean(runs, 'size_over_oracle'):.3f}",
                    f"{mean(runs, 'coverage'):.3f}",
                    f"{np.median(times):.2f}",
                ]
            )
    header = ["", "worst level", "size / oracle", "marginal", "fit / default's"]
    text = table(header, rows) + "\nEach kind, mean of the seeds:\n\n"
    rows = []
    for task in tasks:
        runs = {name: pick(records, task=task, method=name) for name in methods}
        default = runs[NEURAL]
        rows.append(
            [
                task,
                levels(default, "predictor_accuracy", 2),
                levels(default, "coverage_by_level", 3),
                *(f"{mean(runs[name], 'worst_level'):.3f}" for name in methods),
                f"{mean(default, 'size_over_oracle'):.2f}",
            ]
        )
    header = ["", "accuracy by level", "coverage by level of the default"]
    header += [*(f"worst level, {name}" for name in methods), "size of the default / oracle's"]
    return text + table(header, rows)


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


def modes_coverage(records: Records) -> str:
    """One table per regressor; bold where coverage is three standard errors below 0.9."""
    text = ""
    for learner in unique(records, "learner"):
        own = pick(records, learner=learner)
        modes = unique(own, "mode")
        rows = []
        for case, n in dict.fromkeys((r["case"], r["n"]) for r in own):
            by_mode = {r["mode"]: r for r in pick(own, case=case, n=n)}
            rows.append([f"{case}, n = {n:,}", *(_covered(by_mode[mode]) for mode in modes)])
        fits = " or ".join(f"{k:,}" for k in unique(own, "fits"))
        text += f"Regressor: {learner}, {fits} fits each.\n\n" + table(["", *modes], rows) + "\n"
    return text


def _covered(record: dict[str, Any]) -> str:
    text = f"{100 * record['coverage']:.2f} ± {100 * record['error']:.2f}"
    return f"**{text}**" if record["coverage"] + 3 * record["error"] < 0.9 else text


def taught_summary(records: Records) -> str:
    """One table per share of training rows: means over sets, relative to CQR and the default."""
    text = ""
    for share in sorted(unique(records, "share")):
        runs = pick(records, share=share)
        errors = mean_errors(runs)
        average = {name: np.mean(list(of.values())) for name, of in errors.items()}
        rows = []
        for name, of in errors.items():
            own = pick(runs, method=name)
            wins = sum(of[task] < errors["CQR"][task] for task in of)
            lengths = [
                mean(pick(own, task=task), "length")
                / mean(pick(runs, task=task, method="Split"), "length")
                for task in of
            ]
            rows.append(
                [
                    name,
                    f"{100 * average[name]:.2f}",
                    f"{average[name] / average['CQR']:.2f}",
                    f"{average[name] / average['rotate']:.2f}",
                    "" if name == "CQR" else f"{wins} of {len(of)}",
                    f"{100 * mean(own, 'worst group'):.1f}",
                    f"{np.mean(lengths):.2f}",
                    f"{mean(own, 'coverage'):.3f}",
                    f"{mean(own, 'seconds'):.1f}",
                ]
            )
        sets, seeds = unique(runs, "task"), len(unique(runs, "seed"))
        text += (
            f"**{share:.0%} of the rows train**, {len(sets)} sets ({', '.join(sets)}), "
            f"{seeds} seeds:\n\n"
        )
        header = ["", "L1-ERT × 100", "/ CQR's", "/ default's", "sets better than CQR"]
        header += ["worst group gap × 100", "length / Split's", "coverage", "seconds"]
        text += table(header, rows) + "\n"
    return text


def mean_errors(records: Records) -> dict[str, dict[str, float]]:
    """Mean over seeds of the ERT of each method on each set."""
    return {
        method: {
            task: mean(pick(records, task=task, method=method), "ert")
            for task in unique(records, "task")
        }
        for method in unique(records, "method")
    }


def modes_taught(records: Records) -> str:
    """One table per share of training rows: a row for each set, a column for each method."""
    methods, text = unique(records, "method"), ""
    for share in sorted(unique(records, "share")):
        rows = []
        for task in unique(pick(records, share=share), "task"):
            runs = pick(records, task=task, share=share)
            length = mean(pick(runs, method="Split"), "length")
            cells = [
                f"{100 * mean(own, 'ert'):.1f} / {100 * mean(own, 'worst group'):.1f} / "
                f"{mean(own, 'length') / length:.2f}"
                for own in (pick(runs, method=method) for method in methods)
            ]
            rows.append([task, *cells])
        text += f"{share:.0%} of the rows train:\n\n" + table(["", *methods], rows) + "\n"
    return text


IN_README = {
    "PLCP": "`PLCP`, the default",
    "CQR": "conformalised quantile regression (CQR)",
    "PLCP, on CQR's scores": "`PLCP` on CQR's scores",
    "rectified": "rectified conformal prediction",
    "CPCP": "CPCP",
    "BatchGCP": "`BatchGCP`, which is given the groups",
    "PLCP, as published": "Algorithm 1 of the paper",
    "RLCP": "randomly localised (RLCP)",
    "Split": "split conformal",
}


def readme_rivals(records: Records) -> str:
    """Some methods, best mean rank among all first, with real sets in one column."""
    errors, lengths = mean_by(records, "error"), mean_by(records, "length")
    gaps, ranks = mean_by(records, "worst_gap"), mean_ranks(records)

    def mean_share(values: dict[str, dict[str, float]], tasks: list[str], method: str) -> float:
        return float(np.mean([values[task][method] / values[task]["Split"] for task in tasks]))

    real = [task for task in errors if task != "paper"]
    rows = [
        [
            IN_README[method],
            f"{ranks[method]:.1f}",
            f"{mean_share(errors, ['paper'], method):.2f}",
            f"{mean_share(errors, real, method):.2f}",
            f"{np.mean([gaps[task][method] for task in gaps]):.3f}",
            f"{mean_share(lengths, list(lengths), method):.2f}",
        ]
        for method in sorted(IN_README, key=lambda name: ranks[name])
    ]
    header = [
        "",
        f"mean rank of {len(ranks)}",
        "error, paper's task",
        "error, real sets",
        "worst group gap",
        "length",
    ]
    return table(header, rows)


def main() -> None:
    from benchmarks.accuracy import page

    page.draw()
    drawn = {
        "census": census(load("accuracy/conditional")["census"]["results"]),
        "rivals": readme_rivals(load("accuracy/rivals")["table"]["results"]),
    }
    readme = ROOT / "README.md"
    readme.write_text(fill(readme.read_text(encoding="utf-8"), drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
