"""A model comes back from its file as it was, and a file that is not one is refused."""

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import skops.io
from sklearn.linear_model import LinearRegression
from tabular_worlds import TASKS, batch_of, make_table, roles_of

import plcp
from plcp.tabular import METHODS, Applier, archive, calibrate, load_model, save_model
from plcp.tabular.archive import read_parts, write_parts
from plcp.tabular.rule_bytes import dump_rule
from plcp.tabular.storage import FORMAT, model_bytes
from plcp.tabular.trusted import TRUSTED

# rules of trees know scores from signed ones, and nothing else of a task
TREES = [
    *((task, method) for task in ("regression", "quantiles") for method in ("plcp", "rectified")),
    ("regression", "plcp-split"),
]
CASES = [(task, method) for task in TASKS for method in METHODS]
# what a model is asked in another process
SCRIPT = """
import hashlib, sys
from tabular_worlds import make_table, roles_of
from plcp.tabular import calibrate
from plcp.tabular.storage import model_bytes
table = make_table("regression", 120)
model = calibrate(table, roles_of(table, "regression"), groups=2, explain=False)
print(hashlib.sha256(model_bytes(model)).hexdigest())
"""


def made(task, method, n=60, many=0):
    table = make_table(task, n, many=many)
    by = ["sex"] if METHODS[method].looks_at == "by" else None
    groups = 2 if METHODS[method].learns_groups else None
    words = n < 100
    return calibrate(
        table, roles_of(table, task), method=method, by=by, groups=groups, explain=words
    )


@pytest.fixture(scope="module")
def models():
    """Every method on every task, trees, and text of many values; each with its bytes."""
    found = {case: made(*case) for case in CASES}
    found |= {(*case, "trees"): made(*case, n=120) for case in TREES}
    found["regression", "plcp", "many"] = made("regression", "plcp", n=600, many=260)
    return {case: (model, model_bytes(model)) for case, model in found.items()}


@pytest.fixture(scope="module")
def small():
    """A model that is quick to write."""
    return made("regression", "split")


def test_a_model_comes_back_as_it_was(models, tmp_path):
    path = tmp_path / "m.plcp"
    for case, (model, content) in models.items():
        path.write_bytes(content)
        again = load_model(path)
        same = ("roles", "features", "left_out", "method", "alpha", "guarantee", "notes")
        assert all(getattr(again, name) == getattr(model, name) for name in same)
        assert again.explanation == model.explanation
        assert again.about == model.about
        assert again.classes == model.classes
        assert again.groups_table() == model.groups_table()
        new = batch_of(make_table(case[0], 50, 1, many=260))
        assert Applier(again).apply(new).equals(Applier(model).apply(new))


def test_exactly_the_trusted_types_are_needed(models):
    found = set()
    for _, content in models.values():
        parts = read_parts(io.BytesIO(content))
        for name in ("rule.skops", "split.skops"):
            found |= {*skops.io.get_untrusted_types(data=parts[name])}
    assert found == {*TRUSTED}


def test_the_same_rows_and_seed_give_the_same_bytes_in_any_process():
    table = make_table("regression", 120)
    roles = roles_of(table, "regression")
    here = model_bytes(calibrate(table, roles, groups=2, explain=False))
    there = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.strip() == hashlib.sha256(here).hexdigest()


def test_what_the_caller_tells_is_kept(tmp_path):
    table = make_table("regression", 30)
    about = {"made_at": "2026-01-02T03:04:05Z", "data": {"sha256": "ab"}}
    roles = roles_of(table, "regression")
    model = calibrate(table, roles, method="split", seed=3, about=about)
    save_model(model, tmp_path / "m.plcp")
    again = load_model(tmp_path / "m.plcp").about
    assert again["made_at"] == about["made_at"]
    assert again["data"] == about["data"]
    assert again["seed"] == 3
    assert again["versions"]["plcp"] == plcp.__version__


def changed(model, tmp_path, change):
    """Write a model whose parts were changed after the fact."""
    parts = read_parts(io.BytesIO(model_bytes(model)))
    change(parts)
    path = tmp_path / "m.plcp"
    path.write_bytes(write_parts(parts, compressed=True))
    return path


def in_manifest(**new):
    def change(parts):
        parts["manifest.json"] = json.dumps(json.loads(parts["manifest.json"]) | new).encode()

    return change


def tampered(parts):
    parts["rule.skops"] = dump_rule(plcp.SplitConformal(alpha=0.5).fit([[0.0]] * 9, range(9)))


def resealed(parts, inner):
    """Put another rule into the parts, with the checksum that it must have."""
    parts["rule.skops"] = write_parts(inner, compressed=True)
    seal(parts)


