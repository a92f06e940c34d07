"""Blocks on Dask: the same passes as in memory, and nothing large where it need not be."""

import time

import numpy as np
import pytest
from dask.delayed import delayed
from dask.sizeof import sizeof
from distributed import futures_of
from numpy.testing import assert_array_equal

from plcp.dask.cluster import FAN_IN, Spread, layer
from plcp.out_of_core import Held, Ranks


def made(number):
    rng = np.random.default_rng(number)
    values = rng.integers(0, 50, number % 7 * 3).astype(float)
    return values, rng.integers(0, 3, len(values))


def blocks(n, client=None):
    return Spread([delayed(made)(number) for number in range(n)], client)


def counted(values, groups, scale):
    return scale * np.bincount(groups, minlength=3)


def shifted(values, groups, by):
    return values + by, groups


def lengths(given, more):
    return [len(values) for values, _ in given], more


def refused(values, groups):
    if len(values) == 9:
        raise ValueError("nine values")


@pytest.mark.parametrize("n", [1, 2, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
def test_passes_are_those_in_memory(n):
    spread, held = blocks(n), Held([made(number) for number in range(n)])
    assert_array_equal(spread.total(counted, 2), held.total(counted, 2))
    assert_array_equal(spread.each(counted, 3), held.each(counted, 3))
    kept, others = spread.keep(shifted, 1.0), held.keep(shifted, 1.0)
    assert_array_equal(Ranks(kept, 3).at([0, 0, 0]), Ranks(others, 3).at([0, 0, 0]))
    assert kept.fetch(kept.gather(lengths, "more")) == others.gather(lengths, "more")


def test_what_was_gathered_serves_other_passes_and_stands_beside_blocks(any_client):
    spread = blocks(5, any_client)
    reference = spread.gather(lengths, 7.0)
    assert_array_equal(spread.total(counted, reference[1]), spread.total(counted, 7.0))
    (more,) = layer("more", [(made, [5])])
    assert_array_equal(spread.beside(more).each(counted, 1), blocks(6).each(counted, 1))


def test_what_is_kept_is_made_once(tmp_path):
    def witnessed(values, groups):
        with (tmp_path / "calls").open("a") as calls:
            calls.write("x")
        return values, groups

    kept = blocks(3).keep(witnessed)
    kept.each(counted, 1)
    kept.total(counted, 1)
    assert len((tmp_path / "calls").read_text()) == 3


def test_an_error_names_the_block_where_there_are_several(any_client):
    with pytest.raises(ValueError, match="part 3 of 5, counted from 0: nine values"):
        blocks(5, any_client).each(refused)
    with pytest.raises(ValueError, match=r"^nine values"):
        Spread([delayed(made)(3)], any_client).each(refused)


def test_large_arguments_are_in_the_graph_once():
    large = np.zeros(10**6)
    tasks = dict(blocks(50)._made(counted, (large,))[0].dask)
    holding = [task for task in tasks.values() if sizeof(getattr(task, "args", ())) > large.nbytes]
    assert len(holding) == 1


def test_all_blocks_share_one_graph():
    spread = blocks(30)
    assert len({id(block.dask) for block in spread.blocks}) == 1
    assert len({id(block.dask) for block in spread.keep(shifted, 1.0).blocks}) == 1


def test_a_pass_is_over_before_the_next_begins(client):
    """Two at the same time would hold the blocks of both, and in the end all of them."""
    blocks = Spread([delayed((np.arange(5.0),)) for _ in range(6)], client)
    kept = blocks.keep(later)
    assert {future.status for future in futures_of(kept.blocks)} == {"finished"}
    gathered = kept.gather(len)
    assert {future.status for future in futures_of(gathered)} == {"finished"}


def later(values):
    time.sleep(0.05)
    return (values,)
