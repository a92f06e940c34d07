"""What all estimators share: a fit that takes hold in one step, or not at all."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from sklearn.base import BaseEstimator

FITS = ("fit", "fit_blocks", "fit_transform")


class Estimator(BaseEstimator):
    """A scikit-learn estimator whose fits are all or nothing.

    Whatever stops a fit, Ctrl-C, a failed worker or bad input, leaves the estimator as it was: with
    its earlier fit, or without any.

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
        for name in FITS:
            if name in vars(cls):
                setattr(cls, name, in_one_step(vars(cls)[name]))
        super().__init_subclass__(**options)


def in_one_step(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method ``fit``, but that it works on a copy, which the estimator then becomes."""

    @wraps(fit)
    def fit_in_one_step(self: Any, *args: Any, **options: Any) -> Any:
        trial = object.__new__(type(self))
        vars(trial).update(vars(self))
        result = fit(trial, *args, **options)
        self.__dict__ = vars(trial)  # the one step: no signal can come in between
        return self if result is trial else result

    return fit_in_one_step
