"""Results as JSON, with all that is needed to tell one run from another."""

import json
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("plcp", "numpy", "scipy", "scikit-learn", "lightgbm", "torch")


def provenance() -> dict[str, Any]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    versions = {package: version(package) for package in PACKAGES}
    return {"commit": commit, "python": platform.python_version(), "versions": versions}


def save(name: str, part: str, results: Any) -> None:
    """Put one part of a benchmark's results into its file, beside the other parts."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    content[part] = {"provenance": provenance(), "results": results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
