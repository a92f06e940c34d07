"""Which column is what, and what contradicts itself."""

import pytest

from plcp.tables import choose_roles

NAMES = ["age", "state", "y", "yhat", "lo", "hi", "p_no", "p_yes", "s", "w"]


@pytest.mark.parametrize(
    ("options", "task", "predictions"),
    [
        ({"target": "y", "prediction": "yhat"}, "regression", ("yhat",)),
        ({"target": "y", "lower": "lo", "upper": "hi"}, "quantiles", ("lo", "hi")),
        ({"target": "y", "probabilities": "p_*"}, "classes", ("p_no", "p_yes")),
        ({"score": "s"}, "scores", ()),
    ],
)
def test_task_follows_from_what_is_named(options, task, predictions):
    roles = choose_roles(NAMES, **options)
    assert roles.task == task
    assert roles.predictions == predictions


def test_by_default_all_columns_are_features_that_new_rows_have_too():
    roles = choose_roles(NAMES, target="y", prediction="yhat", weight="w")
    assert roles.features == tuple(name for name in NAMES if name not in ("y", "w"))
    assert not roles.named


def test_features_and_exclude_take_wildcards():
    given = {"target": "y", "prediction": "yhat", "score": None}
    assert choose_roles(NAMES, **given, features="p_*, age").features == ("p_no", "p_yes", "age")
    assert choose_roles(NAMES, **given, exclude="p_*,s,lo,hi").features == (
        "age",
        "state",
        "yhat",
        "w",
    )
    both = choose_roles(NAMES, **given, features="p_*,age", exclude="p_no")
    assert both.features == ("p_yes", "age")
    assert both.named


def test_a_wildcard_passes_the_target_by():
    roles = choose_roles(NAMES, target="y", prediction="yhat", features="*")
    assert "y" not in roles.features
    assert "yhat" in roles.features


@pytest.mark.parametrize(
    ("pattern", "classes"),
    [
        ("p_*", ("no", "yes")),
        ("*_no,*_yes", ("p", "p")),
        ("p_no,p_yes", ("p_no", "p_yes")),
        ("p_[ny]*", ("p_no", "p_yes")),  # which part is meant is anybody's guess
    ],
)
def test_a_class_is_the_part_that_a_star_stands_for(pattern, classes):
    assert choose_roles(NAMES, target="y", probabilities=pattern).classes == classes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "y"}, "no column of predictions is given"),
        ({"prediction": "yhat"}, "needs a target"),
        ({"target": "y", "lower": "lo"}, "lower is given without upper"),
        ({"target": "y", "upper": "hi"}, "upper is given without lower"),
        ({"target": "y", "prediction": "yhat", "score": "s"}, "prediction and score contradict"),
        (
            {"target": "y", "lower": "lo", "upper": "hi", "probabilities": "p_*"},
            "lower and upper and probabilities contradict",
        ),
        ({"target": "y", "prediction": "y"}, "'y' is both target and prediction"),
        ({"target": "p_no", "probabilities": "p_*"}, "'p_no' is both target and probabilities"),
        ({"target": "y", "probabilities": "p_y*"}, "'p_yes' alone"),
        ({"target": "y", "prediction": "yhat", "features": "age,y"}, "'y' cannot be a feature"),
        ({"target": "y", "prediction": "y_hat"}, "did you mean 'yhat'"),
        ({"target": "y", "prediction": "yhat", "exclude": "stat"}, "did you mean 'state'"),
    ],
)
def test_contradictions_are_refused_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        choose_roles(NAMES, **options)
