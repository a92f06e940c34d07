"""Whatever stops a save leaves the file before, whole: a full disk, Ctrl-C, and a kill."""

import gc
import zipfile
from functools import partial

import numpy as np
import pytest
from stopping import killed_while_saving, room_for, seconds_of, stopped_after

import plcp
from estimators import make_rows
from plcp.storage.files import model_bytes

pytestmark = pytest.mark.slow

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


def test_ctrl_c_while_an_archive_is_written_is_not_hidden_by_its_complaint(models, monkeypatch):
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
    np.testing.assert_array_equal(
        plcp.load(path).predict(X), models[whole.index(path.read_bytes())].predict(X)
    )
