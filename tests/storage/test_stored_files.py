"""Files that an earlier commit wrote in this format load, and answer as they did.

The answers are the same on any CPU: the linear model and the network hold multiples of 1/64, so
that sums of their products are exact in any order, in single precision too; the other rules add
column after column.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from opened_files import opened, resealed

import plcp
from plcp.storage.archive import FORMAT

FILES = sorted((Path(__file__).parent / "files").glob("*.plcp"))
ROWS = np.arange(40.0).reshape(20, 2) / 8 - 2.5


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rule_answers_as_it_did(path):
    assert path.stem.startswith(f"format{FORMAT}_")
    wanted = json.loads(path.with_suffix(".json").read_text())
    assert plcp.load(path).predict(ROWS).tolist() == wanted


def test_a_file_of_an_earlier_format_is_refused_with_the_remedy(tmp_path):
    parts = opened(plcp.SplitConformal())
    path = resealed(parts, tmp_path / "m.plcp", format=FORMAT - 1, plcp="0.0.9")
    with pytest.raises(ValueError, match=rf"plcp 0\.0\.9, format {FORMAT - 1}, .*: make it again"):
        plcp.load(path)
