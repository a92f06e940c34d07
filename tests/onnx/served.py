"""A fitted model served by onnxruntime, beside what Python answers."""

import numpy as np
import onnx
import onnxruntime

from plcp.onnx import export
from plcp.partitions import OrderedPartition

CLOSE = 1e-5  # relative: what is promised


class Served:
    """A session of the exported graph, which is checked first."""

    def __init__(self, model):
        self.graph = export(model)
        onnx.checker.check_model(self.graph, full_check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(self.graph.SerializeToString(), options)
        self.inputs = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, X, **given):
        """All outputs by name, for an array, or a frame whose columns are inputs of their own."""
        feed = {"X": np.asarray(X, dtype=float)} if "X" in self.inputs else {}
        columns = [name for name in self.inputs if name not in feed | given]
        feed |= {name: column_of(X[name]) for name in columns}
        found = self.session.run(None, feed | given)
        return dict(zip(self.outputs, found, strict=True))


def column_of(series):
    """One column as a graph takes it: text, or doubles; dates as days since 1970."""
    if series.dtype.kind == "M":
        return (series.to_numpy().astype("datetime64[s]").astype(float) / 86400.0)[:, None]
    if series.dtype.kind in "biuf":
        return series.to_numpy(dtype=float)[:, None]
    return series.astype(object).where(series.notna(), "\0 no such text").to_numpy()[:, None]


def on_a_cut(rule, X):
    """Rows whose regressor is so close to a cut that what is promised leaves their group open."""
    partition = rule.partition_
    if not isinstance(partition, OrderedPartition) or len(partition.cuts_) == 0:
        return np.zeros(len(X), dtype=bool)
    regressor = partition.predict_quantile(X)[:, None]
    return (np.abs(regressor - partition.cuts_) <= CLOSE * np.abs(regressor)).any(axis=1)


def assert_served(rule, X, served=None):
    """Thresholds as close as promised, and the same group for all rows not on a cut."""
    served = Served(rule) if served is None else served
    found, expected = served(X), rule.assign(X)
    open_rows = on_a_cut(rule, X) if hasattr(rule, "partition_") else np.zeros(len(X), dtype=bool)
    np.testing.assert_allclose(
        found["threshold"][~open_rows], expected.thresholds[~open_rows], rtol=CLOSE, atol=0
    )
    assert found["threshold"].shape == expected.thresholds.shape
    if expected.groups is None:
        assert "group" not in found
    else:
        np.testing.assert_array_equal(found["group"][~open_rows], expected.groups[~open_rows])
        assert found["group"].dtype == np.int64
    assert open_rows.mean() < 0.5  # or next to nothing was compared
    return served
