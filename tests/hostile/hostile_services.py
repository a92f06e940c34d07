"""What is asked of a fitted rule from outside: monitors, adapters, graphs, files."""

import json
import tempfile
from functools import cache
from pathlib import Path

import hostile_data as data
import numpy as np
from hostile_entries import SUBJECTS, Entry, fitted, made, plain, target_of, times
from hostile_essence import difference
from hostile_laws import row_law
from onnxruntime import InferenceSession

import plcp
from plcp._rows import count
from plcp.interop import as_feature_map, bins
from plcp.monitoring import Monitor
from plcp.onnx import export

LINE = "PLCP, line"


def rule_of(model):
    return model.thresholds_[0] if hasattr(model, "conformity_") else model


def seen(monitor):
    """Rows and hits of all and of each group, and the evidence against them."""
    groups = json.loads(monitor.to_json())["groups"].values()
    return [
        np.array([(group["n"], group["n"] - group["misses"]) for group in groups]),
        np.array([(group["height"], *group["growth"]) for group in groups]),
    ]


def takes_of(name):
    subject = SUBJECTS[name]
    return frozenset(subject.takes | subject.also | subject.to_ask)


def watched(name):
    """A monitor's update, counted by hand from what the rule says of the same rows."""

    def update(X, base=data.as_array, **given):
        return seen(fitted(name, base).monitor().update(X, *given.values()))

    def counts(entry, _, bad, given, answer):
        given = dict(given)
        X, model = given.pop("X", data.X), fitted(name, given.pop("base", data.as_array))
        (y,) = given.values()
        found = answer[0]
        if len(y) == 0:
            return None if not found.any() else "rows where there are none"
        if hasattr(model, "conformity_"):
            hits = model.predict_set(X).contains(y)
        else:
            hits = np.asarray(y, dtype=float) <= model.predict(X)
        groups = rule_of(model).assign(X).groups
        groups = np.full(len(hits), -1) if groups is None else groups
        masks = [groups == group for group in range(len(found) - 1)]
        expected = [(len(hits), hits.sum()), *((mask.sum(), hits[mask].sum()) for mask in masks)]
        return difference([found], [np.array(expected)], None)

    given = {"X": data.X, **target_of(name)}
    return Entry(update, given, takes_of(name) | {"no rows"}, fits=False, laws=(counts,))


def adapted(name, adapter, without=()):
    """An adapter's function of rows."""

    def ask(X, base=data.as_array):
        return adapter(fitted(name, base))(X)

    def grouped(entry, _, bad, given, answer):
        """A row is of the group that the rule gives it, or its shares sum to one."""
        if answer.ndim == 1 or np.isin(answer, (0, 1)).all():
            groups = fitted(name, given["base"]).assign(given["X"]).groups
            found = answer if answer.ndim == 1 else answer.argmax(axis=1)
            return difference([found], [groups], None)
        return difference([answer.sum(axis=1)], [np.ones(len(answer))], float)

    takes = takes_of(name) - {*without}
    return Entry(ask, {"X": data.X}, takes, fits=False, laws=(row_law, grouped))


@cache
def rule():
    return fitted(LINE, data.as_array)


@cache
def state():
    return rule().monitor().update(data.X, data.SCORES).to_json()


def served(model):
    """Thresholds by the graph of a model."""
    session = InferenceSession(export(model).SerializeToString())
    return session.run(["threshold"], {"X": data.X})[0]


def as_python(entry, name, bad, given, answer):
    """A graph's thresholds, and those of a file's model, are those of the model itself."""
    right = given["model"].predict(data.X)
    return difference([np.asarray(answer)], [right], float)


def served_scores(scores, unit=1.0):
    X = data.X[:1] if np.shape(scores) == (1,) else data.X
    return served(made(LINE).fit(X, times(scores, unit)))


def fitted_again(entry, name, bad, given, answer):
    right = made(LINE).fit(data.X, given["scores"]).predict(data.X)
    return difference([answer], [right], bad.precision or float)


@cache
def folder():
    return tempfile.TemporaryDirectory()


def new_file():
    return str(Path(folder().name) / "model.plcp")


@cache
def a_file():
    path = str(Path(folder().name) / "here.plcp")
    plcp.save(rule(), path)
    return path


def kept(model, path):
    plcp.save(model, path)
    return plcp.load(path).predict(data.X)


def read(path, trusted):
    return plcp.load(path, trusted=trusted).predict(data.X)


def constant(entry, name, bad, given, answer):
    """A dummy's prediction, which is zero, once a row."""
    return difference([answer], [np.zeros(count(given["X"]))], None)


SERVICES = {
    "ConformalRegressor.predict": plain(
        lambda X: fitted("ConformalRegressor", data.as_array).predict(X),
        laws=(constant,),
        X=("rows passed on", data.X),
    ),
    "Monitor.update, rule": watched(LINE),
    "Monitor.update, column": watched("Mondrian, column"),
    "Monitor.update, regressor": watched("ConformalRegressor"),
    "Monitor.update, classifier": watched("ConformalClassifier"),
    "Monitor.update, at": plain(
        lambda at: seen(rule().monitor().update(data.X, data.SCORES, at=at)),
        at=("times", "2026-05-01"),
    ),
    "Monitor": plain(
        lambda rule, rate: seen(Monitor(rule, rate).update(data.X, data.SCORES)),
        rule=("rules", rule()),
        rate=("share", 0.05),
    ),
    "Monitor.from_json": plain(
        lambda state: seen(Monitor.from_json(rule(), state)), state=("state", state())
    ),
    "bins.rows": adapted(LINE, bins),
    "bins.rows, column": adapted("Mondrian, column", bins, {"unseen text"}),
    "bins": plain(lambda rule: bins(rule)(data.X), rule=("rules", rule())),
    "as_feature_map.rows": adapted(LINE, as_feature_map),
    "as_feature_map.rows, shares": adapted("PLCP, softmax", as_feature_map),
    "as_feature_map.rows, column": adapted("Mondrian, column", as_feature_map, {"unseen text"}),
    "as_feature_map": plain(lambda rule: as_feature_map(rule)(data.X), rule=("rules", rule())),
    "export": plain(served, laws=(as_python,), model=("exported", rule())),
    "export, fitted": Entry(
        served_scores, {"scores": data.SCORES}, takes_of(LINE), laws=(fitted_again,)
    ),
    "save": plain(kept, laws=(as_python,), model=("saved", rule()), path=("to write", new_file())),
    "load": plain(read, path=("to read", a_file()), trusted=("trusted", [])),
}
