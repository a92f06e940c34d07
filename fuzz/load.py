"""Damaged files for ``plcp.load``: each must be refused in one sentence, or load.

    pip install -c constraints.txt atheris
    python fuzz/load.py [--seconds 600]             # led by the coverage of the code that loads
    python fuzz/load.py --random [--seconds 600]    # without atheris; prints counts as JSON

Bytes changed at random hardly ever pass a checksum. So a file is taken apart as far as possible
(archive, JSON, arrays, tensors, archives within), one thing is changed, and all is put together
again, mostly with right checksums; led by coverage, half of the inputs are changed by libFuzzer.
A crash, more than 30 seconds, more than 1 GB of memory, or an error that is not one sentence with
the path ends the run with an error. atheris keeps the input beside this file; hypothesis reduces it
and prints its seed.
"""

import argparse
import faulthandler
import hashlib
import io
import json
import signal
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

SECONDS_PER_INPUT = 30  # of computing: those of a clock depend on other processes
HANG = 1800  # seconds of a clock, for an input that waits and computes nothing
MEGABYTES, LARGEST_INPUT = 1024, 2**18  # of atheris
PER_ROUND = 50  # inputs of hypothesis
SMALL = 2**14  # bytes: larger files are slow to open and hold nothing that others lack
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
RAW, RESEALED = 0.2, 0.9  # shares of damage to the bytes of the file, and of right checksums
MOST_BYTES = 2**22
TEXTS = ("", "object", "array", "booster", "os.system", "builtins.eval", "PLCP", "../x", "\0", "é")
NUMBERS = (0, 1, -1, 2, 255, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308)
WORDS = (b"\0" * 8, b"\xff" * 8, struct.pack("<d", float("nan")), struct.pack("<q", 2**62))
PLACES = ("a/../../b", "/etc/x", "C:x", "a\\b", "", "x" * 300, MANIFEST)
DEEP = 5_000  # beyond the recursion limit


def damaged(content: bytes, seed: int) -> bytes:
    """Return a file with one to three things changed; the same for the same seed."""
    rng = Random(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = _bytes(content, rng) if rng.random() < RAW else _archive(content, rng)
    return content[:MOST_BYTES]


def _archive(content: bytes, rng: Random) -> bytes:
    """Change one part of an archive, or which parts there are."""
    try:
        parts = _unpacked(content)
    except Exception:  # what was damaged before is damaged as bytes
        return _bytes(content, rng)
    if not parts:
        return _bytes(content, rng)
    name = rng.choice(list(parts))
    if rng.random() < 0.1:
        _change_parts(parts, name, rng)
    else:
        parts[name] = _part(name, parts[name], rng)
    if rng.random() < RESEALED:
        parts = _sealed(parts)
    return _packed(parts, rng)


def _part(name: str, part: bytes, rng: Random) -> bytes:
    if rng.random() < 0.1:
        return _bytes(part, rng)
    if part.startswith(b"PK"):
        return _archive(part, rng)
    if part.startswith(b"\x93NUMPY"):
        return _npy(part, rng)
    if name.endswith(".safetensors"):
        return _tensors(part, rng)
    return _json(part, rng)


def _json(part: bytes, rng: Random) -> bytes:
    if rng.random() < 0.03:
        return part.replace(b"0", b"[" * DEEP + b"]" * DEEP, 1)
    try:
        return json.dumps(_tree(json.loads(part), rng)).encode()
    except (ValueError, RecursionError):  # damaged before
        return _bytes(part, rng)


def _tree(tree: Any, rng: Random) -> Any:
    """Change one node of a tree of lists and dicts: its value, its place, or its name."""
    places = list(_places(tree))
    if not places or rng.random() < 0.02:
        return _value(tree, rng)
    holder, key = rng.choice(places)
    kind = rng.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, place = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[place]))
    elif kind == 2 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), json.loads(json.dumps(holder[key])))
    elif kind == 3 and isinstance(holder, dict):
        holder[rng.choice(TEXTS)] = holder.pop(key)
    else:
        holder[key] = _value(holder[key], rng)
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    stack = [tree] if isinstance(tree, list | dict) else []
    while stack:
        holder = stack.pop()
        keys = range(len(holder)) if isinstance(holder, list) else list(holder)
        for key in keys:
            yield holder, key
            if isinstance(holder[key], list | dict):
                stack.append(holder[key])


