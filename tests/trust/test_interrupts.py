"""A fit or a save that is stopped leaves what was there before, whole, or what it makes."""

import copy
import gc
import warnings
import zipfile
from functools import partial

import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from stopping import (
    Lines,
    killed_while_saving,
    left_after,
    moments,
    own_files,
    room_for,
    seconds_of,
    state,
    stopped_after,
)

import plcp
from estimators import CASES, answer, make_rows
from plcp import PLCP, ConformalRegressor, LinearQuantile, OrderedPartition
from plcp.regressors import CrossFitted
from plcp.storage.files import model_bytes

pytestmark = pytest.mark.slow

X = make_rows(1, 50)[0]
N_RANDOM, N_LAST, N_SIGNALS = 2, 2, 8
KILLS, STOPS = 4, 20


@pytest.fixture(autouse=True)
def _descents_may_end_early():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def target(case, rows):
    return rows[2] if case.classes else rows[1]


def test_a_fit_stopped_at_any_line_leaves_the_one_before(case, rows, rng):
    other = make_rows(5)
    after = answer(case.fit(other), X)
    lines = Lines(own_files(case.estimator))
    with lines.watched():
        case.fit(other)
    fitted = case.fit(rows)
    found = [
        left_after(
            lambda each: each.fit(other[0], target(case, other)),
            copy.copy(fitted),
            Lines(lines.files, stop_at),
            X,
            after,
        )
        for stop_at in moments(lines.seen, N_RANDOM, N_LAST, rng)
    ]
    assert "old" in found


def test_a_first_fit_that_is_stopped_leaves_nothing_fitted(case, rows, rng):
    lines = Lines(own_files(case.estimator))
    with lines.watched():
        case.fit(rows)
    estimator = clone(case.estimator)
    before, stop = state(estimator), Lines(lines.files, int(rng.integers(2, lines.seen // 2)))
    with pytest.raises(KeyboardInterrupt), stop.watched():
        estimator.fit(rows[0], target(case, rows))
    assert state(estimator) == before
    with pytest.raises(NotFittedError):
        answer(estimator, X)


# what a signal stops while it is being made complains as it goes
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["plcp", "plcp, lightgbm", "local", "intervals", "plcp, network"])
def test_ctrl_c_at_random_moments(name, rows, rng):
    """A signal, as the terminal sends it: it also comes while threads and foreign code run."""
    case, other = CASES[name], make_rows(5)
    jobs = {"n_jobs": 2} if "n_jobs" in case.estimator.get_params(deep=False) else {}
    seconds = seconds_of(lambda: case.fit(other, **jobs))
    after = answer(case.fit(other, **jobs), X)
    fitted = case.fit(rows, **jobs)
    answered = answer(fitted, X)
    for moment in rng.uniform(0, seconds, N_SIGNALS):
        estimator = copy.copy(fitted)
        stopped = stopped_after(moment, lambda e=estimator: e.fit(other[0], target(case, other)))
        whole = answered if state(estimator) == state(fitted) else after
        if stopped or name != "plcp, network":  # a descent that is stopped ends early
            assert_array_equal(answer(estimator, X), whole, strict=True)


class Faulty(RegressorMixin, BaseEstimator):
    """A regressor that fails where its rows hold a certain number."""

    def fit(self, X, y, sample_weight=None):
        if (X == 666).any():
            raise RuntimeError("the disk of this worker is full")
        self.line_ = LinearQuantile().fit(X, y)
        return self

    def predict(self, X):
        return self.line_.predict(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda n_jobs: PLCP(OrderedPartition(Faulty()), 2, n_jobs=n_jobs, random_state=0),
        lambda n_jobs: CrossFitted(Faulty(), n_jobs=n_jobs, random_state=0),
        lambda n_jobs: ConformalRegressor(
            LinearQuantile(),
            threshold=PLCP(OrderedPartition(Faulty()), 2, n_jobs=n_jobs),
            random_state=0,
        ),
    ],
    ids=["plcp", "cross-fitted", "intervals"],
)
def test_a_worker_that_fails_is_heard_and_leaves_the_fit_before(make, n_jobs, rows):
    estimator = make(n_jobs).fit(rows[0], rows[1])
    before, answered = state(estimator), answer(estimator, X)
    bad = make_rows(5)
    bad[0][::2, 1] = 666  # of the rows that teach, too
    with pytest.raises(RuntimeError, match="disk of this worker"):
        estimator.fit(bad[0], bad[1])
    assert state(estimator) == before
    assert_array_equal(answer(estimator, X), answered, strict=True)


@pytest.fixture(scope="module")
def models():
    """Return two models that keep their rows, so that their files are large."""
    X, scores, _ = make_rows(n=3000)
    return [plcp.LocalCP(alpha=alpha, calibrated=False).fit(X, scores) for alpha in (0.1, 0.2)]


@pytest.fixture
def path(models, tmp_path):
    """Return a folder's only file, the first model's."""
    path = tmp_path / "m.plcp"
    plcp.save(models[0], path)
    return path


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_full_disk_leaves_the_old_file(models, path, share):
    """The system refuses to let a file grow further, as it does on a full disk."""
    before, needed = path.read_bytes(), len(model_bytes(models[1]))
    words = f"no room for {path}: free some space on its disk"
    with room_for(int(share * needed)), pytest.raises(OSError, match=words):
        plcp.save(models[1], path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# what a signal stops while it is being made complains as it goes
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_leaves_one_file_or_the_other_and_nothing_beside_it(models, path, rng):
    whole = [model_bytes(model) for model in models]
    seconds = seconds_of(partial(plcp.save, models[0], path))
    for turn, moment in enumerate(rng.uniform(0, seconds, STOPS)):
        stopped_after(moment, partial(plcp.save, models[turn % 2], path))
        assert path.read_bytes() in whole
        assert list(path.parent.iterdir()) == [path]
    gc.collect()  # half-made archives go here, and not in another test


def test_ctrl_c_while_an_archive_is_written_is_not_hidden_by_another_error(models, monkeypatch):
    """An archive that is closed while a part is open raises an error of its own."""

    def stopped(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile._ZipWriteFile, "close", stopped)
    with pytest.raises(KeyboardInterrupt):
        model_bytes(models[0])


def test_a_kill_leaves_one_file_or_the_other(models, path, tmp_path_factory, rng):
    folder = tmp_path_factory.mktemp("sources")
    whole = [model_bytes(model) for model in models]
    sources = [folder / f"{i}.plcp" for i in range(2)]
    for source, content in zip(sources, whole, strict=True):
        source.write_bytes(content)
    for moment in rng.uniform(0, 0.3, KILLS):
        killed_while_saving(path, sources, moment)
        assert path.read_bytes() in whole
    X = make_rows(1, 20)[0]
    assert_array_equal(
        plcp.load(path).predict(X), models[whole.index(path.read_bytes())].predict(X)
    )
