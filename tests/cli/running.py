"""Commands run as a user runs them, in the process of the tests."""

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import NamedTuple

from plcp.cli import main

INCOME = ("--target", "income", "--prediction", "predicted")


class Output(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str


def run(*arguments, folder, code=0):
    """Run a command in this process, which has imported all it needs."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        ended = main([*map(str, arguments)])
    assert ended == code, err.getvalue()
    return Output(out.getvalue(), err.getvalue())
