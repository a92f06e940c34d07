"""One value a row by mistake: scores, responses, labels, weights."""

import numpy as np
import pandas as pd
import polars as pl
from hostile_data import as_array
from hostile_laws import always, no_rows
from hostile_value import (
    BIG,
    EMPTY,
    FEW,
    FIT,
    MASKED,
    NEW,
    Bad,
    as_text,
    first,
    masked,
    nothing_masked,
    objects,
    put,
    read_only,
    refused,
    same,
    scaled,
    some,
    strided,
)
from scipy import sparse
from sklearn.exceptions import DataConversionWarning


def no_weights(weights):
    return None


NUMBERS = {
    "nan": refused(put(3, np.nan), "NaN at row 3|nan at row 3"),
    "inf": refused(put(3, np.inf), "inf.* at row 3"),
    "minus inf": refused(put(3, -np.inf), "inf.* at row 3"),
    "1e308": refused(put(3, 1e308), "at most .*1e\\+308 at row 3"),
    "empty": refused(first(0), EMPTY, needs="no rows", rows=0),
    "one to fit": refused(first(1), FEW, needs="one row", rows=1, when=FIT),
    "one": Bad(first(1), rows=1, when=NEW),
    "shorter": refused(first(-1), r"inconsistent|shape|rows", beside=True),
    "two columns": refused(lambda y: np.column_stack([y, y]), r"1d array|shape \(|shape"),
    "a column": Bad(lambda y: y[:, None], like=as_array, warns=DataConversionWarning),
    "object numbers": same(objects),
    "object text": refused(put(3, "high", object), "numbers.*row 3|numbers"),
    "text": refused(as_text, "numbers|strings"),
    "float16": same(lambda y: y.astype(np.float16)),
    "float32": same(lambda y: y.astype(np.float32)),
    "long double": same(lambda y: y.astype(np.longdouble)),
    "int64": same(lambda y: y.astype(np.int64), base=lambda y: np.round(y * 32)),
    "int64 beyond 2^53": refused(
        lambda y: np.round(y * 32).astype(np.int64) + BIG, "2\\*\\*53|2\\^53"
    ),
    "boolean": Bad(lambda y: y > np.median(y), like=lambda y: (y > np.median(y)) * 1.0),
    "complex": refused(lambda y: y + 0j, "[Cc]omplex|real numbers"),
    "sparse": refused(lambda y: sparse.csr_array(y[:, None]), "[Ss]parse"),
    "read-only": same(read_only),
    "strided": same(strided),
    "masked": refused(masked, MASKED),
    "nothing masked": same(nothing_masked),
    "list": same(lambda y: y.tolist()),
    "Series": same(pd.Series),
    "Series, shuffled index": same(lambda y: pd.Series(y, index=np.arange(len(y))[::-1])),
    "polars Series": same(pl.Series),
    "a number": refused(lambda y: 3.0, r"shape|array|1d"),
    "None": refused(lambda y: None, "None|must be given|required"),
}

SCORES = NUMBERS | {
    "1e300": Bad(scaled(2.0**990), unit=2.0**-990),
    "1e-290": Bad(scaled(2.0**-960), unit=2.0**960),
    "denormal": refused(
        lambda y: np.round(y * 32) * 5e-324,
        "finite number",
        needs="denormal scores",
        unit=2.0**60,
        precision=2.0**-9,
    ),
    "constant": Bad(np.ones_like, law=always(1.0)),
    "zero": Bad(np.zeros_like, law=always(0.0)),
    "two values": Bad(lambda y: np.where(y > np.median(y), 5.0, 1.0)),
    "one far away": refused(
        put(3, 1e200), "differ too much in size|finite number", needs="far scores"
    ),
}

