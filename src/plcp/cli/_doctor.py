"""What a report of a bug needs: versions, extras, threads, and a self-test of coverage."""

import os
import platform
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import numpy as np
from scipy.stats import betabinom
from threadpoolctl import threadpool_info

from plcp import __version__
from plcp.datasets import make_toy
from plcp.quantiles import conformal_rank
from plcp.thresholds import PLCP, SplitConformal

EXTRAS = (
    "frames",
    "plot",
    "progress",
    "boosting",
    "torch",
    "dask",
    "spark",
    "skpro",
    "files",
    "onnx",
    "cli",
)
N_CAL, N_NEW, ALPHA = 500, 20_000, 0.1
RARE = 1e-6  # of how many sound installations one fails by chance


def examine(seed: int = 0) -> dict[str, Any]:
    """Return versions, packages of each extra, threads, and what the self-test found."""
    return {
        "plcp": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "core": {name: installed(name) for name in _packages("")},
        "extras": {extra: {name: installed(name) for name in _packages(extra)} for extra in EXTRAS},
        "threads": {
            "cpus": os.cpu_count(),
            **{one["prefix"]: one["num_threads"] for one in threadpool_info()},
        },
        "self-test": self_test(seed),
    }


def installed(package: str) -> str | None:
    """Version of an installed package; None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _packages(extra: str) -> list[str]:
    """Names of the packages that plcp, or one of its extras, depends on."""
    found = []
    for requirement in requires("plcp") or []:
        name, _, marker = requirement.partition(";")
        if marker.strip() == (f"extra == '{extra}'" if extra else ""):
            found.append(name.strip().split("[")[0].split(">")[0].split("=")[0].split("<")[0])
    return [name for name in found if name != "plcp"]


def self_test(seed: int = 0) -> dict[str, Any]:
    """Compare coverage of new rows with its exact law, and fit the default rule.

    Of n exchangeable scores without ties, those of new rows that lie below the conformal quantile
    of rank k follow a beta-binomial law with parameters k and n + 1 - k.
    """
    cal, new = make_toy(N_CAL, random_state=seed), make_toy(N_NEW, random_state=seed + 1)
    scores, of_new = np.abs(cal.y), np.abs(new.y)
    rank = conformal_rank(N_CAL, ALPHA)
    law = betabinom(N_NEW, rank, N_CAL + 1 - rank)
    low, high = law.ppf([RARE / 2, 1 - RARE / 2]) / N_NEW
    covered = float(np.mean(of_new <= SplitConformal(ALPHA).fit(cal.X, scores).predict(new.X)))
    default = PLCP(alpha=ALPHA, random_state=seed).fit(cal.X, scores)
    return {
        "passed": bool(low <= covered <= high and np.isfinite(default.predict(new.X)).all()),
        "coverage": covered,
        "expected between": [float(low), float(high)],
        "default": str(default.guarantee_.kind),
    }
