"""Values that users hand in by mistake, by kind of argument, and what must become of each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

N, ALPHA, NAMES = 60, 0.2, ["a", "b", "c"]
_rng = np.random.default_rng(7)
# every number is exact in half precision
X = np.column_stack(
    [_rng.permutation(N) / 16 - 2, _rng.integers(-16, 17, N) / 8, _rng.integers(-1, 2, N)]
)
SCORES = np.round((2.5 + X[:, 0]) * _rng.exponential(size=N) * 32 + 1) / 32
Y = X[:, 0] - SCORES * _rng.choice([-1, 1], N)
LABELS = np.where(X[:, 0] + _rng.normal(size=N) > 0, "f", "m")
WEIGHTS = _rng.integers(1, 4, N).astype(float)
COVERED = _rng.uniform(size=N) < 0.8
GROUPS = np.array(["low", "mid", "top"])[X[:, 2].astype(int) + 1]
BAND = np.column_stack([X[:, 0] - 1, X[:, 0] + 1])
PROBABILITY = (np.clip(np.round(8 + 3 * X[:, 0]), 1, 15) / 16)[:, None] * [1, -1] + [0, 1]
CODES = (LABELS == "m").astype(int)


def identity(clean):
    return clean


class Bad(NamedTuple):
    """A change of the clean value.

    With ``words`` it must be refused in a message they match. Without, it must be answered as
    ``like`` of the clean value is.
    """

    make: Callable[[Any], Any]
    words: str = ""
    like: Callable[[Any], Any] = identity
    base: Callable[[Any], Any] = identity  # what the estimator was fitted to
    when: str = ""  # "fit" or "new": only rows to fit, or only new rows
    rows: int | None = None  # how many rows of the other arguments remain


def refused(make, words, **options):
    return Bad(make, words, **options)


def same(make, **options):
    return Bad(make, **options)


def given(value):
    return lambda clean: value


def each(values, words):
    return {repr(value): refused(given(value), words) for value in values}


def put(place, value, dtype=None):
    """Return a change of one place of an array."""

    def change(array):
        changed = np.array(array, dtype=dtype)
        changed[place] = value
        return changed

    return change


def first(n):
    return lambda values: values[:n]


def read_only(array):
    array = np.array(array)
    array.setflags(write=False)
    return array


def strided(array):
    """Every second element of twice as many, in reverse."""
    return np.repeat(np.asarray(array)[::-1], 2, axis=0)[::-2]


def masked(array):
    hidden = np.zeros(np.shape(array), dtype=bool)
    hidden[3] = True
    return np.ma.array(array, mask=hidden)


def objects(array):
    return np.asarray(array).astype(object)


def text(array):
    return np.asarray(array).astype(str)


def two_columns(array):
    return np.column_stack([array, array])


def pandas(values):
    return pd.DataFrame(np.asarray(values), columns=NAMES)


def polars(values):
    return pl.DataFrame(np.asarray(values), schema=NAMES)


EMPTY = r"0 sample\(s\)|empty|0 rows|at least one row|n at least 1|shape"
MASKED = r"masked.*filled"
# a model that reads the rows itself is named with its own error
NO_TEXT = r"text|numbers|strings|type|on these rows: could not convert string"
SHAPE = r"[1-2][dD]|dimension|shape|array|inconsistent|rows"
ONE_ROW = (
    r"n_samples ?= ?1|1 sample|one row|1 rows|at most|so few|hold no calibration point|sums to zero"
    "|two groups at least|at least one non-zero"
)

SAME_ARRAY = {
    "read-only": same(read_only),
    "strided": same(strided),
    "nothing masked": same(lambda array: np.ma.array(array, mask=False)),
    "list": same(lambda array: array.tolist()),
    "object numbers": same(objects),
}
ROWS = SAME_ARRAY | {
    "nan": refused(put((3, 1), np.nan), "(?s)(NaN|nan|missing)"),
    "inf": refused(put((3, 1), np.inf), "inf"),
    "1e308": refused(put((3, 1), 1e308), "large|1e.308|huge|finite|at most|infinity"),
    "empty": refused(first(0), EMPTY, rows=0),
    "no columns": refused(lambda X: X[:, :0], r"0 feature\(s\)|expecting 3"),
    "too few columns": refused(lambda X: X[:, :2], "2 features, but .* expecting 3", when="new"),
    "one row to fit": refused(first(1), ONE_ROW, rows=1, when="fit"),
    "one dimension": refused(lambda X: X[:, 0], SHAPE),
    "three dimensions": refused(lambda X: X[:, :, None], SHAPE + "|dim 3|in no group"),
    "a number": refused(given(3.0), SHAPE),
    "None": refused(given(None), "None|" + SHAPE),
    "a string": refused(given("X"), "str|" + SHAPE),
    "a dict": refused(lambda X: {"a": X[:, 0]}, "dict|" + SHAPE),
    "ragged list": refused(
        lambda X: [*X.tolist()[:-1], [1.0]],
        "rows of one length|on these rows: setting an array element",
    ),
    "text": refused(text, NO_TEXT),
    "object text": refused(put((3, 1), "high", object), NO_TEXT),
    "complex": refused(lambda X: X + 0j, "[Cc]omplex"),
    "dates": refused(
        lambda X: X.astype(np.int64).astype("datetime64[s]"), "numeric|date|" + NO_TEXT
    ),
    "sparse": refused(sparse.csr_array, "[Ss]parse"),
    "masked": refused(masked, MASKED),
    "float32": same(lambda X: X.astype(np.float32)),
    "Fortran order": same(np.asfortranarray),
    "boolean": Bad(lambda X: X > 0, like=lambda X: (X > 0) * 1.0, when="fit"),
    "pandas": same(pandas),
    "polars": same(polars),
    "pandas, nullable": same(lambda X: pandas(X).convert_dtypes()),
    "pandas, shuffled index": same(lambda X: pandas(X).set_axis(np.arange(len(X))[::-1])),
    "pandas, duplicate names": refused(
        lambda X: pandas(X).set_axis(["a", "b", "b"], axis=1), "several columns named b"
    ),
    "pandas, other names": refused(
        lambda X: X.rename(columns={"b": "z"}), "(?s)unseen at fit time.*z", base=pandas, when="new"
    ),
    "pandas, fewer columns": refused(
        lambda X: X[NAMES[:2]], "(?s)missing.*c", base=pandas, when="new"
    ),
    "pandas, other order": same(lambda X: X[NAMES[::-1]], base=pandas, when="new"),
}
FEW_ROWS = {
    name: ROWS[name]
    for name in ("nan", "inf", "1e308", "empty", "text", "complex", "masked", "None")
}
NUMBERS = SAME_ARRAY | {
    "nan": refused(put(3, np.nan), "(NaN|nan).* at row 3"),
    "inf": refused(put(3, np.inf), "inf.* at row 3"),
    "1e308": refused(put(3, 1e308), r"at most .*1e\+308 at row 3"),
    "empty": refused(first(0), EMPTY, rows=0),
    "shorter": refused(first(-1), "inconsistent|shape|rows"),
    "two columns": refused(two_columns, SHAPE),
    "a number": refused(given(3.0), SHAPE),
    "None": refused(given(None), "None|shape|must be given|required|nan"),
    "text": refused(text, "numbers|strings"),
    "object text": refused(put(3, "high", object), "numbers"),
    "complex": refused(lambda y: y + 0j, "[Cc]omplex|real numbers"),
    "sparse": refused(lambda y: sparse.csr_array(y[:, None]), "[Ss]parse|shape|numbers"),
    "masked": refused(masked, MASKED),
    "int64 beyond 2^53": refused(
        lambda y: np.round(y * 32).astype(np.int64) + 2**53, r"2\*\*53|2\^53"
    ),
    "float32": same(lambda y: y.astype(np.float32)),
    "boolean": Bad(lambda y: y > np.median(y), like=lambda y: (y > np.median(y)) * 1.0),
    "Series": same(pd.Series),
    "Series, shuffled index": same(lambda y: pd.Series(y, index=np.arange(len(y))[::-1])),
    "polars Series": same(pl.Series),
}
FEW_NUMBERS = {
    name: NUMBERS[name]
    for name in (
        "nan",
        "inf",
        "1e308",
        "shorter",
        "two columns",
        "text",
        "complex",
        "masked",
        "None",
    )
}
SIZES = {name: bad for name, bad in NUMBERS.items() if name != "None"} | {
    "negative": refused(put(3, -1.0), "at least 0, got -1.0 at row 3")
}
THRESHOLDS = {name: bad for name, bad in NUMBERS.items() if name not in ("inf", "1e308")}
ENDS = THRESHOLDS | {"nan": refused(put(3, np.nan), "both nan .* at row 3")}
SHARES = {name: NUMBERS[name] for name in ("nan", "inf", "text", "masked", "list", "empty")} | {
    "above one": refused(put(3, 1.5), "between 0 and 1, got 1.5 at row 3")
}
WEIGHT_VALUES = SAME_ARRAY | {
    "negative": refused(put(3, -1.0), "(negative|at least 0).* -1.* at row 3"),
    "nan": refused(put(3, np.nan), "nan at row 3"),
    "inf": refused(put(3, np.inf), "inf at row 3"),
    "1e308": refused(lambda w: np.full(len(w), 1e308), "sum|at most"),
    "all zero": refused(np.zeros_like, "zero|is 0 in every row"),
    "shorter": refused(first(-1), "shape|inconsistent"),
    "two columns": refused(two_columns, "1D|shape"),
    "text": refused(text, "numbers|strings"),
    "masked": refused(masked, MASKED),
    "Series": same(pd.Series),
}
COUNTS = WEIGHT_VALUES | {"fractions": refused(put(3, 0.5), "whole numbers")}
LABEL_VALUES = {name: SAME_ARRAY[name] for name in ("read-only", "strided", "list")} | {
    "objects": same(objects),
    "categories": same(lambda y: pd.Series(y).astype("category")),
    "masked": refused(masked, MASKED),
    "None at a row": refused(put(3, None, object), "no label at row 3"),
    "nan at a row": refused(put(3, np.nan, object), "no label at row 3"),
    "two types": refused(put(3, 7, object), "several types|one type"),
    "shorter": refused(first(-1), "inconsistent|shape|rows"),
    "empty": refused(first(0), EMPTY, rows=0),
    "two columns": refused(two_columns, SHAPE),
    "None": refused(given(None), "None|must be given|shape"),
}
CLASSES = LABEL_VALUES | {
    "fractions": refused(lambda y: np.linspace(0, 1, len(y)), "Unknown label|continuous|not among")
}
GROUP_VALUES = {
    name: bad for name, bad in LABEL_VALUES.items() if name not in ("two columns", "None")
}
KNOWN = {name: LABEL_VALUES[name] for name in ("list", "objects", "shorter", "masked")} | {
    "unknown": refused(put(3, "x", object), "'x', not among the classes")
}
OUTCOMES = {name: SAME_ARRAY[name] for name in ("read-only", "strided", "list")} | {
    "numbers": same(lambda c: c * 1.0),
    "objects": same(objects),
    "Series": same(pd.Series),
    "nan": refused(put(3, np.nan, float), "True or False, got nan at row 3"),
    "a share": refused(put(3, 0.5, float), "True or False, got 0.5 at row 3"),
    "text": refused(text, "True or False"),
    "masked": refused(masked, MASKED),
    "empty": refused(first(0), EMPTY, rows=0),
    "shorter": refused(first(-1), "shape|rows|inconsistent"),
    "two columns": refused(two_columns, "shape"),
    "None": refused(given(None), "shape|None"),
}
CODE_VALUES = {
    "nan": refused(put(3, np.nan, float), "codes .* got nan at row 3"),
    "negative": refused(put(3, -1), "codes .* got -1 at row 3"),
    "beyond": refused(put(3, 2), "codes .* got 2 at row 3"),
    "text": refused(text, "codes"),
    "shorter": refused(first(-1), "shape"),
    "two columns": refused(two_columns, "shape"),
    "masked": refused(masked, MASKED),
    "boolean": same(lambda y: y == 1),
    "list": same(lambda y: y.tolist()),
}
COLUMNS = SAME_ARRAY | {
    "nan": refused(put((3, 1), np.nan), "nan at row 3"),
    "text": refused(text, "numbers"),
    "masked": refused(masked, MASKED),
    "one column": refused(lambda p: p[:, :1], "shape|sum to 1"),
    "one dimension": refused(lambda p: p[:, 0], "shape"),
    "shorter": refused(first(-1), "shape|rows|inconsistent"),
}
MASK_VALUES = {
    "numbers": refused(lambda m: m * 1.0, "mask must be boolean"),
    "text": refused(text, "mask must be boolean"),
    "one dimension": refused(lambda m: m[:, 0], "mask must be boolean of shape"),
    "masked": refused(masked, MASKED),
    "list": same(lambda m: m.tolist()),
}

NOT_NUMBERS = ("0.1", "", None, True, np.nan, 1j, b"0.1", {})
COUNT = each(("3", None, True, np.nan, 2.5, np.inf, [2]), "whole number")
SHARE = each((*NOT_NUMBERS, 0, 1, -0.1, 1.2, np.inf), r"must lie in \(0, 1\)")
LOSSES = each((None, 3, "history", [3], [None], {}, [], [{}]), "history")
PATHS = each((None, 3, b"a.plcp"), "path must be a str or a Path") | {
    "a zero byte": refused(lambda path: f"{path}\0.plcp", "zero byte"),
    "a Path": same(Path),
}


def edited(**values):
    """Return a change of the state of a monitor."""
    return lambda state: json.dumps(json.loads(state) | values)


def shortened(path):
    content = Path(path).read_bytes()
    other = Path(path).with_name("half.plcp")
    other.write_bytes(content[: len(content) // 2])
    return other


VALUES = {
    "X": ROWS,
    "few rows": FEW_ROWS,
    "y": NUMBERS,
    "scores": NUMBERS,
    "numbers": NUMBERS,
    "dask numbers": FEW_NUMBERS,
    "dask responses": FEW_NUMBERS,
    "sizes": SIZES,
    "thresholds": THRESHOLDS,
    "ends": ENDS,
    "shares": SHARES,
    "weights": WEIGHT_VALUES,
    "counts": COUNTS,
    "classes": CLASSES,
    "groups": GROUP_VALUES,
    "known labels": KNOWN,
    "covered": OUTCOMES,
    "codes": CODE_VALUES,
    "columns": COLUMNS,
    "masks": MASK_VALUES,
    "alpha": SHARE | {"numpy float": same(np.float64)},
    "share": SHARE,
    "n_groups": COUNT
    | each((0, -1), "at least 1")
    | {"more than rows": refused(given(10**6), "at most"), "numpy int": same(np.int64)},
    "cv": COUNT | each((0, 1, -3), "at least 2"),
    "random_state": each(("seed", 2.5, -1, [1.5], 2**40), "seed|Seed|random_state"),
    "seed": COUNT | each((-1,), "at least 0"),
    "rows": COUNT | each((0, -1), "at least 1"),
    "positive": each((*NOT_NUMBERS, 0, -0.1, np.inf, [0.1]), "positive number"),
    "noise": each(("", "sd", None, 3, ["variance"]), "must be .*'variance'"),
    "times": each((["2026"], []), "times and X has 60 rows"),
    "feature": each((3, -4, "z", 1.5, None, True), "no feature"),
    "history": LOSSES | {"nan": refused(given([{"objective": np.nan}]), "history.*nan")},
    "tried": LOSSES
    | {
        "nan": refused(given([{"n_groups": 2, "held_out": np.nan}]), "history.*nan"),
        "half a group": refused(given([{"n_groups": 2.5, "held_out": 0.1}]), "history.*2.5"),
    },
    "rules": each((None, 3, "PLCP", []), "rule|estimator"),
    "exported": each((None, 3, "PLCP", []), "cannot be exported to ONNX"),
    "saved": each((None, 3, "PLCP"), "save needs a model, got")
    | {"a lambda": refused(given(lambda X: X), "cannot be stored|lambda")},
    "state": each((None, 3, "", "{", "[]", "{}", "NaN", b"\xff"), "no state of a monitor")
    | {
        "another format": refused(edited(format="plcp 9"), "of format 'plcp 9'"),
        "another rule's": refused(edited(digest="0"), "other thresholds"),
        "a rate of 2": refused(edited(rate=2), r"must lie in \(0, 1\), got 2"),
        "no groups": refused(edited(groups={}), "without"),
        "bytes": same(str.encode),
    },
    "path to write": PATHS
    | {
        "empty": refused(given(""), r"end its name in \.plcp"),
        "another ending": refused(lambda path: f"{path}.pkl", r"end its name in \.plcp"),
        "no such folder": refused(
            lambda path: Path(path).parent / "none" / "a.plcp", "make the folder .*none first"
        ),
    },
    "path to read": PATHS
    | {
        "empty": refused(given(""), "is a folder"),
        "no such file": refused(lambda path: f"{path}.plcp", "there is no file"),
        "half a file": refused(shortened, "copy it again"),
    },
    "trusted": each((None, 3, "numpy", ["numpy"], [3]), "trusted"),
    "table": {
        "None": refused(given(None), "a table must be .* got NoneType"),
        "an array": refused(lambda table: table.to_numpy(), "a table must be .* got ndarray"),
        "no rows": refused(first(0), "nothing to audit"),
        "no outcome": refused(lambda table: table.drop(columns="y"), "no column"),
        "text": refused(lambda table: table.assign(y="high"), "must hold numbers, but holds"),
        "all gaps": refused(lambda table: table.assign(y=np.nan), "nothing to audit"),
        "duplicate names": refused(
            lambda table: table.set_axis(["a", "b", "c", "y", "low", "low"], axis=1),
            "several columns named 'low'",
        ),
        "a dict": same(lambda table: table.to_dict("list")),
        "polars": same(pl.from_pandas),
    },
    "by": each(("nothing", ["nothing"], "c:0", "c:x", "c:1.5"), "column|bins|whole")
    | {"a list": same(lambda by: [by])},
}