FEW_SCORES = some(
    NUMBERS,
    "nan, inf, 1e308, shorter, two columns, text, masked, None, complex, float32, list, Series",
)
ESTIMATED = NUMBERS | {  # of which an estimate in their unit, or its power, is to be a float
    "1e300": refused(
        scaled(2.0**990), "too large for a float.*divide", needs="large scores", unit=2.0**-990
    ),
    "1e-290": refused(
        scaled(2.0**-960), "too small for a float.*divide", needs="small scores", unit=2.0**960
    ),
    "denormal": refused(lambda y: np.round(y * 32) * 5e-324, "too (small|large) for a float"),
    "constant": Bad(np.ones_like),
    "zero": Bad(np.zeros_like),
}
WEIGHTS = {
    name: NUMBERS[name]
    for name in ("object numbers", "float16", "int64", "read-only", "strided", "masked", "list")
} | {
    "negative": refused(put(3, -1.0), "(negative|at least 0).* -1.* at row 3"),
    "nan": refused(put(3, np.nan), "nan at row 3"),
    "inf": refused(put(3, np.inf), "inf at row 3"),
    "1e308": refused(lambda w: np.full(len(w), 1e308), "sum"),
    "denormal": refused(scaled(5e-324), "sums to zero"),
    "some zero": Bad(put(slice(0, 9), 0.0), keeps=np.flatnonzero),
    "all zero": refused(np.zeros_like, "zero|is 0 in every row"),
    "all but one zero": refused(
        lambda w: (np.arange(len(w)) == 3) * 1.0, FEW, needs="one row", keeps=np.flatnonzero
    ),
    "boolean": Bad(lambda w: w > 1, like=lambda w: (w > 1) * 1.0),
    "shorter": refused(first(-1), r"shape|inconsistent"),
    "two columns": refused(lambda w: np.column_stack([w, w]), r"1D|shape"),
    "text": refused(as_text, "numbers|strings"),
    "words": refused(put(3, "heavy", object), "numbers"),
    "Series": same(pd.Series),
    "all alike": Bad(lambda w: np.full(len(w), 1.0), like=no_weights),
}

LABELS = {
    "boolean": same(lambda y: y == "m", when=FIT),
    "numbers": same(lambda y: (y == "m") * 1, when=FIT),
    "objects": same(objects),
    "list": same(lambda y: y.tolist()),
    "Series": same(pd.Series),
    "categories": same(lambda y: pd.Series(y).astype("category")),
    "read-only": same(read_only),
    "strided": same(strided),
    "masked": refused(masked, MASKED),
    "None at a row": refused(put(3, None, object), "no label at row 3"),
    "nan at a row": refused(put(3, np.nan, object), "no label at row 3"),
    "empty": refused(first(0), EMPTY, needs="no rows", rows=0),
    "shorter": refused(first(-1), r"inconsistent|shape|rows"),
    "two columns": refused(lambda y: np.column_stack([y, y]), r"1d array|shape"),
    "fractions": refused(lambda y: np.linspace(0, 1, len(y)), "Unknown label|continuous|not among"),
    "None": refused(lambda y: None, "None|must be given"),
    "two types": refused(put(3, 7, object), "several types|one type"),
}

COVERED = {
    "numbers": same(lambda c: c * 1.0),
    "objects": same(objects),
    "list": same(lambda c: c.tolist()),
    "Series": same(pd.Series),
    "read-only": same(read_only),
    "strided": same(strided),
    "masked": refused(masked, MASKED),
    "nothing masked": same(nothing_masked),
    "nan": refused(put(3, np.nan, float), "True or False, got nan at row 3"),
    "a share": refused(put(3, 0.5, float), "True or False, got 0.5 at row 3"),
    "text": refused(as_text, "True or False"),
    "empty": refused(first(0), EMPTY, rows=0),
    "shorter": refused(first(-1), r"shape|rows|inconsistent"),
    "two columns": refused(lambda c: np.column_stack([c, c]), "shape"),
    "None": refused(lambda c: None, "shape|None"),
    "all": refused(np.ones_like, "not defined", needs="one outcome"),
    "none of them": refused(np.zeros_like, "not defined", needs="one outcome"),
}

GROUPS = {
    "list": same(lambda g: g.tolist()),
    "objects": same(objects),
    "Series": same(pd.Series),
    "strided": same(strided),
    "masked": refused(masked, MASKED),
    "one group": refused(lambda g: np.full(len(g), "all"), FEW, needs="one group"),
    "int64 beyond 2^53": Bad(
        lambda g: BIG + np.unique(g, return_inverse=True)[1],
        like=lambda g: np.unique(g, return_inverse=True)[1],
    ),
    "None at a row": refused(
        put(3, None, object),
        "no label at row 3",
        needs="groups with gaps",
        like=put(3, "without", object),  # whatever comes last
    ),
    "nan": refused(
        lambda g: np.where(g == "low", np.nan, 1.0),
        "no label at row",
        needs="groups with gaps",
        like=lambda g: np.where(g == "low", 2.0, 1.0),
    ),
    "two types": refused(put(3, 7, object), "several types"),
    "shorter": refused(first(-1), "shape|rows|inconsistent"),
    "three dimensions": refused(lambda g: np.zeros((len(g), 2, 2)), "shape|dim 3"),
}

