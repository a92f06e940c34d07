"""Writes the stored example files and their predictions, which ``test_files.py`` compares.

    python tests/storage/make_stored_files.py

Run it after a change of the format, or of the names of attributes or classes in files. All that is
fitted is rounded to multiples of 1/64, and logarithms to zero, so that sums are exact in any order
and every CPU gives the same bits.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from torch import nn

import plcp
from plcp.partitions.torch import TorchPartition
from plcp.storage.archive import FORMAT

FILES = Path(__file__).parent / "files"
ROWS = np.arange(40.0).reshape(20, 2) / 8 - 2.5
UNIT = 64


def models() -> dict[str, Any]:
    """Fit a model of each kind of part that files hold."""
    rng = np.random.default_rng(0)
    X = rng.integers(-20, 20, (150, 2)) / 8
    scores = rng.exponential(1 + (X[:, 0] > 0))
    line = plcp.OrderedPartition(plcp.LinearQuantile())
    layers = nn.Sequential(nn.Flatten(), nn.LazyLinear(4), nn.ReLU())
    split = {"calibration": "split", "random_state": 0}
    wrapped = plcp.ConformalRegressor(
        LinearRegression(), threshold=plcp.SplitConformal(), random_state=0
    )
    return {
        "default": plcp.PLCP(cv=3, random_state=0).fit(X, scores),
        "linear": plcp.PLCP(line, 2, **split).fit(X, scores),
        "model": wrapped.fit(X, X @ [1.5, 0.25] + scores),
        "network": plcp.PLCP(TorchPartition(layers, epochs=2, standardize=False), 2, **split).fit(
            X, scores
        ),
    }


def rounded(value: Any, seen: set[int]) -> Any:
    """Round what was fitted, in place where possible; parameters of estimators stay."""
    if isinstance(value, float):
        return type(value)(_multiples(value))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return _multiples(value)
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        with torch.no_grad():
            return value.copy_(torch.as_tensor(_multiples(value.detach().numpy())))
    if isinstance(value, list | tuple):
        return getattr(value, "_make", type(value))([rounded(item, seen) for item in value])
    if id(value) in seen:
        return value
    seen.add(id(value))
    if isinstance(value, HistGradientBoostingRegressor):
        for tree in (tree for step in value._predictors for tree in step):
            tree.nodes["value"] = 0.0  # of which the inverse of any link is exact
        value._baseline_prediction[:] = 0.0
    elif isinstance(value, nn.Module):
        for tensor in (*value.parameters(), *value.buffers()):
            rounded(tensor, seen)
    elif isinstance(value, dict):
        value |= {key: rounded(item, seen) for key, item in value.items()}
    elif isinstance(value, BaseEstimator) or type(value).__module__.startswith("plcp."):
        parameters = value.get_params(deep=False) if hasattr(value, "get_params") else {}
        for name, attribute in vars(value).items():
            if name not in parameters:
                object.__setattr__(value, name, rounded(attribute, seen))
    return value


def _multiples(numbers: Any) -> Any:
    """Round to multiples, and what is positive to at least one."""
    numbers = np.asarray(numbers)
    nearest = np.round(numbers * UNIT)
    return (np.where(numbers > 0, np.maximum(nearest, 1), nearest) / UNIT).astype(numbers.dtype)


def main() -> None:
    """Write each file, with a check that its predictions do not depend on the order of sums."""
    for name, model in models().items():
        path = FILES / f"format{FORMAT}_{name}.plcp"
        plcp.save(rounded(model, set()), path)
        model = plcp.load(path)
        predictions = model.predict(ROWS)
        alone = [model.predict(ROWS[i : i + 1])[0] for i in range(len(ROWS))]
        if not np.isfinite(predictions).all() or predictions.tolist() != alone:
            raise AssertionError(f"{name}: predictions depend on the order of sums")
        path.with_suffix(".json").write_text(json.dumps(predictions.tolist()))
        print(path.name, len(np.unique(predictions)), "values")


if __name__ == "__main__":
    main()
