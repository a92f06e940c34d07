"""What may happen to a file that is opened: a model, or one sentence of ours."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.ensemble import RandomForestClassifier

import plcp
from plcp import (
    PLCP,
    BatchGCP,
    ConformalClassifier,
    LinearQuantile,
    LocalCP,
    OrderedPartition,
    SplitConformal,
    TreePartition,
)
from plcp.storage.files import model_bytes

FILES = Path(__file__).parents[1] / "tests" / "storage" / "files"


def seeds() -> dict[str, bytes]:
    """Small files of every format and of every kind of part, by name."""
    kept = {path.name: path.read_bytes() for path in sorted(FILES.glob("*.plcp"))}
    return kept | {f"{name}.plcp": model_bytes(model) for name, model in _models()}


def _models() -> Iterator[tuple[str, object]]:
    """Models of this version that hold what the files do not: trees of others, rows, classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    scores, labels = rng.exponential(1 + (X[:, 0] > 0)), rng.integers(0, 3, 150)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 150), "age": X[:, 0]})
    light = LGBMRegressor(n_estimators=3, num_leaves=3, n_jobs=1, verbose=-1)
    tree = TreePartition(min_samples_leaf=20, random_state=0)
    forest = RandomForestClassifier(2, max_depth=2, random_state=0)
    yield "light", PLCP(OrderedPartition(light), 2, random_state=0).fit(X, scores)
    yield "tree", PLCP(tree, 2, random_state=0).fit(X, scores)
    yield "local", LocalCP(random_state=0).fit(X[:30], scores[:30])
    yield "groups", BatchGCP(["sex"]).fit(people, scores)
    yield "levels", PLCP(OrderedPartition(LinearQuantile()), 2, alpha=[0.1, 0.3]).fit(X, scores)
    labelled = ConformalClassifier(forest, threshold=SplitConformal(), random_state=0)
    yield "forest", labelled.fit(X, labels)


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
    """Most memory that this process has had, of which packages take some 450 MB.

    ``ru_maxrss`` would not do: it begins with that of the process which started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
