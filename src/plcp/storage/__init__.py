"""Models in files: written completely or not at all, loaded without running code of the file."""

from plcp.exceptions import OtherVersionWarning, TrustWarning
from plcp.storage.files import data_digest, load, load_manifest, save

__all__ = ["OtherVersionWarning", "TrustWarning", "data_digest", "load", "load_manifest", "save"]
