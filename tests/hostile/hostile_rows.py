"""Tables of rows by mistake: arrays, lists and frames that are not what they should be."""

import numpy as np
import polars as pl
from hostile_data import NAMES, as_array, mixed, mixed_polars, pandas, polars
from hostile_laws import one_answer
from hostile_value import (
    BIG,
    EMPTY,
    FEW,
    FIT,
    MASKED,
    NEW,
    NO_GAPS,
    NO_INFINITY,
    NO_SPARSE,
    NO_TEXT,
    Bad,
    as_text,
    column_of,
    first,
    masked,
    nothing_masked,
    objects,
    put,
    put_in_frame,
    read_only,
    refused,
    same,
    scaled,
    strided,
)
from scipy import sparse

from plcp import ColumnOrderWarning

HUGE = r"too large|contains 1e\+308|infs or NaNs|infinity|huge numbers|finite|at most"
FRAMES = {"pandas": pandas, "polars": polars}
MIXED = {"pandas": mixed, "polars": mixed_polars}


def a_gap(make, base):
    """A gap in a frame: as in an array."""
    return Bad(
        make,
        NO_GAPS,
        needs="gaps",
        base=base,
        like=put((3, 1), np.nan),
        like_base=as_array,
    )


def renamed(frame):
    """The same text in other words, in the same order."""
    words = {"low": "first", "mid": "second", "top": "third"}
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(pl.col("c").replace(words))
    return frame.assign(c=frame["c"].map(words))


