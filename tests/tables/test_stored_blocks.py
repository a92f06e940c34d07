"""Blocks on disk are the blocks in memory, and leave nothing behind."""

import contextlib
import gc
import os
import resource
import tempfile

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from plcp.out_of_core import Held, Ranks
from plcp.tables.out_of_core import Stored

VALUES = st.floats(-5, 5) | st.sampled_from([0.0, 1.0, np.inf, -np.inf])
GROUPS = st.integers(0, 2)
BLOCKS = st.lists(
    st.integers(0, 30).flatmap(
        lambda n: st.tuples(arrays(float, n, elements=VALUES), arrays(int, n, elements=GROUPS))
    ),
    min_size=1,
    max_size=5,
)


def turned(values, groups):
    return groups.astype(np.int32), values[:, None] * [1.0, 2.0]


def first(*block):
    return [array.tolist() for array in block]


@given(blocks=BLOCKS)
def test_what_is_kept_on_disk_is_what_would_be_kept_in_memory(blocks):
    stored, held = Stored(lambda: iter(blocks)), Held(blocks)
    assert stored.keep(turned).each(first) == held.keep(turned).each(first)
    assert stored.keep(turned).keep(turned_back).each(first) == held.each(first)
    assert stored.keep(turned).total(len_of) == held.total(len_of)
    assert stored.beside(blocks[0]).each(first) == held.beside(blocks[0]).each(first)
    assert stored.gather(len) == len(blocks)
    kinds = [[(a.dtype, a.shape) for a in block] for block in stored.keep(turned).gather(list)]
    assert kinds == [[(a.dtype, a.shape) for a in turned(*block)] for block in blocks]


def turned_back(groups, values):
    return values[:, 0], groups.astype(int)


def len_of(values, groups):
    return len(values)


@given(blocks=BLOCKS, ranks=arrays(int, (3, 2), elements=st.integers(-1, 60)))
def test_ranks_on_disk_are_ranks_in_memory(blocks, ranks):
    on_disk = Ranks(Stored(lambda: iter(blocks)), 3)
    assert np.array_equal(on_disk.at(ranks), Ranks(Held(blocks), 3).at(ranks))


def held_in(folder):
    """The files of a folder this process has open, named or not; other threads may open others."""
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return [link for link in links if link.startswith(str(folder))]


def test_files_are_gone_with_the_last_who_looks_at_them(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = Stored(lambda: iter([(np.arange(9), np.arange(9.0))])).keep(lambda a, b: (a, b))
    (array, _), = kept.gather(list)  # fmt: skip
    assert held_in(tmp_path)
    assert list(tmp_path.iterdir()) == []  # not even a name for others to see
    del kept
    gc.collect()
    assert array.tolist() == list(range(9))  # who has an array may go on looking at it
    del array, _
    gc.collect()
    assert held_in(tmp_path) == []


def test_a_full_disk_is_told_with_its_remedy():
    blocks = Stored(lambda: iter([(np.zeros(100_000),)]))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"no room for temporary files in .*TMPDIR"):
            blocks.keep(lambda values: (values,))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