def seal(parts):
    sums = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
    parts["sha256.json"] = json.dumps(sums).encode()


def sealed(change):
    """Change parts, and give them the checksums that they must have."""
    return lambda parts: (change(parts), seal(parts))


def of_tomorrow(parts):
    """A newer format, with parts that nobody knows yet."""
    in_manifest(format=FORMAT + 1, plcp="9.1.0")(parts)
    for name in ("rule.skops", "split.skops", "sha256.json"):
        parts[f"new {name}"] = parts.pop(name)


def with_a_stranger(parts):
    content = skops.io.dumps(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]))
    inner = read_parts(io.BytesIO(content))
    inner["schema.json"] = inner["schema.json"].replace(b"sklearn.linear_model._base", b"os")
    resealed(parts, inner)


def with_another_class(parts):
    inner = read_parts(io.BytesIO(parts["rule.skops"]))
    inner["schema.json"] = inner["schema.json"].replace(b"ObjectNode", b"NoSuchNode")
    resealed(parts, inner)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda parts: parts.pop("rule.skops"), r"has no part rule\.skops"),
        (lambda parts: parts.pop("manifest.json"), r"has no part manifest\.json"),
        (tampered, r"part rule\.skops was changed since"),
        (with_a_stranger, "holds what no rule needs"),
        (
            of_tomorrow,
            rf"made by plcp 9\.1\.0, format {FORMAT + 1}, and this is plcp .*: upgrade plcp",
        ),
        (in_manifest(alpha=0.01), r"part manifest\.json was changed since"),
        (sealed(in_manifest(roles=None)), "manifest is damaged"),
        (sealed(in_manifest(features=[{"column": "x"}])), "manifest is damaged"),
        (lambda parts: parts.update({"sha256.json": b"{}"}), r"part manifest\.json was changed"),
        (lambda parts: parts.update({"sha256.json": b"[]"}), "manifest is damaged"),
        (with_another_class, "scikit-learn .* cannot make its rule"),
        (lambda parts: parts.update({"manifest.json": b"{"}), "manifest is damaged"),
        (lambda parts: parts.update({"manifest.json": b"\xff"}), "manifest is damaged"),
        (lambda parts: parts.update({"manifest.json": b"[]"}), "manifest is damaged"),
    ],
)
def test_a_file_that_was_changed_is_refused(small, tmp_path, change, words):
    path = changed(small, tmp_path, change)
    with pytest.raises(ValueError, match=words) as refused:
        load_model(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("cut", [0, 10, 700, -1])
def test_a_file_that_is_not_whole_is_refused(small, tmp_path, cut):
    path = tmp_path / "m.plcp"
    path.write_bytes(model_bytes(small)[:cut])
    with pytest.raises(ValueError, match="no model, or not a whole one"):
        load_model(path)


def test_each_flipped_byte_is_noticed_or_harmless(small, tmp_path):
    content, path = model_bytes(small), tmp_path / "m.plcp"
    new = batch_of(make_table("regression", 5, 1))
    wanted = Applier(small).apply(new)
    for place in range(0, len(content), 37):
        path.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        try:
            again = load_model(path)
        except ValueError:
            continue
        assert Applier(again).apply(new).equals(wanted)


def test_a_file_that_would_fill_memory_is_not_unpacked(small, tmp_path, monkeypatch):
    path = changed(small, tmp_path, lambda parts: parts.update({"more": b"\0" * 2**20}))
    monkeypatch.setattr(archive, "MOST_BYTES", 2**19)
    opened = []
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: opened.append(1))
    with pytest.raises(ValueError, match="more than the 524,288 of a model"):
        load_model(path)
    assert not opened


def test_a_rule_that_would_fill_memory_is_not_unpacked(small, tmp_path, monkeypatch):
    def bomb(parts):
        resealed(parts, read_parts(io.BytesIO(parts["rule.skops"])) | {"more": b"\0" * 2**20})

    path = changed(small, tmp_path, bomb)
    monkeypatch.setattr(archive, "MOST_BYTES", 2**19)
    with pytest.raises(ValueError, match="more than the 524,288 of a model"):
        load_model(path)


def test_a_model_is_written_once_and_under_its_own_suffix(small, tmp_path):
    path = tmp_path / "m.plcp"
    save_model(small, path)
    with pytest.raises(FileExistsError, match="exists"):
        save_model(small, path)
    save_model(small, path, force=True)
    with pytest.raises(ValueError, match=r"end its name in \.plcp"):
        save_model(small, tmp_path / "m.pkl")
    assert [file.name for file in tmp_path.iterdir()] == ["m.plcp"]


def test_a_missing_file_is_told_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.plcp")
