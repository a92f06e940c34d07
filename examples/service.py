"""
Web service of intervals, with FastAPI
======================================

A FastAPI application that loads one file of ``plcp.save`` and answers rows with intervals::

    pip install fastapi uvicorn  # beside plcp with the extra frames
    python service.py model.plcp --port 8000

    curl 127.0.0.1:8000/about
    curl 127.0.0.1:8000/interval --json '[{"age": 40, "education": "college"}]'

How to make the file is in :ref:`sphx_glr_tutorials_plot_save_and_serve.py`. A column that a row
does not name is a missing value, which the model must accept: one that does not, such as ``Ridge``,
makes the service answer 422. A column that the model does not have is refused.
"""

import argparse
import math
from typing import Annotated

import pandas as pd
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

import plcp

Row = dict[str, float | str | None]
Rows = Annotated[list[Row], Field(min_length=1, max_length=10_000)]


class Interval(BaseModel):
    """The interval of one row; an end without a limit is null."""

    prediction: float
    lower: float | None
    upper: float | None


class About(BaseModel):
    """What is served, and which guarantee holds."""

    columns: list[str]
    guarantee: str


def make_app(path):
    """Return the application that serves the model in a file."""
    model = plcp.load(path)  # reads numbers, runs no code
    columns = [str(name) for name in model.feature_names_in_]
    app = FastAPI(title="Prediction intervals", version=plcp.__version__)

    @app.get("/about")
    def about() -> About:
        return About(columns=columns, guarantee=str(model.guarantee_))

    @app.post("/interval")
    def interval(rows: Rows) -> list[Interval]:
        unknown = sorted({name for row in rows for name in row} - set(columns))
        if unknown:
            raise HTTPException(422, f"unknown columns {unknown}: the model has {columns}")
        table = pd.DataFrame(rows, columns=columns)
        try:
            predictions = model.predict(table).tolist()
            ends = model.predict_interval(table).tolist()
        except (TypeError, ValueError) as error:  # a text in a column of numbers, for instance
            raise HTTPException(422, str(error)) from error
        return [
            Interval(prediction=each, lower=finite(low), upper=finite(high))
            for each, (low, high) in zip(predictions, ends, strict=True)
        ]

    return app


def finite(value):
    """Return a number, or None for an infinite one, which JSON does not have."""
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve intervals of a fitted model.")
    parser.add_argument("model", help="a file written by plcp.save")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    options = parser.parse_args()
    uvicorn.run(make_app(options.model), host=options.host, port=options.port)
