"""How fast models are kept and served, and what faults and streams do to them.

Parts, each kept in results/reliability.json with its commit: ``files``, ``onnx``,
``faults``, ``streams``, ``levels``. The tables of its page are drawn at the end.

    pip install -e '.[dev]' -c constraints.txt
    python -m benchmarks.reliability.run [--part files --part onnx …] [--quick]
"""

import argparse
import json
from importlib import import_module

from benchmarks.shared import save

PARTS = ("files", "onnx", "faults", "streams", "levels")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="all by default")
    parser.add_argument("--quick", action="store_true", help="tiny sizes; nothing is written")
    options = parser.parse_args(arguments)
    for part in options.part or PARTS:
        found = import_module(f"benchmarks.reliability.{part}").measure(options.quick)
        print(part, json.dumps(found, indent=1), flush=True)
        if not options.quick:
            save("reliability/reliability", part, found)
    if not options.quick:
        import_module("benchmarks.reliability.page").draw()


if __name__ == "__main__":
    main()
