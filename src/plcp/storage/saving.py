"""``save``: a model as one file, whole or not at all."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plcp._files import check_output, write_atomically
from plcp._options import outside, shown
from plcp.exceptions import TrustWarning
from plcp.storage.archive import describe, sealed, write_parts
from plcp.storage.every_kind import KINDS
from plcp.storage.names import public_name
from plcp.storage.networks import tensor_parts
from plcp.storage.reader import Reader
from plcp.storage.writer import MODEL, Writer

SUFFIX = ".plcp"


def save(model: Any, path: str | Path) -> None:
    """Write a model to a file, which `load` reads without running code.

    The file is a zip archive: a manifest in JSON (versions, class, parameters, features, alpha,
    guarantee, seed, digests), and the numbers. A file that is there is replaced, when the new one
    is complete. The same model gives the same bytes. Networks need the extra ``files``.

    What was written is read back before it is stored, so that a file loads where the same versions
    are installed. If it loads only with ``trusted=``, a `TrustWarning` gives the call.

    What only speaks of the rows of calibration (``out_of_fold_``) is left out, so that a file does
    not grow with them, except for the rules that look at those rows anew for every prediction:
    ``LocalCP``, ``RLCP``, ``PosteriorConformal`` and ``ConditionalCalibration``.

    Parameters
    ----------
    model : estimator
        A rule, a conformal estimator, a partition, a regressor or a score, fitted or not.
    path : str or Path
        A file that ends in ``.plcp``.

    Raises
    ------
    TypeError
        Where the model holds what cannot be stored, such as a lambda; the message says where.

    Warns
    -----
    TrustWarning
        Where the model holds a class or function that is not on plcp's list.

    Examples
    --------
    >>> import tempfile
    >>> from plcp import SplitConformal, load
    >>> rule = SplitConformal(alpha=0.5).fit([[0.0]] * 3, [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(rule, f"{folder}/rule.plcp")
    ...     load(f"{folder}/rule.plcp").threshold_
    2.0
    """
    write(model, path, force=True)


def write(model: Any, path: str | Path, *, force: bool) -> None:
    """Write a model; with ``force`` in place of a file that is there."""
    check_output(path, force, ending=SUFFIX)
    content, strangers = _written(model)
    with write_atomically(path, force=force) as temporary:
        temporary.write_bytes(content)
    if strangers:
        names = sorted(public_name(each) for each in strangers)
        modules = dict.fromkeys(name.rpartition(".")[0] for name in names)
        warnings.warn(
            "plcp does not check what this model is made of: it loads only by import "
            f"{', '.join(modules)}; plcp.load({str(path)!r}, trusted=[{', '.join(names)}])",
            TrustWarning,
            stacklevel=outside(),
        )


def model_bytes(model: Any) -> bytes:
    """Return a model as the bytes of its file."""
    return _written(model)[0]


def _written(model: Any) -> tuple[bytes, Sequence[Any]]:
    """Return the bytes of a model's file, and what it loads only with."""
    if model is None or isinstance(model, type | bool | int | float | str):
        raise TypeError(f"a model is to be saved, got {shown(model)}: give an estimator")
    writer = Writer(KINDS)
    try:
        writer.value(model, type(model).__name__)
    except RecursionError as error:
        raise TypeError(f"a {type(model).__name__} nested so deeply cannot be stored") from error
    parts = {
        MODEL: writer.entries(),
        **writer.arrays.parts(),
        **writer.texts,
        **tensor_parts(writer.tensors),
    }
    strangers = [*writer.strangers.values()]
    try:
        Reader(parts, KINDS, strangers).model()
    except Exception as error:  # of any class of the user's, whose attributes are set
        raise TypeError(f"a {type(model).__name__} cannot be stored: {error}") from error
    return write_parts(sealed(describe(model, writer.met, writer.packages), parts)), strangers
