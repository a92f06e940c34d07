"""Errors of a model on its rows: they name the model and the columns that differ."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from plcp import ConformalClassifier, ConformalRegressor, SplitConformal
from plcp.metrics import ert

rng = np.random.default_rng(0)
table = pd.DataFrame({"age": rng.normal(size=60), "hours": rng.normal(size=60)})
table["school"] = np.tile(["none", "some"], 30)
categories = table.astype({"school": "category"})
y = rng.normal(size=60)


def conformal(model, X=table, **options):
    frozen = FrozenEstimator(model.fit(X, y))
    return ConformalRegressor(frozen, threshold=SplitConformal(), **options).fit(X, y)


def test_a_frozen_model_is_named_and_not_what_froze_it():
    model = conformal(LinearRegression(), table[["age", "hours"]].to_numpy())
    with pytest.raises(
        ValueError, match=r"^LinearRegression raised ValueError on these rows: .*has 1 feat"
    ):
        model.predict(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="It was fitted to 2 columns, and these rows have 1"):
        model.predict(np.zeros((3, 1)))


def test_an_error_about_other_things_than_columns_names_the_model():
    encoder = make_column_transformer((OneHotEncoder(), ["school"]))
    model = conformal(make_pipeline(encoder, LinearRegression()))
    said = (
        r"(?s)^Pipeline raised .*unknown categories \['more'\].*until the model by itself accepts"
    )
    with pytest.raises(ValueError, match=said):
        model.predict_set(table.assign(school="more"))


GAPS = table[["age"]].where(table["age"] > -1)


@pytest.mark.parametrize(
    ("model", "X", "y", "remedy"),
    [
        (LinearRegression(), table, y, "encoder before it in a pipeline, such as OneHotEncoder"),
        (LinearRegression(), GAPS, y, "put an imputer before it in a pipeline"),
        (LinearRegression(), GAPS.fillna(np.inf), y, "X holds infinite values: drop or fix"),
        (LinearRegression(), table[[]], y, "X has no columns: give at least one"),
        (
            LogisticRegression(),
            GAPS.fillna(0.0),
            [7] * 60,
            "rows that train it have the label 7: give",
        ),
        (
            KNeighborsRegressor(50, metric="mistaken"),
            GAPS.fillna(0.0),
            y,
            "until the model by itself acc",
        ),
    ],
)
def test_an_error_of_training_has_a_remedy_for_training(model, X, y, remedy):
    Conformal = ConformalClassifier if hasattr(model, "predict_proba") else ConformalRegressor
    with pytest.raises(ValueError, match=rf"(?s){type(model).__name__} raised .*{remedy}"):
        Conformal(model, threshold=SplitConformal()).fit(X, y)


def test_an_array_of_text_has_a_remedy_in_an_audit():
    with pytest.raises(ValueError, match="X holds text: give a DataFrame"):
        ert(np.tile([["a"], ["b"]], (100, 1)), np.tile([True, False, False, True], 50))


def test_missing_columns_are_named_before_the_model_predicts(capfd):
    model = conformal(lgb.LGBMRegressor(n_estimators=2, verbose=-1), table[["age", "hours"]])
    for method in (model.predict, model.predict_set, model.predict_interval, model.members):
        with pytest.raises(ValueError, match=r"(?s)names should match.*missing:\n- hours"):
            method(table[["age"]])
    assert capfd.readouterr() == ("", ""), "LightGBM predicted, and wrote to the terminal"


def test_missing_columns_are_named_where_the_rule_reads_others():
    numbers = table[["age", "hours"]]
    model = conformal(lgb.LGBMRegressor(n_estimators=2, verbose=-1), numbers, features=["age"])
    said = (
        r"(?s)^LGBMRegressor raised LightGBMError.*columns that are missing here: add \['hours'\]"
    )
    with pytest.raises(ValueError, match=said):
        model.predict_set(table[["age"]])
    with pytest.raises(ValueError, match=r"not fitted to all of these columns: drop \['school'\]"):
        model.predict_set(table)


def test_a_key_that_is_not_there_is_more_than_its_bare_name():
    of_hours = FunctionTransformer(lambda X: X[["hours"]])
    model = conformal(make_pipeline(of_hours, LinearRegression()), features=["age"])
    with pytest.raises(ValueError, match=r"^Pipeline raised KeyError on these rows: .*hours"):
        model.predict_set(table[["age"]])


def test_an_array_where_a_frame_was_fitted():
    model = conformal(lgb.LGBMRegressor(n_estimators=2, verbose=-1), categories)
    unnamed = pytest.warns(UserWarning, match="does not have valid feature names")
    with (
        unnamed,
        pytest.raises(ValueError, match=r"to a DataFrame: give one, .*'age', 'hours', 's"),
    ):
        model.predict_set(table.to_numpy())


class Faulty(RegressorMixin, BaseEstimator):
    """A regressor with a fault of its own, which is no matter of rows."""

    def __init__(self, fault):
        self.fault = fault

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        raise self.fault


@pytest.mark.parametrize("fault", [AttributeError("x"), MemoryError(), ConvergenceWarning("y")])
def test_faults_that_are_not_of_rows_stay_as_they_are(fault):
    model = FrozenEstimator(Faulty(fault).fit(table, y))
    with pytest.raises(type(fault)) as caught:
        ConformalRegressor(model).fit(table, y)
    assert caught.value is fault
