"""What tells one run from another: versions of the software, and the commit if there is one."""

import hashlib
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1]
PACKAGES = ("plcp", "numpy", "scipy", "scikit-learn", "torch")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on, as far as they are there."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    commit = _commit()
    return found | {"code": _code()} | ({"commit": commit} if commit else {})


def _code() -> str:
    """Hash of the library's own source, which tells two installed copies of a version apart."""
    digest = hashlib.sha256()
    for path in sorted(LIBRARY.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _commit() -> str | None:
    """Commit of the checkout that the library lies in, and whether it was changed since."""
    commit, changes = _git("log", "-1", "--format=%h"), _git("status", "--porcelain")
    return f"{commit} with changes" if commit and changes else commit


def _git(*command: str) -> str | None:
    """What git says of the library's own files; None where it was installed, not checked out."""
    try:
        said = subprocess.run(
            ["git", *command, "--", "."], cwd=LIBRARY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.stdout.strip() or None
