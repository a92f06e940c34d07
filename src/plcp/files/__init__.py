"""Tables on disk, read and written in batches."""

import typing

from plcp.lazily import fetched_from as _fetched_from

if typing.TYPE_CHECKING:
    from plcp.files.atomic import check_output, write_atomically
    from plcp.files.atomic_folder import check_output_folder, write_folder_atomically
    from plcp.files.folder import FolderTable
    from plcp.files.formats import Format, format_of
    from plcp.files.inputs import check_input
    from plcp.files.names import find_column, match_columns
    from plcp.files.opening import create_table, open_table
    from plcp.files.table import TableFile
    from plcp.files.writer import TableWriter

__all__ = [
    "FolderTable",
    "Format",
    "TableFile",
    "TableWriter",
    "check_input",
    "check_output",
    "check_output_folder",
    "create_table",
    "find_column",
    "format_of",
    "match_columns",
    "open_table",
    "write_atomically",
    "write_folder_atomically",
]

# what reads no table is there without pyarrow too
_HOMES = {
    "plcp.files.atomic": (
        "check_output",
        "write_atomically",
    ),
    "plcp.files.atomic_folder": (
        "check_output_folder",
        "write_folder_atomically",
    ),
    "plcp.files.folder": ("FolderTable",),
    "plcp.files.formats": (
        "Format",
        "format_of",
    ),
    "plcp.files.inputs": ("check_input",),
    "plcp.files.names": (
        "find_column",
        "match_columns",
    ),
    "plcp.files.opening": (
        "create_table",
        "open_table",
    ),
    "plcp.files.table": ("TableFile",),
    "plcp.files.writer": ("TableWriter",),
}
__getattr__ = _fetched_from(__name__, _HOMES)
