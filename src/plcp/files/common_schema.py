"""The columns that all parts of a table have, in types that hold the values of each."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.types as pt

from plcp.files.table import TableFile


def common_schema(parts: Sequence[TableFile]) -> pa.Schema:
    """Return names and types for the rows of all parts, in the order of the first that has rows.

    Whole numbers of different widths, real ones, text and categories each have a type in common,
    and a column without values goes with any; nothing is rounded. Types of parts that are known to
    have no rows do not matter.
    """
    full = [part for part in parts if part.n_rows != 0] or parts[:1]
    first = full[0]
    fields = {
        field.name: field.with_type(_roomy(field.type)).with_nullable(True)
        for field in first.schema
    }
    origins = dict.fromkeys(fields, first)
    for part in parts:
        if not part.schema.equals(first.schema):
            _check_columns(first, part)
            _check_columns(part, first)
    for part in full:
        for field in part.schema:
            known = fields[field.name].type
            common = _common_type(field, part, known, origins[field.name])
            if common != known:
                fields[field.name] = fields[field.name].with_type(common)
                origins[field.name] = part
    return pa.schema(list(fields.values()), first.schema.metadata)


def _check_columns(of: TableFile, lacking: TableFile) -> None:
    missing = [name for name in of.schema.names if name not in lacking.schema.names]
    if missing:
        raise ValueError(
            f"{lacking.path} has no column {missing[0]!r}, which {of.path} has: give all parts of "
            "a table the same columns"
        )


def _common_type(
    field: pa.Field, part: TableFile, known: pa.DataType, where: TableFile
) -> pa.DataType:
    if _roomy(field.type) == known:
        return known
    one, other = _alike(known, _roomy(field.type))
    try:
        if _is_lossy(one, other):
            raise pa.ArrowTypeError
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowTypeError:
        raise ValueError(
            f"column {field.name!r} holds {where.schema.field(field.name).type} in {where.path} "
            f"and {field.type} in {part.path}: write it in one type in all parts"
        ) from None


def _alike(one: pa.DataType, other: pa.DataType) -> tuple[pa.DataType, pa.DataType]:
    """Categories as plain values where another part has such, and without an order none has."""
    kinds = [pt.is_dictionary(kind) for kind in (one, other)]
    if all(kinds) and one.ordered != other.ordered:
        return _roomy(one, False), _roomy(other, False)
    if any(kinds) and not (pt.is_null(one) or pt.is_null(other) or all(kinds)):
        return (one.value_type, other) if kinds[0] else (one, other.value_type)
    return one, other


def _roomy(kind: pa.DataType, ordered: bool | None = None) -> pa.DataType:
    """Categories with room for those of other parts; other types as they are."""
    if not pt.is_dictionary(kind):
        return kind
    return pa.dictionary(pa.int32(), kind.value_type, kind.ordered if ordered is None else ordered)


def _is_lossy(one: pa.DataType, other: pa.DataType) -> bool:
    """Pairs that Arrow would join at a loss: digits of decimals, or what is text of bytes."""
    kinds = (one, other)
    decimals = any(map(pt.is_decimal, kinds)) and any(map(pt.is_floating, kinds))
    text = any(pt.is_string(kind) or pt.is_large_string(kind) for kind in kinds)
    binary = any(pt.is_binary(kind) or pt.is_large_binary(kind) for kind in kinds)
    return decimals or (text and binary)
