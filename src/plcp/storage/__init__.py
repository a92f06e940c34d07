"""Models in files: written completely or not at all, loaded without running code of the file."""

from plcp.exceptions import OtherVersionWarning, TrustWarning
from plcp.storage.files import load, save

__all__ = ["OtherVersionWarning", "TrustWarning", "load", "save"]
