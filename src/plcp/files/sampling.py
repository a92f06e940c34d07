"""A uniform sample of a stream of rows, in memory bounded by the sample."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

STREAM = 0x706C6370  # a table drawn with the same seed must not be cut by its own values


class Sample(NamedTuple):
    """Rows that were drawn, and the numbers of those rows, counted from 0."""

    table: pa.Table
    rows: NDArray[np.int64]


def sample_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, most: int, seed: int
) -> Sample:
    """Draw rows without replacement, in one pass and in their order.

    Each row gets a random number; the rows with the smallest are kept. Their numbers come from
    one stream, so that the same rows are drawn however the table is cut into batches.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The rows.
    schema : pyarrow.Schema
        Of the batches.
    most : int
        How many rows to draw; all of them, if there are not more.
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> table = pa.table({"x": range(1000)})
    >>> sample = sample_rows(table.to_batches(), table.schema, most=10, seed=0)
    >>> sample.table["x"].to_pylist() == sample.rows.tolist(), len(sample.rows)
    (True, 10)
    """
    if most < 1:
        raise ValueError(f"at least one row must be drawn, got most={most}")
    rng = np.random.default_rng([seed, STREAM])
    kept, limit, start = Sample(schema.empty_table(), np.empty(0, np.int64)), np.inf, 0
    keys: NDArray[Any] = np.empty(0)
    for batch in batches:
        drawn = rng.random(len(batch))
        below = drawn < limit
        chosen = pa.Table.from_batches([batch.filter(pa.array(below))], schema)
        rows = np.append(kept.rows, start + np.flatnonzero(below))
        kept = Sample(pa.concat_tables([kept.table, chosen]), rows)
        keys, start = np.append(keys, drawn[below]), start + len(batch)
        if len(keys) > 2 * most:  # not at every batch: a cut copies all that is kept
            kept, keys = _smallest(kept, keys, most)
            limit = keys.max()
    return _smallest(kept, keys, most)[0]


def _smallest(sample: Sample, keys: NDArray[Any], most: int) -> tuple[Sample, NDArray[Any]]:
    if len(keys) <= most:
        return sample, keys
    chosen = np.sort(np.argpartition(keys, most - 1)[:most])
    table = sample.table.take(pa.array(chosen)).combine_chunks()
    return Sample(table, sample.rows[chosen]), keys[chosen]
