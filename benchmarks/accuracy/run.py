"""How close coverage is to its target, beside other methods.

python -m benchmarks.accuracy.run [name …]
"""

from benchmarks.shared import run_each

NAMES = (
    "conditional",
    "neural",
    "rivals",
    "coverage",
    "modes",
    "served_rows",
    "intervals",
    "theory",
)

if __name__ == "__main__":
    run_each("accuracy", NAMES, __doc__)
