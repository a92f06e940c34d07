"""A model of a table comes back from its file as it was."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from tabular_worlds import TASKS, batch_of, make_table, roles_of

import plcp
from plcp.storage.files import model_bytes
from plcp.tables import METHODS, Applier, calibrate, load_manifest, load_model, save_model

# rules of trees know scores from signed ones, and nothing else of a task
TREES = [
    *((task, method) for task in ("regression", "quantiles") for method in ("plcp", "rectified")),
    ("regression", "plcp-split"),
]
CASES = [(task, method) for task in TASKS for method in METHODS]
# what runs in another process
SCRIPT = """
import hashlib, sys
from tabular_worlds import make_table, roles_of
from plcp.tables import calibrate
from plcp.storage.files import model_bytes
table = make_table("regression", 120)
model = calibrate(table, roles_of(table, "regression"), groups=2, explain=False)
print(hashlib.sha256(model_bytes(model)).hexdigest())
"""


def made(task, method, n=60, many=0):
    table = make_table(task, n, many=many)
    by = ["sex"] if METHODS[method].input == "by" else None
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


def test_what_the_caller_gives_is_kept(tmp_path):
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


def test_a_file_of_another_model_is_reported_as_such(tmp_path):
    path = tmp_path / "m.plcp"
    plcp.save(plcp.SplitConformal(), path)
    for read in (load_model, load_manifest):
        with pytest.raises(
            ValueError, match=r"SplitConformal, not a model of a table: .*calibrate"
        ):
            read(path)


def test_a_file_gives_of_its_columns_without_its_rules(small, tmp_path):
    path = tmp_path / "m.plcp"
    save_model(small, path)
    manifest = load_manifest(path)
    assert [column["column"] for column in manifest["columns"]] == [
        f.column for f in small.features
    ]
    assert manifest["roles"]["target"] == "y"
    assert manifest["method"] == "split"
    assert manifest["alpha"] == small.alpha
    assert manifest["guarantee"] == small.guarantee.to_dict()


def test_a_model_is_written_once_and_under_its_own_suffix(small, tmp_path):
    path = tmp_path / "m.plcp"
    save_model(small, path)
    with pytest.raises(FileExistsError, match="exists"):
        save_model(small, path)
    save_model(small, path, force=True)
    with pytest.raises(ValueError, match=r"end its name in \.plcp"):
        save_model(small, tmp_path / "m.pkl")
    assert [file.name for file in tmp_path.iterdir()] == ["m.plcp"]
