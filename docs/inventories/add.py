"""Add names of other packages that pages refer to: no network is needed to build the site.

python docs/inventories/add.py sklearn.linear_model.Ridge numpy.quantile
"""

import importlib
import inspect
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PAGES = {
    "numpy": "reference/generated/{}.html",
    "pandas": "reference/api/{}.html",
    "sklearn": "modules/generated/{}.html",
    "torch": "generated/{}.html",
}


def main(names: list[str]) -> None:
    """Write a line per name into the inventory of its package, sorted."""
    for name in names:
        package, (module, _, attribute) = name.partition(".")[0], name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        kind = "class" if inspect.isclass(found) else "function"
        path = FOLDER / f"{package}.inv"
        lines = path.read_text().splitlines()
        entries = {*lines[3:], f"{name} {kind} {PAGES[package].format(name)}"}
        path.write_text("\n".join([*lines[:3], *sorted(entries)]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
