"""A file that is no model, or not the one that was written, is refused in one sentence."""

import io
import json
import os
import struct
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest
from opened_files import closed, entry, opened, resealed, with_entries
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

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


@contextmanager
def in_little_memory():
    """Fail where more is taken than even a small file may unpack to."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < archive.FREE_BYTES
    finally:
        tracemalloc.stop()


def refused(path, words, **options):
    """Check that a file is refused in one sentence, with these words and the path."""
    with pytest.raises(ValueError, match=words) as raised:
        plcp.load(path, **options)
    message = str(raised.value)
    assert message.startswith(f"{path} cannot be read: ")
    assert "\n" not in message


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
    with in_little_memory():
        refused(path, "more than the .* of a model|not a complete one")


def test_zeros_that_compress_like_a_bomb_are_read(path):
    zeros = plcp.SplitConformal()
    zeros.much = [np.zeros(archive.FREE_BYTES // 16, dtype=kind) for kind in "fdq"]
    plcp.save(zeros, path)
    assert not any(array.any() for array in plcp.load(path).much)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("os.system", r"names os\.system, which plcp does not list: .* trusted=\[system\]"),
        ("builtins.eval", "which plcp does not list"),
        ("plcp.cli.main", "which plcp does not list"),
        ("Popen", "which plcp does not list"),
        (7, "which plcp does not list"),
        ("without_rare", "is no class"),
    ],
)
def test_an_unlisted_class(parts, path, name, words):
    def change(entries):
        entry(entries, "object")[0] = name

    refused(resealed(with_entries(parts, change), path), words)


def test_nothing_of_an_unlisted_name_is_imported(parts, path, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)

    def change(entries):
        entry(entries, "object")[0] = "trap.Rule"

    refused(resealed(with_entries(parts, change), path), r"names trap\.Rule")


@pytest.mark.parametrize("kind", ["pickle", "__reduce__", ""])
def test_an_unknown_codec(parts, path, kind):
    changed = with_entries(parts, lambda entries: entries.insert(0, {kind: "cos\nsystem\n"}))
    refused(resealed(changed, path), "no value is of the type")


@pytest.mark.parametrize("place", [-1, 10_000, True, "a", None, 1.5])
def test_an_entry_that_refers_to_none_before_it(parts, path, place):
    def change(entries):
        state = entry(entries, "object")[1]
        state["groups_"] = [place]

    refused(resealed(with_entries(parts, change), path), "there is no entry")


def test_tuples_within_tuples_cost_nothing(parts, path):
    doubled = [{"tuple": []}, *({"tuple": [[i], [i]]} for i in range(60))]

    def change(entries):
        entries[:] = [*doubled, {"dict": [[[60], 1]]}]

    refused(resealed(with_entries(parts, change), path), "shared more often")


@pytest.mark.parametrize(
    "stored",
    [
        ["<f8", [10**12], "C"],
        ["<f8", [-1], "C"],
        ["<f8", [2, "3"], "C"],
        ["<f8", [1.5], "C"],
        ["<f8", [3], "X"],
        ["<f8", [10**30, 10**30], "C"],
        ["V8", [1], "C"],
        ["|O", [2], "C", [1]],
        ["<U1000000000", [1], "C", ["a"]],
        ["<M8[ns]", [10**9], "C"],
        ["(1000000,)f8", [1], "C"],
        ["x" * 99, [1], "C"],
        [None, [1], "C"],
        [],
    ],
)
def test_an_array_that_declares_more_than_the_file_holds(parts, path, stored):
    changed = with_entries(parts, lambda entries: entries.append({"array": stored}))
    resealed(changed, path)
    with in_little_memory():
        refused(path, ": ")


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


@pytest.mark.parametrize("stored", [["|S1", 2**31], ["|S1", 10**30], ["|O", 1], ["<f8", [0]]])
def test_a_scalar_that_would_fill_memory(parts, path, stored):
    changed = with_entries(parts, lambda entries: entries.append({"scalar": stored}))
    resealed(changed, path)
    with in_little_memory():
        refused(path, "no scalar|is damaged")


def test_a_booster_of_more_columns_than_memory_holds(path):
    def change(entries):
        entry(entries, "booster")[1]["n_features_in_"] = 2**31

    model = HistGradientBoostingRegressor(max_iter=1).fit(X, X[:, 0])
    resealed(with_entries(opened(model), change), path)
    with in_little_memory():
        refused(path, "more memory than a model needs")


def test_numbers_of_no_array(parts, path):
    def change(entries):
        entry(entries, "array")[1] = [0]

    refused(resealed(with_entries(parts, change), path), "more numbers of type|reshape")


def packed(model, path, change):
    """Write a model with a boosted one in it whose arrays were changed."""
    model.fit(X, X[:, 0])
    parts = opened(model)
    entries = json.loads(parts[MODEL])
    numbers = {name: np.load(io.BytesIO(part)) for name, part in parts.items() if "npy" in name}
    change(entries, numbers)
    for name, array in numbers.items():
        content = io.BytesIO()
        np.save(content, array)
        parts[name] = content.getvalue()
    return resealed(parts | {MODEL: json.dumps(entries).encode()}, path)


@pytest.mark.parametrize("value", [0, 7, 200, 255])
def test_trees_out_of_range(path, value):
    """All narrow arrays of a booster (children, columns, flags, sizes) set to one number."""
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2)

    def change(entries, numbers):
        numbers["arrays/uint8.npy"][:] = value

    refused(packed(model, path, change), "other shapes|out of range|is damaged|trees")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["booster", "decision tree"])
def test_trees_of_changed_numbers_are_refused_or_predict(path, kind, seed):
    """Compiled code checks no bounds: what is not refused must not crash either."""
    rng, n = np.random.default_rng(seed), 1 + seed % 4

    def change(entries, numbers):
        if kind == "booster":
            small = numbers["arrays/uint8.npy"]
            small[rng.integers(len(small), size=n)] = rng.integers(0, 256, n)
        else:
            whole = numbers["arrays/int64.npy"]
            whole[rng.integers(len(whole))] = rng.integers(-3, 99)

    boosted = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2)
    model = boosted if kind == "booster" else DecisionTreeRegressor(max_depth=3)
    try:
        loaded = plcp.load(packed(model, path, change))
    except ValueError:
        return
    assert loaded.predict(X).shape == (20,)


@pytest.mark.parametrize("place", [-1, 625, 10**9])
def test_a_random_stream_in_an_impossible_state(parts, path, place):
    rule = plcp.PLCP(random_state=np.random.RandomState(0))

    def change(entries):
        state = next(each["tuple"] for each in entries if "MT19937" in each.get("tuple", ()))
        state[2] = place

    refused(resealed(with_entries(opened(rule), change), path), "random stream")


def test_each_flipped_byte_is_detected_or_harmless(rule, path):
    content, wanted = model_bytes(rule), rule.predict(X // 20)
    for place in range(0, len(content), 37):
        path.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        try:
            again = plcp.load(path)
        except ValueError:
            continue
        np.testing.assert_array_equal(again.predict(X // 20), wanted)
