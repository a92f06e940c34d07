"""
A skorch network, and its own layers as features
================================================

skorch makes a scikit-learn classifier of any PyTorch module, and ``ConformalClassifier`` takes any
trained classifier. ``features=`` takes the network without its last layer: groups are then learned
from what the network makes of a row, be it a table's, an image or a text, not from the row itself::

    python examples/skorch_predictor.py [--rows N]

Needs ``pip install 'plcp[torch]' skorch``, and some ten seconds.
"""

import argparse

import numpy as np
import torch
from sklearn.frozen import FrozenEstimator
from skorch import NeuralNetClassifier
from torch import nn

from plcp import PLCP, ConformalClassifier, SplitConformal
from plcp.metrics import coverage_by_group

parser = argparse.ArgumentParser(description="A skorch predictor and its own layers as features.")
parser.add_argument("--rows", type=int, default=12_000, help="how many to generate")
options, _ = parser.parse_known_args()  # a notebook is started with arguments of its own

rng = np.random.default_rng(0)
torch.manual_seed(0)
torch.set_num_threads(1)  # more gain little on small networks, and stall on a busy machine

# %%
# Parts, measured by two kinds of sensor
# --------------------------------------
# Six kinds of parts, ten measurements of each. Three in ten are made by a worn sensor, three times
# as noisy as a new one. Which sensor it was is not among the measurements.

n = options.rows
y = rng.integers(6, size=n)
worn = rng.random(n) < 0.3
noise = np.where(worn, 1.5, 0.5)[:, None] * rng.standard_normal((n, 10))
X = (rng.standard_normal((6, 10))[y] + noise).astype(np.float32)
train, cal, test = np.array_split(np.arange(n), 3)

# %%
# The predictor
# -------------
# Nothing here is about conformal prediction. A module whose last layer can be sliced off is handy;
# of any other, write a small module that stops one layer early.

network = NeuralNetClassifier(
    nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 6)),
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    lr=3e-3,
    max_epochs=10,
    batch_size=64,
    train_split=None,
    verbose=0,
)
network.fit(X[train], y[train])
backbone = network.module_[:-1]  # 16 numbers a row

# %%
# Split and PLCP
# --------------
# ``FrozenEstimator`` says that the network is trained already, so all rows given to ``fit`` are for
# calibration. Both get the same ``features``; split conformal, with one threshold for all rows, has
# no use for them.

rules = {"Split": SplitConformal(), "PLCP": PLCP(random_state=0)}
sets = {}
for name, rule in rules.items():
    model = ConformalClassifier(FrozenEstimator(network), threshold=rule, features=backbone)
    sets[name] = model.fit(X[cal], y[cal]).predict_set(X[test])

# %%
# Coverage and set size by sensor
# -------------------------------
# Neither rule was given the sensor.

sensor = np.where(worn, "worn", "new")[test]
tables = [coverage_by_group(s.contains(y[test]), sensor, s.size) for s in sets.values()]
hit = network.predict(X[test]) == y[test]

print(f"{'coverage (size)':18s}{'accuracy':>10s}" + "".join(f"{name:>16s}" for name in sets))
for row, kind in enumerate(tables[0].group):
    cells = (f"{table.coverage[row]:9.3f} ({table.size[row]:4.2f})" for table in tables)
    print(f"{f'{kind} sensor':18s}{hit[sensor == kind].mean():10.3f}" + "".join(cells))
cells = (f"{s.contains(y[test]).mean():9.3f} ({s.size.mean():4.2f})" for s in sets.values())
print(f"{'all':18s}{hit.mean():10.3f}" + "".join(cells))
print(f"\nPLCP: {model.guarantee_}")

# %%
# The sets of some rows, as lists of labels, and the learned group of each. Groups are numbered by
# rising threshold, so the surest rows are in the first.

print()
some = test[:5]
rows = zip(y[some], model.groups(X[some]) + 1, model.predict_set(X[some]).to_lists(), strict=True)
for label, group, labels in rows:
    print(f"true label {label}, group {group}, set {labels}")
