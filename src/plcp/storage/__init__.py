"""Models in files: written whole, read without running code."""

from plcp.storage.loading import OtherVersionWarning, load
from plcp.storage.saving import save

__all__ = ["OtherVersionWarning", "load", "save"]
