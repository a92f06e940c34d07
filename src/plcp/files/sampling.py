"""A uniform sample of a stream of rows, in memory bounded by the sample."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa


def sample_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, most: int, seed: int
) -> pa.Table:
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
    >>> len(sample_rows(table.to_batches(), table.schema, most=10, seed=0))
    10
    """
    if most < 1:
        raise ValueError(f"at least one row must be drawn, got most={most}")
    rng = np.random.default_rng(seed)
    kept, keys, limit = schema.empty_table(), np.empty(0), np.inf
    for batch in batches:
        drawn = rng.random(len(batch))
        below = drawn < limit
        chosen = pa.Table.from_batches([batch.filter(pa.array(below))], schema)
        kept, keys = pa.concat_tables([kept, chosen]), np.append(keys, drawn[below])
        if len(keys) > 2 * most:  # not at every batch: a cut copies all that is kept
            kept, keys = _smallest(kept, keys, most)
            limit = keys.max()
    return _smallest(kept, keys, most)[0]


def _smallest(table: pa.Table, keys: np.ndarray, most: int) -> tuple[pa.Table, np.ndarray]:
    if len(keys) <= most:
        return table, keys
    chosen = np.sort(np.argpartition(keys, most - 1)[:most])
    return table.take(pa.array(chosen)).combine_chunks(), keys[chosen]
