"""A network as a regressor: seeds, rows of any kind, weights, devices, quantiles."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from torch import nn
from torch.utils.data import IterableDataset, Subset, TensorDataset

from networks import Items, Live, draw, draw_images, weights_of
from plcp.exceptions import CollapseWarning
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp, one_conv
from plcp.partitions.torch.training import ROWS_TO_READ
from plcp.quantiles import pinball_loss

ESTIMATORS = {
    "quantile": TorchQuantile(mlp(4), epochs=3, random_state=0),
    "ordered": TorchPartition(mlp(4), 2, epochs=3, random_state=0),
    "softmax": TorchPartition(mlp(4), 2, structure="softmax", epochs=3, random_state=0),
}
over = pytest.mark.parametrize("name", ESTIMATORS)


def make(name, **params):
    return clone(ESTIMATORS[name]).set_params(**params)


def answers(fitted, X):
    """Everything a fitted estimator says of some rows."""
    methods = ("predict", "predict_proba", "predict_quantile")
    return [getattr(fitted, method)(X) for method in methods if hasattr(fitted, method)]


def assert_same(ours, theirs, X, Z=None):
    assert ours.history_ == theirs.history_
    for mine, other in zip(answers(ours, X), answers(theirs, X if Z is None else Z), strict=True):
        assert_array_equal(mine, other)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_a_constant_learns_the_quantile(rng, level):
    """One output for all rows, full batches: as near to Split's loss as plain steps must come.

    T steps of length η down a convex function, with slopes of at most one and a start D away from
    the best, come within (D² + T η²) / (2 T η) of the least value.
    """
    X, scores = np.ones((300, 1)), rng.normal(size=300)
    start, rate, steps = 2.0, 0.05, 300
    module = nn.Linear(1, 1)
    with torch.no_grad():
        module.bias.fill_(start)  # on a scale where the quantile is at zero
    options = {"optimizer": "sgd", "learning_rate": rate, "schedule": "constant", "epochs": steps}
    regressor = TorchQuantile(module, head=False, quantile=level, **options)
    regressor.set_params(batch_size=300, early_stopping=False).fit(X, scores)
    losses = [step["loss"] for step in regressor.history_]
    scaled = regressor.scale_(scores)
    least = min(pinball_loss(q, scaled, 1 - level).mean() for q in scaled)
    bound = (start**2 + steps * rate**2) / (2 * steps * rate)
    assert losses[0] > least + bound
    assert min(losses) <= least + bound + steps * float(np.finfo(np.float32).eps)
    last = pinball_loss(regressor.predict(X[:1]), scores, 1 - level).mean()
    unit = np.ptp(regressor.scale_.scores)
    assert abs(last / unit - losses[-1]) <= rate  # the loss changes by a step at most


@pytest.mark.parametrize(("quantile", "alpha"), [(None, 0.5), (0.8, 0.2)])
def test_alone_it_is_the_median_unless_told(rng, quantile, alpha):
    X, scores = draw(rng)
    ours = make("quantile", quantile=quantile).fit(X, scores)
    assert_same(ours, make("quantile", quantile=1 - alpha).fit(X, scores), X)
    assert_array_equal(ours.scale_.scores[0], np.sort(scores)[round((1 - alpha) * 200) - 1])


@over
def test_identical_seeds_identical_bits(name, rng):
    X, scores = draw(rng)
    first = make(name).fit(X, scores)
    torch.rand(7)
    second = make(name).fit(X, scores)
    assert_same(first, second, X)
    other = make(name, random_state=1).fit(X, scores)
    assert other.history_ != first.history_
    regressor = "predict" if name == "quantile" else "predict_quantile"
    assert (getattr(other, regressor)(X) != getattr(first, regressor)(X)).all()


@over
def test_the_stream_of_torch_is_left_alone(name, rng):
    X, scores = draw(rng)
    before = torch.get_rng_state()
    make(name, module=nn.Sequential(mlp(4), nn.Dropout())).fit(X, scores).predict(X)
    assert torch.equal(torch.get_rng_state(), before)


KINDS = {
    "list": lambda X: X.tolist(),
    "tensor": torch.tensor,
    "frame": pd.DataFrame,
    "dataset": Items,
    "pairs": lambda X: Items(X, lambda x: (torch.tensor(x), 3)),
    "tensor data set": lambda X: TensorDataset(torch.tensor(X)),
    "labelled": lambda X: TensorDataset(torch.tensor(X), torch.zeros(len(X))),
    "subset": lambda X: Subset(Items(X[::-1].copy()), range(len(X) - 1, -1, -1)),
}


@pytest.mark.parametrize("kind", KINDS)
@over
def test_rows_of_any_kind_give_the_same_bits(name, kind, rng):
    X, scores = draw(rng)
    given = KINDS[kind](X)
    ours = make(name).fit(given, scores)
    assert_same(ours, make(name).fit(X, scores), given, X)


@pytest.mark.parametrize("kind", ["tensor", "pairs", "tensor data set", "labelled", "subset"])
@over
def test_images_of_any_kind_give_the_same_bits(name, kind, rng):
    images, scores = draw_images(rng)
    given = KINDS[kind](images)
    ours = make(name, module=one_conv()).fit(given, scores)
    assert_same(ours, make(name, module=one_conv()).fit(images, scores), given, images)


@over
def test_bytes_are_the_floats_they_stand_for(name, rng):
    images, scores = draw_images(rng)
    floats = images / np.float32(255)
    ours = make(name, module=one_conv()).fit(images, scores)
    assert_same(ours, make(name, module=one_conv()).fit(floats, scores), images, floats)


@over
def test_a_data_set_is_read_a_few_rows_at_a_time(name, rng):
    X, scores = draw(rng, 2 * ROWS_TO_READ + 500)
    data = Live(X)
    fitted = make(name, epochs=1).fit(data, scores)
    assert data.most == ROWS_TO_READ
    assert data.now == 0
    data.most = 0
    answers(fitted, data)
    assert data.most == ROWS_TO_READ
    assert data.now == 0


@pytest.mark.parametrize("kind", [np.asarray, Items])
@over
def test_weightless_rows_are_not_there(name, kind, rng):
    X, scores = draw(rng)
    weights = rng.uniform(1, 2, size=200) * (np.arange(200) % 3 > 0)
    there = weights > 0
    ours = make(name).fit(kind(X), scores, weights)
    alone = make(name).fit(kind(X[there]), scores[there], weights[there])
    assert_same(ours, alone, X)
    if name != "quantile":
        assert_array_equal(ours.thresholds_, alone.thresholds_)


@over
def test_only_shares_of_weight_count(name, rng):
    X, scores = draw(rng)
    plain, double = make(name).fit(X, scores), make(name).fit(X, scores, np.full(200, 2.0))
    assert_same(plain, double, X)
    if name != "quantile":
        assert_array_equal(double.group_sizes_, 2 * plain.group_sizes_)


@over
def test_weights_are_heard(name, rng):
    X, scores = draw(rng)
    plain = make(name).fit(X, scores)
    tilted = make(name).fit(X, scores, np.where(scores > np.median(scores), 3.0, 1.0))
    regressor = "predict" if name == "quantile" else "predict_quantile"
    assert getattr(tilted, regressor)(X).mean() > getattr(plain, regressor)(X).mean()


@over
def test_scores_in_other_units(name, rng):
    """A power of two changes no rounding: the same network, and answers in the new units."""
    X, scores = draw(rng)
    plain, scaled = make(name).fit(X, scores), make(name).fit(X, 1024 * scores)
    assert plain.history_ == scaled.history_
    regressor = "predict" if name == "quantile" else "predict_quantile"
    assert_array_equal(getattr(scaled, regressor)(X), 1024 * getattr(plain, regressor)(X))


@over
def test_clone_pickle_and_another_name_of_the_device(name, rng):
    X, scores = draw(rng)
    fitted = make(name).fit(X, scores)
    assert_same(clone(fitted).fit(X, scores), fitted, X)
    again = pickle.loads(pickle.dumps(fitted))
    assert_same(again, fitted, X)
    assert_same(again.set_params(device="cpu:0"), fitted, X)
    with pytest.raises(ValueError, match="device must be"):  # it is heard
        again.set_params(device="gpu").predict(X)


@pytest.mark.parametrize("name", ["quantile", "softmax"])
def test_predicting_changes_nothing(name, rng):
    X, scores = draw(rng)
    fitted = make(name, module=nn.Sequential(mlp(4), nn.BatchNorm1d(4), nn.Dropout()))
    fitted.fit(X, scores)
    before, modes = weights_of(fitted.network_), [m.training for m in fitted.network_.modules()]
    first = answers(fitted, X)
    alone = [
        np.concatenate(rows) for rows in zip(*[answers(fitted, x[None]) for x in X], strict=True)
    ]
    assert_array_equal(weights_of(fitted.network_), before)
    assert [m.training for m in fitted.network_.modules()] == modes
    eps = np.finfo(np.float32).eps
    for together, single in zip(first, alone, strict=True):  # a row is not judged by the others
        assert_allclose(single, together, rtol=0, atol=20 * eps * max(1, abs(together).max()))


@over
def test_scores_that_are_all_but_alike(name, rng):
    X = rng.normal(size=(200, 2))
    scores = np.full(200, 0.3)
    scores[5] = 0.1 + 0.2
    if name == "quantile":
        regressor = make(name).fit(X, scores).predict(X)
        assert np.isfinite(regressor).all()
    elif name == "ordered":
        assert set(make(name).fit(X, scores).thresholds_) <= set(scores)
    else:
        with pytest.warns(CollapseWarning, match="one group of 2 holds 100%"):
            assert set(make(name).fit(X, scores).thresholds_) <= set(scores)


class Stream(IterableDataset):
    def __iter__(self):
        yield torch.zeros(2)


@over
def test_data_sets_that_cannot_be_folded(name, rng):
    with pytest.raises(ValueError, match=r"Stream has no length .* give a map-style Dataset"):
        make(name).fit(Stream(), np.ones(3))
    with pytest.raises(ValueError, match=r"0 sample\(s\): the Items is empty"):
        make(name).fit(Items([]), [])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[4, 3\]"):
        make(name).fit(Items(np.ones((4, 2))), np.ones(3))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
@over
def test_missing_values_are_refused(name, kind, rng):
    X, scores = draw(rng)
    fitted = make(name).fit(kind(X), scores)
    X[3, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"X contains NaN.(?s:.*)HistGradientBoostingRegressor\(lo"
    ):
        make(name).fit(kind(X), scores)
    with pytest.raises(
        ValueError, match=r"X contains NaN.(?s:.*)HistGradientBoostingRegressor\(lo"
    ):
        fitted.predict(kind(X))
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        make(name).fit(kind(X), scores)


@over
def test_missing_values_of_a_data_set_are_found_by_the_loss(name, rng):
    X, scores = draw(rng)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="no finite number in epoch 1: look for NaN in the data"):
        make(name).fit(Items(X), scores)


@over
def test_images_that_do_not_fit(name, rng):
    images, scores = draw_images(rng)
    with pytest.raises(ValueError, match=r"images of torch.int64 have no known range"):
        make(name).fit(images.astype(int), scores)
    fitted = make(name, module=one_conv()).fit(images, scores)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 1"):
        fitted.predict(np.repeat(images, 2, axis=1))


@over
def test_modules_that_do_not_fit(name, rng):
    X, scores = draw(rng)
    with pytest.raises(ValueError, match=r"the module gives 3 outputs a row, but [12] are needed"):
        make(name, module=nn.Linear(2, 3), head=False).fit(X, scores)
    with pytest.raises(ValueError, match="the module must give one vector a row"):
        make(name, module=nn.Unflatten(1, (1, 2))).fit(X, scores)
    with pytest.raises(TypeError, match=r"module must be a torch.nn.Module or None, got 'mlp'"):
        make(name, module="mlp").fit(X, scores)