def _value(value: Any, rng: Random) -> Any:
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 7, -1000, 10**9))
    choices: tuple[Callable[[], Any], ...] = (
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice((None, True, False, [], {}, [[0]], {"float": "nan"})),
        lambda: [value, value],
        lambda: "x" * rng.choice((10, 10**5)),
    )
    return rng.choice(choices)()


def _npy(part: bytes, rng: Random) -> bytes:
    """Change the header of an array, with the length that it must then have, or a number."""
    if len(part) < 10:
        return _bytes(part, rng)
    length = struct.unpack("<H", part[8:10])[0]
    header, numbers = part[10 : 10 + length].decode("latin-1"), part[10 + length :]
    kind = rng.randrange(4)
    if kind == 0:
        return part[: 10 + length] + _words(numbers, rng)
    if kind == 1:
        header = header.replace("(", f"({rng.choice(('9' * 12 + ',', '-1,', '0,', '2,'))}", 1)
    elif kind == 2:
        types = ("<f8", "|O", "<i8", "|V8", "<U9999999", ">f4", "|b1", "[('a','<f8')]")
        start = header.find("'descr': ") + 9
        header = header[:start] + repr(rng.choice(types)) + header[header.find(",", start) :]
    else:
        header = _bytes(header.encode("latin-1"), rng).decode("latin-1")
    changed = header.encode("latin-1", "replace")[:60_000]
    return part[:8] + struct.pack("<H", len(changed)) + changed + numbers


def _tensors(part: bytes, rng: Random) -> bytes:
    if len(part) < 8:
        return _bytes(part, rng)
    length = struct.unpack("<Q", part[:8])[0]
    header, numbers = part[8 : 8 + length], part[8 + length :]
    kind = rng.randrange(3)
    if kind == 0:
        return part[: 8 + length] + _words(numbers, rng)
    if kind == 1:
        return struct.pack("<Q", rng.choice((0, 1, 2**40, 2**63, length + 8))) + part[8:]
    changed = _json(header, rng)
    return struct.pack("<Q", len(changed)) + changed + numbers


def _words(numbers: bytes, rng: Random) -> bytes:
    """Change a number to an extreme one."""
    if len(numbers) < 8:
        return _bytes(numbers, rng)
    size = rng.choice((1, 4, 8))
    place = rng.randrange(0, len(numbers) - 7)
    return numbers[:place] + rng.choice(WORDS)[:size] + numbers[place + size :]


def _bytes(content: bytes, rng: Random) -> bytes:
    place, size = rng.randrange(len(content) + 1), rng.choice((1, 1, 2, 8, 100))
    kind = rng.randrange(5)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + content[place + size :]
    if kind == 2:
        return content[:place] + rng.randbytes(size) + content[place:]
    if kind == 3:
        return content[:place] + content[: place // 2] + content[place:]
    return content[:place] + rng.randbytes(size) + content[place + size :]


def _change_parts(parts: dict[str, bytes], name: str, rng: Random) -> None:
    kind = rng.randrange(3)
    if kind == 0:
        del parts[name]
    elif kind == 1:
        parts[rng.choice(PLACES)] = parts[name]
    else:
        parts["arrays/more.npy"] = b"\0" * rng.choice((0, 10, 10**6))


def _sealed(parts: dict[str, bytes]) -> dict[str, bytes]:
    """Return parts with the checksums that they must have."""
    sums = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
    try:
        manifest = json.loads(parts[MANIFEST])
        inner = [name for name in parts if name not in (MANIFEST, SEAL)]
        declared = {name: {"bytes": len(parts[name]), "sha256": sums[name]} for name in inner}
        text = json.dumps(manifest | {"parts": declared}).encode()
    except (KeyError, TypeError, ValueError, RecursionError):  # an archive within, or damaged
        return parts
    return parts | {MANIFEST: text, SEAL: hashlib.sha256(text).hexdigest().encode()}


def _unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def _packed(parts: dict[str, bytes], rng: Random) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in parts.items():
            method = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), part, method)
    return content.getvalue()


