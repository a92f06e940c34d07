"""There is a file of every format that was ever written, and each answers as it did."""

import json
from pathlib import Path

import numpy as np
import pytest

import plcp
from plcp.storage.archive import read_parts
from plcp.storage.manifest import FORMAT, MANIFEST

FILES = sorted((Path(__file__).parent / "files").glob("*.plcp"))
ROWS = np.linspace(-2.0, 2.0, 40).reshape(20, 2)


def format_of(path):
    return json.loads(read_parts(path.read_bytes())[MANIFEST])["format"]


def test_there_is_a_file_of_every_format():
    assert {format_of(path) for path in FILES} == {*range(1, FORMAT + 1)}


@pytest.mark.parametrize(
    "path", [path for path in FILES if format_of(path) > 1], ids=lambda path: path.stem
)
def test_a_rule_answers_as_it_did(path):
    wanted = json.loads(path.with_suffix(".json").read_text())
    assert plcp.load(path).predict(ROWS).tolist() == wanted
