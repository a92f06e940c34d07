"""Files taken apart, changed, and put together again, with the right checksums or without."""

import json

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
