"""Files taken apart, changed, and put together again, with the right checksums or without."""

import json
import tracemalloc
from contextlib import contextmanager

import pytest

import plcp
from plcp.storage.archive import MANIFEST, SEAL, read_parts, seal, write_parts
from plcp.storage.codec import MODEL
from plcp.storage.files import model_bytes


def opened(model):
    """Parts of a model's file."""
    return read_parts(model_bytes(model))


def closed(parts, path):
    """Write parts as they are."""
    path.write_bytes(write_parts(parts))
    return path


def resealed(parts, path, **changes):
    """Write parts with the checksums that they must have, and with changes of the manifest."""
    manifest = {**json.loads(parts[MANIFEST]), **changes}
    manifest.pop("parts")
    inner = {name: part for name, part in parts.items() if name not in (MANIFEST, SEAL)}
    return closed(seal(manifest, inner), path)


def with_entries(parts, change):
    """Return parts whose entries were changed in place."""
    entries = json.loads(parts[MODEL])
    change(entries)
    return parts | {MODEL: json.dumps(entries).encode()}


def entry(entries, kind):
    """Content of the first entry of a kind."""
    return next(each[kind] for each in entries if kind in each)


def again(model, folder, **options):
    """Save a model and load it."""
    plcp.save(model, folder / "m.plcp")
    return plcp.load(folder / "m.plcp", **options)


def value_again(value, folder, **options):
    """Save and load a value as an attribute of a rule."""
    carrier = plcp.SplitConformal()
    carrier.value = value
    return again(carrier, folder, **options).value


def refused(path, words):
    """Check that a file is refused in one short sentence, with these words and the path."""
    with pytest.raises(ValueError, match=words) as raised:
        plcp.load(path)
    message = str(raised.value)
    assert message.startswith(f"{path} cannot be read: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400


@contextmanager
def in_memory(n_bytes):
    """Fail where more memory is taken."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()
