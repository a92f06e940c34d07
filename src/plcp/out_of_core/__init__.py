"""Rows that do not fit in memory: passes over blocks, exact ranks by counting, samples by content.

Results depend on the rows alone: not on their order, nor on how they are cut into blocks.
"""

from plcp._rows import hash_content, hash_rows
from plcp.out_of_core.passes import Held, Passes
from plcp.out_of_core.ranks import Ranks
from plcp.out_of_core.samples import RowDraws

__all__ = ["Held", "Passes", "Ranks", "RowDraws", "hash_content", "hash_rows"]
