"""Every public model comes back from its file as it was."""

from functools import cache

import numpy as np
import pytest
from saved_examples import FITTED, answers, over_zero, public_classes
from sklearn.base import BaseEstimator, clone

import plcp

pytestmark = pytest.mark.filterwarnings("ignore::plcp.storage.TrustWarning")

example = cache(lambda name, i: FITTED[name][i]())  # each is fitted once
CASES = [(name, i) for name, makes in FITTED.items() for i in range(len(makes))]


def again(model, tmp_path, **options):
    plcp.save(model, tmp_path / "m.plcp")
    return plcp.load(tmp_path / "m.plcp", **options)


def same(one, other):
    """Whether two values are the same, down to all that they are made of."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind == "f"
        )
    if isinstance(one, np.random.RandomState):
        return same(list(one.get_state()), list(other.get_state()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, BaseEstimator):
        return same(vars(one), vars(other))
    return one == other


def test_every_public_class_is_tried():
    assert FITTED.keys() == public_classes().keys()


@pytest.mark.parametrize(("name", "i"), CASES)
def test_a_fitted_model_answers_as_before_to_the_bit(name, i, tmp_path):
    model, X = example(name, i)
    other = again(model, tmp_path, trusted=[over_zero])
    assert type(other) is type(model)
    before, after = answers(model, X), answers(other, X)
    assert before.keys() == after.keys()
    for asked, wanted in before.items():
        assert after[asked].dtype == wanted.dtype, asked
        np.testing.assert_array_equal(after[asked], wanted, asked)
    assert getattr(other, "guarantee_", None) == getattr(model, "guarantee_", None)
    if hasattr(model, "get_params"):
        assert same(other.get_params(), model.get_params())


@pytest.mark.parametrize(("name", "i"), CASES)
def test_a_model_comes_back_unfitted_if_it_was(name, i, tmp_path):
    model, _ = example(name, i)
    bare = clone(model) if isinstance(model, BaseEstimator) else model
    assert same(again(bare, tmp_path, trusted=[over_zero]), bare)
