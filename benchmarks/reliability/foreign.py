"""The tables of docs/explanation/foreign_tests.md, from results/foreign.json alone.

python -m benchmarks.reliability.foreign
"""

from typing import Any

from benchmarks.shared import ROOT, fill, load, table

PAGE = ROOT / "docs" / "explanation" / "foreign_tests.md"
Suites = dict[str, Any]


def counts(suites: Suites) -> str:
    """How many tests of each suite are run, and how many pass."""
    rows = []
    for suite in suites.values():
        run = suite["passed"] + suite["failed"]
        rows.append(
            [
                f"{suite['title']} ({suite['version']})",
                suite["of"],
                f"{suite['passed']:,} of {run:,}",
                f"{suite['not run'] + suite['skipped']:,}",
            ]
        )
    passed, failed = (
        sum(suite[what] for suite in suites.values()) for what in ("passed", "failed")
    )
    rows.append(["all", "", f"{passed:,} of {passed + failed:,}", ""])
    return table(["tests of", "against", "pass", "not run"], rows)


def failures(suites: Suites) -> str:
    """Why each of the others does not pass."""
    rows = [
        [suite["title"], reason["kind"], reason["reason"], f"{reason['times']:,}", names(reason)]
        for suite in suites.values()
        for reason in suite["failures"]
    ]
    return table(["tests of", "kind", "why", "times", "tests"], rows)


def names(reason: dict[str, Any]) -> str:
    """Return the tests as code, without their cases and each once."""
    tests = dict.fromkeys(test.partition("::")[2].partition("[")[0] for test in reason["tests"])
    return ", ".join(f"`{test}`" for test in tests)


def left_out(suites: Suites) -> str:
    """What the tests that are not run are about."""
    rows = [
        [suite["title"], reason["reason"], f"{reason['times']:,}"]
        for suite in suites.values()
        for reason in suite["left out"]
    ]
    return table(["tests of", "about", "times"], rows)


def draw() -> None:
    suites = load("reliability/foreign")
    drawn = {"counts": counts(suites), "failures": failures(suites), "left out": left_out(suites)}
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), drawn), encoding="utf-8")


if __name__ == "__main__":
    draw()
