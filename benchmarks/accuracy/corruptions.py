"""Ten ways to spoil an image, each at five levels: some to tune on, the others left out.

A predictor learns from clean images; calibration and test rows come from all five levels, which no
rule but the oracle is given. The strengths of each kind rise in equal steps, unless said, up to
one that was chosen by the predictor's accuracy on digits alone, before any rule was run. Recipes
are compared on the kinds of ``TUNING``, and judged on those of ``LEFT_OUT``, where nothing is
chosen.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from benchmarks.accuracy.images import (
    DIGIT_EPOCHS,
    N_LEVELS,
    N_TRAIN,
    Sample,
    ShiftTask,
    digit_network,
    predict_probabilities,
    train,
)
from scipy.ndimage import gaussian_filter

from plcp.datasets import read_idx

N_CALIBRATION = 12_000
SIDE = 28
Images = np.ndarray  # (n, side, side), values in [0, 1]
Spoil = Callable[[Images, float, np.random.Generator], Images]


def blur(images: Images, sigma: float, rng: np.random.Generator) -> Images:
    """Gaussian blur. Nothing is drawn."""
    return gaussian_filter(images, (0, sigma, sigma))


def occlude(images: Images, side: float, rng: np.random.Generator) -> Images:
    """Black square of this side at a place of its own in each image."""
    corner = rng.uniform(0, SIDE - side, (2, len(images), 1))
    rows, columns = (abs(np.arange(SIDE) + 0.5 - start - side / 2) < side / 2 for start in corner)
    return np.where(rows[:, :, None] & columns[:, None, :], 0, images)


def fade(images: Images, share: float, rng: np.random.Generator) -> Images:
    """Mixture with white."""
    return (1 - share) * images + share


def rotate(images: Images, degrees: float, rng: np.random.Generator) -> Images:
    """Turn by this angle to the left or the right."""
    angle = np.deg2rad(degrees) * _sign(len(images), rng)
    return linear_map(images, np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle))


def add_noise(images: Images, sigma: float, rng: np.random.Generator) -> Images:
    """Gaussian noise in each pixel, clipped to [0, 1]."""
    return np.clip(images + sigma * rng.standard_normal(images.shape), 0, 1)


def distort(images: Images, pixels: float, rng: np.random.Generator) -> Images:
    """Elastic distortion: smooth random displacements, of this standard deviation."""
    moved = gaussian_filter(rng.standard_normal((2, *images.shape)), (0, 0, 4, 4), mode="wrap")
    rows, columns = np.mgrid[:SIDE, :SIDE][:, None] + pixels / moved.std() * moved
    return bilinear(images, rows, columns)


def pixelate(images: Images, width: float, rng: np.random.Generator) -> Images:
    """Mean over squares of about this width. Nothing is drawn."""
    n_squares = round(SIDE / width)
    square = np.arange(SIDE) * n_squares // SIDE
    same = square[:, None] == square
    mean = same / same.sum(axis=1)
    return mean @ images @ mean.T


def add_stripes(images: Images, height: float, rng: np.random.Generator) -> Images:
    """Upright waves of a period of six pixels, from where chance starts them."""
    start = rng.uniform(0, 2 * np.pi, (len(images), 1, 1))
    wave = (1 + np.sin(2 * np.pi * np.arange(SIDE) / 6 + start)) / 2
    return np.clip(images + height * wave, 0, 1)


def shrink(images: Images, share: float, rng: np.random.Generator) -> Images:
    """Smaller by this share, in the middle. Nothing is drawn."""
    factor = np.full(len(images), 1 / (1 - share))
    return linear_map(images, factor, 0 * factor, 0 * factor, factor)


def shear(images: Images, slope: float, rng: np.random.Generator) -> Images:
    """Lean to the left or the right."""
    one = np.ones(len(images))
    return linear_map(images, one, 0 * one, slope * _sign(len(images), rng), one)


def _sign(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1.0, 1.0], n)


def linear_map(
    images: Images, aa: np.ndarray, ab: np.ndarray, ba: np.ndarray, bb: np.ndarray
) -> Images:
    """Image read at a linear map of each pixel's place, about the centre; one map per image."""
    row, column = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    aa, ab, ba, bb = (each[:, None, None] for each in (aa, ab, ba, bb))
    middle = (SIDE - 1) / 2
    return bilinear(images, aa * row + ab * column + middle, ba * row + bb * column + middle)


def bilinear(images: Images, rows: np.ndarray, columns: np.ndarray) -> Images:
    """Images read between pixels; black outside."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    rows, columns = (np.clip(place + 1, 0, SIDE + 0.999) for place in (rows, columns))
    up, left = rows.astype(int), columns.astype(int)
    down, right = rows - up, columns - left
    which = np.arange(len(images))[:, None, None]
    above = (1 - right) * padded[which, up, left] + right * padded[which, up, left + 1]
    below = (1 - right) * padded[which, up + 1, left] + right * padded[which, up + 1, left + 1]
    return (1 - down) * above + down * below


def steps(largest: float) -> tuple[float, ...]:
    """Strengths that rise in equal steps from none."""
    return tuple(np.linspace(0, largest, N_LEVELS))


TUNING: dict[str, tuple[Spoil, tuple[float, ...]]] = {
    "blur": (blur, steps(3.5)),
    "occlusion": (occlude, steps(20)),
    "fading": (fade, steps(0.8)),
    "rotation": (rotate, steps(80)),
}
LEFT_OUT: dict[str, tuple[Spoil, tuple[float, ...]]] = {
    "noise": (add_noise, steps(0.7)),
    "distortion": (distort, steps(4)),
    "pixels": (pixelate, (1, 3, 4, 5.6, 7)),
    "stripes": (add_stripes, steps(1)),
    "shrinking": (shrink, steps(0.6)),
    "shear": (shear, steps(1.2)),
}

KINDS = {**TUNING, **LEFT_OUT}


def make_tasks(folder: Path, kinds: Iterable[str], seed: int) -> Iterator[tuple[str, ShiftTask]]:
    """Task of each kind: one predictor meets the same images, spoiled in different ways."""
    images = read_idx(folder / "train-images-idx3-ubyte.gz")
    labels = read_idx(folder / "train-labels-idx1-ubyte.gz")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    images, y = images[order].astype(np.float32) / 255, labels[order].astype(np.int64)
    network, seconds = train(digit_network(seed), images[:N_TRAIN, None], y[:N_TRAIN], DIGIT_EPOCHS)
    images, y = images[N_TRAIN:], y[N_TRAIN:]
    for kind in kinds:
        rng = np.random.default_rng([seed, list(KINDS).index(kind)])
        level = rng.permutation(np.arange(len(y)) % N_LEVELS)
        spoil, strengths = KINDS[kind]
        X = np.empty_like(images)
        for k, strength in enumerate(strengths):
            X[level == k] = spoil(images[level == k], strength, rng)
        rows = Sample(X[:, None], y, level, predict_probabilities(network, X[:, None]))
        yield kind, ShiftTask(rows[:N_CALIBRATION], rows[N_CALIBRATION:], seconds)
