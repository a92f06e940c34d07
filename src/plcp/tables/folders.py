"""A table in a folder of parts, as Spark, Dask and others write it; folders written atomically.

pyarrow.dataset is not used: it reads folders called ``zip=007`` as 7, parts in the order of text,
types of CSV off the first block, and holds whole row groups in memory.
"""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.types as pt

from plcp._files import check_place, naming_full_disk, stopped_by_signals, to_disk
from plcp.tables.csv import DelimitedTable, written_parts
from plcp.tables.io import ENDINGS, Format, TableFile, evenly, format_of, is_table_name

# folders beside which not every file is a part, and the remedy
LOGS = {
    "_delta_log": "is a Delta table, in which old rows lie beside new ones: write its present rows "
    "to a folder of their own",
    ".hoodie": "is a Hudi table, in which old rows lie beside new ones: write its present rows to "
    "a folder of their own",
    "_spark_metadata": "is written by a stream of Spark, whose log lists which files count: write "
    "the rows that Spark reads from it to a folder of their own",
    "_temporary": "is being written by Spark or Hadoop, or was left half-written: wait for "
    "_SUCCESS, or remove _temporary and write it again",
}
MARKERS = ("_SUCCESS", "_metadata", "_common_metadata")


def list_parts(folder: Path) -> list[Path]:
    """Return the parts of a table, relative to its folder, in the natural order of their names.

    What begins with a dot or an underscore is no part, nor is a checksum, ``.crc``. Folders within
    are those that hold one value of a column, ``key=value``. All else is refused: what is passed
    over in silence may be rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("part.10.csv", "part.9.csv", "_SUCCESS"):
    ...         Path(folder, name).touch()
    ...     [part.name for part in list_parts(Path(folder))]
    ['part.9.csv', 'part.10.csv']
    """
    parts = sorted((path.relative_to(folder) for path in _files(folder)), key=_in_natural_order)
    if not parts:
        raise ValueError(
            f"{folder} is a folder without a table in it: name one that has files whose names end "
            f"in {ENDINGS}, or name a file"
        )
    first = format_of(parts[0])
    for part in parts:
        if format_of(part) is not first:
            raise ValueError(
                f"{folder} holds files of several formats, {parts[0]} and {part}: name one of "
                "them, or move those apart that are not parts of one table"
            )
    return parts


def is_marker(name: str) -> bool:
    """Whether a file of this name stands beside parts, and is none."""
    return name in MARKERS or name.endswith(".crc")


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in LOGS:
            raise ValueError(f"{folder} {LOGS[path.name]}")
        if path.name.startswith((".", "_")) or is_marker(path.name):
            continue
        if not path.is_dir():
            if not is_table_name(path.name):
                raise ValueError(
                    f"{path} lies in a folder of parts and is none by the end of its name: rename "
                    f"it to one of {ENDINGS}, or move it elsewhere"
                )
            yield path
        elif all(path.name.partition("=")):
            yield from _files(path)
        else:
            raise ValueError(
                f"{path} is a folder within a folder of parts, but not called column=value: name "
                "it alone, or move it elsewhere"
            )


def _in_natural_order(path: PurePath) -> list[object]:
    """Nine before ten: runs of digits are compared as numbers, all else as text."""
    pieces = [re.split(r"(\d+)", name) for name in path.parts]
    # text and digits take turns, so that like is compared with like
    return [
        [[int(piece) if piece.isdecimal() else piece for piece in name] for name in pieces],
        path.as_posix(),
    ]


MISSING = "__HIVE_DEFAULT_PARTITION__"
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")  # 007 is a name, and so is what int64 cannot hold


def folder_values(
    parts: Sequence[PurePath], types: Mapping[str, pa.DataType]
) -> list[dict[str, pa.Scalar]]:
    """Return the values that the names of folders give to all rows of each part, by column.

    Values are whole numbers if all of a column are, else text; ``types`` goes first.

    Examples
    --------
    >>> parts = Path("year=2025/a.csv"), Path("year=2026/a.csv")
    >>> [values["year"].as_py() for values in folder_values(parts, {})]
    [2025, 2026]
    """
    named = []
    for part in parts:
        pairs = (folder.split("=", 1) for folder in part.parts[:-1])
        named.append({unquote(k): None if v == MISSING else unquote(v) for k, v in pairs})
        if list(named[-1]) != list(named[0]):
            raise ValueError(
                f"parts lie in folders of different columns, {parts[0]} and {part}: sort all of "
                "them by the same columns"
            )
    kinds = {}
    for key in named[0]:
        present = [value for values in named if (value := values[key]) is not None]
        is_whole = all(WHOLE.fullmatch(value) for value in present)
        kinds[key] = pa.int64() if is_whole else pa.string()
    kinds |= types
    return [
        {key: pa.scalar(value).cast(kinds[key]) for key, value in values.items()}
        for values in named
    ]


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
        for one, other in ((first, part), (part, first)):
            if missing := [name for name in one.schema.names if name not in other.schema.names]:
                raise ValueError(
                    f"{other.path} has no column {missing[0]!r}, which {one.path} has: give all "
                    "parts of a table the same columns"
                )
    for part in full:
        for field in part.schema:
            known = fields[field.name].type
            common = _common_type(field, part, known, origins[field.name])
            if common != known:
                fields[field.name] = fields[field.name].with_type(common)
                origins[field.name] = part
    return pa.schema(list(fields.values()), first.schema.metadata)


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


