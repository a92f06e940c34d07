"""A stand-in for RxRx1: its protocol on chemical sensors that drift, batches as experiments."""

from pathlib import Path
from typing import Any

import numpy as np

from plcp.datasets import GasDrift, fetch_gas_drift, gas_drift_files
from plcp.datasets.gas import BATCHES
from plcp.experiments.networks import gas_logits
from plcp.experiments.report import Experiment, Floats, Record, Report, Settings
from plcp.experiments.shifted import (
    HeldOut,
    Wording,
    compare_rules,
    report_shifted,
    split_at_random,
)
from plcp.partitions.torch import one_conv

TITLE = "Gas sensors that drift, a stand-in for RxRx1"
SENSORS, FEATURES_EACH = 16, 8


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: a predictor of the early batches, and rules on halves of the later ones."""
    # torch and numpy make the same numbers of the same seed
    predictor_state, state = (int(n) for n in np.random.SeedSequence(seed).generate_state(2))
    rows = later_batches(fetch_gas_drift(data_dir), settings, predictor_state)
    return compare_rules(split_at_random(rows, one_conv(), settings, state))


def later_batches(data: GasDrift, settings: Settings, seed: int) -> HeldOut:
    """Rows of batches after the last early one, with the logits of a predictor of the early ones.

    The board of 16 sensors with eight features each is the image of the published network.
    """
    early = data.batch <= settings["last_early_batch"]
    X = standardised(data.X, early)
    logits = gas_logits(X, data.y, early, len(data.names), settings["predictor_epochs"], seed)
    return HeldOut(
        logits=logits,
        features=X[~early],
        inputs=X[~early].reshape(-1, 1, SENSORS, FEATURES_EACH).astype(np.float32),
        label=data.y[~early],
        experiment=data.batch[~early],
    )


def standardised(X: Floats, early: Any) -> Floats:
    """Each feature less its mean over the early batches, over its spread there."""
    spread = X[early].std(axis=0)
    return (X - X[early].mean(axis=0)) / np.where(spread == 0, 1, spread)


def report(records: list[Record]) -> Report:
    """What RxRx1's protocol shows here."""
    last = records[0]["settings"]["last_early_batch"]
    there = records[0]["results"]["groups"]
    missing = [str(n) for n in BATCHES if n > last and str(n) not in there]
    return report_shifted(
        records,
        Wording(
            title=TITLE,
            question="Six gases are measured by 16 chemical sensors that drift over three years, "
            f"in batches. A network that has learned from the first {last} batches predicts the "
            "gas in later ones.",
            group="batch",
            groups="batches",
            paper="not on these data",
            notes=(
                "**A stand-in**: RxRx1's images and the network trained on them have to be fetched "
                "from WILDS, and `plcp reproduce rxrx1` then runs on them. The protocol here is "
                "the same; a batch of measurements stands for an experiment.",
                f"The predictor, one layer of 64 units, learns from batches up to {last}, and no "
                "rule uses a row of these.",
                *(
                    [f"The file lacks batches {', '.join(missing)} of UCI's ten."]
                    if missing
                    else []
                ),
                "As published, the convolution runs over the board of 16 sensors and their eight "
                "features. Conditional Calibration and “PLCP, cross” are given the 128 features.",
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(
        name="gas-drift",
        settings={
            "alpha": 0.1,
            "last_early_batch": 3,
            "predictor_epochs": 30,
            "n_groups": 20,
            "partition_epochs": "auto",
            "break_ties": True,
        },
        quick={
            "alpha": 0.1,
            "last_early_batch": 6,  # the later, the fewer rows for rules to learn from
            "predictor_epochs": 3,
            "n_groups": 4,
            "partition_epochs": 2,
            "break_ties": True,
        },
        trials=40,
        run=run,
        report=report,
        files=gas_drift_files,
    ),
)
