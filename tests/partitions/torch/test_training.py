"""How networks are trained: rows as batches, modules, devices, options, and what a run keeps."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from torch import nn

from networks import Failing, Items, Watched, draw, draw_images, weights_of
from plcp.partitions.torch import (
    TorchPartition,
    TorchQuantile,
    mlp,
    one_conv,
    small_cnn,
    training,
)
from plcp.partitions.torch.training import (
    LEAST_STEPS,
    ROWS_TO_READ,
    Descent,
    Sample,
    find_device,
    make_network,
    moments,
    outputs_of,
    predict_outputs,
    read,
    run,
    shuffled,
)
from plcp.quantiles import pinball_loss
from strategies import few

CPU = torch.device("cpu")
EPS, EPS32 = float(np.finfo(float).eps), float(np.finfo(np.float32).eps)

# --- rows


def test_bytes_of_images_are_scaled_and_those_of_tables_are_not(rng):
    images = draw_images(rng, n=5)[0]
    rows = np.arange(5)
    assert torch.equal(read(images, rows), torch.tensor(images / np.float32(255)))
    table = images.reshape(5, -1)
    assert torch.equal(read(table, rows), torch.tensor(table).float())


@pytest.mark.parametrize(
    "item", [lambda x: {"x": x}, lambda x: x[0], lambda x: "x", lambda x: (x[0], x[1])]
)
def test_items_that_are_no_rows_are_refused(item, rng):
    with pytest.raises(ValueError, match="items of a data set must be a vector or an image each"):
        read(Items(draw(rng, n=5)[0], item), np.arange(2))


@few
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 9))
def test_an_epoch_reads_each_row_once_except_for_a_small_rest(n, size, seed):
    size, rng = min(n, size), np.random.RandomState(seed)
    batches = list(shuffled(n, size, rng))
    rows, rest = np.concatenate(batches), n % size
    assert len(np.unique(rows)) == len(rows) == (n if 2 * rest >= size else n - rest)
    assert all(len(batch) == size for batch in batches[:-1])
    assert 2 * len(batches[-1]) >= size
    if n > 20:
        assert (rows != np.concatenate(list(shuffled(n, size, rng)))).any()


@pytest.mark.parametrize("n", [3, ROWS_TO_READ + 5])
def test_moments_are_those_of_all_rows_at_once(n, rng):
    X = 1000 + rng.normal(size=(n, 3, 2, 2)) * np.array([1.0, 10.0, 0.1])[:, None, None]
    X[:, 2] = 7.0  # a constant column is divided by one
    mean, spread = moments(X)
    single = X.astype(np.float32).astype(float)
    assert_allclose(mean, single.mean(axis=(0, 2, 3)), rtol=EPS32)
    assert_allclose(spread[:2], single.std(axis=(0, 2, 3))[:2], rtol=EPS32)
    assert spread[2] == 1


def test_outputs_are_those_of_the_network_whose_parts_keep_their_modes(rng):
    X = rng.normal(size=(2 * ROWS_TO_READ + 3, 2)).astype(np.float32)
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout())
    network[1].running_mean += 3
    with torch.no_grad():
        expected = network.eval()(torch.tensor(X)).double().numpy()
    network.train()[1].eval()
    assert_array_equal(outputs_of(network, X, CPU), expected)
    with pytest.raises(RuntimeError, match="shapes"):
        outputs_of(network, np.ones((4, 3)), CPU)
    assert [part.training for part in network.modules()] == [True, True, False, True]
    assert network[1].running_mean.tolist() == [3, 3]


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.8])
def test_split_loss_is_the_least_of_any_one_threshold(rng, alpha):
    X, scores = draw(rng, 40)
    sample = Sample.of(X, scores, rng.uniform(size=40))
    scores, weights = sample.array(), sample.weights.double().numpy()
    losses = pinball_loss(scores[:, None], scores, alpha) @ weights / weights.sum()
    assert_allclose(sample.split_loss(alpha), losses.min(), rtol=len(scores) * EPS)
    alike = Sample.of(np.ones((3, 1)), np.full(3, 7.0), np.ones(3))
    assert alike.split_loss(alpha) == 1  # a unit even where nothing is lost


# --- modules


def network_of(module, X, width=2, **options):
    return make_network(TorchQuantile(module, **options), X, width)


@pytest.mark.parametrize("shape", [(50, 3), (50, 3, 4, 4), (50, 3, 5)])
def test_input_is_standardised_by_column_or_channel(shape, rng):
    X = 5 + 10 * rng.normal(size=shape)
    Z = network_of(nn.Flatten(), X)[0](torch.tensor(X).float()).double().numpy()
    over = (0, *range(2, len(shape)))
    size = EPS32 * len(shape) * abs(X).max()
    assert_allclose(Z.mean(axis=over), 0, atol=size)
    assert_allclose(Z.std(axis=over), 1, atol=size)


@pytest.mark.parametrize("module", [mlp(5), one_conv(), None])
@pytest.mark.parametrize("width", [1, 7])
def test_the_head_has_as_many_outputs_as_needed(module, width, rng):
    network = network_of(module, draw_images(rng, n=9)[0], width)
    assert isinstance(network[-1], nn.Linear)
    assert network(torch.zeros(4, 1, 6, 6)).shape == (4, width)


def test_a_module_may_be_used_without_head_and_scaling(rng):
    X, module = draw(rng, n=9)[0], nn.Linear(2, 3)
    network = network_of(module, X, 3, head=False, standardize=False)
    expected = module(torch.tensor(X).float()).detach().double()
    assert_array_equal(predict_outputs(network, X, "cpu", (2,)), expected)
    one_row = network_of(nn.Sequential(mlp(3), nn.BatchNorm1d(3)), np.ones((1, 2)))
    assert one_row[-1].in_features == 3


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(2, 3), "gives 3 outputs per row, but 2 are needed: .* or set head=True"),
        (nn.Unflatten(1, (1, 2)), r"shape \(2, k\) for two rows of shape \(2,\), got \(2, 1, 2\)"),
        (nn.LSTM(2, 2), r"must give one vector per row, .* got tuple: add nn.Flatten"),
        (nn.Linear(2, 2).requires_grad_(False), "every parameter is frozen: set head=True"),
        (nn.Linear(7, 2), r"the module cannot take rows of shape \(2,\)"),
        (nn.Linear, r"module must be a torch\.nn\.Module or None, got"),
        ("mlp", r"module must be a torch\.nn\.Module or None, got 'mlp'"),
    ],
)
def test_modules_that_do_not_fit_the_rows_are_refused(module, message, rng):
    with pytest.raises((TypeError, ValueError), match=message):
        network_of(module, draw(rng, n=9)[0], head=False)


def test_images_without_channels_are_refused(rng):
    with pytest.raises(ValueError, match=r"a channel axis to images, X\[:, None\]"):
        network_of(small_cnn(), draw_images(rng, n=9)[0][:, 0])


# --- devices


@pytest.fixture
def machine(monkeypatch):
    """A machine with the devices it is given."""

    def have(*kinds, cudas=1):
        monkeypatch.setattr(training, "is_there", lambda kind: kind in {"cpu", *kinds})
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cudas)

    return have


@pytest.mark.parametrize(
    ("there", "found"),
    [((), "cpu"), (("mps",), "mps"), (("cuda",), "cuda"), (("cuda", "mps"), "cuda")],
)
def test_auto_takes_the_fastest_device(machine, there, found):
    machine(*there)
    assert find_device("auto") == torch.device(found)
    assert find_device("cpu:0") == torch.device("cpu:0")


@pytest.mark.parametrize("name", ["cuda", "cuda:3", "mps", "meta"])
def test_a_device_that_is_not_there_is_refused(machine, name):
    machine()
    with pytest.raises(ValueError, match=f"device '{name}' is not there: torch .* sees none"):
        find_device(name)


def test_a_number_beyond_the_last_device_is_refused(machine):
    machine("cuda", cudas=2)
    assert find_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match=r"'cuda:2' is not there: this machine has 2 CUDA"):
        find_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "", "cpu:x", None, 1.5])
def test_unknown_names_of_devices_are_refused(name):
    with pytest.raises(ValueError, match="device must be 'auto', 'cpu', 'cuda' or 'mps', got"):
        find_device(name)


# --- options


def descent(n, least_epochs=6, **options):
    return Descent(nn.Linear(1, 1), TorchQuantile(**options), n, None, least_epochs)


@pytest.mark.parametrize("n", [1, 50, 127, 128, 129, 10_000, 200_000])
def test_auto_is_at_least_so_many_epochs_and_steps(n):
    auto = descent(n)
    assert auto.batch_size == min(128, n)
    assert auto.epochs >= 6
    assert auto.epochs * n >= LEAST_STEPS * auto.batch_size
    assert auto.epochs == 6 or (auto.epochs - 1) * n < LEAST_STEPS * auto.batch_size
    assert descent(n, epochs=3).epochs == 3


@pytest.mark.parametrize(
    ("optimizer", "kind"),
    [
        ("adam", torch.optim.Adam),
        ("adamw", torch.optim.AdamW),
        ("sgd", torch.optim.SGD),
        (torch.optim.RMSprop, torch.optim.RMSprop),
    ],
)
def test_optimizers_are_given_by_name_or_class(optimizer, kind):
    made = descent(9, optimizer=optimizer, learning_rate=0.3).optimizer
    assert type(made) is kind
    assert made.param_groups[0]["lr"] == 0.3


ALL = {
    "quantile": TorchQuantile(mlp(4), random_state=0),
    "ordered": TorchPartition(mlp(4), 2, random_state=0),
    "softmax": TorchPartition(mlp(4), 2, structure="softmax", random_state=0),
}
BAD = [
    ("optimizer", "lion", "optimizer must be one of 'adam', 'adamw', 'sgd', got 'lion'"),
    ("optimizer", None, "optimizer must be one of 'adam', 'adamw', 'sgd', got None"),
    ("schedule", "linear", "schedule must be one of 'cosine', 'constant', got 'linear'"),
    ("epochs", 0, "epochs must be a whole number, at least 1, got 0"),
    ("epochs", 2.5, "epochs must be a whole number, at least 1, got 2.5"),
    ("epochs", "many", "epochs must be a whole number, at least 1, got 'many'"),
    ("batch_size", 0, "batch_size must be a whole number, at least 1, got 0"),
    ("batch_size", 181, "batch_size = 181 is larger than the 180 rows to learn from: .* 'auto'"),
    ("patience", 0, "patience must be a whole number, at least 1, got 0"),
    ("early_stopping", 1, "early_stopping must be True or False, got 1"),
    ("validation_fraction", 1.0, r"validation_fraction must lie in \(0, 1\), got 1.0"),
    *[
        (name, value, f"{name} must be a positive number, got {value!r}")
        for name in ("learning_rate", "clip_norm")
        for value in (0, -1.0, np.inf, np.nan, "fast", True)
    ],
    ("learning_rate", None, "learning_rate must be a positive number, got None"),
    ("device", "gpu", "device must be 'auto', 'cpu', 'cuda' or 'mps', got 'gpu'"),
    ("quantile", 1.0, r"quantile must lie in \(0, 1\), got 1.0"),
    ("structure", "tree", "structure must be one of 'ordered', 'softmax', got 'tree'"),
    ("descent", "both", "descent must be one of 'alternating', 'joint', got 'both'"),
    ("start", "hot", "start must be one of 'bins', 'random', got 'hot'"),
    *[
        ("balance", value, f"balance must be a number, not below zero, got {value!r}")
        for value in (-0.1, np.inf, np.nan, "much", None, True)
    ],
]
CASES = [(name, *bad) for name in ALL for bad in BAD if bad[0] in ALL[name].get_params()]


@pytest.mark.parametrize(("name", "option", "value", "message"), CASES)
def test_options_out_of_range_are_named(name, option, value, message, rng):
    with pytest.raises(ValueError, match=message):
        clone(ALL[name]).set_params(**{option: value}).fit(*draw(rng))


# --- what a run keeps

# One pass is one epoch; schedules that depend on the last epoch are off.
PLAIN = {
    "epochs": 6,
    "early_stopping": False,
    "schedule": "constant",
    "batch_size": 200,
    "random_state": 0,
}
SOFT = {"n_groups": 2, "structure": "softmax", "start": "random", "balance": 0.0}
ESTIMATORS = {
    "quantile": TorchQuantile(Failing(), **PLAIN),
    "alternating": TorchPartition(Failing(), **SOFT, **PLAIN),
    "joint": TorchPartition(Failing(), **SOFT, **PLAIN, descent="joint"),
}
over = pytest.mark.parametrize("name", ESTIMATORS)


def make(name, **params):
    return clone(ESTIMATORS[name]).set_params(**params)


class Scripted:
    """A network whose only weight is the epoch, and epochs with the losses of a script."""

    def __init__(self, script, key="held_out", patience=3):
        self.network, self.script, self.key = nn.Linear(1, 1, bias=False), script, key
        self.patience, self.done = patience, 0

    def epoch(self):
        found = self.script[self.done]
        self.done += 1
        with torch.no_grad():
            self.network.weight.fill_(self.done)
        if found is KeyboardInterrupt:
            raise KeyboardInterrupt
        return {self.key: found}

    def run(self):
        self.history = run(self.network, len(self.script), self.patience, self.epoch)
        return self.network.weight.item()


@few
@given(st.lists(st.integers(0, 9).map(float), min_size=1, max_size=20), st.integers(1, 5))
def test_the_first_best_epoch_stays_and_patience_ends_the_run(losses, patience):
    scripted = Scripted(losses, patience=patience)
    kept = scripted.run()
    ends = [t for t in range(1, len(losses) + 1) if t - 1 - int(np.argmin(losses[:t])) >= patience]
    last = ends[0] if ends else len(losses)
    assert [step["epoch"] for step in scripted.history] == list(range(1, last + 1))
    assert [step["held_out"] for step in scripted.history] == losses[:last]
    assert kept == 1 + int(np.argmin(losses[:last]))
    without = Scripted(losses, key="loss", patience=1)  # no rows held out: the last epoch stays
    assert without.run() == len(without.history) == len(losses)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (KeyboardInterrupt, "interrupted in epoch 4 of 6: the state of epoch 2 stays"),
        (np.nan, "no finite number in epoch 4: the state of epoch 2 stays; lower learning_rate"),
        (np.inf, "no finite number in epoch 4: the state of epoch 2 stays; lower learning_rate"),
    ],
    ids=["interrupt", "nan", "inf"],
)
def test_what_breaks_leaves_the_best_epoch_so_far(broken, message):
    scripted = Scripted([5.0, 3.0, 4.0, broken, 1.0, 1.0])
    with pytest.warns(ConvergenceWarning, match=message):
        assert scripted.run() == 2
    assert (scripted.done, len(scripted.history)) == (4, 3)


@pytest.mark.parametrize("how", ["interrupt", "nan"])
@pytest.mark.parametrize("epoch", [2, 4])
@over
def test_a_broken_fit_is_the_fit_of_the_epochs_before(name, epoch, how, rng):
    X, scores = draw(rng)
    with pytest.warns(ConvergenceWarning, match=f"in epoch {epoch}.*state of epoch {epoch - 1} "):
        broken = make(name, module=Failing(how, epoch)).fit(X, scores)
    shorter = make(name, epochs=epoch - 1).fit(X, scores)
    assert broken.history_ == shorter.history_
    assert len(broken.history_) == epoch - 1
    assert_array_equal(weights_of(broken.network_), weights_of(shorter.network_))
    assert_array_equal(broken.predict(X), shorter.predict(X))
    assert (weights_of(make(name).fit(X, scores).network_) != weights_of(shorter.network_)).any()


@over
def test_a_fit_that_breaks_at_once_is_no_fit(name, rng):
    X, scores = draw(rng)
    before = torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        make(name, module=Failing("interrupt", 1)).fit(X, scores)
    with pytest.raises(ValueError, match="no finite number in epoch 1: check the data for NaN"):
        make(name, module=Failing("nan", 1)).fit(X, scores)
    # one step, whose loss is that before it
    with pytest.raises(ValueError, match=r"epoch 1: .* lower learning_rate, or set clip_norm=1"):
        make(name, learning_rate=1e30).fit(X, scores)
    assert torch.equal(torch.get_rng_state(), before)
    make(name).fit(X, scores)  # and the next one may draw


def held_out_rows(n, seed):
    """Rows that a fit holds out: drawn after the seed of torch's stream."""
    rng = np.random.RandomState(seed)
    rng.randint(np.iinfo(np.int32).max)
    return train_test_split(np.arange(n), test_size=0.1, random_state=rng)[1]


