"""Files of models: every public model comes back as it was; bytes are reproducible and few."""

import errno
import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from make_stored_files import FILES, ROWS
from opened_files import again, opened, refused, resealed
from saved_examples import FITTED, fitted, frame, outputs, over_zero, plane, public_classes, task
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import plcp
from plcp.datasets import make_toy
from plcp.partitions.torch import TorchPartition
from plcp.regressors import ColorfulQuantile, CrossFitted, LinearQuantile, StackedQuantile
from plcp.storage import OtherVersionWarning, data_digest, files, load_manifest
from plcp.storage.archive import FORMAT
from plcp.storage.codec import MODEL
from plcp.storage.files import model_bytes

pytestmark = pytest.mark.filterwarnings("ignore::plcp.storage.TrustWarning")

example = cache(lambda name, i: FITTED[name][i]())  # each is fitted once
CASES = [(name, i) for name, makes in FITTED.items() for i in range(len(makes))]


def same(one, other):
    """Whether two values are the same, down to all that they are made of."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind == "f"
        )
    if isinstance(one, np.random.RandomState):
        return same(list(one.get_state()), list(other.get_state()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, BaseEstimator):
        return same(vars(one), vars(other))
    return one == other


def test_every_public_class_is_tried():
    assert FITTED.keys() == public_classes().keys()


@pytest.mark.parametrize(("name", "i"), CASES)
def test_a_fitted_model_predicts_as_before_to_the_bit(name, i, tmp_path):
    model, X = example(name, i)
    other = again(model, tmp_path, trusted=[over_zero])
    assert type(other) is type(model)
    before, after = outputs(model, X), outputs(other, X)
    assert before.keys() == after.keys()
    for method, wanted in before.items():
        assert after[method].dtype == wanted.dtype, method
        np.testing.assert_array_equal(after[method], wanted, method)
    assert getattr(other, "guarantee_", None) == getattr(model, "guarantee_", None)
    if hasattr(model, "get_params"):
        assert same(other.get_params(), model.get_params())


@pytest.mark.parametrize(("name", "i"), CASES)
def test_a_model_comes_back_unfitted_if_it_was(name, i, tmp_path):
    model, _ = example(name, i)
    bare = clone(model) if isinstance(model, BaseEstimator) else model
    assert same(again(bare, tmp_path, trusted=[over_zero]), bare)


SCRIPT = """
import hashlib, sys
import pandas as pd
import plcp
from plcp.datasets import make_toy
from plcp.storage.files import model_bytes
from sklearn.linear_model import LinearRegression
task = make_toy(150, random_state=0)
X = pd.DataFrame({"x": task.X[:, 0], "sex": ["f", "m", "d"] * 50})
model = plcp.PLCP(random_state=0, cv=3).fit(X, task.scores)
wrapped = plcp.ConformalRegressor(LinearRegression(), None, plcp.SplitConformal(), random_state=0)
wrapped.fit(task.X, task.y)
print(*(hashlib.sha256(model_bytes(each)).hexdigest() for each in (model, wrapped)))
"""


def test_the_same_rows_and_seed_give_the_same_bytes_in_any_process():
    digests = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(next(iter(digests)).split()) == 2


def test_a_file_that_was_loaded_is_written_as_it_was(tmp_path):
    rule = fitted(plcp.PLCP(random_state=np.random.RandomState(0), cv=3), frame)
    plcp.save(rule, tmp_path / "m.plcp")
    assert model_bytes(plcp.load(tmp_path / "m.plcp")) == (tmp_path / "m.plcp").read_bytes()


NETWORK = TorchPartition(structure="softmax", epochs=1)
MIXTURE = StackedQuantile(members=[LinearQuantile()])
GROWING = {
    "line": plcp.PLCP(plcp.OrderedPartition(CrossFitted(LinearQuantile())), 2),
    "mixture": plcp.PLCP(plcp.OrderedPartition(MIXTURE), 2),
    "tree": plcp.PLCP(plcp.TreePartition(min_samples_leaf=30), 2, calibration="joint"),
    "network": plcp.PLCP(NETWORK, 2, calibration="joint"),
    "soft groups": plcp.PLCP(plcp.SoftmaxPartition(), 2, cv=3),
    "density": plcp.Rectified(ColorfulQuantile(LinearQuantile())),
    "split": plcp.SplitConformal(),
    "mondrian": plcp.Mondrian(0),
    "groups": plcp.BatchGCP(0),
    "patches": plcp.BatchMVP(0),
}


@pytest.mark.parametrize("name", GROWING)
def test_the_size_does_not_grow_with_the_calibration_rows(name):
    """Eight times the rows: the numbers take less than one more byte for each."""
    few, many = 500, 4_000
    sizes = []
    for n in (few, many):
        task = make_toy(n, random_state=0)
        X = np.sign(task.X) if name in ("mondrian", "groups", "patches") else task.X
        model = clone(GROWING[name])
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        parts = opened(fitted(model, X, task.scores))
        # what descent reached may take more or fewer steps, but not one for every few rows
        entries = json.loads(parts.pop(MODEL))
        assert max(len(content) for each in entries for content in each.values()) < few
        sizes.append(sum(map(len, parts.values())))
    assert sizes[1] - sizes[0] < many - few


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.plcp"
    plcp.save(plcp.SplitConformal(alpha=0.3), path)
    old = path.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"no room for .*m\.plcp: free some space"):
        plcp.save(plcp.SplitConformal(alpha=0.4), path)
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["m.plcp"]


def test_a_file_is_replaced_and_links_are_followed(tmp_path):
    path, link = tmp_path / "m.plcp", tmp_path / "link.plcp"
    link.symlink_to(path)
    for alpha in (0.3, 0.4):
        plcp.save(plcp.SplitConformal(alpha=alpha), link)
        assert plcp.load(path).alpha == alpha
    assert link.is_symlink()
    with pytest.raises(FileNotFoundError, match="make the folder"):
        plcp.save(plcp.SplitConformal(), tmp_path / "none" / "m.plcp")


def test_the_manifest_describes_the_model():
    people = frame[["x"]].fillna(0.0).assign(sex=(frame["sex"] == "f") * 1.0)
    rule = plcp.Mondrian("sex", alpha=0.2)
    model = plcp.ConformalRegressor(
        LinearRegression(), threshold=rule, features=["sex"], random_state=7
    ).fit(people, np.arange(float(len(people))))
    parts = opened(model)
    assert next(iter(parts)) == "manifest.json"
    manifest, seal = json.loads(parts.pop("manifest.json")), parts.pop("manifest.sha256")
    assert len(seal) == 64
    assert (
        manifest.items()
        >= {
            "class": "plcp.conformal.ConformalRegressor",
            "alpha": 0.2,
            "seed": 7,
            "guarantee": model.guarantee_.to_dict(),
            "data": None,
            "plcp": plcp.__version__,
        }.items()
    )
    assert manifest["parameters"]["features"] == ["sex"]
    assert manifest["features"]["names"] == ["sex"]
    assert manifest["versions"]["scikit-learn"] == version("scikit-learn")
    assert manifest["parts"] == {
        name: {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}
        for name, part in parts.items()
    }
    manifest = json.loads(opened(fitted(plcp.PLCP(cv=3, random_state=0), frame))["manifest.json"])
    assert manifest["features"]["names"] == list(frame.columns)
    assert manifest["features"]["types"] == ["numbers", "categories", "dates", "categories"]


def test_another_version_of_what_computes_predictions_warns(tmp_path):
    rule = plcp.OrderedPartition(HistGradientBoostingRegressor(), n_groups=2)
    fitted(rule)
    versions = {"scikit-learn": "1.2.3", "numpy": "1.0.0"}
    path = resealed(opened(rule), tmp_path / "m.plcp", versions=versions)
    with pytest.warns(OtherVersionWarning, match=r"made with scikit-learn 1\.2\.3, and this is"):
        plcp.load(path)
    # no package computes the predictions of this one
    plcp.load(resealed(opened(plcp.SplitConformal()), path, versions=versions))


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    path, versions = tmp_path / "m.plcp", {"versions": {"torch": "2.0", "evil": "1.0"}}
    parts = opened(plcp.SplitConformal())
    resealed(parts, path, depends_on=["torch"], **versions)
    monkeypatch.setattr(files, "version_of", missing)
    with pytest.raises(
        ImportError, match=r"m\.plcp cannot be read: it needs torch: .*plcp\[torch\]"
    ):
        plcp.load(path)
    resealed(parts, path, depends_on=["evil"], **versions)
    refused(path, "depends on evil, as no model does")


ALONE = """
import sys
EXTRAS = "lightgbm", "pandas", "polars", "pyarrow", "safetensors", "torch"
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import plcp
from plcp.datasets import make_toy
from sklearn.linear_model import LinearRegression
task = make_toy(200, random_state=0)
rule = plcp.PLCP(random_state=0).fit(task.X, task.scores)
plcp.save(rule, sys.argv[1])
print((plcp.load(sys.argv[1]).predict(task.X) == rule.predict(task.X)).all())
plcp.save(plcp.ConformalRegressor(LinearRegression()).fit(task.X, task.y), sys.argv[1])
print(type(plcp.load(sys.argv[1]).estimator_).__name__)
"""


def test_the_core_alone_stores_rules_and_models_of_scikit_learn(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALONE, str(tmp_path / "m.plcp")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "LinearRegression"]


@pytest.mark.parametrize("path", sorted(FILES.glob("*.plcp")), ids=lambda path: path.stem)
def test_a_file_of_an_earlier_commit_predicts_as_before(path):
    # written by make_stored_files.py, with predictions that are the same on every CPU
    assert path.stem.startswith(f"format{FORMAT}_")
    wanted = json.loads(path.with_suffix(".json").read_text())
    assert plcp.load(path).predict(ROWS).tolist() == wanted


def test_a_file_of_an_earlier_format_is_refused_with_the_remedy(tmp_path):
    parts = opened(plcp.SplitConformal())
    path = resealed(parts, tmp_path / "m.plcp", format=FORMAT - 1, plcp="0.0.9")
    refused(path, rf"plcp 0\.0\.9, format {FORMAT - 1}, .*: make it again")


def test_a_file_holds_the_digest_of_the_data_it_was_saved_with(tmp_path):
    rule = fitted(plcp.Mondrian(2))
    plcp.save(rule, tmp_path / "rule.plcp", data=(plane, task.scores))
    manifest = load_manifest(tmp_path / "rule.plcp")
    assert manifest["data"] == data_digest(plane, task.scores)
    assert len(bytes.fromhex(manifest["data"])) == 32
    np.testing.assert_array_equal(
        plcp.load(tmp_path / "rule.plcp").predict(plane), rule.predict(plane)
    )


def test_a_digest_does_not_depend_on_how_an_array_lies_in_memory():
    wide = np.repeat(plane, 2, axis=1)[:, ::2]
    same = (np.asfortranarray(plane), wide, plane.tolist())
    assert {data_digest(X, task.scores) for X in same} == {data_digest(plane, task.scores)}


@pytest.mark.parametrize(
    "X", [plane, frame, pl.from_pandas(frame)], ids=["array", "pandas", "polars"]
)
def test_any_other_row_score_or_weight_gives_another_digest(X):
    w = np.full(len(task.scores), 2.0)
    other = X.copy() if hasattr(X, "copy") else X.clone()
    if isinstance(X, np.ndarray):
        other[5, 1] = np.nextafter(other[5, 1], np.inf)
    elif isinstance(X, pd.DataFrame):
        other.loc[5, "sex"] = "n"
    else:
        other = other.with_columns(pl.col("sex").replace("m", "n"))
    scores = task.scores.copy()
    scores[7] *= 2
    rows = np.r_[1, 0, 2 : len(w)]
    swapped = X[rows] if not isinstance(X, pd.DataFrame) else X.iloc[rows]
    rest = [(task.scores, w) for w in (None, w, 2 * w)]
    found = [data_digest(each, task.scores, None) for each in (other, swapped)]
    found += [data_digest(X, *each) for each in (*rest, (scores, None))]
    assert len({*found}) == len(found)


def test_a_data_set_that_is_never_whole_in_memory_has_no_digest():
    rows = torch.utils.data.TensorDataset(torch.as_tensor(plane))
    assert data_digest(rows, task.scores) is None


def test_names_shapes_and_types_count_where_the_bytes_are_the_same():
    scores, weights = np.zeros(4), np.ones(4)
    kept = [
        np.array([["ab"], ["c"]] * 2),
        np.array([["a"], ["bc"]] * 2),
        np.zeros((4, 4)),
        np.zeros((4, 2, 2)),
        np.zeros((4, 4), dtype=np.int64),
        np.zeros((4, 8), dtype=np.float32),
        pd.DataFrame(np.zeros((4, 4))),
        pd.DataFrame(np.zeros((4, 4)), columns=list("abcd")),
    ]
    found = [data_digest(X, scores, w) for X in kept for w in (None, weights)]
    assert len({*found}) == len(found)


def test_a_large_array_that_does_not_lie_in_order_counts_to_its_last_row(monkeypatch):
    monkeypatch.setattr("plcp.storage.files.BLOCK", 64)  # of which there are many
    X, scores = np.arange(300.0).reshape(100, 3), np.zeros(100)
    expected = data_digest(X, scores, None)
    assert data_digest(np.asfortranarray(X), scores, None) == expected
    for row in (0, 50, 99):
        other = np.asfortranarray(X)
        other[row, 2] += 1
        assert data_digest(other, scores, None) != expected
