"""PLCP with networks: every calibration, rows of every kind, and what it passes on."""

import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from skorch import NeuralNetClassifier
from torch import nn
from torch.utils.data import Subset, TensorDataset

from bands import beta_binomial_band
from networks import Failing, Items, Live, draw, draw_images
from plcp import PLCP, ConformalClassifier, OrderedPartition, SplitConformal
from plcp.exceptions import InfiniteThresholdWarning
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp, one_conv, to_device
from plcp.partitions.torch.training import ROWS_TO_READ
from plcp.quantiles import conformal_rank

# Networks of an epoch or two: one soft group may well be the likeliest everywhere.
pytestmark = pytest.mark.filterwarnings("ignore::plcp.exceptions.CollapseWarning")
STRUCTURES = ("ordered", "softmax")
CALIBRATIONS = ("cross", "split", "joint")
DRAWS = {"vectors": (draw, mlp(4)), "images": (draw_images, one_conv())}

structures = pytest.mark.parametrize("structure", STRUCTURES)
calibrations = pytest.mark.parametrize("calibration", CALIBRATIONS)
kinds = pytest.mark.parametrize("kind", DRAWS)


def rule(structure, calibration="cross", module=None, **options):
    options = {"epochs": 3, "learning_rate": 0.02, **options}
    partition = TorchPartition(module or mlp(4), structure=structure, **options)
    return PLCP(partition, 2, calibration=calibration, random_state=0)


@kinds
@structures
@calibrations
def test_every_calibration_of_every_structure(kind, structure, calibration, rng):
    make, module = DRAWS[kind]
    X, scores = make(rng, 400)
    fitted = rule(structure, calibration, module).fit(X, scores)
    fresh, _ = make(rng, 400)
    thresholds, groups = fitted.predict(fresh), fitted.groups(fresh)
    assert np.isfinite(thresholds).all()
    assert set(groups) <= set(range(fitted.n_groups_)) <= {0, 1}
    if calibration != "split":  # which keeps the order in which groups were learned
        assert (np.diff(fitted.thresholds_) >= 0).all()
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(fresh), thresholds)
    assert_array_equal(again.memberships(fresh), fitted.memberships(fresh))
    assert_array_equal(clone(fitted).fit(X, scores).predict(fresh), thresholds)


@kinds
@structures
def test_split_covers_in_every_learned_group(kind, structure, rng):
    """Exactly: the number covered has the beta-binomial law of the group's own rank."""
    make, module = DRAWS[kind]
    fitted = rule(structure, "split", module).fit(*make(rng, 600))
    fresh, unseen = make(rng, 2000)
    groups, covered = fitted.groups(fresh), unseen <= fitted.predict(fresh)
    for group, size in enumerate(fitted.group_sizes_):
        own = groups == group
        low, high = beta_binomial_band(own.sum(), int(size), conformal_rank(int(size), 0.1))
        assert low <= covered[own].sum() <= high


@calibrations
def test_short_for_an_ordered_partition_with_a_neural_index(calibration, rng):
    X, scores = draw(rng)
    options = {"epochs": 3, "learning_rate": 0.02}
    ours = rule("ordered", calibration).fit(X, scores)
    regressor = TorchQuantile(mlp(4), **options)
    theirs = PLCP(OrderedPartition(regressor), 2, calibration=calibration, random_state=0)
    theirs.fit(X, scores)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_array_equal(ours.thresholds_, theirs.thresholds_)
    assert_array_equal(ours.groups(X), theirs.groups(X))
    assert ours.history_ == theirs.history_
    assert ours.guarantee_ == theirs.guarantee_


@structures
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(structure, n_jobs, rng):
    X, scores = draw(rng)
    module = nn.Sequential(mlp(4), nn.Dropout())  # draws from torch's stream in each step
    alone = rule(structure, module=module).fit(X, scores)
    together = rule(structure, module=module).set_params(n_jobs=n_jobs).fit(X, scores)
    assert_array_equal(together.predict(X), alone.predict(X))
    assert together.history_ == alone.history_


@structures
@calibrations
def test_a_data_set_is_never_whole_in_memory(structure, calibration, rng):
    X, scores = draw(rng, 4 * ROWS_TO_READ)
    data = Live(X)
    fitted = rule(structure, calibration, epochs=1).fit(data, scores)
    assert 0 < data.most <= ROWS_TO_READ
    data.most = 0
    thresholds = fitted.predict(data)
    assert data.most == ROWS_TO_READ
    assert data.now == 0
    arrays = rule(structure, calibration, epochs=1).fit(X, scores)
    assert_array_equal(arrays.predict(X), thresholds)
    assert arrays.history_ == fitted.history_


@structures
@calibrations
@pytest.mark.parametrize(
    "make",
    [
        lambda X: Items(X, lambda x: (torch.tensor(x), 1)),
        lambda X: TensorDataset(torch.tensor(X)),
        lambda X: Subset(Items(X), range(len(X))),
        torch.tensor,
        lambda X: X / np.float32(255),
    ],
    ids=["pairs", "tensor data set", "subset", "tensor", "floats"],
)
def test_images_of_any_kind_give_the_same_bits(structure, calibration, make, rng):
    images, scores = draw_images(rng, 120)
    weights = rng.integers(0, 3, size=120)
    ours = rule(structure, calibration, one_conv()).fit(make(images), scores, weights)
    theirs = rule(structure, calibration, one_conv()).fit(images, scores, weights)
    assert_array_equal(ours.predict(make(images)), theirs.predict(images))


