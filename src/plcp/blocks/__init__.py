"""Rows that do not fit in memory: passes over blocks of them, and exact ranks by counting.

What is learned here depends on the rows alone: not on their order, nor on how they are cut into
blocks, nor on who goes through them.
"""

from plcp.blocks.hashing import hash_rows
from plcp.blocks.passes import Held, Passes
from plcp.blocks.ranks import Ranks

__all__ = ["Held", "Passes", "Ranks", "hash_rows"]
