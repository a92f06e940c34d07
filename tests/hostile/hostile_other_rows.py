"""Rows for those who are fitted to none: what is drawn along, and what is passed on to a model."""

from dataclasses import replace

import numpy as np
from hostile_data import as_array, pandas, polars
from hostile_rows import ROWS
from hostile_value import Bad, column_of, first, put, refused, same, some

NOT_DRAWN = "numbers|two dimensions|rows|shape|one length"
DRAWN = {  # along the first column
    **some(
        ROWS,
        "object numbers, float16, float32, long double, int64, read-only, Fortran order, strided, "
        "masked, nothing masked, list, tuple, sparse, sparse matrix",
    ),
    "nan": Bad(put((3, 0), np.nan)),
    "inf": Bad(put((3, 0), np.inf)),
    "1e300": Bad(put((3, 0), 1e300)),
    "all nan": refused(column_of(np.nan, 0), "no finite value: draw along another"),
    "constant": Bad(column_of(1.0, 0)),
    "boolean": Bad(lambda X: X > 0),
    "complex": refused(lambda X: X + 0j, "complex numbers: give"),
    "dates": refused(lambda X: X.astype("datetime64[D]"), "dates or times: turn them"),
    "empty": refused(first(0), "empty|0 rows", rows=0),
    "no columns": refused(lambda X: X[:, :0], "no feature 0 among the 0 columns.*give"),
    "one dimension": refused(lambda X: X[:, 0], NOT_DRAWN),
    "no dimension": refused(lambda X: 3.0, "array"),
    "ragged list": refused(lambda X: [*X.tolist()[:-1], [1.0]], NOT_DRAWN),
    "None": refused(lambda X: None, "array"),
    "a string": refused(lambda X: "X", "shape"),
    "pandas": same(as_array, base=pandas),
    "polars": same(as_array, base=polars),
    "pandas, duplicate names": ROWS["pandas, duplicate names"],
    "pandas, nullable": ROWS["pandas, nullable"],
    "pandas, objects": Bad(lambda X: X.astype(object), like=as_array, base=pandas),
}

PASSED_ON = {  # to a model that looks at no row
    **{
        name: replace(bad, words="", like=None, law=None, when="")
        for name, bad in some(
            ROWS,
            "nan, inf, minus inf, denormal, empty, no columns, one row, too few columns, text, "
            "object text, float32, complex, sparse, one dimension, list",
        ).items()
    },
    "one 1e308": Bad(put((3, 1), 1e308)),
    "ragged list": Bad(lambda X: [*X.tolist()[:-1], [1.0]]),
    **some(ROWS, "dates, masked, no dimension, None, a string, a dict"),
}
FEW_ROWS = some(  # for those who ask in the same way as others do
    ROWS, "nan, inf, one 1e308, empty, text, complex, masked, None, list, float32, pandas"
)
