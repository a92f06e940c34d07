"""Stop what runs: at a line, by a signal, by a kill, or for want of room on a disk."""

import inspect
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np

import plcp._base
from estimators import answer

# saves two models in turn, until it is ended
SAVING = """
import sys
import plcp
path, *sources = sys.argv[1:]
models = [plcp.load(source) for source in sources]
print("ready", flush=True)
while True:
    for model in models:
        plcp.save(model, path)
"""


def stopped_after(seconds, action):
    """Whether Ctrl-C, pressed after a while, stopped an action; else it was over before."""
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        action()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    except ValueError as error:  # what numpy makes of a signal that comes while it reads a buffer
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__
        if cause is None:
            raise
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    return False


def seconds_of(action):
    """How long an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def killed_while_saving(path, sources, seconds):
    """Save models of two files to a third in a process of its own, and kill it after a while."""
    command = [sys.executable, "-c", SAVING, path, *sources]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as saving:
        assert saving.stdout.readline() == "ready\n"
        time.sleep(seconds)
        saving.kill()


@contextmanager
def room_for(n_bytes):
    """The system lets no file grow further, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, ignored)


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
    """Return "old", "new" or "whole" for what a fit that may be stopped leaves; else fail.

    ``after`` is the prediction of the finished fit. "whole": the fit ended by itself, as a descent
    does that Ctrl-C ends early.
    """
    before, answered = state(estimator), answer(estimator, X)
    try:
        with lines.watched():
            fit(estimator)
    except KeyboardInterrupt:
        pass
    else:
        answer(estimator, X)
        return "whole"
    if state(estimator) == before:
        np.testing.assert_array_equal(answer(estimator, X), answered)
        return "old"
    np.testing.assert_array_equal(answer(estimator, X), after)
    return "new"
