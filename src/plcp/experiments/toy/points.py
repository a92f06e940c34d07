"""Points of one trial of the toy example, drawn anew from its seed wherever they are needed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plcp.datasets import ScoreTask, make_toy
from plcp.experiments.by_group import Floats
from plcp.experiments.experiment import Settings

BIN_EDGES = np.linspace(-1, 1, 41)  # zero is one of them: no bin has both kinds of noise


@dataclass(frozen=True)
class Points:
    """Calibration and test rows, and the seed of what the rules draw."""

    calibration: ScoreTask
    test: ScoreTask
    rule_state: int


def draw_points(settings: Settings, seed: int) -> Points:
    """Draw the points of a trial."""
    states = [int(state) for state in np.random.SeedSequence(seed).generate_state(3)]
    return Points(
        make_toy(settings["sizes"][-1], states[0]),
        make_toy(settings["n_test"], states[1]),
        states[2],
    )


def share_by_x(x: Floats, covered: NDArray[np.bool_]) -> list[float]:
    """Share of the rows covered, in bins of x."""
    rows, hits = (np.histogram(part, BIN_EDGES)[0] for part in (x, x[covered]))
    return [float(share) for share in hits / rows]
