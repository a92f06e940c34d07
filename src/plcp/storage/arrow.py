"""Arrays of Arrow, in which a table's model keeps its labels: by their text."""

import sys
from typing import Any

from plcp.storage.kinds import Kind
from plcp.storage.reader import Reader
from plcp.storage.writer import Writer

BYTES_A_TEXT = 16  # beside its letters


def _is_arrow(value: Any) -> bool:
    """Whether this is an array of Arrow; whoever has one has imported pyarrow already."""
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(value, pyarrow.Array)


def _dump(array: Any, writer: Writer) -> list[Any]:
    return [str(array.type), writer.value(array.cast("string").to_pylist(), "")]


def _load(content: Any, reader: Reader) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("it needs pyarrow: pip install 'plcp[cli]'") from error
    kind, texts = content
    values = reader.value(texts)
    reader.spend(sum(BYTES_A_TEXT + len(text or "") for text in values))
    return pyarrow.array(values, "string").cast(pyarrow.type_for_alias(kind))


KINDS = (Kind("arrow", _is_arrow, _dump, _load),)