def opened(path: Path, content: bytes) -> str:
    """Write a file and load it: "refused" or "loaded"; raise what is not one sentence of plcp."""
    from plcp import load

    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except (ValueError, OSError) as error:
            if str(path) not in str(error) or "\n" in str(error):
                raise AssertionError(f"not one sentence with the path: {error!r}") from error
            return "refused"
        n = getattr(model, "n_features_in_", None)
        if isinstance(n, int) and 0 < n < 1000 and hasattr(model, "predict"):
            try:  # a damaged model may predict or raise, but must not crash or hang
                model.predict(np.zeros((3, n)))
            except Exception:
                return "loaded"
    return "loaded"


def megabytes() -> float:
    """Return the peak memory of this process, of which packages take some 450 MB.

    ``ru_maxrss`` would not do: it begins with that of the process which started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def led_by_coverage(seconds: int) -> None:
    """Fuzz by atheris; libFuzzer prints what it does, and ends the process itself."""
    import atheris

    with atheris.instrument_imports(include=["plcp.storage"]):
        import_module("plcp.storage.files")
    from examples import seeds

    def changed(content: bytes, max_bytes: int, seed: int) -> bytes:
        if Random(seed).random() < 0.5:
            return atheris.Mutate(content, max_bytes)
        return damaged(content, seed)[:max_bytes]

    folder = Path(tempfile.mkdtemp())
    corpus, path = folder / "corpus", folder / "model.plcp"
    corpus.mkdir()
    for name, content in seeds().items():
        (corpus / name).write_bytes(content)
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={SECONDS_PER_INPUT}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-max_len={LARGEST_INPUT}",
        f"-artifact_prefix={Path(__file__).parent}/",
        "-print_final_stats=1",
    ]
    atheris.Setup(
        [sys.argv[0], *options, str(corpus)],
        lambda content: opened(path, content),
        custom_mutator=changed,
    )
    atheris.Fuzz()


def at_random(seconds: float) -> dict[str, Any]:
    """Open damaged files by hypothesis, round after round; any that is a finding raises."""
    from examples import seeds

    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # prints where it was, and ends the process
    files = [content for content in seeds().values() if len(content) < SMALL]
    path, counts = Path(tempfile.mkdtemp()) / "model.plcp", Counter({"loaded": 0, "refused": 0})
    for content in files:  # the first one imports the packages that it needs
        opened(path, content)
    slowest, end = 0.0, time.monotonic() + seconds

    @settings(
        max_examples=PER_ROUND,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(files), st.integers(0, 2**64 - 1))
    def one_round(content: bytes, seed: int) -> None:
        nonlocal slowest
        signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_INPUT)
        faulthandler.dump_traceback_later(HANG, exit=True)
        start = time.monotonic()
        counts[opened(path, damaged(content, seed))] += 1
        slowest = max(slowest, time.monotonic() - start)
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)

    while time.monotonic() < end:
        one_round()
    return {**counts, "slowest_seconds": slowest, "megabytes": megabytes()}


def main() -> None:
    """Fuzz for a while."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--random", action="store_true", help="by hypothesis, without atheris")
    options = parser.parse_args()
    if options.random:
        print(json.dumps(at_random(options.seconds)))
    else:
        led_by_coverage(options.seconds)


if __name__ == "__main__":
    main()
