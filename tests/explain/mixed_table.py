"""A table with a column of every kind, and gaps."""

import numpy as np
import pandas as pd

STATES = ("CA", "NY", "TX", "WA", "FL")


def mixed_table(rng, n=2000):
    """Return a table with numbers, whole numbers, truth values, dates, durations, categories."""
    income = rng.lognormal(10, 1, n)
    income[rng.random(n) < 0.2] = np.nan
    state = rng.choice(STATES, n, p=[0.3, 0.3, 0.2, 0.19, 0.01]).astype(object)
    state[rng.random(n) < 0.1] = None
    joined = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 2e8, n), unit="s")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": income,
            "state": state,
            "joined": joined,
            "member": rng.random(n) < 0.5,
            "wait": pd.to_timedelta(rng.exponential(1e6, n).astype(int), unit="s"),
        }
    )
