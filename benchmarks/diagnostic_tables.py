"""Sections of docs/benchmarks.md about metrics, their intervals, and the theory's bounds."""

from typing import Any

from drawing import Records, pick, short, table, unique


def metrics_section(metrics: dict[str, Any], intervals: dict[str, Any]) -> str:
    text = "\n## Diagnostics\n\n"
    entry = intervals["exact"]
    text += (
        f"Share of {entry['results']['data_sets']:,} simulated data sets in which a nominal 95 % "
        "interval held the truth, by the number of rows (`benchmarks/intervals.py`, commit "
        f"{entry['provenance']['commit']}). Exact intervals are never short, and may be long:\n\n"
    )
    text += held(intervals["exact"]["results"]["held"])
    text += "\nApproximate ones:\n\n" + held(intervals["approximate"]["results"]["held"])
    text += "\nWhat they cost, as `benchmarks/metrics.py` says:\n\n"
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
        f"`benchmarks/theory.py`, commit {theory['population']['provenance']['commit']}. "
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
