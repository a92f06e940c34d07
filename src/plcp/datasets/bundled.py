"""Small real tables that come with the package, for examples without a download."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas


def load_wages() -> pandas.DataFrame:
    """Wages of 3,000 men in the Mid-Atlantic region of the United States, 2003 to 2009.

    Columns: year, age, marital_status, race, education, job, health, insured (health insurance) and
    wage, in thousands of dollars a year. Needs pandas (the extra ``frames``).

    Notes
    -----
    From the Annual Social and Economic Supplements of the Current Population Survey (US Census
    Bureau, public), put together by Steve Miller. The table of ``ISLP`` (BSD licence) with plain
    names for codes, without the logarithm of the wage and columns that have one value.

    References
    ----------
    James, Witten, Hastie, Tibshirani, Taylor (2023). An Introduction to Statistical Learning.

    Examples
    --------
    >>> from plcp.datasets import load_wages
    >>> wages = load_wages()
    >>> X, y = wages.drop(columns="wage"), wages["wage"]
    >>> X.shape
    (3000, 8)
    """
    return _read("wages")


def load_bikes() -> pandas.DataFrame:
    """Bicycles rented in Washington in each of 8,645 hours of 2011, in the order of time.

    Columns: day (of the year), season, month, weekday, hour, holiday, working_day, weather,
    temperature, humidity and wind_speed (all three scaled to at most 1) and rentals, the number of
    bicycles. Needs pandas (the extra ``frames``).

    Notes
    -----
    From Capital Bikeshare, with weather, by Hadi Fanaee-T (UCI Machine Learning Repository,
    CC BY 4.0). The table of ``ISLP`` (BSD licence) with plain names for codes.

    References
    ----------
    Fanaee-T, Gama (2013). Event labeling combining ensemble detectors and background knowledge.
    Progress in Artificial Intelligence.

    Examples
    --------
    >>> from plcp.datasets import load_bikes
    >>> bikes = load_bikes()
    >>> bikes.groupby("weather")["rentals"].median().idxmax()
    'clear'
    """
    return _read("bikes")


def _read(name: str) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"load_{name} needs pandas: pip install 'plcp[frames]'") from error
    with (files("plcp.datasets") / "tables" / f"{name}.csv.gz").open("rb") as table:
        return pandas.read_csv(table, compression="gzip")