@pytest.mark.parametrize("seed", range(3))
def test_early_stopping_keeps_the_epoch_of_least_held_out_loss(seed, rng):
    X, scores = rng.normal(size=(200, 5)), rng.exponential(size=200)  # nothing to learn
    weights = rng.uniform(0.5, 1.5, size=200)
    quantile = TorchQuantile(
        mlp(32), quantile=0.9, epochs=200, learning_rate=0.02, random_state=seed
    ).fit(X, scores, weights)
    history = [step["held_out"] for step in quantile.history_]
    assert len(history) == 1 + int(np.argmin(history)) + 200 // 4  # patience
    rows = held_out_rows(200, seed)
    unit = np.ptp(quantile.scale_.scores)
    losses = pinball_loss(quantile.predict(X[rows]), scores[rows], 0.1) / unit
    found = (losses * weights[rows]).mean() / weights.mean()
    assert found == pytest.approx(min(history), rel=len(rows) * EPS32, abs=0)


class SpySGD(torch.optim.SGD):
    """Plain descent that records the norms of the gradients it is given, and the rates."""

    norms, rates = [], []

    def step(self, closure=None):
        own = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        self.norms.append(float(torch.cat([g.flatten() for g in own]).norm()))
        self.rates.append(self.param_groups[0]["lr"])
        return super().step(closure)


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setattr(SpySGD, "norms", [])
    monkeypatch.setattr(SpySGD, "rates", [])
    return SpySGD


