"""One trial: another division of the people, all methods on the same parts."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from plcp.conformal import ConformalRegressor
from plcp.datasets import census_files
from plcp.experiments.by_group import outcome
from plcp.experiments.census.notes import BINS
from plcp.experiments.census.people import People, divide, groups_of, large_enough, read_people
from plcp.experiments.census.report import DEFAULT_ON_CQR, report
from plcp.experiments.census.table_one import CQR, LOCAL
from plcp.experiments.dependence import dependence
from plcp.experiments.experiment import Experiment, Settings
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT, as_published
from plcp.experiments.networks.training import one_thread
from plcp.models import QuantilePair
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition, mlp
from plcp.scores import QuantileResidual
from plcp.sets import Intervals
from plcp.thresholds import PLCP, LocalCP, Mondrian, SplitConformal
from plcp.validation import InfiniteThresholdWarning

RARE = 100  # levels of fewer people share a column
N_BINS = 10


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: another division into parts, and all methods on the same ones."""
    people, notes = read_people(settings, data_dir)
    names = large_enough(people)
    state, rule_state = (int(n) for n in np.random.SeedSequence(seed).generate_state(2))
    train, calibration, test = divide(people, state)
    who = groups_of(test.X)
    groups = {name: who[name] for name in names}
    linear = linear_model().fit(train.X, train.y)
    codes = on_codes(LinearRegression()).fit(train.X, train.y)
    models = conformal_models(settings, rule_state, train, linear)
    with one_thread(rule_state):
        sets = {name: _sets(model, calibration, test) for name, model in models.items()}
    learned = models[PUBLISHED].thresholds_[0].group_sizes_
    return {
        "groups": {name: int(rows.sum()) for name, rows in groups.items()},
        "methods": judged(sets, train, test, groups),
        "about": {
            "notes": notes,
            "people": len(people.y),
            "r2": float(linear.score(test.X, test.y)),
            "r2_codes": float(codes.score(test.X, test.y)),
            "largest_learned_group": float(learned.max() / learned.sum()),
        },
    }


def linear_model() -> Pipeline:
    """Linear regression, of a column for each level of a code that is no number."""
    levels = OneHotEncoder(
        min_frequency=RARE, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    names = make_column_selector(dtype_include="category")
    columns = make_column_transformer((levels, names), remainder="passthrough")
    return make_pipeline(columns, LinearRegression())


def on_codes(regressor: Any) -> Pipeline:
    """Return a regressor that takes every code for a number."""
    return make_pipeline(FunctionTransformer(codes_of), regressor)


def codes_of(X: Any) -> Any:
    """Return the table of codes as numbers."""
    return X.astype(float)


def conformal_models(
    settings: Settings, state: int, train: People, linear: Pipeline
) -> dict[str, ConformalRegressor]:
    """All methods, about a trained model, or (CQR) a trained band."""
    alpha = settings["alpha"]
    model, band = FrozenEstimator(linear), _band(alpha, state, train)
    edges = np.quantile(linear.predict(train.X), np.arange(1, N_BINS) / N_BINS)
    split, default = SplitConformal(alpha), PLCP(alpha=alpha, random_state=state)
    bins = Mondrian(lambda X: np.searchsorted(edges, linear.predict(X)), alpha)
    near = LocalCP(alpha=alpha, effective_size=settings["n_near"], random_state=state)
    network = TorchPartition(mlp(200, 100), structure="softmax", epochs=settings["epochs"])
    published = as_published(network, settings["n_groups"], alpha, state)
    return {
        SPLIT: ConformalRegressor(model, threshold=split),
        CQR: ConformalRegressor(band, QuantileResidual(), split),
        LOCAL: ConformalRegressor(model, threshold=near, features=codes_of),
        BINS: ConformalRegressor(model, threshold=bins),
        PUBLISHED: ConformalRegressor(model, threshold=published, features=codes_of),
        DEFAULT: ConformalRegressor(model, threshold=default),
        DEFAULT_ON_CQR: ConformalRegressor(band, QuantileResidual(), default),
    }


def _band(alpha: float, state: int, train: People) -> QuantilePair:
    """Boosted quantiles at alpha / 2 and 1 - alpha / 2."""
    low, high = (
        on_codes(HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=state))
        for level in (alpha / 2, 1 - alpha / 2)
    )
    fitted = QuantilePair(low, high).fit(train.X, train.y)
    return QuantilePair(FrozenEstimator(fitted.lower_), FrozenEstimator(fitted.upper_))


def _sets(model: ConformalRegressor, calibration: People, test: People) -> Intervals:
    with warnings.catch_warnings():  # both are told of in the results
        warnings.simplefilter("ignore", CollapseWarning)
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        return model.fit(calibration.X, calibration.y).predict_set(test.X)


def judged(
    sets: dict[str, Intervals], train: People, test: People, groups: dict[str, Any]
) -> dict[str, Any]:
    """Coverage, length in thousands of dollars, and dependence of the two."""
    covered = {name: intervals.contains(test.y) for name, intervals in sets.items()}
    # no income is negative, and hardly any is beyond those known: what is, tells no length
    length = {name: given.clip(0, train.y.max()).size for name, given in sets.items()}
    return {
        name: outcome(
            covered[name],
            length[name] / 1000,
            groups,
            cut_at_zero=float((given.lower < 0).mean()),
            unbounded=float(np.isinf(given.upper).mean()),
            # the kernel of HSIC knows units: the mean of the labels, as in the code of CQR
            **dependence(covered[name], length[name] / train.y.mean()),
        )
        for name, given in sets.items()
    }


EXPERIMENTS = (
    Experiment(
        name="census",
        settings={"alpha": 0.1, "rows": None, "n_groups": 20, "epochs": "auto", "n_near": 500},
        quick={"alpha": 0.1, "rows": 3_000, "n_groups": 4, "epochs": 2, "n_near": 100},
        trials=10,
        run=run,
        report=report,
        files=census_files,
    ),
)
