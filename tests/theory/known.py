"""Populations with known conditional quantiles, small enough for tests."""

import sys
from functools import cache
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.accuracy import populations

NAMES = list(product(populations.SCALES, populations.SHAPES))
MOST = 64
ATOMS = 192


@cache
def population(scale, shape):
    return populations.make(scale, shape, ATOMS)


@cache
def best_thresholds(scale, shape):
    return population(scale, shape).best_thresholds(MOST)
