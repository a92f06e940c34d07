"""Models, paths and states by mistake: what is no array, and no single number."""

import json
import pickle
from pathlib import Path

import hostile_data as data
import numpy as np
from hostile_entries import fitted, made
from hostile_options import given
from hostile_value import Bad, refused, same
from sklearn.linear_model import LinearRegression

import plcp

NO_RULES = (None, 3, "PLCP", plcp.PLCP, [], LinearRegression())


def a_copy(model):
    return pickle.loads(pickle.dumps(model))


def fitted_to(name, base=data.as_array, unit=1.0):
    return lambda model: fitted(name, base, unit)


def no_models(words):
    return {str(model): refused(given(model), words) for model in NO_RULES} | {
        "not fitted": refused(lambda model: made("PLCP, line"), "not fitted|Call 'fit'"),
        "a copy": same(a_copy),
    }


RULES = no_models("rule|estimator")
EXPORTED = no_models("cannot be exported to ONNX: only threshold rules") | {
    "a classifier": refused(fitted_to("ConformalClassifier"), "sets of labels have no graph"),
    "a rule of kernels": refused(fitted_to("RLCP"), "RLCP cannot be exported"),
    "groups by a function": refused(fitted_to("Mondrian"), "function|callable|column"),
    "of a frame": Bad(fitted_to("PLCP, line", data.pandas)),
    "of a polars frame": Bad(fitted_to("PLCP, line", data.polars)),
    "of scores of 1e300": Bad(fitted_to("PLCP, line", unit=2.0**990)),
    "of scores of 1e-290": Bad(fitted_to("PLCP, line", unit=2.0**-960)),
    "one threshold": Bad(fitted_to("SplitConformal")),
    "a column": Bad(fitted_to("Mondrian, column")),
    "softmax": Bad(fitted_to("PLCP, softmax")),
    "a tree": Bad(fitted_to("PLCP, tree")),
    "the default": Bad(fitted_to("PLCP")),
}
SAVED = {
    str(model): refused(given(model), "save needs a model, got .*: give an estimator")
    for model in NO_RULES[:4]
} | {
    "a lambda": refused(given(lambda X: X), "cannot be stored|lambda"),
    "a lambda within": refused(
        lambda model: plcp.Mondrian(lambda X: X[:, 0]), "groups is a lambda.*define it"
    ),
    "a generator": refused(lambda model: (x for x in ()), "generator"),
    "a copy": same(a_copy),
    "fitted to a frame": Bad(fitted_to("PLCP, line", data.pandas)),
    "of scores of 1e300": Bad(fitted_to("PLCP, line", unit=2.0**990)),
}
NO_PATHS = {
    repr(path): refused(given(path), "path must be a str or a Path")
    for path in (None, 3, b"a.plcp")
} | {
    "a list": refused(lambda path: [path], "path must be a str or a Path"),
    "a zero byte": refused(lambda path: f"{path}\0.plcp", "zero byte"),
    "a Path": same(Path),
}
TO_WRITE = NO_PATHS | {
    "empty": refused(given(""), r"end its name in \.plcp"),
    "another ending": refused(lambda path: f"{path}.pkl", r"end its name in \.plcp"),
    "a folder": refused(lambda path: a_folder(path), "name a file"),
    "no such folder": refused(
        lambda path: Path(path).parent / "none" / "a.plcp", "make the folder .*none first"
    ),
}
TO_READ = NO_PATHS | {
    "empty": refused(given(""), "is a folder: name a file"),
    "a folder": refused(lambda path: a_folder(path), "is a folder: name a file"),
    "no such file": refused(lambda path: f"{path}.plcp", "there is no file"),
    "another ending": refused(lambda path: written(path, "a.csv", b"a,b\n"), r"ends in \.plcp"),
    "an empty file": refused(lambda path: written(path, "b.plcp", b""), "copy it again"),
    "a table": refused(lambda path: written(path, "c.plcp", b"a,b\n1,2\n"), "copy it again"),
    "half of it": refused(
        lambda path: written(path, "d.plcp", bytes_of(path)[: len(bytes_of(path)) // 2]),
        "copy it again",
    ),
    "a changed byte": refused(
        lambda path: written(path, "e.plcp", changed(bytes_of(path))), "copy it again|do not use"
    ),
}
TRUSTED = {
    str(value): refused(given(value), "trusted") for value in (None, 3, "numpy", ["numpy"], [3])
} | {"one of ours": same(lambda none: [data.Positive])}


def a_folder(path):
    folder = Path(path).with_name("folder.plcp")
    folder.mkdir(exist_ok=True)
    return folder


def written(path, name, content):
    other = Path(path).with_name(name)
    other.write_bytes(content)
    return other


def bytes_of(path):
    return Path(path).read_bytes()


def changed(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


def told(change):
    """A change of what a monitor told of itself."""

    def make(state):
        values = json.loads(state)
        change(values)
        return json.dumps(values)

    return make


def of_all_rows(**values):
    return told(lambda state: state["groups"]["all"].update(values))


STATE = {
    repr(value): refused(given(value), "no state of a monitor.*give what to_json wrote")
    for value in (None, 3, "", "{", "[]", "{}", "null", "NaN", b"\xff", {})
} | {
    "another format": refused(told(lambda s: s.update(format="plcp 9")), "of format 'plcp 9'"),
    "another rule's": refused(told(lambda s: s.update(digest="0")), "other thresholds: give"),
    "one key less": refused(told(lambda s: s.pop("rate")), "without .'rate'"),
    "one key more": refused(told(lambda s: s.update(more=1)), "with .'more'"),
    "a rate of 2": refused(told(lambda s: s.update(rate=2)), r"must lie in \(0, 1\), got 2"),
    "one group less": refused(told(lambda s: s["groups"].pop("all")), "without .'all'"),
    "groups in a list": refused(told(lambda s: s.update(groups=[])), "without"),
    "more misses than rows": refused(of_all_rows(misses=999), "999 misses among 60 rows"),
    "rows below zero": refused(of_all_rows(n=-1), "no number of rows"),
    "half a row": refused(of_all_rows(n=0.5), "0.5 is no int"),
    "rows as text": refused(of_all_rows(n="60"), "'60' is no int"),
    "rows are true": refused(of_all_rows(n=True), "True is no int"),
    "evidence that is NaN": refused(of_all_rows(height=np.nan), "NaN"),
    "evidence of 1e999": refused(
        lambda state: of_all_rows(height=0.25)(state).replace("0.25", "1e999", 1), "inf|no float"
    ),
    "too few numbers": refused(of_all_rows(growth=[0.0]), "not 6 in a list"),
    "an alarm of nothing": refused(of_all_rows(alarm={}), "without"),
    "indented": same(lambda state: json.dumps(json.loads(state), indent=2)),
    "in another order": same(lambda state: json.dumps(dict(reversed(json.loads(state).items())))),
    "bytes": same(str.encode),
}
