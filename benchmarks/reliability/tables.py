"""What was measured of reliability, one table per part."""

from typing import Any

from benchmarks.shared import table

Results = dict[str, Any]
DEFAULT, FIVE_FOLDS = "PLCP, cross, 2,000 × 100", "PLCP, 5 folds, 50,000 × 20"


def files(found: Results) -> str:
    """Saving, loading and sizes, beside skops."""
    header = ["", "save", "load", "size", "skops: save", "load", "size"]
    rows = [
        [name, *_file(of["plcp"]), *(_file(of["skops"]) if of["skops"] else ["–"] * 3)]
        for name, of in found["models"].items()
    ]
    return table(header, rows)


def _file(of: dict[str, float]) -> list[str]:
    return [f"{of['save_ms']:.1f} ms", f"{of['load_ms']:.1f} ms", kilobytes(of["bytes"])]


def kilobytes(size: float) -> str:
    return f"{size / 1000:,.1f} kB"


def growth(found: Results) -> str:
    """Size of a file against the number of calibration rows."""
    sizes = next(iter(found["growth"].values()))
    header = ["calibration rows", *(f"{int(n):,}" for n in sizes)]
    rows = [[name, *map(kilobytes, of.values())] for name, of in found["growth"].items()]
    return table(header, rows)


def served(found: Results) -> str:
    """Rows predicted per second by Python and by onnxruntime."""
    header = ["rule", "rows at once", "Python", "ONNX", "ONNX / Python", "largest difference"]
    header += ["same group", "size"]
    rows = [
        [
            name,
            f"{int(n):,}",
            f"{rate['python']:,.0f}",
            f"{rate['onnx']:,.0f}",
            f"{rate['times']:.1f}",
            f"{of['largest_relative_difference']:.1e}",
            f"{of['same_group']:.2%}",
            kilobytes(of["bytes"]),
        ]
        for name, of in found["rules"].items()
        for n, rate in of["rates"].items()
    ]
    return table(header, rows)


def false_alarms(found: Results) -> str:
    """Shares of quiet streams with an alarm, ever: simulated misses, then whole rules."""
    monitors = [key for key in found["false_alarms"][0] if key not in ("calibration_rows", "rows")]
    header = ["streams without drift", "rows each", "streams", *monitors]
    rows = [
        [
            f"threshold of {of['calibration_rows']:,} calibration rows",
            f"{of['rows']:,}",
            str(of[monitors[0]]["streams"]),
            *(_share(of[name]) for name in monitors),
        ]
        for of in found["false_alarms"]
    ]
    rows += [
        [
            f"{of['rule']} ({'exact' if of['exact'] else 'approximate'})",
            f"{of['rows']:,}",
            str(of["streams"]),
            _share(of),
            *["–"] * (len(monitors) - 1),
        ]
        for of in found["rules"]
    ]
    return table(header, rows)


def _share(of: dict[str, float]) -> str:
    return f"{of['share']:.1%} ({of['low']:.1%} to {of['high']:.1%})"


def delays(found: Results) -> str:
    """Rows until an alarm: median and quartiles."""
    first = found["delays"][0]
    monitors = [key for key in first if isinstance(first[key], dict)]
    header = ["misses", "rows before the drift", *monitors, "beginning, estimated minus true"]
    rows = [
        [
            of["drift"],
            f"{of['quiet']:,}",
            *(_wait(of[name]) for name in monitors),
            "{1:,.0f} ({0:,.0f} to {2:,.0f})".format(*of["begun_said_minus_true"]),
        ]
        for of in found["delays"]
    ]
    return table(header, rows)


def _wait(of: dict[str, Any]) -> str:
    early = f"; {of['before']:.0%} too early" if of["before"] else ""
    if not of["rows"] or of["rows"][1] is None:
        return f"not found{early}"
    low, median, high = of["rows"]
    upper = "never" if high is None else f"{high:,.0f}"
    return f"{median:,.0f} ({low:,.0f} to {upper}){early}"


def levels(found: Results) -> str:
    """A partition for each alpha, compared with one that is shared."""
    header = ["task", "partition", "seconds to fit"]
    header += [f"alpha = {level:g}" for level in found["levels"]]
    rows = []
    for task, ways in found["tasks"].items():
        for way in ("own", "shared"):
            of = ways[way]
            values = of.get("msce", of.get("pinball"))
            kind = "MSCE" if "msce" in of else "pinball loss"
            cells = [f"{value:.3f}" for value in values]
            rows.append([f"{task}, {kind} of Split's", way, f"{of['fit_seconds']:.1f}", *cells])
    return table(header, rows)


def faults(found: Results) -> str:
    """Faults caused on purpose, and their outcomes."""
    rows = [
        [name, ", ".join(f"{what}: {times:,}" for what, times in of.items())]
        for name, of in found["faults"].items()
    ]
    rows += [
        [f"damaged files, {by}", ", ".join(f"{what}: {_number(n)}" for what, n in of.items())]
        for by, of in found["fuzz"].items()
    ]
    added = ", ".join(f"{name}: {value:,}" for name, value in found["fits"].items())
    return table(["fault", "outcomes"], [*rows, ["many fits in one process", added]])


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
