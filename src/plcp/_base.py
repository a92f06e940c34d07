"""What all estimators share: a fit that takes hold in one step, and answers from a single fit."""

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any

from sklearn.base import BaseEstimator

FITS = ("fit", "fit_blocks", "fit_transform")
KEEP_SELF = ("monitor",)  # what they return notices a refit of the estimator itself


class Estimator(BaseEstimator):
    """A scikit-learn estimator whose fits are all or nothing.

    Whatever stops a fit, Ctrl-C, a failed worker or bad input, leaves the estimator as it was: with
    its earlier fit, or without any. Every public method answers from one fit, even if another
    thread refits the estimator meanwhile.

    Examples
    --------
    >>> class Mean(Estimator):
    ...     def fit(self, X, y=None):
    ...         self.n_ = len(X)
    ...         self.mean_ = sum(X) / self.n_
    ...         return self
    >>> mean = Mean().fit([1, 3])
    >>> mean.fit([])
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    >>> mean.n_, mean.mean_
    (2, 2.0)
    """

    def __init_subclass__(cls, **options: Any) -> None:
        for name, method in [*vars(cls).items()]:
            if name in FITS:
                setattr(cls, name, in_one_step(method))
            elif name == "__call__" or (
                isfunction(method) and not name.startswith("_") and name not in KEEP_SELF
            ):
                setattr(cls, name, from_one_fit(method))
        super().__init_subclass__(**options)


def in_one_step(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``fit`` so that it runs on a copy.

    The estimator takes over the state of the copy only if the fit succeeds.
    """

    @wraps(fit)
    def fit_in_one_step(self: Any, *args: Any, **options: Any) -> Any:
        trial = object.__new__(type(self))
        vars(trial).update(vars(self))
        result = fit(trial, *args, **options)
        self.__dict__ = vars(trial)  # the one step: no signal can come in between
        return self if result is trial else result

    return fit_in_one_step


def from_one_fit(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that a fit which ends while it runs does not change what it reads.

    A fit gives the estimator a new ``__dict__``. The method runs on a second object that shares the
    current one, so that what it writes is written to the estimator, too.
    """

    @wraps(method)
    def answer_from_one_fit(self: Any, *args: Any, **options: Any) -> Any:
        present, state = object.__new__(type(self)), vars(self)
        present.__dict__ = state
        result = method(present, *args, **options)
        if vars(present) is not state:  # the method itself has fitted
            self.__dict__ = vars(present)
        return self if result is present else result

    return answer_from_one_fit
