"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(metavar="MODEL.plcp", help="What `calibrate` wrote.")]
Alpha = Annotated[
    float, typer.Option(help="Miscoverage rate: 0.1 asks for sets that cover 90 % of rows.")
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS", help="Columns to look at: sex,race,age:5 (age in five groups of a size)."
    ),
]
Categories = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="Features whose numbers are codes, not amounts."),
]
Confidence = Annotated[float, typer.Option(help="Probability with which intervals hold.")]
Exclude = Annotated[
    str | None, typer.Option(metavar="COLUMNS", help="All columns but these are features.")
]
Features = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="Columns to tell kinds of rows by: a,b,c_*."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Rows = Annotated[
    int,
    typer.Option(min=1, help="Hold at most so many rows in memory: of more, a random sample."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")]
