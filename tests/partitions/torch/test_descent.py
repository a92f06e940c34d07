"""What a run keeps: the best epoch, whatever ends it; and that a fit disturbs no other."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from torch import nn

from networks import Failing, Watched, draw, weights_of
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp
from plcp.partitions.torch.training import Descent, Training, random_stream, run
from plcp.quantiles import pinball_loss
from strategies import few

# One pass is one epoch; schedules that look at the last epoch are off.
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
    """A network whose only weight is the epoch, and epochs that go as the script says."""

    def __init__(self, script, key="held_out", patience=3):
        self.network, self.script, self.key = nn.Linear(1, 1, bias=False), script, key
        self.plan = Training.of(TorchQuantile(patience=patience))
        self.done = 0

    def epoch(self):
        found = self.script[self.done]
        self.done += 1
        with torch.no_grad():
            self.network.weight.fill_(self.done)
        if found is KeyboardInterrupt:
            raise KeyboardInterrupt
        return {self.key: found}

    def run(self):
        self.history = run(self.network, len(self.script), self.epoch, self.plan)
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


@few
@given(st.lists(st.integers(0, 9).map(float), min_size=1, max_size=20))
def test_without_rows_held_out_the_last_epoch_stays(losses):
    scripted = Scripted(losses, key="loss", patience=1)
    assert scripted.run() == len(losses)
    assert len(scripted.history) == len(losses)


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
    assert scripted.done == 4
    assert len(scripted.history) == 3


def test_what_breaks_in_the_first_epoch_is_raised():
    with pytest.raises(KeyboardInterrupt):
        Scripted([KeyboardInterrupt, 1.0]).run()
    with pytest.raises(ValueError, match="no finite number in epoch 1: look for NaN in the data"):
        Scripted([np.nan, 1.0]).run()


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
    longer = make(name).fit(X, scores)
    assert (weights_of(longer.network_) != weights_of(shorter.network_)).any()


@over
def test_a_fit_that_breaks_at_once_is_no_fit(name, rng):
    X, scores = draw(rng)
    before = torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        make(name, module=Failing("interrupt", 1)).fit(X, scores)
    with pytest.raises(ValueError, match="no finite number in epoch 1"):
        make(name, module=Failing("nan", 1)).fit(X, scores)
    assert torch.equal(torch.get_rng_state(), before)
    make(name).fit(X, scores)  # and the next one may draw


@over
def test_steps_without_measure_are_told(name, rng):
    X, scores = draw(rng)
    estimator = make(name, learning_rate=1e30, early_stopping=True, batch_size=20)
    with pytest.raises(ValueError, match=r"epoch 1: .* lower learning_rate, or set clip_norm=1"):
        estimator.fit(X, scores)


def test_a_step_without_measure_is_told_though_its_loss_was_never_seen(rng):
    """The loss of the first epoch is that before its only step."""
    estimator = make("quantile", learning_rate=1e30)
    with pytest.raises(ValueError, match="no finite number in epoch 1"):
        estimator.fit(*draw(rng))


def held_out_rows(n, seed):
    """Rows that a fit holds out: drawn after the seed of torch's stream."""
    rng = np.random.RandomState(seed)
    rng.randint(np.iinfo(np.int32).max)
    return train_test_split(np.arange(n), test_size=0.1, random_state=rng)[1]


@pytest.mark.parametrize("seed", range(3))
def test_early_stopping_keeps_the_epoch_of_least_held_out_loss(seed, rng):
    X, scores = rng.normal(size=(200, 5)), rng.exponential(size=200)  # nothing but to overfit
    quantile = TorchQuantile(
        mlp(32), quantile=0.9, epochs=200, learning_rate=0.02, random_state=seed
    ).fit(X, scores)
    history = [step["held_out"] for step in quantile.history_]
    assert len(history) == 1 + int(np.argmin(history)) + 200 // 4  # patience
    assert len(history) < 200
    rows = held_out_rows(200, seed)
    unit = np.ptp(quantile.scale_.scores)
    found = pinball_loss(quantile.predict(X[rows]), scores[rows], 0.1).mean() / unit
    eps = float(np.finfo(np.float32).eps)
    assert found == pytest.approx(min(history), rel=len(rows) * eps, abs=0)


