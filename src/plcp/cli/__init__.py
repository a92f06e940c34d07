"""The command ``plcp``.

Exit codes: 0 done; 1 a check failed (``audit --fail-under``); 2 wrong options or
input; 3 could not be done (disk, memory, a missing package); 130 stopped; 141 its output was no
longer read.
"""

import sys

DONE, FAILED, WRONG, UNABLE, STOPPED, CUT_SHORT = 0, 1, 2, 3, 130, 141


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        from plcp.cli.commands import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print("plcp: the command needs typer and rich: pip install 'plcp[cli]'", file=sys.stderr)
        return UNABLE
    try:
        app(arguments, prog_name="plcp")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else DONE
    return DONE
