"""What the README shows works as pasted."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
COMMANDS = re.findall(r"```sh\n(.*?)```", README.read_text(), flags=re.S)


def test_the_readme_shows_code():
    assert BLOCKS
    assert COMMANDS


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_readme_runs_as_pasted(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    exec(compile(block, str(README), "exec"), {})


@pytest.mark.slow
@pytest.mark.parametrize("commands", COMMANDS)
def test_commands_of_the_readme_run_as_pasted(commands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables = next(block for block in BLOCKS if "to_csv" in block)
    exec(compile(tables, str(README), "exec"), {})
    for line in commands.splitlines():
        program, *arguments = shlex.split(line)
        done = subprocess.run(
            [Path(sys.executable).with_name(program), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert (tmp_path / "report.html").stat().st_size < 3_000_000