def test_softmax_groups_are_those_of_least_held_out_loss(rng):
    X, scores = rng.normal(size=(200, 5)), rng.exponential(size=200)
    partition = TorchPartition(
        mlp(32), 3, structure="softmax", epochs=200, learning_rate=0.02, ranks=False, random_state=0
    ).fit(X, scores)
    history = [step["held_out"] for step in partition.history_]
    assert len(history) == 1 + int(np.argmin(history)) + 200 // 4  # patience
    hold = held_out_rows(200, 0)
    learn = np.setdiff1d(np.arange(200), hold)
    scaled = partition.scale_(scores)
    unit = min(pinball_loss(q, scaled[learn], 0.1).mean() for q in scaled[learn])
    q = partition.network_.thresholds.detach().double().numpy()
    losses = partition._raw(X[hold]) * pinball_loss(q, scaled[hold, None], 0.1)
    eps = float(np.finfo(np.float32).eps)
    assert losses.sum(axis=1).mean() / unit == pytest.approx(min(history), rel=200 * eps, abs=0)


class SpySGD(torch.optim.SGD):
    """Plain descent that keeps the norms of the gradients it is given, and the rates."""

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
    assert max(spy.norms) <= bound * (1 + size * np.finfo(np.float32).eps)


def test_the_rate_of_each_step_is_that_of_the_schedule(rng, spy):
    X, scores = draw(rng)
    make(
        "quantile", optimizer=spy, schedule="cosine", batch_size=50, learning_rate=0.1, epochs=3
    ).fit(X, scores)
    expected = 0.1 * (1 + np.cos(np.pi * np.arange(12) / 12)) / 2
    np.testing.assert_allclose(spy.rates, expected, rtol=12 * np.finfo(float).eps)


def test_mixed_precision_is_used_and_learns(rng, monkeypatch):
    X, scores = draw(rng, 1000)
    estimator = TorchQuantile(Watched(16), quantile=0.9, learning_rate=0.02, random_state=0)
    for mixed, dtype in ((False, torch.float32), (True, torch.bfloat16)):
        monkeypatch.setattr(Watched, "seen", [], raising=False)
        fitted = estimator.set_params(mixed_precision=mixed).fit(X, scores)
        assert set(Watched.seen) == {dtype}
    fresh, unseen = draw(rng, 1000)
    regressor = fitted.predict(fresh)
    assert np.isfinite(regressor).all()
    best = min(pinball_loss(q, unseen, 0.1).mean() for q in unseen)  # of any one number
    assert pinball_loss(regressor, unseen, 0.1).mean() < best


@pytest.mark.parametrize("name", ["quantile", "alternating"])
def test_verbose_shows_a_bar_over_epochs(name, rng, capsys):
    make(name).fit(*draw(rng))
    assert capsys.readouterr().err == ""
    make(name, verbose=True).fit(*draw(rng))
    shown = capsys.readouterr().err
    assert "epochs" in shown
    assert "6/6" in shown


def test_the_global_stream_is_put_back_and_seeded_inside():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with random_stream(1):
        first = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    with random_stream(1):
        assert torch.equal(torch.rand(3), first)
    with random_stream(2):
        assert not torch.equal(torch.rand(3), first)


def test_an_epoch_gives_the_mean_loss_over_batches():
    network, n = nn.Linear(1, 1, bias=False), 10
    plan = Training.of(TorchQuantile(batch_size=4, epochs=2))
    seen = []

    def loss(outputs, rows, progress):
        seen.append((rows, progress))
        return outputs.sum() * 0 + len(seen)

    descent = Descent(network, plan, n, np.random.RandomState(0), 6)
    assert descent.epoch(np.ones((n, 1)), loss) == np.mean([1, 2, 3])
    assert descent.epoch(np.ones((n, 1)), loss) == np.mean([4, 5, 6])
    assert [len(rows) for rows, _ in seen] == [4, 4, 2, 4, 4, 2]
    assert [progress for _, progress in seen] == [step / 6 for step in range(6)]
