"""Files of this format that an earlier commit wrote load, and predict as they did.

``make_stored_files.py`` writes them, with predictions that are the same on every CPU.
"""

import json

import pytest
from make_stored_files import FILES, ROWS
from opened_files import opened, resealed

import plcp
from plcp.storage.archive import FORMAT


@pytest.mark.parametrize("path", sorted(FILES.glob("*.plcp")), ids=lambda path: path.stem)
def test_a_stored_model_predicts_as_before(path):
    assert path.stem.startswith(f"format{FORMAT}_")
    wanted = json.loads(path.with_suffix(".json").read_text())
    assert plcp.load(path).predict(ROWS).tolist() == wanted


def test_a_file_of_an_earlier_format_is_refused_with_the_remedy(tmp_path):
    parts = opened(plcp.SplitConformal())
    path = resealed(parts, tmp_path / "m.plcp", format=FORMAT - 1, plcp="0.0.9")
    with pytest.raises(ValueError, match=rf"plcp 0\.0\.9, format {FORMAT - 1}, .*: make it again"):
        plcp.load(path)
