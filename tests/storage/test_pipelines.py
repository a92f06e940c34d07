"""Models as people put them together from scikit-learn come back from their files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, chi2, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, TweedieRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler

import plcp

rng = np.random.default_rng(0)
N = 300
table = pd.DataFrame({"age": rng.integers(18, 80, N), "school": rng.choice(["none", "some"], N)})
table["hours"] = np.where(rng.random(N) < 0.1, np.nan, rng.normal(40, 5, N))
y = table["age"] / 10 + rng.exponential(size=N)
labels = np.where(y > y.median(), "more", "less")
numbers = ["age", "hours"]
NET = {"hidden_layer_sizes": (4,), "max_iter": 30, "early_stopping": True, "random_state": 0}


def after_columns(*steps):
    """Return a pipeline that fills gaps and encodes text first."""
    filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    kinds = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
    columns = make_column_transformer((filled, numbers), (kinds, ["school"]))
    return make_pipeline(columns, *steps)


lines = [("flat", Ridge(100.0)), ("steep", Ridge())]
vote = VotingClassifier([("line", LogisticRegression()), ("bayes", GaussianNB())], voting="soft")
selected = make_column_transformer(
    (SimpleImputer(), make_column_selector(dtype_include=np.number)),
    (OneHotEncoder(), make_column_selector(dtype_exclude=np.number, pattern="sch")),
)
MODELS = {
    "line": after_columns(Ridge()),
    "selected columns": make_pipeline(selected, Ridge()),
    "network": after_columns(MLPRegressor(**NET)),
    "bins": after_columns(KBinsDiscretizer(3, strategy="uniform"), Ridge()),
    "chosen columns": after_columns(SelectKBest(f_regression, k=2), Ridge()),
    "link": after_columns(TweedieRegressor(power=1.5)),
    "vote": after_columns(VotingRegressor(lines)),
    "stack": after_columns(
        StackingRegressor(lines, HistGradientBoostingRegressor(max_iter=5), cv=2)
    ),
    "sigmoid": after_columns(CalibratedClassifierCV(GaussianNB(), cv=2)),
    "isotonic": after_columns(CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2)),
    "network of labels": after_columns(MLPClassifier(solver="sgd", **NET)),
    "vote on labels": after_columns(MinMaxScaler(), SelectKBest(chi2, k=2), vote),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # 30 steps are few
@pytest.mark.parametrize("name", MODELS)
def test_a_pipeline_predicts_as_before_to_the_bit(name, tmp_path):
    rule = plcp.PLCP(plcp.OrderedPartition(plcp.LinearQuantile()), 2, random_state=0)
    by_labels = is_classifier(MODELS[name])
    kind = plcp.ConformalClassifier if by_labels else plcp.ConformalRegressor
    model = kind(MODELS[name], threshold=rule, features=["age"], random_state=0)
    model.fit(table, labels if by_labels else y)
    plcp.save(model, tmp_path / "model.plcp")
    again = plcp.load(tmp_path / "model.plcp")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    sets = [each.predict_set(table).to_numpy() for each in (again, model)]
    np.testing.assert_array_equal(*sets)