@over
def test_clip_norm_bounds_each_gradient(name, rng, spy):
    X, scores = draw(rng)
    make(name, optimizer=spy).fit(X, scores)
    free = spy.norms.copy()
    bound = float(np.median(free)) / 2  # most of them would be above
    spy.norms.clear()
    clipped = make(name, optimizer=spy, clip_norm=bound).fit(X, scores)
    size = weights_of(clipped.network_).size
    assert max(free) > bound
    assert max(spy.norms) <= bound * (1 + size * EPS32)


@pytest.mark.parametrize("n", [50, 130, 191, 192, 300])
def test_the_schedule_ends_where_the_steps_end(n, rng, spy):
    """The k-th of K steps has (1 + cos(π k / K)) / 2 of the rate, whatever batch is left out."""
    options = {"optimizer": spy, "early_stopping": False, "clip_norm": 1.0, "epochs": 2}
    TorchQuantile(mlp(2), **options, learning_rate=0.5, random_state=0).fit(*draw(rng, n))
    K = len(spy.rates)
    expected = 0.5 * (1 + np.cos(np.pi * np.arange(K) / K)) / 2
    assert_allclose(spy.rates, expected, rtol=0, atol=K * EPS)


def test_mixed_precision_is_used_and_learns(rng, monkeypatch):
    X, scores = draw(rng, 1000)
    estimator = TorchQuantile(Watched(16), quantile=0.9, learning_rate=0.02, random_state=0)
    for mixed, dtype in ((False, torch.float32), (True, torch.bfloat16)):
        monkeypatch.setattr(Watched, "seen", [], raising=False)
        fitted = estimator.set_params(mixed_precision=mixed).fit(X, scores)
        assert set(Watched.seen) == {dtype}
    fresh, unseen = draw(rng, 1000)
    best = min(pinball_loss(q, unseen, 0.1).mean() for q in unseen)  # of any one number
    assert pinball_loss(fitted.predict(fresh), unseen, 0.1).mean() < best


@pytest.mark.parametrize("name", ["quantile", "alternating"])
def test_verbose_shows_a_bar_over_epochs(name, rng, capsys):
    make(name).fit(*draw(rng))
    assert capsys.readouterr().err == ""
    make(name, verbose=True).fit(*draw(rng))
    shown = capsys.readouterr().err
    assert "epochs" in shown
    assert "6/6" in shown
