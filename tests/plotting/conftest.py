"""Models to draw, and no window for it."""

import os

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from plcp import PLCP, ConformalRegressor, SplitConformal


@pytest.fixture(autouse=True)
def _close_figures():
    """Each test starts without a figure, and none outlives it."""
    plt.close("all")
    yield
    plt.close("all")


def draw_people(n, seed):
    """Rows whose noise grows with age, and is large for one job."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["office", "factory", "own"], n)
    X = pd.DataFrame({"age": rng.uniform(18, 80, n), "job": pd.Categorical(job)})
    noise = 1 + X["age"].to_numpy() / 20 + 4 * (job == "own")
    return X, X["age"].to_numpy() + noise * rng.standard_normal(n)


@pytest.fixture(scope="session")
def people():
    """Return test rows and their labels."""
    return draw_people(600, seed=1)


@pytest.fixture(scope="session")
def models():
    """Return Split and PLCP around the same line."""
    X, y = draw_people(900, seed=0)
    line = FrozenEstimator(_line(X, y))
    rules = {
        "Split": SplitConformal(),
        "PLCP": PLCP(n_groups=4, cv=2, calibration="cross", random_state=0),
    }
    return {
        name: ConformalRegressor(line, threshold=rule).fit(X, y) for name, rule in rules.items()
    }


def _line(X, y):
    columns = make_column_transformer(("passthrough", ["age"]))
    return make_pipeline(columns, LinearRegression()).fit(X, y)


@pytest.fixture(scope="session")
def sets(models, people):
    """Return the sets of both."""
    return {name: model.predict_set(people[0]) for name, model in models.items()}


@pytest.fixture(scope="session")
def covered(sets, people):
    """Return which rows the sets of both cover."""
    return {name: each.contains(people[1]) for name, each in sets.items()}
