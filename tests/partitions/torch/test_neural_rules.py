"""PLCP with networks: every calibration, rows of every kind, devices, and modules as features."""

import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from skorch import NeuralNetClassifier
from torch import nn
from torch.utils.data import Subset, TensorDataset

from bands import beta_binomial_band
from networks import Failing, Items, Live, draw, draw_images
from plcp import PLCP, ConformalClassifier, LinearQuantile, OrderedPartition, SplitConformal
from plcp.exceptions import InfiniteThresholdWarning
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import (
    TorchPartition,
    TorchQuantile,
    embed,
    mlp,
    one_conv,
    small_cnn,
    to_device,
)
from plcp.partitions.torch.training import ROWS_TO_READ
from plcp.quantiles import conformal_rank

# Networks of an epoch or two: one soft group may well be the likeliest everywhere.
pytestmark = pytest.mark.filterwarnings("ignore::plcp.exceptions.CollapseWarning")
DRAWS = {"vectors": (draw, mlp(4)), "images": (draw_images, one_conv())}
structures = pytest.mark.parametrize("structure", ["ordered", "softmax"])
calibrations = pytest.mark.parametrize("calibration", ["cross", "split", "joint"])
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
def test_short_for_an_ordered_partition_with_a_network(calibration, rng):
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
def test_threads_change_nothing(structure, rng):
    X, scores = draw(rng)
    module = nn.Sequential(mlp(4), nn.Dropout())  # draws from torch's stream in each step
    alone = rule(structure, module=module).fit(X, scores)
    together = rule(structure, module=module).set_params(n_jobs=2).fit(X, scores)
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
def test_every_network_of_a_rule_moves_to_the_device(structure, calibration, rng):
    X, scores = draw(rng)
    fitted = rule(structure, calibration).fit(X, scores)
    before = fitted.predict(X)
    to_device(fitted, "cpu:0")
    assert_array_equal(fitted.predict(X), before)
    assert fitted.partition.device == "auto"  # the parameter stays as it was given
    found = fitted.partition_
    if structure == "ordered":
        networks = found.regressor_.models_ if calibration == "cross" else [found.regressor_]
    else:
        networks = found.partitions_ if calibration == "cross" else [found]
    assert {network.device for network in networks} == {"cpu:0"}
    with pytest.raises(ValueError, match="device must be"):
        to_device(fitted, "gpu")
    networks[0].set_params(device="gpu")
    with pytest.raises(ValueError, match="device must be"):
        fitted.predict(X)


class Elsewhere(RegressorMixin, BaseEstimator):
    """A model with a parameter of the same name."""

    def __init__(self, device="theirs"):
        self.device = device

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_only_our_networks_are_moved(rng):
    X, scores = draw(rng)
    options = {"calibration": "split", "random_state": 0}
    ours = make_pipeline(StandardScaler(), TorchQuantile(mlp(4), epochs=2))
    fitted = PLCP(OrderedPartition(ours), 2, **options).fit(X, scores)
    to_device(fitted, "cpu:0")
    assert fitted.partition_.regressor_[-1].device == "cpu:0"
    theirs = PLCP(OrderedPartition(Elsewhere()), 2, **options).fit(X, scores)
    to_device(theirs, "cpu:0")
    assert theirs.partition_.regressor_.device == "theirs"


@calibrations
def test_collapse_is_passed_on(calibration, rng):
    """Rows or scores all alike: the same group is the likeliest for all."""
    X, scores = np.zeros((600, 2)), rng.exponential(size=600)
    with pytest.warns(CollapseWarning, match="holds 100% of the points"):
        rule("softmax", calibration).fit(X, scores)
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
    q = model.tail_rules_[0].predict(fresh)
    scores = 1 - net.predict_proba(fresh).astype(float)
    assert_array_equal(sets.mask, scores <= q[:, None])
    if isinstance(threshold, SplitConformal):
        low, high = beta_binomial_band(2000, 400, conformal_rank(400, 0.1))
        assert low <= sets.contains(labels).sum() <= high


# --- modules as features


@pytest.fixture
def backbone(rng):
    images = draw_images(rng, n=8)[0]
    torch.manual_seed(0)
    module = nn.Sequential(one_conv(), nn.LazyLinear(3), nn.BatchNorm1d(3), nn.Dropout())
    module(torch.tensor(images) / 255)
    return module


def flat(images):
    return np.asarray(images).reshape(len(images), -1)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor, Items], ids=["array", "tensor", "data"])
def test_embed_is_the_module_by_hand(backbone, rng, training, kind):
    images = draw_images(rng, n=30)[0]
    with torch.no_grad():
        expected = backbone.eval()(torch.tensor(images).float() / 255).double().numpy()
    backbone.train(training)
    backbone[2].eval()  # as of a module whose statistics are frozen
    before = [part.training for part in backbone.modules()]
    assert_array_equal(embed(backbone, kind(images)), expected)
    assert [part.training for part in backbone.modules()] == before
    assert sum(before) == (len(before) - 1 if training else 0)


def test_an_embedding_is_flat_and_its_module_may_have_no_parameters():
    assert_array_equal(embed(nn.Identity(), np.ones((2, 3, 2, 2))), np.ones((2, 12)))
    assert_array_equal(embed(nn.Identity(), [[1.0, 2.0]]), [[1.0, 2.0]])
    with pytest.raises(ValueError, match="the module has no weights yet"):
        embed(small_cnn(), np.zeros((2, 1, 8, 8)))


def test_a_module_may_give_the_features(backbone, rng):
    images = draw_images(rng, n=300)[0] / 255
    labels = (images.mean(axis=(1, 2, 3)) + rng.normal(0, 0.15, size=300) > 0.5).astype(int)
    model = make_pipeline(FunctionTransformer(flat), LogisticRegression(max_iter=5000))
    model = FrozenEstimator(model.fit(images, labels))
    groups = PLCP(OrderedPartition(LinearQuantile()), 2, random_state=0)
    fitted = ConformalClassifier(model, threshold=groups, features=backbone).fit(images, labels)
    embedded = embed(backbone, images)
    scores = fitted.conformity_(fitted.predict_proba(images), labels)
    direct = clone(groups).fit(embedded, scores)
    assert_array_equal(fitted.groups(images), direct.groups(embedded))
    assert_array_equal(fitted.tail_rules_[0].predict(embedded), direct.predict(embedded))
