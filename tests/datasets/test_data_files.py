"""Data directories: what is found, downloaded, refused, and named when missing."""

import gzip
import hashlib
import socket
import sys
import threading
import tracemalloc
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest

from plcp.datasets._files import Found, Kind, data_directory, fingerprints, locate, reading

CONTENT = {"one.gz": gzip.compress(b"first"), "two.gz": gzip.compress(b"second")}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Handler(SimpleHTTPRequestHandler):
    """Files of a directory; remembers its requests."""

    def do_GET(self):
        self.server.requests.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        """Log nothing."""


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve the two files from ``/good/`` and others of the same names from ``/bad/``."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name, content in CONTENT.items():
        for folder, body in (("good", content), ("bad", b"x" + content)):
            (tmp_path / "served" / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / "served" / folder / name).write_bytes(body)
    handler = partial(Handler, directory=tmp_path / "served")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requests = []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def kind(*mirrors):
    hashes = {f"set/{name}": sha256(content) for name, content in CONTENT.items()}
    return Kind("the set", [tuple(hashes)], "from the shop.", hashes, mirrors)


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_what_is_missing_is_downloaded_once(server, tmp_path):
    root = tmp_path / "data"
    found = locate(kind(f"{server.url}/good/"), root)
    assert found == Found(root, ("set/one.gz", "set/two.gz"))
    assert [path.read_bytes() for path in found.paths] == list(CONTENT.values())
    assert server.requests == ["/good/one.gz", "/good/two.gz"]
    assert locate(kind(f"{server.url}/good/"), root) == found
    assert len(server.requests) == 2
    assert files_below(root) == {"set", "set/one.gz", "set/two.gz"}


def test_only_what_is_missing_is_downloaded_and_own_files_stay(server, tmp_path):
    (tmp_path / "data/set").mkdir(parents=True)
    (tmp_path / "data/set/one.gz").write_bytes(b"my own")
    locate(kind(f"{server.url}/good/"), tmp_path / "data")
    assert server.requests == ["/good/two.gz"]
    assert (tmp_path / "data/set/one.gz").read_bytes() == b"my own"


def test_a_wrong_hash_is_refused_and_nothing_is_left(server, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"A download was tried: .*does not match"
    ) as caught:
        locate(kind(f"{server.url}/bad/"), tmp_path / "data")
    assert f"{server.url}/bad/one.gz" in str(caught.value)
    assert server.requests == ["/bad/one.gz"]  # once, and no further
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("first", ["bad", "nowhere"])
def test_the_next_mirror_is_tried(server, tmp_path, first):
    found = locate(kind(f"{server.url}/{first}/", f"{server.url}/good/"), tmp_path / "data")
    assert server.requests[:2] == [f"/{first}/one.gz", "/good/one.gz"]
    assert [path.read_bytes() for path in found.paths] == list(CONTENT.values())


def test_without_a_network_one_message_states_all(server, tmp_path):
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))  # and no one listens there
        mirrors = (f"{server.url}/nowhere/", f"http://127.0.0.1:{mute.getsockname()[1]}/")
        with pytest.raises(FileNotFoundError) as caught:
            locate(kind(*mirrors), tmp_path / "data")
    message = str(caught.value)
    assert message.startswith(f"the set: not in {tmp_path / 'data'} (named by data_dir). Put there")
    for part in ("set/one.gz, set/two.gz", "from the shop.", "404", *mirrors):
        assert part in message
    assert server.requests == ["/nowhere/one.gz"]
    assert not (tmp_path / "data").exists()


def test_a_directory_that_cannot_be_written_to(server, tmp_path):
    (tmp_path / "data").write_text("no directory")
    with pytest.raises(FileNotFoundError, match=r"Put there\n +set/one.gz, set/two.gz"):
        locate(kind(f"{server.url}/good/"), tmp_path / "data")
    assert server.requests == []


def test_without_pooch_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"needs pooch: pip install 'plcp\[experiments\]'"):
        locate(kind("http://127.0.0.1/"), tmp_path)
    monkeypatch.delenv("PLCP_DATA", raising=False)
    assert data_directory(None)[0] == Path.home() / ".cache" / "plcp"


def test_nothing_is_downloaded_unchecked(tmp_path):
    unchecked = Kind("the set", [("a", "b"), ("c",)], "from the shop.")
    (tmp_path / "b").touch()
    with pytest.raises(FileNotFoundError) as caught:
        locate(unchecked, tmp_path)
    assert str(caught.value).endswith("Put there\n     a\n  or c\nfrom the shop.")


def test_the_first_complete_layout_is_taken(tmp_path):
    two = Kind("the set", [("a", "b"), ("c",)], "")
    for name, names in (("c", ("c",)), ("a", ("c",)), ("b", ("a", "b"))):
        (tmp_path / name).touch()
        assert locate(two, tmp_path).names == names


def test_who_names_the_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("PLCP_DATA", str(tmp_path / "env"))
    assert data_directory(tmp_path) == (tmp_path, "named by data_dir")
    assert data_directory("~/x")[0] == Path.home() / "x"
    assert data_directory(None) == (tmp_path / "env", "named by PLCP_DATA")
    monkeypatch.setenv("PLCP_DATA", "")
    root, why = data_directory(None)
    assert root == Path(pooch.os_cache("plcp"))
    assert "name another by data_dir, --data-dir or PLCP_DATA" in why
    monkeypatch.delenv("PLCP_DATA")
    assert data_directory(None)[0] == root


def test_fingerprints_are_those_of_the_content(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/plain.bin").write_bytes(b"abc")
    for level in (1, 9):  # packed in two ways
        (tmp_path / "deep/packed.gz").write_bytes(gzip.compress(b"abc" * 99, level, mtime=level))
        paths = [tmp_path / "deep/plain.bin", tmp_path / "deep/packed.gz"]
        expected = {"deep/plain.bin": sha256(b"abc"), "deep/packed": sha256(b"abc" * 99)}
        assert fingerprints(paths, tmp_path) == expected


def test_a_fingerprint_needs_no_memory_for_the_file(tmp_path):
    size = 2**24
    (tmp_path / "large").write_bytes(bytes(size))
    (tmp_path / "large.gz").write_bytes(gzip.compress(bytes(size), 1))
    tracemalloc.start()
    fingerprints([tmp_path / "large", tmp_path / "large.gz"], tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 4


def test_a_damaged_file_has_no_fingerprint(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(9))[:-3])
    with pytest.raises(ValueError, match=r"a\.gz cannot be read .*Remove it"):
        fingerprints([path], tmp_path)


@pytest.mark.parametrize("error", [KeyError("f7"), EOFError("end"), SyntaxError("broken PNG")])
def test_what_goes_wrong_while_reading_names_the_file(error):
    with (
        pytest.raises(ValueError, match=r"here\.png cannot be read \(.*(f7|end|PNG)") as caught,
        reading(Path("here.png")),
    ):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [ImportError("no pyarrow"), PermissionError("not yours")])
def test_a_good_file_is_not_called_damaged(error):
    with pytest.raises(type(error), match=str(error)), reading(Path("good.parquet")):
        raise error
