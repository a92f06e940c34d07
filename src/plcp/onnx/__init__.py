"""Fitted rules as ONNX graphs, to be served without Python (needs the extra ``onnx``)."""

try:
    import onnx as _onnx  # noqa: F401
except ImportError as error:
    raise ImportError("plcp.onnx needs onnx: pip install 'plcp[onnx]'") from error

from plcp.exceptions import NotExportableError
from plcp.onnx.export import export

__all__ = ["NotExportableError", "export"]
