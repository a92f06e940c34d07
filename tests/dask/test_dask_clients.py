"""One client a fit, whoever holds it: every row is made on its workers."""

import warnings

import dask.array as da
import pytest
from dask_models import Bare
from dask_rules import rows
from distributed import get_worker
from lightgbm import DaskLGBMRegressor
from sklearn.base import clone

from plcp import OrderedPartition
from plcp.dask import (
    DaskConformalRegressor,
    DaskLinearQuantile,
    DaskMondrian,
    DaskPLCP,
    DaskSplitConformal,
)


def lines(**own):
    return OrderedPartition(DaskLinearQuantile(**own))


def trees(**own):
    return OrderedPartition(
        DaskLGBMRegressor(objective="quantile", n_estimators=3, verbose=-1, **own)
    )


def plcp(regressor, **own):
    return DaskPLCP(regressor, 2, 0.2, **own)


HOLDERS = {
    "a rule": lambda own: DaskMondrian(0, 0.2, **own),
    "a rule with a regressor": lambda own: plcp(lines(), **own),
    "a regressor": lambda own: plcp(lines(**own)),
    "a regressor of LightGBM": lambda own: plcp(trees(**own)),
    "a model": lambda own: DaskConformalRegressor(Bare(), threshold=DaskSplitConformal(0.2), **own),
    "the rule of a model": lambda own: DaskConformalRegressor(
        Bare(), threshold=DaskSplitConformal(0.2, **own)
    ),
    "the regressor of LightGBM of a model": lambda own: DaskConformalRegressor(
        Bare(), threshold=plcp(trees(**own))
    ),
    "the regressor of a model": lambda own: DaskConformalRegressor(
        Bare(), threshold=plcp(lines(**own))
    ),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_all_rows_are_made_by_the_client_that_is_given_once(client_of_threads, holder, tmp_path):
    X, y = rows(120)
    lazy = da.from_array(X, chunks=(40, 2)).map_blocks(witnessed, tmp_path, dtype=float, meta=X[:0])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
        HOLDERS[holder]({"client": client_of_threads}).fit(lazy, da.from_array(y, chunks=40))
    assert [path.name for path in tmp_path.iterdir()] == ["a worker"]


@pytest.mark.parametrize("regressor", [lines, trees])
def test_a_clone_has_the_same_client_wherever_it_is(client_of_threads, regressor):
    rule = plcp(regressor(client=client_of_threads))
    twin = clone(DaskConformalRegressor(Bare(), threshold=rule)).threshold
    assert twin.partition.regressor.client is client_of_threads
    for one, other in ((twin, rule), (twin.partition, rule.partition)):
        assert one is not other
    assert twin.partition.regressor is not rule.partition.regressor
    assert repr(twin) == repr(rule)


def witnessed(block, folder):
    """Return the block, after saying where it was made."""
    try:
        get_worker()
        (folder / "a worker").touch()
    except ValueError:
        (folder / "nowhere").touch()
    return block


@pytest.mark.parametrize(
    "both",
    [
        lambda one, other: plcp(lines(client=one), client=other),
        lambda one, other: DaskConformalRegressor(
            Bare(), threshold=DaskSplitConformal(client=one), client=other
        ),
    ],
)
def test_two_clients_in_one_fit_are_refused(client, client_of_threads, both):
    X, y = (da.from_array(values, chunks=-1) for values in rows(120))
    with pytest.raises(ValueError, match=r"one fit has one client, but .* and .* are given"):
        both(client, client_of_threads).fit(X, y)
    both(client_of_threads, client_of_threads).fit(X, y)