ROWS = {
    **{
        f"in units of 2^{power}": Bad(
            as_array,
            like=as_array,
            base=scaled(2.0**power),
            like_base=as_array,
            needs="any unit" if abs(power) < 99 else "double precision",
        )
        for power in (-400, -30, 30, 400)
    },
    "nan": refused(put((3, 1), np.nan), NO_GAPS, needs="gaps", row=3),
    "inf": refused(put((3, 1), np.inf), NO_INFINITY),
    "minus inf": refused(put((3, 1), -np.inf), NO_INFINITY),
    "one 1e308": refused(put((3, 1), 1e308), HUGE, needs="one huge", row=3),
    "all 1e308": refused(
        lambda X: np.where(X[:, [1]] > 0, 1e308, -1e308) * [0, 1, 0] + X * [1, 0, 1],
        HUGE,
        needs="all huge",
    ),
    "denormal": refused(scaled([1, 5e-324, 1]), "too small", needs="denormals"),
    "empty": refused(first(0), EMPTY, needs="no rows", rows=0),
    "no columns": refused(lambda X: X[:, :0], r"0 feature\(s\)|expecting 3", needs="anything"),
    "one row": Bad(first(1), rows=1, when=NEW),
    "one row to fit": refused(first(1), FEW, needs="one row", rows=1, when=FIT),
    "one column": refused(lambda X: X[:, :1], "only 1|expecting 3", needs="one column", when=FIT),
    "too few columns": refused(lambda X: X[:, :2], "2 features, but .* expecting 3", when=NEW),
    "constant column": Bad(column_of(1.0), like=column_of(0.0), unless="as fitted", when=FIT),
    "constant columns": Bad(lambda X: np.ones_like(X), when=FIT, law=one_answer),
    "object numbers": same(objects),
    "text": Bad(as_text, NO_TEXT + "|strings", needs="numbers as text", like=as_array),
    "object text": refused(put((3, 1), "high", object), NO_TEXT),
    "float16": same(lambda X: X.astype(np.float16), precision=np.float32),
    "float32": same(lambda X: X.astype(np.float32), precision=np.float32),
    "long double": same(lambda X: X.astype(np.longdouble), precision=float),
    "int64": same(lambda X: X.astype(np.int64), base=lambda X: np.round(X * 16)),
    "boolean": Bad(lambda X: X > 0, like=lambda X: (X > 0) * 1.0, unless="labels", when=FIT),
    "int64 beyond 2^53": Bad(
        lambda X: np.round(X).astype(np.int64) + BIG,
        like=lambda X: (np.round(X).astype(np.int64) + BIG).astype(float),
        unless="labels",
        when=FIT,
    ),
    "complex": refused(lambda X: X + 0j, "[Cc]omplex"),
    "dates": refused(
        lambda X: X.astype(np.int64).astype("datetime64[s]"), "numbers|numeric|datetime"
    ),
    "sparse": Bad(sparse.csr_array, NO_SPARSE, needs="sparse", like=as_array, precision=float),
    "sparse matrix": Bad(
        sparse.csr_matrix, NO_SPARSE, needs="sparse", like=as_array, precision=float
    ),
    "read-only": same(read_only),
    "Fortran order": same(np.asfortranarray, precision=float),
    "strided": same(strided, precision=float),
    "masked": refused(masked, MASKED),
    "nothing masked": same(nothing_masked),
    "list": same(lambda X: X.tolist()),
    "tuple": same(lambda X: tuple(map(tuple, X.tolist()))),
    "ragged list": refused(lambda X: [*X.tolist()[:-1], [1.0]], "rows of one length"),
    "one dimension": refused(lambda X: X[:, 0], "2D|two dimensions|one dimension"),
    "no dimension": refused(lambda X: 3.0, "2D|two dimensions|array"),
    "None": refused(lambda X: None, "None|must be given|2D|array"),
    "a string": refused(lambda X: "X", "2D|two dimensions|array|str|inconsistent|rows"),
    "a dict": refused(lambda X: {"a": X[:, 0]}, "dict|2D|array|inconsistent|rows"),
    **{
        f"{kind}{name}": bad
        for kind, base in FRAMES.items()
        for name, bad in {
            "": Bad(as_array, like=as_array, base=base),
            ", one row": Bad(first(1), base=base, rows=1, when=NEW),
            ", empty": refused(first(0), EMPTY, needs="no rows", base=base, rows=0),
            ", nan": a_gap(put_in_frame(np.nan), base),
            ", None": a_gap(put_in_frame(None), base),
            ", text": refused(
                put_in_frame("high"),
                NO_TEXT,
                needs="mixed types of pandas" if kind == "pandas" else "mixed types",
                base=base,
                when=FIT,
            ),
            ", other order": Bad(
                lambda X: X[NAMES[::-1]],
                like=as_array,
                base=base,
                when=NEW,
                warns=ColumnOrderWarning,
            ),
            ", fewer columns": refused(
                lambda X: X[NAMES[:2]], "(?s)missing.*c", base=base, when=NEW
            ),
        }.items()
    },
    **{
        f"{kind} with text{name}": bad
        for kind, base in MIXED.items()
        for name, bad in {
            "": Bad(as_array, NO_TEXT, needs="text", like=renamed, base=base, when=FIT),
            ", unseen": refused(
                put_in_frame("never seen", 3, "c"),
                "never saw|no group",
                needs="unseen text",
                base=base,
                when=NEW,
                row=3,
            ),
            ", gap": refused(
                put_in_frame(None, 3, "c"),
                "no label",
                needs="gaps in text",
                base=base,
                when=NEW,
                row=3,
            ),
            ", other order": Bad(
                lambda X: X[NAMES[::-1]],
                like=as_array,
                base=base,
                when=NEW,
                warns=ColumnOrderWarning,
            ),
            ", numbers now": refused(
                lambda X: pandas(np.zeros((len(X), 3))),
                "held|text|numbers",
                needs="any type",
                base=base,
                when=NEW,
                law=one_answer,
            ),
        }.items()
    },
    "pandas, other columns": refused(
        lambda X: X.rename(columns={"b": "z"}), "(?s)unseen at fit time.*z", base=pandas, when=NEW
    ),
    "pandas, one more column": refused(
        lambda X: X.assign(z=1.0), "(?s)unseen at fit time.*z", base=pandas, when=NEW
    ),
    "pandas, duplicate names": refused(
        lambda X: X.set_axis(["a", "b", "b"], axis=1),
        "several columns named b: rename",
        base=pandas,
    ),
    "pandas, nullable": Bad(lambda X: X.convert_dtypes(), like=as_array, base=pandas),
    "pandas, objects": Bad(
        lambda X: X.astype(object), NO_TEXT, needs="object columns", like=as_array, base=pandas
    ),
    "pandas, shuffled index": Bad(
        lambda X: X.set_axis(np.arange(len(X))[::-1]), like=as_array, base=pandas
    ),
}
