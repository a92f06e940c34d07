"""A small census in the layout of the parquet file that ``fetch_census`` reads."""

import numpy as np
import pandas as pd

STATES, RACES = [6, 12, 36, 42, 48], np.arange(1, 10)
RACE_SHARES = [0.55, 0.15, 0.02, 0.0, 0.02, 0.12, 0.0, 0.1, 0.04]
DEGREE_FROM = 23


def write_census(data_dir, n, seed=0):
    """Write n people whose income is noisy, with a degree five times as much as without."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ST": rng.choice(STATES, n),
            "AGEP": rng.integers(17, 90, n),
            "COW": rng.integers(1, 9, n),
            "SCHL": rng.integers(12, 25, n),
            "MAR": rng.integers(1, 6, n),
            "OCCP": rng.integers(1, 40, n) * 100,
            "POBP": rng.integers(1, 60, n),
            "SEX": rng.integers(1, 3, n),
            "RAC1P": rng.choice(RACES, n, p=RACE_SHARES),
        }
    )
    noise = rng.exponential(10_000, n) * np.where(frame["SCHL"] >= DEGREE_FROM, 5, 1)
    income = 1_500 * (frame["SCHL"] - 11) + 200 * (frame["AGEP"] - 16) + noise
    frame = frame.astype("int16").assign(PINCP=np.maximum(income, 101).astype("int32"))
    path = data_dir / "census" / "acs_2018_workers_5states.parquet"
    path.parent.mkdir(parents=True)
    frame.to_parquet(path)
    return data_dir
