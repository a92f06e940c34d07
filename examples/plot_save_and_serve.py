"""
Saving, serving and ONNX
========================

This page writes a calibrated model to a file, reads it back, and answers new rows in three ways: in
Python, over HTTP with FastAPI, and by an ONNX graph that needs no Python. All three give the same
intervals.

Which models have an ONNX graph? Regressors in which one rule serves all rows: those that ``fit``
trains itself, as here, and around a frozen model those with ``PLCP(calibration="held-out")``,
``PLCP(assignment="mean")`` or ``SplitConformal()``. ``PLCP()`` around a frozen model has none,
since each row is served by one of several rules. Neither have classifiers. All of these can be
saved to a file and served by Python.

This page needs the extras ``files``, ``onnx``, ``frames`` and ``plot`` (:doc:`/start/install`), and
``pip install onnxruntime fastapi uvicorn httpx``.
"""

import tempfile
import threading
import time
from pathlib import Path

import httpx
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import uvicorn
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import plcp
from plcp.datasets import load_bikes, load_wages
from plcp.onnx import export
from plcp.storage import load_manifest
from service import make_app  # the file service.py beside this one, shown below

# %%
# A model
# -------
# How many bicycles are rented in an hour? The model is not frozen, so ``fit`` divides the rows:
# 70 % train the model, 30 % calibrate it.

FEATURES = ["day", "hour", "temperature", "humidity", "wind_speed"]
bikes = load_bikes()
learn, new = train_test_split(bikes, test_size=2_000, random_state=0)

model = plcp.ConformalRegressor(HistGradientBoostingRegressor(random_state=0), random_state=0)
model.fit(learn[FEATURES], learn["rentals"])
sets = model.predict_set(new[FEATURES])
print(f"covered {sets.contains(new['rentals']).mean():.3f}, mean length {sets.size.mean():.0f}")
print(model.guarantee_)

# %%
# One file
# --------
# :func:`plcp.save` writes the file as a whole or not at all, and reads it back before it reports
# success. The same data, seed and versions give the same bytes.

folder = Path(tempfile.mkdtemp())
path = folder / "bikes.plcp"
plcp.save(model, path, data=(learn[FEATURES], learn["rentals"]))

loaded = plcp.load(path)
intervals = loaded.predict_interval(new[FEATURES])
print("the same to the last bit:", np.array_equal(intervals, model.predict_interval(new[FEATURES])))
print(f"{path.stat().st_size / 1000:.0f} kB")

# %%
# The file is a zip archive of a manifest in JSON and of plain numbers. It holds no pickle, so
# loading it runs no code. The manifest states the versions, what the rule reads (the columns and
# the prediction of the model), alpha, the guarantee, a checksum of each part and, if you pass
# ``data``, a digest of the rows that calibrated it.

manifest = load_manifest(path)
for key in ("class", "versions", "alpha", "seed", "data"):
    print(f"{key}: {manifest[key]}")
print(f"the rule reads: {manifest['features']['names']}")

# %%
# ``load`` accepts plcp's own classes and those estimators of scikit-learn and LightGBM whose
# content it can check. A network or function of your own must be named when the file is read:
# ``plcp.load(path, trusted=[Net])``; ``save`` tells you when that is necessary.

# %%
# A web service
# -------------
# The file ``service.py`` is an application of FastAPI in some eighty lines. It loads the model
# once, refuses rows with unknown columns, and writes an infinite end as ``null``, for JSON has no
# infinity. A column that a row lacks is a missing value. The model must accept missing values, as
# boosted trees do; one that does not, such as ``Ridge``, makes the service answer 422.
#
# .. literalinclude:: ../../examples/service.py
#    :language: python
#    :start-at: def make_app
#    :end-before: def finite
#
# The whole file is :ref:`here <sphx_glr_tutorials_service.py>`. In production you start it with
# ``python service.py bikes.plcp``. On this page it runs in a thread, on a free port of this
# machine.

