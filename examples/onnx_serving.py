"""
Intervals without Python: one ONNX graph
========================================

A model and its learned thresholds as one file that any ONNX runtime answers from, in C++, Java, C#,
JavaScript or here: a row takes tens of microseconds::

    python examples/onnx_serving.py [--rows N] [--output FOLDER]

Needs ``pip install 'plcp[onnx]' onnxruntime``, and some ten seconds.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline

from plcp import PLCP, ConformalRegressor
from plcp.onnx import export

parser = argparse.ArgumentParser(description="A fitted model as an ONNX graph.")
parser.add_argument("--rows", type=int, default=12_000, help="how many to generate")
parser.add_argument("--output", type=Path, default=Path(), help="where to write the graphs")
options, _ = parser.parse_known_args()  # a notebook is started with arguments of its own

# %%
# A model with its thresholds
# ---------------------------
# Machines that grow less predictable with age, some of them with a gap in the records.

rng = np.random.default_rng(0)
X = np.column_stack([rng.uniform(0, 20, options.rows), rng.normal(size=options.rows)])
y = 3 * X[:, 1] + (1 + X[:, 0] / 4) * rng.normal(size=options.rows)
X[rng.random(options.rows) < 0.05, 0] = np.nan
learn, new = slice(0, -2_000), slice(-2_000, None)
model = ConformalRegressor(
    HistGradientBoostingRegressor(), threshold=PLCP(calibration="held-out"), random_state=0
)
model.fit(X[learn], y[learn])

# %%
# One graph, which documents what goes in, what comes out and what holds.

graph = export(model, options.output / "machines.onnx")
print(graph.doc_string)

# %%
# Served
# ------

session = onnxruntime.InferenceSession(options.output / "machines.onnx")
lower, upper, group = session.run(["lower", "upper", "group"], {"X": X[new]})
intervals = model.predict_interval(X[new])
apart = np.abs(np.column_stack([lower, upper]) - intervals).max()
print(f"covered {np.mean((lower <= y[new]) & (y[new] <= upper)):.3f}")
print(f"largest difference from Python {apart:.1g}")


def milliseconds(action):
    """Time of the fastest of some calls."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


row = X[new][:1]
print(f"one row in Python {milliseconds(lambda: model.predict_interval(row)):.2f} ms")
print(f"one row by the graph {milliseconds(lambda: session.run(['lower'], {'X': row})):.2f} ms")

# %%
# Text, and a model of another kind
# ---------------------------------
# Beside text each column is an input of its own name. A random forest has no graph here: it stays
# where it is, and the graph is given its prediction.

table = pd.DataFrame({"age": X[:, 0], "load": X[:, 1]})
table["site"] = rng.choice(["north", "south"], len(table))
numbers = make_column_transformer(("passthrough", ["age", "load"]))
forest = make_pipeline(numbers, RandomForestRegressor(20, random_state=0))
model = ConformalRegressor(forest, threshold=PLCP(calibration="held-out"), random_state=0).fit(
    table[learn], y[learn]
)
graph = export(model, options.output / "forest.onnx")
session = onnxruntime.InferenceSession(options.output / "forest.onnx")
print([f"{value.name}: {value.type}" for value in session.get_inputs()])

given = {name: table[[name]][new].to_numpy() for name in table}
given["prediction"] = model.predict(table[new])
lower, upper = session.run(["lower", "upper"], given)
print(f"covered {np.mean((lower <= y[new]) & (y[new] <= upper)):.3f}")
facts = {entry.key: entry.value for entry in graph.metadata_props}
print("alpha", json.loads(facts["alpha"]), "features", json.loads(facts["feature_names"]))
