"""Bad input: every public entry point × every bad value, and how each came out.

The table is that of the tests, cell by cell: ``tests/hostile``.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hostile"))

from hostile_judging import ANSWERED, LAWFUL, REFUSED, RIGHT
from hostile_table import ENTRIES, VALUES, cells, try_cell

QUICK = 20  # every so many entry points


def measure(quick: bool) -> dict[str, Any]:
    """Counts of cells by how they came out, and those that came out in no right way."""
    names = [*ENTRIES][:: QUICK if quick else 1]
    found = {cell: try_cell(cell) for name in names for cell in cells(name)}
    counts = Counter(found.values())
    return {
        "entry_points": len(names),
        "bad_values": sum(len(values) for values in VALUES.values()),
        "cells": len(found),
        "answered_right": counts[ANSWERED],
        "answered_lawfully": counts[LAWFUL],
        "refused_in_words": counts[REFUSED],
        "neither": {" | ".join(cell): how for cell, how in found.items() if how not in RIGHT},
    }