ONE_A_ROW = {  # of functions of arrays, that know nothing of rows before or after
    name: bad for name, bad in NUMBERS.items() if name not in ("one to fit", "one")
} | {
    "a column": Bad(lambda y: y[:, None], "shape", needs="a column", like=as_array),
    "sparse": refused(lambda y: sparse.csr_array(y[:, None]), "[Ss]parse|shape|numbers"),
    "empty": refused(first(0), f"{EMPTY}|shape", needs="no rows", rows=0, law=no_rows),
    "None": refused(lambda y: None, "None|shape|must not be nan|must be given"),
}
SIZES = {name: bad for name, bad in ONE_A_ROW.items() if name not in ("inf", "None")} | {
    "negative": refused(put(3, -1.0), "at least 0, got -1.0 at row 3"),
    "inf": refused(put(3, np.inf), "finite, got inf at row 3", needs="infinite sets"),
}
THRESHOLDS = {
    name: bad for name, bad in ONE_A_ROW.items() if name not in ("inf", "minus inf", "1e308")
} | {
    "inf": Bad(put(3, np.inf), row=3),
    "minus inf": Bad(put(3, -np.inf), row=3),
    "a number": Bad(
        lambda y: 3.0, "shape", needs="row by row", like=lambda y: np.full(len(y), 3.0)
    ),
}
COUNTS = {name: bad for name, bad in WEIGHTS.items() if name not in ("denormal", "1e308")} | {
    "fractions": refused(put(3, 0.5), "whole numbers"),
    "1e308": refused(lambda w: np.full(len(w), 1e308), "at most"),
}
CODES = {
    "nan": refused(put(3, np.nan, float), "codes .* got nan at row 3"),
    "negative": refused(put(3, -1), "codes .* got -1 at row 3"),
    "beyond": refused(put(3, 2), "codes .* got 2 at row 3"),
    "text": refused(as_text, "codes"),
    "shorter": refused(first(-1), "shape"),
    "two columns": refused(lambda y: np.column_stack([y, y]), "shape"),
    "masked": refused(masked, MASKED),
    "boolean": same(lambda y: y == 1),
    "floats": same(lambda y: y * 1.0),
    "list": same(lambda y: y.tolist()),
}
KNOWN = {  # labels that sets may hold
    "list": same(lambda y: y.tolist()),
    "objects": same(objects),
    "unknown": refused(put(3, "x", object), "'x', not among the classes"),
    "shorter": refused(first(-1), "shape"),
    "masked": refused(masked, MASKED),
}
COLUMNS_OF_NUMBERS = {
    "nan": refused(put((3, 1), np.nan), "nan at row 3"),
    "text": refused(as_text, "numbers"),
    "object numbers": same(objects),
    "float16": same(lambda p: p.astype(np.float16)),
    "masked": refused(masked, MASKED),
    "nothing masked": same(nothing_masked),
    "list": same(lambda p: p.tolist()),
    "read-only": same(read_only),
    "strided": same(strided, precision=float),
    "one column": refused(lambda p: p[:, :1], "shape|sum to 1"),
    "one dimension": refused(lambda p: p[:, 0], "shape"),
    "shorter": refused(first(-1), "shape|rows|inconsistent"),
}
MASKS = {
    "numbers": refused(lambda m: m * 1.0, "mask must be boolean"),
    "text": refused(as_text, "mask must be boolean"),
    "one dimension": refused(lambda m: m[:, 0], "mask must be boolean of shape"),
    "masked": refused(masked, MASKED),
    "list": same(lambda m: m.tolist()),
    "read-only": same(read_only),
}
ENDS = THRESHOLDS | {
    "a column": refused(lambda y: y[:, None], "shape"),
    "nan": refused(put(3, np.nan), "both nan .* at row 3"),
    "a number": refused(lambda y: 3.0, "shape"),
}
SHARES = {
    name: ONE_A_ROW[name] for name in ("nan", "inf", "text", "masked", "list", "empty", "Series")
} | {"above one": refused(put(3, 1.5), "between 0 and 1, got 1.5 at row 3")}
