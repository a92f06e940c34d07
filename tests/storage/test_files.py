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
import pytest
from opened_files import opened, resealed
from saved_examples import FITTED, fitted, frame, outputs, over_zero, public_classes
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import plcp
from plcp.datasets import make_toy
from plcp.partitions.torch import TorchPartition
from plcp.regressors import ColorfulQuantile, CrossFitted, LinearQuantile, StackedQuantile
from plcp.storage import OtherVersionWarning, files
from plcp.storage.codec import MODEL
from plcp.storage.files import model_bytes

pytestmark = pytest.mark.filterwarnings("ignore::plcp.storage.TrustWarning")

example = cache(lambda name, i: FITTED[name][i]())  # each is fitted once
CASES = [(name, i) for name, makes in FITTED.items() for i in range(len(makes))]


def again(model, tmp_path, **options):
    plcp.save(model, tmp_path / "m.plcp")
    return plcp.load(tmp_path / "m.plcp", **options)


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
model = plcp.PLCP(random_state=0, cv=2).fit(X, task.scores)
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
    rule = fitted(plcp.PLCP(random_state=np.random.RandomState(0), cv=2), frame)
    plcp.save(rule, tmp_path / "m.plcp")
    assert model_bytes(plcp.load(tmp_path / "m.plcp")) == (tmp_path / "m.plcp").read_bytes()


INDICES = {
    "line": CrossFitted(LinearQuantile()),
    "mixture": StackedQuantile(members=[LinearQuantile()]),
}
JOINT = {
    "tree": plcp.TreePartition(min_samples_leaf=30),
    "network": TorchPartition(structure="softmax", epochs=1),
}
GROWING = {
    **{name: plcp.PLCP(plcp.OrderedPartition(index), 2) for name, index in INDICES.items()},
    **{name: plcp.PLCP(each, 2, calibration="joint") for name, each in JOINT.items()},
    "soft groups": plcp.PLCP(plcp.SoftmaxPartition(), 2, cv=2),
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


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="make the folder"):
        plcp.save(plcp.SplitConformal(), tmp_path / "none" / "m.plcp")


def test_the_manifest_describes_the_model():
    people = frame[["x"]].fillna(0.0).assign(sex=(frame["sex"] == "f") * 1.0)
    rule = plcp.Mondrian("sex", alpha=0.2)
    model = plcp.ConformalRegressor(
        LinearRegression(), threshold=rule, features=["sex"], random_state=7
    ).fit(people, np.arange(float(len(people))))
    parts = opened(model)
    manifest = json.loads(parts["manifest.json"])
    rule = model.thresholds_[0]
    assert next(iter(parts)) == "manifest.json"
    assert manifest["class"] == "plcp.conformal.ConformalRegressor"
    assert manifest["parameters"]["features"] == ["sex"]
    assert manifest["alpha"] == 0.2
    assert manifest["seed"] == 7
    assert manifest["guarantee"] == model.guarantee_
    assert manifest["features"]["names"] == ["sex"]
    assert manifest["data"] is None
    assert manifest["plcp"] == plcp.__version__
    assert manifest["versions"]["scikit-learn"] == version("scikit-learn")
    for name, declared in manifest["parts"].items():
        assert declared == {
            "bytes": len(parts[name]),
            "sha256": hashlib.sha256(parts[name]).hexdigest(),
        }
    assert {*manifest["parts"]} == {*parts} - {"manifest.json", "manifest.sha256"}


def test_types_of_columns_are_in_the_manifest():
    manifest = json.loads(opened(fitted(plcp.PLCP(cv=2, random_state=0), frame))["manifest.json"])
    assert manifest["features"]["names"] == list(frame.columns)
    assert manifest["features"]["types"] == ["numbers", "categories", "dates", "categories"]


def test_another_version_of_what_computes_predictions_warns(tmp_path):
    rule = plcp.OrderedPartition(HistGradientBoostingRegressor(), n_groups=2)
    fitted(rule)
    versions = {"scikit-learn": "1.2.3", "numpy": "1.0.0"}
    path = resealed(opened(rule), tmp_path / "m.plcp", versions=versions)
    with pytest.warns(OtherVersionWarning, match=r"made with scikit-learn 1\.2\.3, and this is"):
        plcp.load(path)
    plain = plcp.SplitConformal()
    plcp.load(
        resealed(opened(plain), path, versions=versions)
    )  # no package computes its predictions


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
    with pytest.raises(ValueError, match="depends on evil, as no model does"):
        plcp.load(path)


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
