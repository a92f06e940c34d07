"""Section 4.2's last experiment: 1,139 treatments of cells, in 14 held-out experiments."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp.datasets import CellSites, fetch_rxrx1, rxrx1_files
from plcp.datasets._files import Kind, locate
from plcp.experiments.networks import Pictures, network_outputs, one_thread
from plcp.experiments.report import Experiment, Record, Report, Settings
from plcp.experiments.shifted import (
    HeldOut,
    Wording,
    compare_rules,
    report_shifted,
    split_at_random,
)
from plcp.partitions.torch import mlp, one_conv

TITLE = "RxRx1: treatments of cells, in held-out experiments"
WEIGHTS = "rxrx1/resnet50.pth"
UNITS = 64  # of the published network where it has features in place of images
_CHECKPOINT = Kind(
    "ResNet50 trained on RxRx1",
    [(WEIGHTS,)],
    "It is rxrx1_seed:0_epoch:best_model.pth of WILDS' results, "
    "https://worksheets.codalab.org/worksheets/0x52cea64d1d3f4fa89de326b4e31aa50a, under this "
    "name.",
)


def files(data_dir: Path | None) -> dict[str, str]:
    """Name and SHA-256 of what is read: a table of images and a checkpoint, or outputs."""
    try:
        found = rxrx1_files(data_dir)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error}\nBeside the images put {WEIGHTS}. {_CHECKPOINT.source}"
        ) from None
    has_images = any(name.endswith("metadata.csv") for name in found)
    return found | (locate(_CHECKPOINT, data_dir).files if has_images else {})


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: the rows of the held-out experiments, halved at random."""
    rows, module = held_out_experiments(data_dir, settings["rows_each"])
    rows = replace(rows, features=rows.features[:, : settings["n_features"]])
    with one_thread(seed):
        results = compare_rules(split_at_random(rows, module, settings, seed))
    results["about"]["images"] = isinstance(rows.inputs, Pictures)
    return results


def held_out_experiments(data_dir: Path | None, rows_each: int | None) -> tuple[HeldOut, Any]:
    """Rows of the held-out experiments, and the network of the published partition.

    ``rows_each`` of each experiment, the first of them; None: all.
    """
    data = fetch_rxrx1(data_dir)
    if not isinstance(data, CellSites):
        logits, features = data.logits.astype(float), data.features
        rows = HeldOut(logits, features, features, data.label, data.experiment)
        return rows[first_of_each(data.experiment, rows_each)], mlp(UNITS)
    sites = data.sites[data.sites["split"] == "test"]
    if sites.empty:
        raise ValueError(f"{data.paths[0]} has no row whose dataset is 'test': nothing is held out")
    sites = sites.iloc[first_of_each(sites["experiment"].to_numpy(dtype=str), rows_each)]
    pictures = Pictures(data.images, sites.index.to_numpy())
    weights = locate(_CHECKPOINT, data_dir)
    logits, features = network_outputs(pictures, weights.paths[0], {**data.files, **weights.files})
    label, experiment = sites["label"].to_numpy(), sites["experiment"].to_numpy(dtype=str)
    rows = HeldOut(logits.astype(float), features, pictures, label, experiment)
    return rows, one_conv()


def first_of_each(experiment: NDArray[Any], count: int | None) -> NDArray[np.intp]:
    """Places of the first rows of each experiment, in the order of the table.

    Examples
    --------
    >>> first_of_each(np.array(["b", "a", "b", "b", "a"]), 2)
    array([0, 1, 2, 4])
    """
    places = [np.flatnonzero(experiment == name)[:count] for name in np.unique(experiment)]
    return np.sort(np.concatenate(places))


def report(records: list[Record]) -> Report:
    """What the paper's figure 2, second row, shows."""
    from_images = records[0]["results"]["about"]["images"]
    settings = records[0]["settings"]
    few, units = settings["rows_each"], settings["n_features"]
    given = f"the first {units} units" if units else "all units"
    network_input = (
        "the convolution runs over the images, each channel standardised over the calibration rows"
        if from_images
        else f"without images the network, one layer of {UNITS} units, learns from the features "
        "in place of a convolution"
    )
    return report_shifted(
        records,
        Wording(
            title=TITLE,
            question="Images of cells, of which each was given one of 1,139 genetic treatments, "
            "come from experiments that differ in many small ways. A network trained on other "
            "experiments predicts the treatment.",
            group="experiment",
            groups="experiments",
            paper="“superior performance in terms of set size while matching the coverage "
            "performance of Conditional Calibration”",
            notes=(
                "WILDS' RxRx1 has 1,139 treatments; the paper's text has 1,339.",
                "The predictor is WILDS' ResNet50, applied as WILDS does: each channel of each "
                "image less its mean, over its spread. WILDS trained it on 33 of 51 experiments, "
                "and keeps four to select networks and 14 to test; the paper counts 37 and 14.",
                f"As published, {network_input}. Conditional Calibration and “PLCP, cross” are "
                f"given {given} of the network's last layer but one.",
                *([f"Of each experiment, only the first {few} rows are used."] if few else []),
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(
        name="rxrx1",
        settings={
            "alpha": 0.1,
            "rows_each": None,
            "n_features": None,
            "n_groups": 20,
            "partition_epochs": "auto",
            "break_ties": False,
        },
        quick={
            "alpha": 0.1,
            "rows_each": 60,
            "n_features": 32,
            "n_groups": 4,
            "partition_epochs": 2,
            "break_ties": False,
        },
        trials=5,
        run=run,
        report=report,
        files=files,
    ),
)
