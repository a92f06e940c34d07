"""The command line's figures as tables."""

from typing import Any

from benchmarks.shared import table

METHODS = {"plcp": "default rule", "split": "Split"}


def cli_summary(cli: dict[str, Any]) -> str:
    """What the command takes: seconds, memory, and speed beside a copy of the file."""
    start, audit, apply = (cli[part]["results"] for part in ("start", "audit", "apply"))
    rows = [["`plcp --help`, seconds", f"{start['help_seconds']:.2f}"]]
    million = f"{audit['rows'] / 1e6:g} million rows × {audit['columns']}"
    rows.append([f"`audit` of {million}, seconds", f"{audit['seconds']:.0f}"])
    big = f"{apply['rows'] / 1e6:g} million rows × 20"
    for method, name in METHODS.items():
        found = apply[method]
        what = f"`apply` to {big}, {name}"
        rows += [
            [f"{what}: peak memory, MB", f"{found['peak_megabytes']:,.0f}"],
            [
                f"{what}: speed relative to copying the file by pyarrow",
                f"{found['share_of_copying_speed']:.2f}",
            ],
        ]
    return table(["command", "measured"], rows)


def cli_tables(cli: dict[str, Any]) -> str:
    """All figures, with the commits they were measured on."""
    commits = {part: entry["provenance"]["commit"] for part, entry in cli.items()}
    text = "*Measured by `python -m benchmarks.speed.cli`; commits: "
    text += ", ".join(f"{part} {commit}" for part, commit in commits.items()) + ".*\n\n"
    apply = cli["apply"]["results"]
    rows = [
        [key.replace("_", " "), *(f"{apply[method][key]:,.4g}" for method in METHODS)]
        for key in apply["plcp"]
    ]
    named = [
        f"`apply`, {apply['rows']:,} rows, {apply['file_megabytes']:,.0f} MB",
        *METHODS.values(),
    ]
    return text + cli_summary(cli) + "\n" + table(named, rows)
