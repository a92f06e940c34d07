"""A network as a regressor of scores: scales, seeds, modules, rows of any kind, weights."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata
from sklearn.base import clone
from torch import nn
from torch.nn.parameter import UninitializedParameter
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset

from networks import Items, draw, draw_images, weights_of
from plcp.partitions.torch import (
    TorchPartition,
    TorchQuantile,
    mlp,
    one_conv,
    small_cnn,
    training as reading,
)
from plcp.partitions.torch.quantile import rank_scale, unit_scale
from plcp.quantiles import pinball_loss, weighted_quantiles
from strategies import few

# --- scales of scores

EPS = np.finfo(float).eps
scores = hnp.arrays(float, st.integers(1, 30), elements=st.integers(-20, 20).map(float))
scales = pytest.mark.parametrize("make_scale", [rank_scale, lambda s, w: unit_scale(s, w, 0.9)])


@few
@given(scores)
def test_ranks_are_mid_ranks(values):
    found = rank_scale(values, np.ones(len(values)))(values)
    expected = (rankdata(values) - 0.5) / len(values)
    assert_allclose(found, expected, rtol=0, atol=len(values) * EPS)


@few
@given(scores)
def test_units_put_the_quantile_at_zero_and_the_median_distance_at_one(values):
    weights = np.ones(len(values))
    found = unit_scale(values, weights, 0.9)(values)
    assert weighted_quantiles(found, weights[:, None], 0.9)[0] == 0
    ranked = np.sort(abs(found))
    median = ranked[(len(values) + 1) // 2 - 1]
    if median > 0:
        assert_allclose(median, 1.0, rtol=0, atol=20 * len(values) * EPS)
    elif np.ptp(values) > 0:  # most scores are one: the mean has to do
        assert_allclose(ranked.mean(), 1.0, rtol=0, atol=20 * len(values) * EPS)


@scales
@few
@given(scores, st.data())
def test_weights_count_rows(make_scale, values, data):
    times = data.draw(hnp.arrays(int, len(values), elements=st.integers(1, 4)))
    weighted = make_scale(values, times.astype(float))
    repeated = make_scale(np.repeat(values, times), np.ones(times.sum()))
    grid = np.linspace(-30, 30, 61)
    size = 60 * max(1.0, abs(repeated(grid)).max()) * times.sum()
    assert_allclose(weighted(grid), repeated(grid), rtol=0, atol=size * EPS)


@scales
@few
@given(scores)
def test_a_scale_rises_beyond_the_ends_and_has_an_inverse(make_scale, values):
    scale = make_scale(values, np.ones(len(values)))
    grid = np.linspace(-30, 30, 61)
    there = scale(grid)
    assert (np.diff(there) > 0).all()
    steepest = (np.diff(grid) / np.diff(there)).max()
    rounding = EPS * len(values) * (60 + steepest * abs(there).max())
    assert_allclose(scale.invert(there), grid, rtol=0, atol=rounding)


@scales
def test_scores_that_differ_by_less_than_rounding(make_scale):
    """The mean distance is lost beside the scores themselves, and no division by it."""
    values = np.full(1000, 0.3)
    values[5] = 0.1 + 0.2
    assert len(np.unique(values)) == 2
    scale = make_scale(values, np.ones(1000))
    assert np.isfinite(scale(values)).all()
    assert_array_equal(scale.invert(scale(values[:1])), values[:1])


@scales
@pytest.mark.parametrize("value", [0.0, -3.0, 1e20])
def test_scores_all_alike(make_scale, value):
    """However large they are, beside which one is nothing."""
    scale = make_scale(np.full(4, value), np.ones(4))
    values = value + np.ptp(scale.scores) * np.array([-1.0, 0.0, 1.0])
    assert (np.diff(scale(values)) > 0).all()
    assert_allclose(scale.invert(scale(values)), values, rtol=4 * EPS, atol=0)


# --- the three estimators

ESTIMATORS = {
    "quantile": TorchQuantile(mlp(4), epochs=3, random_state=0),
    "ordered": TorchPartition(mlp(4), 2, epochs=3, random_state=0),
    "softmax": TorchPartition(mlp(4), 2, structure="softmax", epochs=3, random_state=0),
}
over = pytest.mark.parametrize("name", ESTIMATORS)


def make(name, **params):
    return clone(ESTIMATORS[name]).set_params(**params)


def answers(fitted, X):
    """All predictions of a fitted estimator."""
    methods = ("predict", "predict_proba", "predict_quantile")
    return [getattr(fitted, method)(X) for method in methods if hasattr(fitted, method)]


def quantiles(fitted, X):
    return getattr(fitted, "predict_quantile", fitted.predict)(X)


def assert_same(ours, theirs, X, Z=None):
    assert ours.history_ == theirs.history_
    for mine, other in zip(answers(ours, X), answers(theirs, X if Z is None else Z), strict=True):
        assert_array_equal(mine, other)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_constant_learns_the_quantile(rng, quantile):
    """One output for all rows, full batches: as near to Split's loss as plain steps must come.

    T steps of length η down a convex function, with slopes of at most one and a start D away from
    the best, come within (D² + T η²) / (2 T η) of the least value.
    """
    X, scores, weights = np.ones((300, 1)), rng.normal(size=300), rng.uniform(size=300)
    start, rate, steps = 2.0, 0.05, 600
    module = nn.Linear(1, 1)
    with torch.no_grad():
        module.bias.fill_(start)  # on a scale where the quantile is at zero
        module.weight.fill_(0.0)
    options = {"optimizer": "sgd", "learning_rate": rate, "schedule": "constant", "epochs": steps}
    regressor = TorchQuantile(module, head=False, quantile=quantile, **options)
    regressor.set_params(batch_size=300, early_stopping=False).fit(X, scores, weights)
    losses = [step["loss"] for step in regressor.history_]
    scaled, unit = regressor.scale_(scores), np.ptp(regressor.scale_.scores)

    def loss(q, values=scaled):
        return np.average(pinball_loss(q, values, 1 - quantile), weights=weights)

    least, eps = min(map(loss, scaled)), float(np.finfo(np.float32).eps)
    bound = (start**2 + steps * rate**2) / (2 * steps * rate)
    assert_allclose(losses[0], loss(start), rtol=300 * eps)
    assert losses[0] > least + bound
    assert min(losses) <= least + bound + steps * eps
    last = loss(regressor.predict(X[:1]), scores)
    assert abs(last / unit - losses[-1]) <= rate  # the loss changes by a step at most


@pytest.mark.parametrize(("quantile", "alpha"), [(None, 0.5), (0.8, 0.2)])
def test_alone_it_is_the_median_by_default(rng, quantile, alpha):
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
    assert (quantiles(other, X) != quantiles(first, X)).all()


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
def test_weights_change_the_fit(name, rng):
    X, scores = draw(rng)
    plain = make(name).fit(X, scores)
    tilted = make(name).fit(X, scores, np.where(scores > np.median(scores), 3.0, 1.0))
    assert quantiles(tilted, X).mean() > quantiles(plain, X).mean()


@over
def test_scores_in_other_units(name, rng):
    """A power of two changes no rounding: the same network, and predictions in the new units."""
    X, scores = draw(rng)
    plain, scaled = make(name).fit(X, scores), make(name).fit(X, 1024 * scores)
    assert plain.history_ == scaled.history_
    assert_array_equal(quantiles(scaled, X), 1024 * quantiles(plain, X))


@over
def test_a_fitted_estimator_predicts_on_the_device_it_is_set_to(name, rng):
    X, scores = draw(rng)
    fitted = make(name).fit(X, scores)
    again = pickle.loads(pickle.dumps(fitted))
    assert_same(again.set_params(device="cpu:0"), fitted, X)
    with pytest.raises(ValueError, match="device must be"):
        again.set_params(device="gpu").predict(X)


# --- modules


@pytest.mark.parametrize("module", [mlp(5, 3), small_cnn(), one_conv()])
def test_weights_are_drawn_by_fit_from_its_seed(module, rng):
    images, scores = draw_images(rng, n=60)

    def fitted(seed):
        return TorchQuantile(module, epochs=1, random_state=seed).fit(images, scores).network_

    torch.manual_seed(1)
    first = weights_of(fitted(0))
    torch.manual_seed(2)
    assert_array_equal(weights_of(fitted(0)), first)
    assert (weights_of(fitted(1)) != first).any()
    assert all(isinstance(p, UninitializedParameter) for p in module.parameters())


def layers(module, kind):
    return [part for part in module.modules() if isinstance(part, kind)]


def test_what_is_used_where_no_module_is_given(rng):
    (X, scores), (images, image_scores) = draw(rng, n=60), draw_images(rng, n=60)
    on_vectors = TorchQuantile(epochs=1, random_state=0).fit(X, scores).network_
    on_images = TorchPartition(None, 3, structure="softmax", epochs=1, random_state=0)
    on_images = on_images.fit(images, image_scores).network_
    assert [layer.out_features for layer in layers(on_vectors, nn.Linear)] == [200, 100, 1]
    assert [layer.out_channels for layer in layers(on_images, nn.Conv2d)] == [8, 16, 16]
    # the paper's two linear layers: the module's, and the one on top
    assert [layer.out_features for layer in layers(on_images, nn.Linear)] == [64, 3]


def trained():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))


FRESH = [TorchQuantile(), TorchPartition(None, 2, structure="softmax")]
fresh = pytest.mark.parametrize("estimator", FRESH, ids=["quantile", "softmax"])


def copy_in(fitted):
    """The copy of a module of `trained` that an estimator has trained."""
    return next(
        part
        for part in fitted.network_.modules()
        if isinstance(part, nn.Sequential)
        and [type(p) for p in part] == [nn.Linear, nn.ReLU, nn.Linear]
    )


@fresh
def test_a_given_module_is_copied_and_left_as_it_was(estimator, rng):
    module = trained()
    before = weights_of(module)
    fitted = clone(estimator).set_params(module=module, epochs=2).fit(*draw(rng))
    assert_array_equal(weights_of(module), before)
    assert module.training
    assert (weights_of(copy_in(fitted)) != before).all()


@fresh
def test_a_trained_module_is_where_training_starts(estimator, rng):
    """Steps too small to change a single weight leave the weights that were given."""
    module = trained()
    tiny = np.finfo(np.float32).tiny
    options = {"learning_rate": tiny, "optimizer": "sgd", "epochs": 1}
    fitted = clone(estimator).set_params(module=module, **options).fit(*draw(rng))
    assert_array_equal(weights_of(copy_in(fitted)), weights_of(module))


@fresh
def test_frozen_parameters_stay(estimator, rng):
    module = trained()
    module[0].requires_grad_(False)
    options = {"optimizer": "adamw", "learning_rate": 0.01, "epochs": 2, "random_state": 0}
    fitted = clone(estimator).set_params(module=module, **options).fit(*draw(rng))
    found = copy_in(fitted)
    assert_array_equal(weights_of(found[0]), weights_of(module[0]))
    assert (weights_of(found[2]) != weights_of(module[2])).all()


QUICK = {"epochs": 2, "random_state": 0}


def test_frozen_parts_keep_their_statistics(rng):
    X, scores = draw(rng)
    backbone = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4)).requires_grad_(False)
    regressor = TorchQuantile(backbone, **QUICK).fit(X, scores)
    assert_array_equal(regressor.network_[1][1].running_mean, backbone[1].running_mean)
    learning = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4))
    regressor = TorchQuantile(learning, **QUICK).fit(X, scores)
    assert (regressor.network_[1][1].running_mean != 0).all()


# --- unusual and bad input


def test_one_huge_score_spoils_nothing(rng):
    X, scores = draw(rng, 400)
    plain = TorchQuantile(mlp(8), quantile=0.9, random_state=0).fit(X, scores).predict(X)
    scores[0] = 1e12
    spoilt = TorchQuantile(mlp(8), quantile=0.9, random_state=0).fit(X, scores).predict(X)
    assert np.median(spoilt) < 10 * np.median(plain)


@pytest.mark.parametrize("value", [1e300, np.nan])
def test_outputs_that_are_no_numbers_are_refused(value, rng):
    X, scores = draw(rng)
    fitted = TorchPartition(mlp(4), 2, structure="softmax", **QUICK).fit(X, scores)
    X = X.copy()
    X[3] = value
    with pytest.raises(ValueError, match="the network gives NaN at row 3"):
        fitted.predict_proba(Items(X))


@pytest.mark.parametrize("kind", ["graph", "bfloat16", "items"])
def test_tensors_of_any_kind(kind, rng):
    X, scores = draw(rng)
    given = torch.tensor(X).float().requires_grad_(kind != "bfloat16")
    if kind == "bfloat16":
        given = given.to(torch.bfloat16)
    data = TensorDataset(given) if kind == "items" else given
    regressor = TorchQuantile(mlp(4), **QUICK).fit(data, torch.tensor(scores).requires_grad_())
    same = given.detach().float().numpy()
    expected = TorchQuantile(mlp(4), **QUICK).fit(same, scores).predict(same)
    assert_array_equal(regressor.predict(data), expected)


@pytest.mark.parametrize(
    "values", [["a", "b"] * 100, pd.Categorical(["a", "b"] * 100), pd.Timestamp("2024-01-01")]
)
def test_columns_that_are_no_numbers_are_named(values, rng):
    X, scores = draw(rng)
    frame = pd.DataFrame({"width": X[:, 0], "kind": values})
    with pytest.raises(ValueError, match="column 'kind' of X holds no numbers: encode it"):
        TorchQuantile(mlp(4), **QUICK).fit(frame, scores)


def test_other_shapes_than_fitted_are_refused(rng):
    images, scores = draw_images(rng)
    regressor = TorchQuantile(one_conv(), **QUICK).fit(Items(images), scores)
    wider = np.zeros((2, 1, 6, 8), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"rows have shape \(1, 6, 8\), but .* on \(1, 6, 6\)"):
        regressor.predict(Items(wider))


def test_large_rows_are_read_few_at_a_time(monkeypatch, rng):
    X, scores = draw(rng)
    regressor = TorchQuantile(mlp(4), **QUICK).fit(X, scores)
    sizes = []
    hook = regressor.network_.register_forward_pre_hook(
        lambda _, given: sizes.append(len(given[0]))
    )
    whole = regressor.predict(X)
    monkeypatch.setattr(reading, "BYTES_TO_READ", 7 * 2 * 4)  # seven rows of two floats
    parts = regressor.predict(X)
    hook.remove()
    assert sizes[0] == 200
    assert set(sizes[1:]) == {7, 200 % 7}
    assert_allclose(parts, whole, rtol=16 * float(np.finfo(np.float32).eps))


def test_a_second_fit_forgets_the_width_of_the_first(rng):
    X, scores = draw(rng)
    regressor = TorchQuantile(mlp(4), **QUICK).fit(np.ones((200, 5)), scores)
    regressor.fit(Items(X), scores)
    assert regressor.predict(X).shape == (200,)


@pytest.mark.parametrize("n", [1, 2, 3, 19])
def test_a_few_rows(n, rng):
    X, scores = draw(rng, n)
    regressor = TorchQuantile(mlp(2), **QUICK).fit(X, scores)
    assert np.isfinite(regressor.predict(X)).all()
    assert "held_out" not in regressor.history_[0]


class Stream(IterableDataset):
    def __len__(self):
        return 3

    def __iter__(self):
        yield torch.zeros(2)


@over
def test_data_sets_that_cannot_be_folded_are_refused(name):
    loader = DataLoader(TensorDataset(torch.zeros(3, 2)))
    for rows, scores, message in (
        (Stream(), np.ones(3), r"Stream has no length .* give a map-style Dataset"),
        (loader, np.ones(3), r"DataLoader has no length .* give a map-style Dataset"),
        (Items([]), [], r"0 sample\(s\): the Items is empty"),
        (Items(np.ones((4, 2))), np.ones(3), r"inconsistent numbers of samples: \[4, 3\]"),
    ):
        with pytest.raises(ValueError, match=message):
            make(name).fit(rows, scores)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
@over
def test_missing_values_are_refused(name, kind, rng):
    X, scores = draw(rng)
    fitted = make(name).fit(kind(X), scores)
    X[3, 1] = np.nan
    remedy = r"X contains NaN.(?s:.*)HistGradientBoostingRegressor\(lo"
    with pytest.raises(ValueError, match=remedy):
        make(name).fit(kind(X), scores)
    with pytest.raises(ValueError, match=remedy):
        fitted.predict(kind(X))
    with pytest.raises(ValueError, match="no finite number in epoch 1: check the data for NaN"):
        make(name).fit(Items(X), scores)  # a data set is not read in advance: the loss shows it
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        make(name).fit(kind(X), scores)


@pytest.mark.parametrize("dtype", [np.int64, np.int16, bool])
@over
def test_images_that_do_not_fit_are_refused(name, dtype, rng):
    images, scores = draw_images(rng)
    with pytest.raises(ValueError, match=r"images of torch\.\w+ have no known range: give bytes"):
        make(name).fit(images.astype(dtype), scores)
    fitted = make(name, module=one_conv()).fit(images, scores)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 1"):
        fitted.predict(np.repeat(images, 2, axis=1))
