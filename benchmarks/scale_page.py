"""docs/results/scale.md and the numbers of docs/scale.md, from docs/results/scale.json alone.

python benchmarks/scale_page.py
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drawing import Records, table
from scale_asked import asked_of_fit, asked_of_memory, asked_of_predict
from scale_data import FEATURES, N_TEST
from scale_plan import formula, plan, tasks
from scale_plot import plot
from scale_rules import title
from scale_tables import beside_memory, beside_rivals, fits, growths, predictions

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "scale.md"
NOT_YET = "Not measured yet.\n"
PICTURE = "![Time and memory against the number of rows](scale.png)\n\n"

Results = dict[str, Any]


def asked(results: Results) -> str:
    """What the method was held to, beside what was measured."""
    parts = {"fit": asked_of_fit, "memory": asked_of_memory, "predict": asked_of_predict}
    rows = [
        row for part in parts if part in results for row in parts[part](results[part]["results"])
    ]
    return table(["", "asked", "measured"], rows) if rows else NOT_YET


def section(results: Results, part: str, *parts: Callable[[Records], str]) -> str:
    if part not in results:
        return NOT_YET
    return "\n".join(draw_part(results[part]["results"]) for draw_part in parts)


def surroundings(results: Results) -> str:
    """Where each part was measured."""
    lines = []
    for part, entry in results.items():
        here = entry["provenance"]
        versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items())
        told = f"commit {here['commit']}, {here['date']}, {here['cores']} cores"
        later = {(run["rule"], run["commit"]) for run in entry["results"] if "commit" in run}
        told += "".join(f" ({title(rule)}: commit {commit})" for rule, commit in sorted(later))
        lines.append(f"- **{part}**: {told}, Python {here['python']}, {versions}\n")
    return "".join(lines) or NOT_YET


def results_page(results: Results) -> str:
    """docs/results/scale.md."""
    return (
        "# Scale\n\nWritten by `benchmarks/scale_page.py` from `scale.json`, which "
        f"`benchmarks/scale.py` measured: rows of {FEATURES} features made block by block "
        "(`make_nonlinear`), two workers of one thread each, the best of three fits up to 10^6 "
        "rows and one fit above. Times leave out the start of the cluster and contain making the "
        "rows anew at every pass. Peaks are high-water marks of whole processes, interpreter and "
        f"libraries included. MSCE is exact, on {N_TEST:,} common new rows.\n\n"
        f"{asked(results)}\n{PICTURE if results else ''}"
        f"## Fit\n\n{section(results, 'fit', fits, growths, tasks, formula)}\n"
        "## Beside a fit in memory\n\nThe same rows in the order of their hashes, on both cores; "
        "Dask and memory in turns. In memory the rows are there, on Dask they are made within the "
        f"time, at every pass.\n\n{section(results, 'memory', beside_memory)}\n"
        "## Predict\n\nLazy thresholds, summed block by block.\n\n"
        f"{section(results, 'predict', predictions)}\n"
        "## Rivals\n\nEach in a process of its own, rows in memory, both cores; ours in memory "
        f"beside them.\n\n{section(results, 'rivals', beside_rivals)}\n"
        f"## Where it was measured\n\n{surroundings(results)}"
    )


def guide(text: str, results: Results) -> str:
    """docs/scale.md with the blocks between <!-- name --> and <!-- /name --> made anew."""
    drawn = {
        "asked": asked(results),
        "tasks": section(results, "fit", tasks),
        "formula": section(results, "fit", formula),
        "plan": section(results, "fit", plan),
        "predict": section(results, "predict", predictions),
        "rivals": section(results, "rivals", beside_rivals),
    }
    for name, block in drawn.items():
        marked = f"<!-- {name} -->\n{block}<!-- /{name} -->"
        # a function: a backslash in the block is a backslash
        text = re.sub(
            f"<!-- {name} -->.*?<!-- /{name} -->", lambda _, new=marked: new, text, flags=re.S
        )
    return text


def load(folder: Path = FOLDER) -> Results:
    path = folder / "scale.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def draw(folder: Path = FOLDER) -> None:
    """Write the table and the plot beside the JSON; the guide only from the committed numbers."""
    results = load(folder)
    (folder / "scale.md").write_text(results_page(results), encoding="utf-8")
    if results:
        plot(results, folder / "scale.png")
    if folder == FOLDER:
        PAGE.write_text(guide(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    draw()
