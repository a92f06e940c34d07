"""What the README and the pages of the site show runs as pasted.

All blocks of a page share one namespace and one folder, from top to bottom. ``python`` and ``sh``
are run; ``py``, ``console``, ``bash`` and ``text`` are only shown.
"""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/index.md",
    *(
        page
        for kind in ("start", "guides", "explanation", "reference")
        for page in ROOT.glob(f"docs/{kind}/*.md")
    ),
]
BLOCK = re.compile(r"^( *)```(python|sh)\n(.*?)^\1```", flags=re.DOTALL | re.MULTILINE)
BLOCKS = {page.relative_to(ROOT).as_posix(): BLOCK.findall(page.read_text()) for page in PAGES}
OURS = "InfiniteThreshold", "SmallGroup", "ColumnOrder", "RowOrder", "UnseenCategory"

pytestmark = [
    pytest.mark.filterwarnings(f"default::plcp.{name}Warning") for name in OURS
]  # some pages show when they are given


def run(page, blocks, folder, monkeypatch):
    monkeypatch.chdir(folder)
    programs = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    namespace = {"__name__": "__main__"}
    for _, language, block in blocks:
        code = textwrap.dedent(block)
        if language == "python":
            exec(compile(code, page, "exec"), namespace)
        else:
            subprocess.run(["sh", "-ec", code], env=environment, check=True)


def test_the_readme_shows_code():
    assert {language for _, language, _ in BLOCKS["README.md"]} == {"python", "sh"}


@pytest.mark.parametrize("page", sorted(BLOCKS))
def test_python_above_the_first_command_runs(page, tmp_path, monkeypatch):
    languages = [language for _, language, _ in BLOCKS[page]] + ["sh"]
    run(page, BLOCKS[page][: languages.index("sh")], tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in sorted(BLOCKS) if "sh" in {b[1] for b in BLOCKS[page]}]
)
def test_a_page_with_commands_runs(page, tmp_path, monkeypatch):
    run(page, BLOCKS[page], tmp_path, monkeypatch)
