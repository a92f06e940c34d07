"""Numbers of rows, seconds and bytes as people write them."""

from typing import Any


def power(n: float) -> str:
    """A number of rows as people write it: 3·10^7."""
    exponent = len(str(round(n))) - 1
    lead = f"{n / 10**exponent:g}"
    return f"10^{exponent}" if lead == "1" else f"{lead}·10^{exponent}"


def seconds(value: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if value >= 2 * size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"


def megabytes(value: float) -> str:
    return f"{value:,.0f} MB"


def rate(run: dict[str, Any], *, alone: bool) -> float:
    """Rows a second, making the rows included, or with the time of making them taken off."""
    made = run["pass_seconds"] if alone else 0.0
    return run["rows"] / max(run["seconds"] - made, 1e-9)