@structures
@calibrations
def test_weightless_rows_are_not_there(structure, calibration, rng):
    X, scores = draw(rng, 300)
    weights = np.repeat([1.0, 0.0, 1.5], 100)
    there = weights > 0
    ours = rule(structure, calibration).fit(X, scores, weights)
    alone = rule(structure, calibration).fit(X[there], scores[there], weights[there])
    assert_array_equal(ours.predict(X), alone.predict(X))


@structures
def test_a_fitted_rule_predicts_where_its_network_is_told(structure, rng):
    X, scores = draw(rng)
    fitted = rule(structure, "split").fit(X, scores)
    before = fitted.predict(X)
    to_device(fitted, "cpu:0")
    assert_array_equal(fitted.predict(X), before)
    network = fitted.partition_.regressor_ if structure == "ordered" else fitted.partition_
    assert network.device == "cpu:0"
    assert fitted.partition.device == "auto"  # what the rule was given stays as it is
    network.set_params(device="gpu")
    with pytest.raises(ValueError, match="device must be"):
        fitted.predict(X)


@structures
@pytest.mark.parametrize("calibration", ["cross", "split", "joint"])
def test_every_network_of_a_rule_is_told(structure, calibration, rng):
    fitted = rule(structure, calibration).fit(*draw(rng))
    to_device(fitted, "cpu:0")
    found = fitted.partition_
    if structure == "ordered":
        networks = found.regressor_.models_ if calibration == "cross" else [found.regressor_]
    else:
        networks = found.partitions_ if calibration == "cross" else [found]
    assert {network.device for network in networks} == {"cpu:0"}
    with pytest.raises(ValueError, match="device must be"):
        to_device(fitted, "gpu")


@calibrations
def test_collapse_is_passed_on(calibration, rng):
    X = rng.normal(size=(200, 2))
    with pytest.warns(CollapseWarning, match="one group of 2 holds 100%"):
        fitted = rule("softmax", calibration).fit(X, np.full(200, 5.0))
    assert_array_equal(fitted.predict(X), 5.0)


@structures
def test_an_interrupt_ends_the_fit_of_one_network_and_the_rule_goes_on(structure, rng):
    X, scores = draw(rng)
    options = {"early_stopping": False, "schedule": "constant", "start": "random", "balance": 0.0}
    module = Failing("interrupt", 2)
    broken = rule(structure, "joint", module, batch_size=200, **options)
    with pytest.warns(
        ConvergenceWarning, match="interrupted in epoch 2 of 3: the state of epoch 1"
    ):
        broken.fit(X, scores)
    options = {**options, "batch_size": 200, "epochs": 1}
    shorter = rule(structure, "joint", Failing(), **options).fit(X, scores)
    assert_array_equal(broken.predict(X), shorter.predict(X))
    with pytest.raises(KeyboardInterrupt):
        rule(structure, "cross", Failing("interrupt", 1)).fit(X, scores)


@structures
def test_too_few_rows_of_a_data_set(structure, rng):
    X, scores = draw(rng, 8)
    with pytest.warns(InfiniteThresholdWarning, match="8 calibration points are fewer than the 9"):
        fitted = rule(structure).fit(Items(X), scores)
    assert_array_equal(fitted.predict(Items(X)), np.inf)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (np.asarray, r"Found array with dim 4.* while dim <= 2 is required"),
        (torch.tensor, r"Found array with dim 4.* while dim <= 2 is required"),
        (Items, r"only networks read a Items row by row: use TorchPartition"),
    ],
)
def test_trees_and_lines_refuse_images(kind, expected, rng):
    images, scores = draw_images(rng)
    for given in (PLCP(), PLCP(calibration="split")):
        with pytest.raises(ValueError, match=expected):
            given.fit(kind(images), scores)


@structures
def test_missing_values_are_refused(structure, rng):
    X, scores = draw(rng)
    fitted = rule(structure).fit(X, scores)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        rule(structure).fit(X, scores)
    for method in ("predict", "groups", "memberships"):
        with pytest.raises(ValueError, match="X contains NaN"):
            getattr(fitted, method)(X)


def test_n_groups_may_be_searched(rng):
    X, scores = draw(rng, 600)
    options = {"epochs": 5, "learning_rate": 0.02}
    fitted = PLCP(TorchPartition(mlp(4), structure="softmax", **options), random_state=0)
    fitted.fit(X, scores)
    tried = [step for step in fitted.history_ if "n_groups" in step]
    best = min(tried, key=lambda step: step["held_out"])
    assert 1 <= fitted.n_groups_ <= best["n_groups"]


class Sorter(nn.Module):
    """Probabilities of two classes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, X):
        return self.layer(X).softmax(dim=-1)


@pytest.mark.parametrize(
    "threshold",
    [SplitConformal(), rule("ordered", "split"), rule("softmax", "cross")],
    ids=["split", "ordered", "softmax"],
)
def test_a_network_of_skorch_as_the_model(rng, threshold):
    def task(n):
        X = rng.normal(size=(n, 2)).astype(np.float32)
        return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)

    torch.manual_seed(0)
    net = NeuralNetClassifier(Sorter, max_epochs=5, lr=0.5, verbose=0, train_split=None)
    net.fit(*task(200))
    X, y = task(400)
    model = ConformalClassifier(FrozenEstimator(net), threshold=threshold, random_state=0).fit(X, y)
    assert_array_equal(model.predict_proba(X), net.predict_proba(X))
    fresh, labels = task(2000)
    sets = model.predict_set(fresh)
    q = model.thresholds_[0].predict(fresh)
    scores = 1 - net.predict_proba(fresh).astype(float)
    assert_array_equal(sets.mask, scores <= q[:, None])
    if isinstance(threshold, SplitConformal):
        low, high = beta_binomial_band(2000, 400, conformal_rank(400, 0.1))
        assert low <= sets.contains(labels).sum() <= high
