"""A file that is no model, or not the one that was written, is refused in one sentence."""

import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest
from opened_files import closed, in_memory, opened, refused, resealed

import plcp
from plcp.storage import archive
from plcp.storage.archive import FORMAT, MANIFEST, SEAL
from plcp.storage.codec import MODEL
from plcp.storage.files import model_bytes

X = np.arange(60.0).reshape(20, 3)


@pytest.fixture(scope="module")
def rule():
    """A model that is quick to write."""
    return plcp.Mondrian(0, alpha=0.4).fit(X // 20, X[:, 0])


@pytest.fixture
def parts(rule):
    return opened(rule)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.plcp"


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", os.urandom(999), 10, 700, -1])
def test_a_file_of_something_else_or_an_incomplete_one(rule, path, content):
    path.write_bytes(model_bytes(rule)[:content] if isinstance(content, int) else content)
    refused(path, "no model, or not a complete one: copy it again")


def test_a_file_of_another_name(rule, tmp_path):
    with pytest.raises(ValueError, match=r"end its name in \.plcp"):
        plcp.save(rule, tmp_path / "m.pkl")
    (tmp_path / "m.zip").write_bytes(model_bytes(rule))
    refused(tmp_path / "m.zip", r"name ends in \.plcp")
    with pytest.raises(FileNotFoundError, match="is the path right"):
        plcp.load(tmp_path / "none.plcp")


@pytest.mark.parametrize("name", [MANIFEST, MODEL, SEAL, "arrays/float64.npy"])
def test_a_part_that_was_changed_is_missing_or_was_added(parts, path, name):
    changed = bytearray(parts[name])
    changed[-3] ^= 1
    refused(closed(parts | {name: bytes(changed)}, path), "was changed since|is damaged")
    refused(closed(parts | {"more.txt": b"?"}, path), r"more\.txt was not written with it")
    del parts[name]
    refused(closed(parts, path), "has no part|was changed since")


def test_a_later_format_names_the_remedy(parts, path):
    newer = json.loads(parts[MANIFEST]) | {"format": FORMAT + 1, "plcp": "9.1.0"}
    wanted = rf"made by plcp 9\.1\.0, format {FORMAT + 1}, .* reads format {FORMAT}: upgrade plcp"
    refused(closed({MANIFEST: json.dumps(newer).encode(), "new": b"?"}, path), wanted)


JSON = [b"{", b"\xff", b"[]", b"{}", b"[{}]", b'[{"a":1,"b":2}]', b"7", b"[" * 100_000]


@pytest.mark.parametrize("text", JSON)
def test_a_manifest_or_entries_of_other_json(parts, path, text):
    words = "is damaged|nested deeper|not enough|too many|more numbers"
    refused(closed(parts | {MANIFEST: text}, path), words)
    refused(resealed(parts | {MODEL: text}, path), words)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../m.json", "a/../../b", "C:\\m", "..\\m", "arrays/../../x"]
)
def test_a_path_that_escapes(parts, path, name):
    refused(closed(parts | {name: b"?"}, path), "would lie outside of it")


def test_a_part_that_is_there_twice(rule, path):
    path.write_bytes(model_bytes(rule))
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr(MODEL, "[]")
    refused(path, "has two parts 'model.json'")


def test_too_many_parts(parts, path):
    many = {f"{i}": b"" for i in range(archive.MAX_PARTS)}
    refused(closed(parts | many, path), "parts, more than the 256 of a model")


def bomb(n):
    """A file of n zeros, as small as they can be made."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        file.writestr("zeros", b"\0" * n)
    return content.getvalue()


@pytest.mark.parametrize("declared", [None, 1000])
def test_a_bomb_is_not_unpacked(path, declared):
    content = bytearray(bomb(4 * archive.FREE_BYTES))
    if declared is not None:  # in the list of parts
        struct.pack_into("<L", content, content.rindex(b"PK\x01\x02") + 24, declared)
    path.write_bytes(content)
    with in_memory(archive.FREE_BYTES):
        refused(path, "more than the .* of a model|not a complete one")


def test_zeros_that_compress_like_a_bomb_are_read(path):
    zeros = plcp.SplitConformal()
    zeros.much = [np.zeros(archive.FREE_BYTES // 16, dtype=kind) for kind in "fdq"]
    plcp.save(zeros, path)
    assert not any(array.any() for array in plcp.load(path).much)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }",
        "__import__('os').system('true')",
    ],
)
def test_numbers_with_another_header(parts, path, header):
    text = header.ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + b"\0" * 8
    refused(resealed(parts | {"arrays/float64.npy": content}, path), "an array|header|Header")


@pytest.mark.parametrize("part", [MANIFEST, MODEL])
@pytest.mark.parametrize("each", ["[],", '"",', '{"a":0},'])
def test_json_that_would_fill_memory(parts, path, part, each):
    """Of one megabyte, packed: it is refused before it is parsed."""
    text = '{"format":3,"plcp":"1","a":[' + each * (60_000_000 // len(each)) + "0]}"
    changed = parts | {part: text.encode()}
    (closed if part == MANIFEST else resealed)(changed, path)
    with in_memory(4 * len(text)):
        refused(path, "more than")


def test_a_part_compressed_by_lzma_which_may_request_any_memory(path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("manifest.json", "{}")
    changed = bytearray(content.getvalue())
    struct.pack_into("<L", changed, changed.index(b"manifest.json") + 18, 2**32 - 1)
    path.write_bytes(changed)
    refused(path, "compressed as those of no model")


def test_each_flipped_byte_is_detected_or_harmless(rule, path):
    content, wanted = model_bytes(rule), rule.predict(X // 20)
    for place in range(0, len(content), 37):
        path.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        try:
            again = plcp.load(path)
        except ValueError:
            continue
        np.testing.assert_array_equal(again.predict(X // 20), wanted)