class Part(TableFile):
    """One part of a table, with the columns and types that the whole table has.

    ``inside`` is its path within the folder, ``file`` the file with its own columns and types.
    """

    def __init__(
        self, file: TableFile, inside: Path, own: pa.Schema, around: Mapping[str, pa.Scalar]
    ) -> None:
        added = [pa.field(column, value.type) for column, value in around.items()]
        super().__init__(file.path, pa.schema([*own, *added], own.metadata), file.n_rows)
        self.inside, self.file = inside, file
        self._around = around

    def as_common(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of the file with the columns and types that the whole table has."""
        return self._as_common(batch, self.schema.names)

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        wanted = [name for name in columns if name not in self._around]
        # without a column the number of rows is unknown
        for batch in self.file._scan(wanted or self.file.schema.names[:1], rows):
            if len(batch):
                yield self._as_common(batch, columns)

    def _as_common(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        schema = pa.schema([self.schema.field(name) for name in columns], self.schema.metadata)
        values = [self._values(batch, name) for name in columns]
        return pa.RecordBatch.from_arrays(values, schema=schema)

    def _values(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        if name in self._around:
            return pa.repeat(self._around[name], len(batch))
        column, kind = batch.column(name), self.schema.field(name).type
        if column.type == kind:
            return column
        if pa.types.is_null(column.type):
            return pa.nulls(len(column), kind)
        try:
            return column.cast(kind)
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"{self.path}: column {name!r} holds {column.type}, other parts {kind}, which "
                f"cannot hold all of its values ({error}): write it in one type in all parts"
            ) from error


class FolderTable(TableFile):
    """A table in ``parts``: the rows of the first, then those of the next.

    ``files`` are by their paths within the folder, in their order; ``types`` give how to read
    values in the names of folders.
    """

    def __init__(
        self, path: Path, files: Mapping[Path, TableFile], types: Mapping[str, pa.DataType]
    ) -> None:
        self._types = types
        own = common_schema([*files.values()])
        around = folder_values([*files], types)
        for name in around[0]:
            if name in own.names:
                raise ValueError(
                    f"column {name!r} of {path} stands in the names of its folders and in the "
                    "parts too: drop it from the parts, or put them into one folder"
                )
        self.parts = [
            Part(file, name, own, values)
            for (name, file), values in zip(files.items(), around, strict=True)
        ]
        known = [file.n_rows for file in files.values() if file.n_rows is not None]
        n_rows = sum(known) if len(known) == len(files) else None
        super().__init__(path, self.parts[0].schema, n_rows)

    def as_written(self, to: Format) -> "TableFile":
        """Return the rows with values as the parts hold them, in types that all parts share."""
        files = [part.file for part in self.parts]
        texts = [file for file in files if isinstance(file, DelimitedTable)]
        if not texts:
            return self
        kept = written_parts(texts, to)
        inside = [part.inside for part in self.parts]
        return FolderTable(self.path, dict(zip(inside, kept, strict=True)), self._types)

    def digest(self) -> str:
        """SHA-256 of what ``sha256sum`` prints of the parts, in their order."""
        lines = (f"{part.digest()}  {part.inside.as_posix()}\n" for part in self.parts)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def check_unchanged(self) -> None:
        """Refuse parts that were written to since they were opened."""
        for part in self.parts:
            part.check_unchanged()

    def _scan(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        batches = (batch for part in self.parts for batch in part.scan_named(columns, rows))
        yield from evenly(batches, rows)


def check_output_folder(path: str | Path, force: bool = False) -> Path:
    """Refuse a place where no folder of parts can or may be written, before the work begins.

    Parameters
    ----------
    path : str or Path
        The folder to be written; one that is empty may be there. Of a link, its target is returned.
    force : bool
        Whether a folder that is there may be replaced: one of parts, and of nothing else.
    """
    real = Path(path).resolve()
    if real.exists() and not real.is_dir():
        raise NotADirectoryError(f"{path} is a file, where a folder is to be: name another")
    if real.is_dir() and any(real.iterdir()):
        if not force:
            raise FileExistsError(
                f"{path} exists, and is not empty: name another folder, or replace it with --force"
            )
        # what is more than a table, such as a home folder, is not replaced
        for root, _, names in os.walk(real):
            for name in names:
                if not (is_marker(name) or is_table_name(name)):
                    raise FileExistsError(
                        f"{path} holds {Path(root, name).relative_to(real)}, which is no part of "
                        "a table, and is not replaced: name another folder"
                    )
    check_place(path, real)
    return real


@contextmanager
def write_folder_atomically(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary folder to write to, which gets its name when all went well.

    As `write_atomically` for files, but for the instant in which one folder takes the place of
    another: a power cut just then leaves the old one as ``.NAME.….old``.

    Parameters
    ----------
    path : str or Path
        The folder to be written.
    force : bool
        Whether a folder of parts that is there may be replaced.

    Yields
    ------
    Path
        An empty folder beside it.
    """
    final = check_output_folder(path, force)
    token = secrets.token_hex(4)
    temporary, old = (final.with_name(f".{final.name}.{token}.{end}") for end in ("tmp", "old"))
    with stopped_by_signals(), naming_full_disk(path):
        try:
            temporary.mkdir()
            yield temporary
            check_output_folder(path, force)  # another program may have written it meanwhile
            for folder in (*(part for part in temporary.rglob("*") if part.is_dir()), temporary):
                to_disk(folder)
            if final.exists():
                final.rename(old)
            try:
                temporary.rename(final)
            except BaseException:
                if old.exists():
                    old.rename(final)
                raise
            if old.exists():
                shutil.rmtree(old)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    to_disk(final.parent)