server = uvicorn.Server(uvicorn.Config(make_app(path), port=0, log_level="warning"))
thread = threading.Thread(target=server.run, daemon=True)
thread.start()
while not server.started:
    time.sleep(0.05)
port = server.servers[0].sockets[0].getsockname()[1]
client = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False)

rows = new[FEATURES].to_dict("records")
answers = client.post("/interval", json=rows).json()
print(rows[0])
print(answers[0])
served = np.array([[answer["lower"], answer["upper"]] for answer in answers])
print("the same to the last bit:", np.array_equal(served, intervals))

# %%
# Without Python: ONNX
# --------------------
# :func:`plcp.onnx.export` writes the predictions, thresholds, groups and intervals as one graph,
# for C++, Java, C#, JavaScript or a browser. The graph describes what goes in, what comes out and
# what holds. Sums in another order may differ in the last digits.

graph = export(model, folder / "bikes.onnx")
print(graph.doc_string)

session = onnxruntime.InferenceSession(folder / "bikes.onnx")
table = new[FEATURES].to_numpy(dtype=float)
lower, upper = session.run(["lower", "upper"], {"X": table})
difference = np.abs(np.column_stack([lower, upper]) - intervals).max()
print(f"largest difference from Python: {difference:.0e} bicycles")

# %%
# How long does one row take?
# ---------------------------
# The fastest of thirty calls. For single rows the graph is far ahead; from some thousands of rows
# at once Python is as fast or faster.


def milliseconds(call):
    times = []
    for _ in range(30):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times)


row = new[FEATURES][:1]
times = {
    "ONNX runtime": milliseconds(lambda: session.run(["lower", "upper"], {"X": table[:1]})),
    "Python": milliseconds(lambda: loaded.predict_interval(row)),
    "HTTP": milliseconds(lambda: client.post("/interval", json=rows[:1])),
}
client.close()
server.should_exit = True
thread.join()

figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
for place, (name, each) in enumerate(reversed(times.items())):
    color = "#1f6fb4" if name == "ONNX runtime" else "#6e6e6e"
    ax.plot(each, place, "o", markersize=11, color=color)
    ax.text(each * 1.25, place, f"{each:.2g} ms", color=color, va="center", fontweight="bold")
ax.set_yticks(range(len(times)), list(times)[::-1])
ax.set(xscale="log", xlabel="milliseconds for one row, logarithmic scale", ylim=(-0.5, 2.5))
ax.set_xlim(right=max(times.values()) * 4)
ax.grid(axis="x", color="#dddddd")
ax.set_title("The same interval for one row: fastest from the ONNX graph")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Text, and models without a graph
# --------------------------------
# Where a table holds text, each column is an input of its own name. Linear models,
# ``HistGradientBoostingRegressor``, LightGBM and networks in
# :class:`~plcp.partitions.torch.TorchQuantile` have a graph. Any other model, such as this random
# forest behind an encoder, stays where it is, and the graph takes its prediction as an input.

wages = load_wages()
columns = ["age", "education", "job"]
encode = make_column_transformer((OneHotEncoder(), ["education", "job"]), remainder="passthrough")
forest = make_pipeline(encode, RandomForestRegressor(30, min_samples_leaf=5, random_state=0))
model = plcp.ConformalRegressor(forest, random_state=0).fit(wages[columns], wages["wage"])

session = onnxruntime.InferenceSession(export(model).SerializeToString())
print([f"{value.name}: {value.type}" for value in session.get_inputs()])

some = wages[columns][:5]
inputs = {name: some[[name]].to_numpy(dtype=object) for name in ["education", "job"]}
inputs |= {"age": some[["age"]].to_numpy(dtype=float), "prediction": model.predict(some)}
print(np.column_stack(session.run(["lower", "upper"], inputs)).round(1))
print(model.predict_interval(some).round(1))

# %%
# .. note::
#    A checksum detects accidents, not forgery. A file from a source that you do not trust cannot
#    run code, but its thresholds may be anything.
