"""Fitted rules as ONNX graphs, to be served without Python."""
