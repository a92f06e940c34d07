"""Whatever stops a save leaves the file before, whole: a full disk, Ctrl-C, and a kill."""

import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from every_estimator import make_rows

import plcp
from plcp.storage.saving import model_bytes

# saves two models in turn, until somebody ends it
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
KILLS, STOPS = 4, 20


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
    before, usual = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    most = int(share * len(model_bytes(models[1])))
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, usual[1]))
    try:
        with pytest.raises(OSError, match=f"no room for {path}: free some space on its disk"):
            plcp.save(models[1], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_ctrl_c_leaves_one_file_or_the_other_and_nothing_beside_it(models, path, rng):
    whole = [model_bytes(model) for model in models]
    start = time.perf_counter()
    plcp.save(models[0], path)
    seconds = time.perf_counter() - start
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for turn, moment in enumerate(rng.uniform(0, seconds, STOPS)):
            try:
                signal.setitimer(signal.ITIMER_REAL, max(moment, 1e-6))
                plcp.save(models[turn % 2], path)
            except KeyboardInterrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert path.read_bytes() in whole
            assert list(path.parent.iterdir()) == [path]
    finally:
        signal.signal(signal.SIGALRM, usual)


def test_a_kill_leaves_one_file_or_the_other(models, path, tmp_path_factory, rng):
    folder = tmp_path_factory.mktemp("sources")
    whole = [model_bytes(model) for model in models]
    sources = [folder / f"{i}.plcp" for i in range(2)]
    for source, content in zip(sources, whole, strict=True):
        source.write_bytes(content)
    for moment in rng.uniform(0, 0.3, KILLS):
        command = [sys.executable, "-c", SAVING, path, *sources]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as saving:
            assert saving.stdout.readline() == "ready\n"
            time.sleep(moment)
            saving.kill()
        assert path.read_bytes() in whole
    X = make_rows(1, 20)[0]
    np.testing.assert_array_equal(
        plcp.load(path).predict(X), models[whole.index(path.read_bytes())].predict(X)
    )
