"""Stop a fit at a chosen line, as Ctrl-C would, and tell what is left of the estimator."""

import inspect
import sys
from contextlib import contextmanager

import numpy as np

import plcp._base
from estimators import answer


class Lines:
    """Counts the lines run in some files; at one of them, raises KeyboardInterrupt."""

    def __init__(self, files, stop_at=None):
        self.files, self.stop_at, self.seen = files, stop_at, 0

    @contextmanager
    def watched(self):
        usual = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield self
        finally:
            sys.settrace(usual)

    def _enter(self, frame, event, arg):
        return self._line if frame.f_code.co_filename in self.files else None

    def _line(self, frame, event, arg):
        if event == "line":
            self.seen += 1
            if self.seen == self.stop_at:
                raise KeyboardInterrupt
        return self._line


def own_files(estimator):
    """Files of an estimator's own methods, where its attributes are set."""
    classes = [cls for cls in type(estimator).__mro__ if not cls.__module__.startswith("sklearn")]
    return {inspect.getfile(cls) for cls in classes if cls is not object} | {plcp._base.__file__}


def moments(count, n_random, n_last, rng):
    """Numbers of lines to stop at: some anywhere, and the last ones, where all is settled."""
    last = np.arange(max(1, count - n_last + 1), count + 1)
    anywhere = rng.integers(1, count + 1, n_random)
    return sorted({int(line) for line in (*last, *anywhere)})


def state(estimator):
    """Attributes as they are, each by its identity."""
    return {name: id(value) for name, value in vars(estimator).items()}


def left_after(fit, estimator, lines, X, after):
    """Return "old", "new" or "whole" for what a fit that may be stopped leaves; else complain.

    ``after`` is the answer of the finished fit. "whole": the fit ended by itself, as a descent does
    that Ctrl-C ends early.
    """
    before, answered = state(estimator), answer(estimator, X) if vars_fitted(estimator) else None
    try:
        with lines.watched():
            fit(estimator)
    except KeyboardInterrupt:
        pass
    else:
        answer(estimator, X)
        return "whole"
    if state(estimator) == before:
        if answered is not None:
            np.testing.assert_array_equal(answer(estimator, X), answered)
        return "old"
    np.testing.assert_array_equal(answer(estimator, X), after)
    return "new"


def vars_fitted(estimator):
    """Whether anything was learned."""
    return any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))
