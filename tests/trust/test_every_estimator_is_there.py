"""The cases of trust hold every public estimator."""

from sklearn.base import BaseEstimator

import plcp
import plcp.partitions.torch
import plcp.regressors
import plcp.scores
from estimators import CASES, NEVER_ASKED
from plcp._base import Estimator


def public_estimators():
    modules = (plcp, plcp.regressors, plcp.partitions.torch)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    return [
        cls
        for cls in public
        if isinstance(cls, type)
        and issubclass(cls, BaseEstimator)
        and not issubclass(cls, plcp.scores.Score)
    ]


def test_each_is_asked_in_threads_and_processes_and_interrupted():
    found = {type(case.estimator).__name__ for case in CASES.values()}
    assert found == {cls.__name__ for cls in public_estimators()} - NEVER_ASKED


def test_each_fits_in_one_step():
    assert all(issubclass(cls, Estimator) for cls in public_estimators())
