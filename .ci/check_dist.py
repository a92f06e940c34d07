"""Check the wheel and the sdist in dist/: bytes, contents, and what an empty environment gets.

    python .ci/check_dist.py                 # contents, and the core alone
    python .ci/check_dist.py --extras [...]  # and each extra (or those named) alone

Environments are made in a temporary folder, from the pins of constraints.txt.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 1_000_000  # bytes of the wheel
NEEDED = {
    "plcp/__init__.py",
    "plcp/py.typed",
    "plcp/evaluation/templates/page.html.j2",
    "plcp/datasets/tables/wages.csv.gz",
}
UNWANTED = re.compile(
    r"\.(parquet|npz|jsonl|ipynb)$|(?<!wages\.csv)(?<!bikes\.csv)\.gz$|(^|/)(tests|benchmarks|docs)/"
)

FITTED = """
import numpy as np
from sklearn.linear_model import LinearRegression
from plcp import ConformalRegressor
from plcp.datasets import make_toy
rows = make_toy(600, random_state=0)
model = ConformalRegressor(LinearRegression(), random_state=0).fit(rows.X, rows.y)
"""
CORE = (
    FITTED
    + """
import plcp
plcp.save(model, "model.plcp")
again = plcp.load("model.plcp")
assert np.array_equal(again.predict_interval(rows.X), model.predict_interval(rows.X))
assert again.guarantee_ == model.guarantee_
import sys
heavy = {"torch", "dask", "lightgbm", "pandas", "matplotlib", "pyarrow", "typer"}
assert not heavy & {*sys.modules}
"""
)
SMOKE = {
    "frames": """
import pandas as pd, polars as pl, pyarrow
frame = pd.DataFrame(rows.X, columns=[f"x{i}" for i in range(rows.X.shape[1])])
for X in (frame, pl.from_pandas(frame)):
    sets = ConformalRegressor(LinearRegression(), random_state=0).fit(X, rows.y).predict_set(X)
    assert len(sets.to_pandas()) == len(sets.to_polars()) == len(frame)
""",
    "plot": """
import matplotlib; matplotlib.use("Agg")
from plcp.plotting import CoverageDisplay
CoverageDisplay.from_estimator(model, rows.X, rows.y)
""",
    "progress": """
ConformalRegressor(LinearRegression(), random_state=0, verbose=True).fit(rows.X, rows.y)
""",
    "boosting": """
import plcp
from lightgbm import LGBMRegressor
boosted = ConformalRegressor(LGBMRegressor(n_estimators=5, verbose=-1), random_state=0)
plcp.save(boosted.fit(rows.X, rows.y), "boosted.plcp")
plcp.load("boosted.plcp").predict_interval(rows.X)
""",
    "torch": """
from plcp import PLCP
from plcp.partitions.torch import TorchPartition, mlp
PLCP(TorchPartition(mlp(8), epochs=1), random_state=0).fit(rows.X, np.abs(rows.y))
""",
    "dask": """
import dask.array as da
from plcp.dask import DaskSplitConformal
X, y = (da.from_array(values, chunks=300) for values in (rows.X, rows.y))
rule = DaskSplitConformal().fit(X, y)
assert rule.threshold_ > 0
""",
    "spark": "import plcp.spark, pyspark",  # its jobs need Java
    "skpro": """
from plcp.interop.skpro import SkproConformal
regressor = SkproConformal(LinearRegression(), random_state=0).fit(rows.X, rows.y)
assert regressor.predict_interval(rows.X, coverage=[0.5, 0.9]).shape == (600, 4)
""",
    "files": "import safetensors.numpy, plcp.storage",
    "onnx": """
from plcp.onnx import export
assert export(model).graph.output
""",
    "cli": """
import subprocess, sys
from pathlib import Path
command = Path(sys.executable).parent / "plcp"
subprocess.run([command, "doctor"], check=True)
""",
}
REFUSED = {  # what the core alone cannot do, and the extra that its error names
    "plot": SMOKE["plot"].partition("\n")[2].partition("\n")[2],
    "progress": "ConformalRegressor(LinearRegression(), verbose=True).fit(rows.X, rows.y)",
    "torch": "import plcp.partitions.torch",
    "dask": "import plcp.dask",
    "spark": "import plcp.spark; plcp.spark.interval_udf(model)",
    "skpro": "import plcp.interop.skpro",
    "onnx": "import plcp.onnx",
    "cli": "import sys, plcp.cli; sys.exit(plcp.cli.main())",
    "frames": "model.predict_set(rows.X).to_pandas()",
    "experiments": "from plcp.experiments import reproduce; reproduce('toy')",
}


def check_contents(wheel: Path, sdist: Path) -> None:
    """The wheel is small and holds the package alone; the sdist holds what the tests read."""
    size = wheel.stat().st_size
    assert size < LARGEST, f"{wheel.name} has {size:,} bytes"
    names = {*zipfile.ZipFile(wheel).namelist()}
    assert names >= NEEDED, NEEDED - names
    unwanted = [name for name in names if UNWANTED.search(name)]
    assert not unwanted, unwanted
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert packed >= {"README.md", "LICENSE", "CITATION.cff", "tests/conftest.py", "Makefile"}
    print(f"{wheel.name}: {size:,} bytes, {len(names)} files; {sdist.name}: {len(packed)} files")


def environment(folder: Path, requirement: str) -> Path:
    """Make an environment with the wheel alone, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pins = ["-c", str(ROOT / "constraints.txt")]
    run = [python, "-m", "pip", "install", "--quiet", *pins, requirement]
    subprocess.run(run, check=True)
    return python


def answer(python: Path, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code that follows a fit."""
    return subprocess.run(
        [python, "-c", FITTED + code], cwd=folder, capture_output=True, text=True, check=False
    )


def check_core(wheel: Path, folder: Path) -> None:
    """Fit, save and load with the core; everything else names its extra."""
    python = environment(folder / "core", str(wheel))
    done = answer(python, CORE, folder)
    assert done.returncode == 0, done.stderr
    for extra, code in REFUSED.items():
        done = answer(python, code, folder)
        last = done.stderr.strip().splitlines()[-1:]
        assert done.returncode != 0, f"{extra} is not needed for: {code}"
        assert f"plcp[{extra}]" in "".join(last), f"{extra} is not named: {last}"
    print(f"core: fits, saves, loads; {len(REFUSED)} missing extras are named")


def check_extra(wheel: Path, extra: str, folder: Path) -> None:
    """What the extra is for works with the core and this extra.

    The first block of the README needs the extra that it says to install.
    """
    python = environment(folder / extra, f"plcp[{extra}] @ {wheel.as_uri()}")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first_block = readme.partition("```python\n")[2].partition("```")[0] if extra == "cli" else ""
    done = answer(python, SMOKE[extra] + first_block, folder)
    assert done.returncode == 0, f"{extra}: {done.stderr}"
    print(f"{extra}: works")


def main() -> None:
    """Check what dist/ holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", nargs="*", choices=[*SMOKE])
    given = parser.parse_args()
    [wheel], [sdist] = ((ROOT / "dist").glob(end) for end in ("*.whl", "*.tar.gz"))
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_core(wheel, folder)
        for extra in [] if given.extras is None else given.extras or SMOKE:
            check_extra(wheel, extra, folder)


if __name__ == "__main__":
    sys.exit(main())
