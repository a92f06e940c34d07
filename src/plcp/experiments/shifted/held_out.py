"""Rows of experiments on which the predictor was not trained, and their random halves."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from plcp.experiments.experiment import Settings
from plcp.quantiles import FloatArray
from plcp.rows import take

LEAST_ROWS = 20  # of an experiment: a half holds none of them with probability 2⁻²⁰


@dataclass(frozen=True)
class HeldOut:
    """Rows of experiments that the predictor never saw.

    Attributes
    ----------
    logits : array (n, k)
        What the predictor says of each label.
    features : array (n, d)
        Columns that Conditional Calibration and PLCP by default learn from.
    inputs : array or data set
        What the published partition, a network, learns from.
    label, experiment : arrays (n,)
        The true label, and the experiment each row comes from.
    """

    logits: FloatArray
    features: NDArray[Any]
    inputs: Any
    label: NDArray[np.int64]
    experiment: NDArray[Any]

    def __getitem__(self, rows: NDArray[np.intp]) -> "HeldOut":
        return HeldOut(
            self.logits[rows],
            self.features[rows],
            take(self.inputs, rows),
            self.label[rows],
            self.experiment[rows],
        )


@dataclass(frozen=True)
class Halves:
    """Calibration and test rows of one trial, and the network of the published partition."""

    calibration: HeldOut
    test: HeldOut
    module: Any
    settings: Settings
    seed: int

    @cached_property
    def easy(self) -> NDArray[np.bool_]:
        """Test rows whose likeliest label is right more often than 1 - alpha.

        A classifier of the features tells, taught on the calibration rows.
        """
        right = self.calibration.logits.argmax(axis=1) == self.calibration.label
        if right.all() or not right.any():
            return np.full(len(self.test.label), right.all())
        classifier = HistGradientBoostingClassifier(random_state=self.seed)
        classifier.fit(self.calibration.features, right)
        chance = classifier.predict_proba(self.test.features)[:, 1]
        return np.asarray(chance > 1 - self.settings["alpha"])


def split_at_random(rows: HeldOut, module: Any, settings: Settings, seed: int) -> Halves:
    """Return random halves of the rows, without a look at their experiments."""
    _check_sizes(rows.experiment)
    order_state, rule_state = (int(n) for n in np.random.SeedSequence(seed).generate_state(2))
    order = np.random.default_rng(order_state).permutation(len(rows.label))
    half = len(order) // 2
    return Halves(rows[order[:half]], rows[order[half:]], module, settings, rule_state)


def _check_sizes(experiment: NDArray[Any]) -> None:
    names, counts = np.unique(experiment, return_counts=True)
    if counts.min() < LEAST_ROWS:
        raise ValueError(
            f"experiment {names[counts.argmin()]} has {counts.min()} rows, fewer than "
            f"{LEAST_ROWS}: a half may hold none of them, leave it out"
        )
