"""Models in files: written whole, read without running code."""

from plcp.exceptions import OtherVersionWarning, TrustWarning
from plcp.storage.loading import load
from plcp.storage.saving import save

__all__ = ["OtherVersionWarning", "TrustWarning", "load", "save"]
