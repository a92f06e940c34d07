"""Time and memory, as ratios measured in one run.

python -m benchmarks.speed.run [name …]
"""

from benchmarks.shared import run_each

NAMES = ("peers", "linear_and_import", "metrics", "explain", "cli")

if __name__ == "__main__":
    run_each("speed", NAMES, __doc__)
