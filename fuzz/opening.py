"""What may happen to a file that is opened: a model, or one sentence of ours."""

import resource
import warnings
from pathlib import Path

import numpy as np

import plcp

FILES = Path(__file__).parents[1] / "tests" / "storage" / "files"


def seeds() -> dict[str, bytes]:
    """Small files of every format, by name."""
    return {path.name: path.read_bytes() for path in sorted(FILES.glob("*.plcp"))}


def opened(path: Path, content: bytes) -> str:
    """Write a file and open it: "refused" or "loaded"; anything but our own words is raised."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = plcp.load(path)
        except (ValueError, OSError) as error:
            _check_words(str(error), path)
            return "refused"
        _ask(model)
    return "loaded"


def _check_words(told: str, path: Path) -> None:
    """One sentence that names the file."""
    if str(path) not in told or "\n" in told:
        raise AssertionError(f"no sentence of ours: {told!r}")


def _ask(model: object) -> None:
    """Ask for a threshold: nonsense may answer or complain, but must not crash or hang."""
    n = getattr(model, "n_features_in_", None)
    if isinstance(n, int) and 0 < n < 1000 and hasattr(model, "predict"):
        try:
            model.predict(np.zeros((3, n)))
        except Exception:  # a model that somebody made on purpose to be nonsense
            return


def megabytes() -> float:
    """Most memory that this process has had, of which packages take some 500 MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
