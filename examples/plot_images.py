"""
Images: the digits that a network finds hard
============================================

A network learns to read sharp digits, and is then shown blurred ones. How blurred each of them is,
the rule is not given. One threshold covers too many of the sharp and too few of the blurred;
``PLCP`` learns groups of images that are alike in uncertainty, and we show them::

    python examples/plot_images.py [--data-dir DIR] [--images N] [--output DIR]

Where ``--data-dir`` (or ``PLCP_DATA``) names a directory with ``mnist/`` in it, the digits are
MNIST's; else they are the 1,797 that come with scikit-learn, and nothing is downloaded. Needs
``pip install 'plcp[torch,plot]'``, and some ten seconds, or a minute with MNIST.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")  # no window, but a notebook shows figures as ever

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.ndimage import gaussian_filter, zoom
from scipy.special import softmax
from sklearn.datasets import load_digits
from torch import nn

from plcp import PLCP, LabelProbability, Mondrian, OrderedPartition, SplitConformal
from plcp.datasets import read_idx
from plcp.metrics import coverage_by_group
from plcp.partitions.torch import TorchQuantile, small_cnn

parser = argparse.ArgumentParser(description="Learned groups of blurred digits.")
parser.add_argument("--data-dir", type=Path, default=os.environ.get("PLCP_DATA"))
parser.add_argument("--images", type=int, default=20_000, help="how many to use, at most")
parser.add_argument("--output", type=Path, default=Path(), help="directory of the figures")
options, _ = parser.parse_known_args()  # a notebook is started with arguments of its own

ALPHA = 0.1
rng = np.random.default_rng(0)
torch.manual_seed(0)
torch.set_num_threads(1)  # more gain little on small networks, and stall on a busy machine

# %%
# Digits
# ------
# Images are arrays of shape (n, channels, height, width). The small ones of scikit-learn are
# enlarged to 20 by 20 pixels and given a margin, which is the layout of MNIST.


def load_images(data_dir):
    """Name, images in [0, 1] and labels: of MNIST if it is there, else of scikit-learn's digits."""
    if data_dir is not None and (data_dir / "mnist").is_dir():
        images = read_idx(data_dir / "mnist" / "train-images-idx3-ubyte.gz") / 255
        return "MNIST", images, read_idx(data_dir / "mnist" / "train-labels-idx1-ubyte.gz")
    digits = load_digits()
    images = zoom(digits.images / 16, (1, 2.5, 2.5), order=1)
    return "scikit-learn's digits", np.pad(images, ((0, 0), (4, 4), (4, 4))), digits.target


