"""Rows of made-up experiments, some easy and some hard, in memory and as files of both layouts."""

import numpy as np
import pandas as pd

from plcp.experiments.shifted import HeldOut

N_CLASSES = 4


def held_out(n, seed, n_experiments=3):
    """Rows of experiments whose logits are the noisier the higher the number, shown by a column."""
    rng = np.random.default_rng(seed)
    experiment, label = rng.integers(n_experiments, size=n), rng.integers(N_CLASSES, size=n)
    noise = 0.5 + experiment
    logits = 3 * np.eye(N_CLASSES)[label] + rng.normal(size=(n, N_CLASSES)) * noise[:, None]
    features = np.column_stack([experiment + 0.3 * rng.normal(size=n), rng.normal(size=n)])
    return HeldOut(logits, features, features.astype(np.float32), label, experiment)


def write_gas(root, seed, n=60):
    """Write a table of eight batches in the layout of the gas sensors, n rows each."""
    rng = np.random.default_rng(seed)
    gases = ["Acetaldehyde", "Acetone", "Ammonia"]
    batch = np.repeat([1, 2, 3, 4, 5, 6, 8, 9], n)
    gas = rng.integers(len(gases), size=len(batch))
    signal = np.repeat(np.eye(len(gases))[gas], 43, axis=1)[:, :128]
    drift = np.maximum(batch - 6, 0)[:, None]
    values = signal + 0.5 * drift * rng.normal(size=(len(batch), 128)) + 0.2 * drift
    frame = pd.DataFrame(values, columns=[f"f{k}" for k in range(1, 129)])
    frame.insert(0, "batch", batch)
    frame.insert(1, "gas", pd.Categorical([gases[code] for code in gas]))
    path = root / "gas_drift" / "gas_drift.parquet"
    path.parent.mkdir(parents=True)
    frame.to_parquet(path)


def cell_table(n_test, experiments=("HUVEC-17", "RPE-08", "U2OS-04")):
    """WILDS' table: n_test rows of each held-out experiment, and some to train and validate."""
    parts = [("train", "HEPG2-01", 4), ("val", "HEPG2-08", 4)]
    parts += [("test", name, n_test) for name in experiments]
    rows = [
        {
            "site_id": f"{experiment}_{plate}_B{k:02}_1",
            "well_id": f"{experiment}_{plate}_B{k:02}",
            "cell_type": experiment.split("-")[0],
            "dataset": dataset,
            "experiment": experiment,
            "plate": plate,
            "well": f"B{k:02}",
            "site": 1,
            "well_type": "treatment",
            "sirna": f"s{k}",
            "sirna_id": k % N_CLASSES,
        }
        for dataset, experiment, n in parts
        for plate in (1, 2)
        for k in range(n // 2)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0, ignore_index=True)


def write_cells(root, n_test=60, side=32):
    """Write the table and an image of each row; the experiment shows in brightness."""
    from PIL import Image

    rng, table = np.random.default_rng(0), cell_table(n_test)
    folder = root / "rxrx1_v1.0"
    bright = {name: 60 + 30 * k for k, name in enumerate(table["experiment"].unique())}
    for row in table.itertuples():
        path = folder / "images" / row.experiment / f"Plate{row.plate}" / f"{row.well}_s1.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(bright[row.experiment], size=(side, side, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    table.to_csv(folder / "metadata.csv", index=False)
    return table
