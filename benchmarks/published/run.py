"""Beside numbers that others published, on their protocols.

python -m benchmarks.published.run [name …]
"""

from benchmarks.shared import run_each

NAMES = ("cpcp", "ert")

if __name__ == "__main__":
    run_each("published", NAMES, __doc__)
