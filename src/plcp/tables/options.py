"""What a user may choose: columns of a table, how CSV files are written, how to calibrate.

Each option is a field of a dataclass: the functions of `plcp.tables` take it as a keyword, and the
command line as an option, with the help that its field has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

METHODS = ("plcp", "plcp-split", "split", "rectified", "mondrian", "batch-gcp")
SEPARATORS = ",;|:^~\t "


def _option(help_text: str, metavar: str | None = None, default: Any = None) -> Any:
    return field(default=default, metadata={"help": help_text, "metavar": metavar})


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is written.

    Examples
    --------
    >>> CsvOptions(decimal=",")
    Traceback (most recent call last):
    ValueError: decimal ',' separates values too: name what separates them, as in --sep ';'
    """

    sep: str | None = _option(
        "Between the values of CSV files: , (the default) ; | tab (that of .tsv) or another.",
        "SIGN",
    )
    decimal: str = _option("Before the decimals of a number in CSV files: . or ,", "SIGN", ".")
    day_first: bool = _option("Dates of CSV files are written as 31/12/2026.", default=False)

    def __post_init__(self) -> None:
        if self.sep in ("tab", "\\t"):  # easier to type in a shell
            object.__setattr__(self, "sep", "\t")
        if self.sep is not None and self.sep not in SEPARATORS:
            raise ValueError(
                f"sep must be one of {' '.join(SEPARATORS.strip())}, a tab or a space, "
                f"got {self.sep!r}"
            )
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be . or , got {self.decimal!r}")
        if self.decimal == (self.sep or ","):
            raise ValueError(
                f"decimal {self.decimal!r} separates values too: name what separates them, as in "
                "--sep ';'"
            )


@dataclass(frozen=True)
class ColumnOptions:
    """Columns of a table by the role each plays; those that may be several take wildcards."""

    target: str | None = _option("Column of outcomes.")
    prediction: str | None = _option("Column of predicted numbers.")
    lower: str | None = _option("Column of a lower quantile (CQR).")
    upper: str | None = _option("Column of an upper quantile (CQR).")
    probabilities: str | None = _option("Columns of class probabilities: 'p_*'.", "COLUMNS")
    score: str | None = _option("Column of precomputed scores.")
    weight: str | None = _option("Column of weights of the rows.")
    features: str | None = _option("Columns to learn groups from: a,b,c_*.", "COLUMNS")
    exclude: str | None = _option("All columns but these are features.", "COLUMNS")
    categories: str | None = _option("Features whose numbers are codes, not amounts.", "COLUMNS")


@dataclass(frozen=True)
class CalibrationOptions:
    """How to calibrate.

    Parameters
    ----------
    method : str, default="plcp"
        One of ``METHODS``.
    alpha : float or sequence of float, default=0.1
        Miscoverage rate. Of several, the first has the groups and their description, and each has
        sets.
    by : sequence of str or None
        Columns whose values are groups, for "mondrian" and "batch-gcp".
    groups : int or None
        How many groups "plcp" and "plcp-split" learn; None: by the number of rows.
    seed : int, default=0
        Seed of all that is drawn.
    explain : bool, default=True
        Whether learned groups are described.
    sensitive : sequence of str
        Columns that learned groups are compared with, features or not.
    about : mapping or None
        What else the model shall remember of its making: a digest of the file, the time.
    """

    method: str = "plcp"
    alpha: float | Sequence[float] = 0.1
    by: Sequence[str] | None = None
    groups: int | None = None
    seed: int = 0
    explain: bool = True
    sensitive: Sequence[str] = ()
    about: Mapping[str, Any] | None = None
