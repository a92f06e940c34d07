"""What is said where a part of a model has no place in a graph."""

from typing import Any


class NotExportableError(ValueError):
    """A part of a model that cannot be written as an ONNX graph."""


def refused(part: Any, why: str, remedy: str) -> NotExportableError:
    """Return the complaint that names the part and the remedy."""
    name = part if isinstance(part, str) else type(part).__name__
    return NotExportableError(f"{name} cannot be exported to ONNX: {why}; {remedy}")