name, images, labels = load_images(options.data_dir)
order = rng.permutation(len(images))[: options.images]
images, labels = images[order, None].astype(np.float32), labels[order].astype(np.int64)
n = len(images)
train, cal, test = np.split(np.arange(n), [3 * n // 10, 8 * n // 10])
print(f"{name}: {len(train)} images to train, {len(cal)} to calibrate, {len(test)} to test\n")

# %%
# A predictor that has seen sharp images only
# -------------------------------------------
# Any network will do. Softmax is taken in double precision: in single, the probabilities of the
# surest images are all rounded to one, and can no longer be distinguished.

network = nn.Sequential(
    nn.Conv2d(1, 16, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, kernel_size=3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(32 * 7 * 7, 10),
)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
X_train, y_train = torch.from_numpy(images[train]), torch.from_numpy(labels[train])
for _ in range(15):
    for rows in torch.randperm(len(train)).split(50):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(X_train[rows]), y_train[rows]).backward()
        optimizer.step()


@torch.no_grad()
def predict_proba(X):
    return softmax(network(torch.from_numpy(X)).double().numpy(), axis=1)


# %%
# Blur that the rule is not given
# ----------------------------------
# Each calibration image gets one of five levels of blur at random. To measure coverage at every
# level, each test image is shown at all five.

SIGMAS = np.linspace(0, 3.5, 5)


def blur(images, sigmas):
    return np.stack([gaussian_filter(x, (0, s, s)) for x, s in zip(images, sigmas, strict=True)])


blur_cal, blur_test = rng.choice(SIGMAS, len(cal)), np.repeat(SIGMAS, len(test))
X_cal, y_cal = blur(images[cal], blur_cal), labels[cal]
X_test, y_test = blur(np.tile(images[test], (5, 1, 1, 1)), blur_test), np.tile(labels[test], 5)
p_cal, p_test = predict_proba(X_cal), predict_proba(X_test)

# %%
# Three rules
# -----------
# A score measures how badly a label fits: here, the probability that it lacks. Split conformal has
# one threshold. ``PLCP`` trains a small network to predict the 90 % quantile of the score from the
# image, and cuts its prediction into groups; five are few enough to show each. The oracle knows
# the level of blur, and has one threshold for each.

score = LabelProbability()
scores = score(p_cal, y_cal)

split = SplitConformal(ALPHA).fit(X_cal, scores)
partition = OrderedPartition(TorchQuantile(small_cnn()))
plcp = PLCP(partition, n_groups=5, alpha=ALPHA, random_state=0).fit(X_cal, scores)
oracle = Mondrian(alpha=ALPHA).fit(X_cal, scores, groups=blur_cal)

thresholds = {
    "Split": split.predict(X_test),
    "PLCP": plcp.predict(X_test),
    "oracle": oracle.predict(X_test, groups=blur_test),
}
sets = {rule: score.invert(p_test, threshold) for rule, threshold in thresholds.items()}
covered = {rule: found.contains(y_test) for rule, found in sets.items()}

# %%
# Coverage and set size
# ---------------------
# Where the network is right on more than 90 % of the images, 90 % coverage means that some sets are
# empty, so their mean size can be below one. ``LabelProbability(never_empty=True)`` keeps the
# likeliest label in every set, and covers more of the sharp images in return. On the few digits of
# scikit-learn all three rules are a few per cent off by chance: the oracle has 180 for each level.

tables = {rule: coverage_by_group(covered[rule], blur_test, sets[rule].size) for rule in sets}
hit = p_test.argmax(axis=1) == y_test

print(f"{'coverage (size)':18s}{'accuracy':>10s}" + "".join(f"{rule:>16s}" for rule in sets))
for level, sigma in enumerate(SIGMAS):
    cells = (f"{t.coverage[level]:9.3f} ({t.size[level]:4.2f})" for t in tables.values())
    print(f"{f'blur {sigma:.3f}':18s}{hit[blur_test == sigma].mean():10.3f}" + "".join(cells))
cells = (f"{covered[rule].mean():9.3f} ({sets[rule].size.mean():4.2f})" for rule in sets)
print(f"{'all':18s}{hit.mean():10.3f}" + "".join(cells))
print(f"\nPLCP: {plcp.guarantee_}\n")

colors = {"Split": "#9a9a9a", "PLCP": "#1f6fb4", "oracle": "#d9822b"}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for rule, table in tables.items():
    left.plot(SIGMAS, table.coverage, "o-", color=colors[rule], label=rule)
    right.plot(SIGMAS, table.size, "o-", color=colors[rule], label=rule)
left.axhline(1 - ALPHA, color="black", linewidth=0.8, linestyle="--")
left.set(title="coverage", xlabel="blur σ, in pixels", xticks=SIGMAS, ylim=(None, 1))
right.set(title="mean number of labels", xlabel="blur σ, in pixels", xticks=SIGMAS, ylim=(0, None))
left.legend(frameon=False, loc="lower left")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
options.output.mkdir(parents=True, exist_ok=True)
figure.savefig(options.output / "coverage_by_blur.png", dpi=120)

# %%
# The images in each learned group
# --------------------------------
# Groups are numbered by rising threshold. The rule never saw a level of blur, but found that it is
# what makes digits hard; it is not all, for it matters too which digit was blurred. Within a group
# thresholds go on rising with the learned quantile; the one shown is that of the group's median
# image. A label lacks at most all of the probability, so a threshold of one lets every label in.

groups = plcp.groups(X_test)
table = coverage_by_group(covered["PLCP"], groups, sets["PLCP"].size)
print("learned group  threshold  test images  mean blur  coverage (size)")
for group, count, coverage, size in zip(
    table.group, table.n, table.coverage, table.size, strict=True
):
    sigma = blur_test[groups == group].mean()
    print(
        f"{group + 1:13d}{plcp.thresholds_[group]:11.3f}{count:13d}{sigma:11.2f}"
        f"{coverage:10.3f} ({size:4.2f})"
    )

PER_ROW = 13
figure, rows = plt.subplots(plcp.n_groups_, 1, figsize=(9, 4.2), layout="constrained")
for group, axes in enumerate(np.atleast_1d(rows)):
    members = np.flatnonzero(groups == group)
    shown = rng.choice(members, min(PER_ROW, len(members)), replace=False)
    axes.imshow(np.hstack(X_test[shown, 0]), cmap="gray_r", vmin=0)
    axes.set(xticks=[], yticks=[], xlim=(0, PER_ROW * X_test.shape[-1]))
    axes.set_ylabel(
        f"group {group + 1}\nthreshold {plcp.thresholds_[group]:.2f}",
        rotation=0,
        ha="right",
        va="center",
    )
    axes.annotate(
        f"{table.size[group]:.1f} labels", (1.01, 0.5), xycoords="axes fraction", va="center"
    )
    axes.spines[:].set_visible(False)
figure.suptitle("Test images of each learned group: the rule was not given the blur")
figure.savefig(options.output / "learned_groups.png", dpi=120)
print(f"\ncoverage_by_blur.png and learned_groups.png are in {options.output.resolve()}")
