"""A certificate of coverage that a person can hand on."""

from plcp.certificate.certifying import certify
from plcp.certificate.record import Certificate, GroupBounds

__all__ = ["Certificate", "GroupBounds", "certify"]
