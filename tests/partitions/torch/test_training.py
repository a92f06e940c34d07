"""Options of training: what "auto" means, and values that are refused."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from networks import draw
from plcp.partitions.torch import TorchPartition, TorchQuantile, mlp
from plcp.partitions.torch.training import LEAST_STEPS, Training

ESTIMATORS = {
    "quantile": TorchQuantile(mlp(4), random_state=0),
    "ordered": TorchPartition(mlp(4), 2, random_state=0),
    "softmax": TorchPartition(mlp(4), 2, structure="softmax", random_state=0),
}


def plan(**options):
    return Training.of(TorchQuantile(**options))


def test_cosine_goes_from_the_rate_to_zero_and_is_half_in_the_middle():
    rates = [plan(learning_rate=0.5).rate(share) for share in np.linspace(0, 1, 11)]
    assert rates[0] == 0.5
    assert rates[-1] == 0
    assert rates[5] == 0.25
    assert (np.diff(rates) < 0).all()
    constant = plan(learning_rate=0.5, schedule="constant")
    assert {constant.rate(share) for share in (0, 0.3, 1)} == {0.5}


@pytest.mark.parametrize("n", [1, 50, 127, 128, 129, 10_000, 200_000])
def test_auto_is_at_least_so_many_epochs_and_steps(n):
    batch, epochs = plan().batch_for(n), plan().epochs_for(n, 6)
    assert batch == min(128, n)
    assert epochs >= 6
    assert epochs * n >= LEAST_STEPS * batch
    assert epochs == 6 or (epochs - 1) * n < LEAST_STEPS * batch  # and not one more
    assert plan(epochs=3).epochs_for(n, 6) == 3


@pytest.mark.parametrize(
    ("optimizer", "kind"),
    [
        ("adam", torch.optim.Adam),
        ("adamw", torch.optim.AdamW),
        ("sgd", torch.optim.SGD),
        (torch.optim.RMSprop, torch.optim.RMSprop),
    ],
)
def test_optimizers_by_name_or_class(optimizer, kind):
    made = plan(optimizer=optimizer, learning_rate=0.3).make_optimizer([torch.zeros(1)])
    assert type(made) is kind
    assert made.param_groups[0]["lr"] == 0.3


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
    ("validation_fraction", 1.0, r"validation_fraction must lie in \(0, 1\), got 1.0"),
    *[
        (name, value, f"{name} must be a positive number, got {value!r}")
        for name in ("learning_rate", "clip_norm")
        for value in (0, -1.0, np.inf, np.nan, "fast", True)
    ],
    ("learning_rate", None, "learning_rate must be a positive number, got None"),
    ("device", "gpu", "device must be 'auto', 'cpu', 'cuda' or 'mps', got 'gpu'"),
    ("device", "cuda:99", "device 'cuda:99' is not there"),
    ("quantile", 1.0, r"quantile must lie in \(0, 1\), got 1.0"),
    ("structure", "tree", "structure must be one of 'ordered', 'softmax', got 'tree'"),
    ("descent", "both", "descent must be one of 'alternating', 'joint', got 'both'"),
    ("start", "hot", "start must be one of 'bins', 'random', got 'hot'"),
    ("start", None, "start must be one of 'bins', 'random', got None"),
    *[
        ("balance", value, f"balance must be a number, not below zero, got {value!r}")
        for value in (-0.1, np.inf, np.nan, "much", None, True)
    ],
]


CASES = [
    (name, *bad) for name in ESTIMATORS for bad in BAD if bad[0] in ESTIMATORS[name].get_params()
]


@pytest.mark.parametrize(("name", "option", "value", "message"), CASES)
def test_options_out_of_range_are_named(name, option, value, message, rng):
    with pytest.raises(ValueError, match=message):
        clone(ESTIMATORS[name]).set_params(**{option: value}).fit(*draw(rng))


def test_a_batch_of_all_rows_is_not_too_large(rng):
    estimator = TorchQuantile(mlp(4), batch_size=180, epochs=1, random_state=0)
    assert len(estimator.fit(*draw(rng, n=200)).history_) == 1
    whole = TorchQuantile(mlp(4), batch_size=200, early_stopping=False, epochs=1, random_state=0)
    assert len(whole.fit(*draw(rng, n=200)).history_) == 1
