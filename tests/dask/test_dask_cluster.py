"""Passes over blocks on Dask: as in memory, on one client, with little travelling; lost workers."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import dask.array as da
import numpy as np
import pytest
from dask.delayed import delayed
from dask.sizeof import sizeof
from dask_cases import Bare, assert_same, cut, rows
from distributed import futures_of, get_worker
from numpy.testing import assert_array_equal
from sklearn.base import clone

from plcp import OrderedPartition
from plcp.dask import DaskConformalRegressor, DaskMondrian, DaskPLCP, DaskSplitConformal
from plcp.dask.cluster import FAN_IN, DaskBlocks, layer
from plcp.dask.collections import pairs_of
from plcp.out_of_core import Held, Ranks


def made(number):
    rng = np.random.default_rng(number)
    values = rng.integers(0, 50, number % 7 * 3).astype(float)
    return values, rng.integers(0, 3, len(values))


def blocks(n, client=None):
    return DaskBlocks([delayed(made)(number) for number in range(n)], client)


def counted(values, groups, scale):
    return scale * np.bincount(groups, minlength=3)


def shifted(values, groups, by):
    return values + by, groups


def lengths(given, more):
    return [len(values) for values, _ in given], more


def refused(values, groups):
    if len(values) == 9:
        raise ValueError("nine values")


@pytest.mark.parametrize("n", [1, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
def test_passes_are_those_in_memory(n):
    spread, held = blocks(n), Held([made(number) for number in range(n)])
    assert_array_equal(spread.total(counted, 2), held.total(counted, 2))
    assert_array_equal(spread.each(counted, 3), held.each(counted, 3))
    kept, others = spread.keep(shifted, 1.0), held.keep(shifted, 1.0)
    assert_array_equal(Ranks(kept, 3).at([0, 0, 0]), Ranks(others, 3).at([0, 0, 0]))
    assert kept.fetch(kept.gather(lengths, "more")) == lengths(others.blocks, "more")


def test_a_gathered_result_is_an_argument_and_a_block_of_other_passes(any_client):
    spread = blocks(5, any_client)
    reference = spread.gather(lengths, 7.0)
    assert_array_equal(spread.total(counted, reference[1]), spread.total(counted, 7.0))
    (more,) = layer("more", [(made, [5])])
    assert_array_equal(spread.beside(more).each(counted, 1), blocks(6).each(counted, 1))


def test_kept_blocks_are_made_once(tmp_path):
    def recorded(values, groups):
        with (tmp_path / "calls").open("a") as calls:
            calls.write("x")
        return values, groups

    kept = blocks(3).keep(recorded)
    kept.each(counted, 1)
    kept.total(counted, 1)
    assert len((tmp_path / "calls").read_text()) == 3


def test_an_error_names_the_block_if_there_are_several(any_client):
    with pytest.raises(ValueError, match="part 3 of 5, counted from 0: nine values"):
        blocks(5, any_client).each(refused)
    with pytest.raises(ValueError, match=r"^nine values"):
        DaskBlocks([delayed(made)(3)], any_client).each(refused)


def test_large_arguments_are_in_the_graph_once():
    large = np.zeros(10**6)
    tasks = dict(blocks(50)._made(counted, (large,))[0].dask)
    holding = [task for task in tasks.values() if sizeof(getattr(task, "args", ())) > large.nbytes]
    assert len(holding) == 1


def test_all_blocks_share_one_graph():
    spread = blocks(30)
    assert len({id(block.dask) for block in spread.blocks}) == 1
    assert len({id(block.dask) for block in spread.keep(shifted, 1.0).blocks}) == 1


def test_a_pass_ends_before_the_next_begins(client):
    """Two at the same time would hold the blocks of both, and in the end all of them."""
    kept = DaskBlocks([delayed((np.arange(5.0),)) for _ in range(6)], client).keep(later)
    assert {future.status for future in futures_of(kept.blocks)} == {"finished"}
    gathered = kept.gather(len)
    assert {future.status for future in futures_of(gathered)} == {"finished"}


def later(values):
    time.sleep(0.05)
    return (values,)


# --- one client per fit


def trees(**own):
    from lightgbm import DaskLGBMRegressor  # here, so that workers need not import it

    return OrderedPartition(
        DaskLGBMRegressor(objective="quantile", n_estimators=3, verbose=-1, **own)
    )


def plcp(partition, **own):
    return DaskPLCP(partition, 2, 0.2, **own)


ESTIMATORS = {
    "rule": lambda own: DaskMondrian(0, 0.2, **own),
    "regressor": lambda own: plcp(trees(**own)),
    "model": lambda own: DaskConformalRegressor(Bare(), threshold=DaskSplitConformal(0.2), **own),
    "rule of a model": lambda own: DaskConformalRegressor(
        Bare(), threshold=DaskSplitConformal(0.2, **own)
    ),
    "regressor of a model": lambda own: DaskConformalRegressor(
        Bare(), threshold=plcp(trees(**own))
    ),
}
ignore_n_jobs = pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored")


@ignore_n_jobs
@pytest.mark.parametrize("holder", ESTIMATORS)
def test_all_rows_are_computed_by_the_client_given_once(client_of_threads, holder, tmp_path):
    X, y = rows(120)
    lazy = da.from_array(X, chunks=(40, 2)).map_blocks(placed, tmp_path, dtype=float, meta=X[:0])
    ESTIMATORS[holder]({"client": client_of_threads}).fit(lazy, da.from_array(y, chunks=40))
    assert [path.name for path in tmp_path.iterdir()] == ["worker"]


def placed(block, folder):
    """Return the block, after recording where it was computed."""
    try:
        get_worker()
        (folder / "worker").touch()
    except ValueError:
        (folder / "elsewhere").touch()
    return block


def where(X, y):
    return get_worker().address


def test_the_current_client_computes_by_default(client):
    X, y = da.zeros((4, 1), chunks=(2, 1)), da.arange(4, chunks=2)
    with client.as_current():
        assert set(pairs_of(X, y).each(where)) <= set(client.scheduler_info()["workers"])


def test_a_clone_shares_the_client_but_nothing_else(client_of_threads):
    rule = plcp(trees(client=client_of_threads))
    twin = clone(DaskConformalRegressor(Bare(), threshold=rule)).threshold
    assert twin.partition.regressor.client is client_of_threads
    for one, other in ((twin, rule), (twin.partition, rule.partition)):
        assert one is not other
    assert twin.partition.regressor is not rule.partition.regressor
    assert repr(twin) == repr(rule)


def test_two_clients_in_one_fit_are_refused(client, client_of_threads):
    X, y = (da.from_array(values, chunks=-1) for values in rows(120))
    for model in (
        plcp(trees(client=client), client=client_of_threads),
        DaskConformalRegressor(
            Bare(), threshold=DaskSplitConformal(client=client), client=client_of_threads
        ),
    ):
        with pytest.raises(ValueError, match=r"one fit has one client, but .* and .* are given"):
            model.fit(X, y)


# --- lost workers

HANG = 1800  # seconds: only a worker that never comes back is waited for so long


def noted(block, folder):
    """Return the block, after recording which process made it."""
    (Path(folder) / f"{os.getpid()}-{uuid4().hex}").touch()
    return block


def makers(folder):
    """Return the process that made each block."""
    return [int(path.name.split("-")[0]) for path in Path(folder).glob("*-*")]


def fatal(block, folder):
    """Return the block; the first process that makes three of them is killed at the third."""
    noted(block, folder)
    if makers(folder).count(os.getpid()) == 3:
        with suppress(FileExistsError):
            (Path(folder) / "dead").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.slow
def test_a_worker_killed_during_fit_changes_nothing(rule_on, client, tmp_path):
    X, y = cut(*rows(400), *[20] * 20)
    expected = rule_on(client=client).fit(X, y)
    watched = X.map_blocks(fatal, tmp_path, dtype=float, meta=np.empty((0, 2)))
    rule = rule_on(client=client).fit(watched, y)
    assert (tmp_path / "dead").exists()
    assert len(makers(tmp_path)) > 20  # the block it was killed at was made again
    assert_same(rule, expected)
    client.wait_for_workers(2, timeout=HANG)


def kept_of(X, y, folder):
    noted(X, folder)
    return (y,)


@pytest.mark.slow
def test_blocks_kept_by_a_killed_worker_are_made_again(client, tmp_path):
    kept = pairs_of(*cut(*rows(200), *[20] * 10), client).keep(kept_of, tmp_path)
    expected = kept.each(np.sort)
    assert len(makers(tmp_path)) == 10
    os.kill(makers(tmp_path)[0], signal.SIGKILL)
    assert_array_equal(kept.each(np.sort), expected)
    assert len(makers(tmp_path)) > 10
    client.wait_for_workers(2, timeout=HANG)


# --- rows stay on the workers


def received(client, monkeypatch, n, rule):
    """Size of each object that the client receives in a fit of n rows made on the workers."""
    sizes = []
    fetch = type(client)._gather_remote

    async def watched(self, *args):
        response = await fetch(self, *args)
        sizes.extend(map(sizeof, response.get("data", {}).values()))
        return response

    X = da.random.default_rng(0).integers(0, 3, (n, 2), chunks=(n // 8, 2)).astype(float)
    with monkeypatch.context() as patch:
        patch.setattr(type(client), "_gather_remote", watched)
        rule.fit(X, da.random.default_rng(1).normal(size=n, chunks=n // 8))
    return sizes


def test_rows_do_not_reach_the_client(rule_on, client, monkeypatch):
    few, many = (
        received(client, monkeypatch, n, rule_on(client=client)) for n in (40_000, 400_000)
    )
    assert 0 < sum(many) < 400_000 * 8  # all together less than one column
    assert max(many) <= max(few)
