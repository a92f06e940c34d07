"""Models in files: ``save`` and ``load``, and the manifest, which describes a model."""

import hashlib
import platform
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plcp._files import check_input, check_output, check_path, write_atomically
from plcp._options import caller_stacklevel, shown
from plcp._rows import is_dataset, is_frame
from plcp.exceptions import OtherVersionWarning, TrustWarning
from plcp.storage import allowlist, estimators, lightgbm as light, networks, trees, values
from plcp.storage.allowlist import check_trusted, full_name, public_name
from plcp.storage.archive import FORMAT, read_manifest, read_parts, seal, version_of, write_parts
from plcp.storage.codec import Codec, Decoder, Encoder
from plcp.thresholds.guarantees import Guarantee, Guarantees

SUFFIX = ".plcp"
# in the order in which they are tried
CODECS: tuple[Codec, ...] = tuple(
    codec
    for module in (values, allowlist, light, networks, trees, estimators)
    for codec in module.CODECS
)
ALWAYS = ("numpy", "scipy", "scikit-learn")  # packages whose versions every manifest holds
# extras with the packages that may compute predictions
EXTRAS = {"lightgbm": "plcp[boosting]", "scikit-learn": "plcp", "torch": "plcp[torch]"}
AGAIN = "copy it again, or make it again"
MAX_MESSAGE = 1000  # characters


def save(model: Any, path: str | Path, *, data: Sequence[Any] | None = None) -> None:
    """Write a model to a file, which `load` reads without running code.

    The file is a zip archive: a manifest in JSON (versions, class, parameters, features, alpha,
    guarantee, seed, digests), and the numbers. An existing file is replaced when the new one is
    complete. The same model gives the same bytes. Networks need the extra ``files``.

    What was written is read back before it is stored, so that a file loads where the same versions
    are installed. If it loads only with ``trusted=``, a `TrustWarning` gives the call.

    What describes the calibration rows alone (``out_of_fold_``) is left out, so that a file does
    not grow with them, except for the rules that use those rows for every prediction: ``LocalCP``,
    ``RLCP``, ``PosteriorConformal`` and ``ConditionalCalibration``.

    Parameters
    ----------
    model : estimator
        A rule, a conformal estimator, a partition, a regressor or a score, fitted or not.
    path : str or Path
        A file that ends in ``.plcp``.
    data : (X, y) or (X, y, sample_weight), optional
        The rows that the model was calibrated with. The manifest then holds their SHA-256 as
        ``data``, and `data_digest` of the same rows gives it again.

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
    >>> from plcp import SplitConformal, load, save
    >>> rule = SplitConformal(alpha=0.5).fit([[0.0]] * 3, [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(rule, f"{folder}/rule.plcp")
    ...     load(f"{folder}/rule.plcp").threshold_
    2.0
    """
    write(model, path, force=True, data=None if data is None else data_digest(*data))


def write(model: Any, path: str | Path, *, force: bool, data: str | None = None) -> None:
    """Write a model; with ``force`` in place of a file that is there."""
    check_output(path, force, ending=SUFFIX)
    content, unlisted = _encoded(model, data)
    with write_atomically(path, force=force) as temporary:
        temporary.write_bytes(content)
    if unlisted:
        names = sorted(public_name(each) for each in unlisted)
        modules = dict.fromkeys(name.rpartition(".")[0] for name in names)
        warnings.warn(
            "plcp does not check what this model is made of: it loads only by import "
            f"{', '.join(modules)}; plcp.load({str(path)!r}, trusted=[{', '.join(names)}])",
            TrustWarning,
            stacklevel=caller_stacklevel(),
        )


def model_bytes(model: Any) -> bytes:
    """Return a model as the bytes of its file."""
    return _encoded(model)[0]


def _encoded(model: Any, data: str | None = None) -> tuple[bytes, Sequence[Any]]:
    """Return the bytes of a model's file, and what `load` must trust to read it."""
    if model is None or isinstance(model, type | bool | int | float | str):
        raise TypeError(f"save needs a model, got {shown(model)}: give an estimator")
    encoder = Encoder(CODECS)
    try:
        encoder.value(model, type(model).__name__)
    except RecursionError as error:
        raise TypeError(f"a {type(model).__name__} nested so deeply cannot be stored") from error
    parts = encoder.parts() | networks.tensor_parts(encoder.tensors)
    unlisted = [*encoder.unlisted.values()]
    try:
        Decoder(parts, CODECS, unlisted).model()
    except Exception as error:  # of any class of the user's, whose attributes are set
        raise TypeError(f"a {type(model).__name__} cannot be stored: {error}") from error
    manifest = _described(model, encoder.visited, encoder.packages) | {"data": data}
    return write_parts(seal(manifest, parts)), unlisted


BLOCK = 2**22  # bytes at a time of an array that does not lie in order
PLAIN = "biufcmM"  # numpy's letters of numbers and times


def data_digest(X: Any, *columns: Any) -> str | None:
    """SHA-256 of features and of scores, labels or weights; None of a data set.

    Arrays count by their type, shape and bytes, rows in order; frames column by column with their
    names, anything but numbers and times as text. So a frame and an array of the same numbers have
    different digests, and so have single and double precision. `plcp.certify` has a fingerprint
    that does not depend on what holds the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.storage import data_digest
    >>> X, scores = np.zeros((3, 2)), np.ones(3)
    >>> data_digest(X, scores, None) == data_digest(X.copy(order="F"), scores, None)
    True
    >>> data_digest(X, scores, None) == data_digest(X, scores, scores)
    False
    """
    if is_dataset(X):
        return None
    digest = hashlib.sha256()
    if is_frame(X):
        for name in X.columns:
            digest.update(f"column {name}\n".encode())
            _update(digest, np.asarray(X[name]))
    else:
        _update(digest, np.asarray(X))
    for column in columns:
        digest.update(b"\n")
        if column is not None:
            _update(digest, np.asarray(column))
    return digest.hexdigest()


def _update(digest: Any, array: NDArray[Any]) -> None:
    """Add an array after a mark of its type and shape."""
    is_plain = array.dtype.kind in PLAIN
    digest.update(f"{array.dtype.str if is_plain else 'text'} {array.shape}\n".encode())
    if not is_plain:
        texts = [str(value).encode() for value in array.ravel().tolist()]
        digest.update(np.array([len(text) for text in texts], dtype="<i8"))
        digest.update(b"".join(texts))
    elif array.flags.c_contiguous:
        digest.update(array.view(np.uint8) if array.dtype.kind in "mM" else array)
    else:
        step = max(1, BLOCK * len(array) // max(1, array.nbytes))
        for start in range(0, len(array), step):
            digest.update(np.ascontiguousarray(array[start : start + step]).view(np.uint8))


def load(path: str | Path, *, trusted: Sequence[Any] = ()) -> Any:
    """Read a model that `save` or ``plcp calibrate`` wrote, and nothing else.

    No code of the file is run. Only objects of classes that plcp lists are made, each after a check
    that its attributes fit each other, and only functions that plcp lists are kept. A file that is
    damaged, was changed, comes from another format or holds what no model needs is refused. Its
    checksums detect accidents, not authors: read only models of people you trust with your results.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.plcp``.
    trusted : sequence of classes and functions
        What the model holds beside that: your own networks, scores, partitions, estimators and
        functions, and estimators of scikit-learn that are not checked, such as ``SVC``; `save`
        names them. What they do with their attributes is up to the author of the file.

    Returns
    -------
    object
        What was saved; of a file of the command line a ``plcp.tables.TabularModel``.

    Examples
    --------
    >>> import tempfile
    >>> from plcp import SplitConformal, load, save
    >>> rule = SplitConformal(alpha=0.5).fit([[0.0]] * 3, [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(rule, f"{folder}/rule.plcp")
    ...     load(f"{folder}/rule.plcp").predict([[0.0]])
    array([2.])
    """
    check_path(path)
    check_trusted(trusted)
    with _one_sentence(path):
        parts = _read_parts(path)
        manifest = read_manifest(parts)
        others = _other_versions(manifest)
        try:
            model = Decoder(parts, CODECS, trusted).model()
        except (AttributeError, KeyError, TypeError) as error:
            if others:
                raise ValueError(
                    f"it was made with {others}, which cannot make it: {AGAIN}"
                ) from error
            raise
        _check_description(manifest, model)
    if others:
        warnings.warn(
            f"the model was made with {others}: predictions may differ, so compare some, or use "
            "the version that it was made with",
            OtherVersionWarning,
            stacklevel=2,
        )
    return model


def load_manifest(path: str | Path) -> Mapping[str, Any]:
    """Read the manifest of a file without its model, which is quick.

    Examples
    --------
    >>> import tempfile
    >>> from plcp import SplitConformal, save
    >>> from plcp.storage import load_manifest
    >>> rule = SplitConformal(alpha=0.5).fit([[0.0]] * 3, [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(rule, f"{folder}/rule.plcp")
    ...     manifest = load_manifest(f"{folder}/rule.plcp")
    >>> manifest["class"]
    'plcp.thresholds.split.SplitConformal'
    """
    check_path(path)
    with _one_sentence(path):
        return read_manifest(_read_parts(path))


def _read_parts(path: str | Path) -> dict[str, bytes]:
    file = check_input(path)
    if not file.name.lower().endswith(SUFFIX):
        raise ValueError(f"a model's name ends in {SUFFIX}: name such a file")
    return read_parts(file.read_bytes())


@contextmanager
def _one_sentence(path: str | Path) -> Iterator[None]:
    """Raise an error of one sentence with the path where a file gives no model."""
    try:
        yield
    except OSError:
        raise
    except ImportError as error:
        raise ImportError(f"{path} cannot be read: {error}") from error
    except Exception as error:
        if isinstance(error, zipfile.BadZipFile):
            fault = f"it is no model, or not a complete one: {AGAIN}"
        elif isinstance(error, RecursionError):
            fault = "it is nested deeper than any model: do not use it"
        elif isinstance(error, MemoryError):
            fault = "it does not fit into memory: use a machine that has more"
        elif type(error) is ValueError:  # ours, or numpy's of a value of the file
            fault = str(error)[:MAX_MESSAGE]
        else:
            fault = f"it is damaged ({type(error).__name__}: {shown(str(error))[1:-1]}): {AGAIN}"
        raise ValueError(f"{path} cannot be read: {' '.join(fault.split())}") from error


def _other_versions(manifest: Mapping[str, Any]) -> str:
    """Return which packages that compute predictions had another version than here."""
    others = []
    for package in manifest["depends_on"]:
        if package not in EXTRAS:
            raise ValueError(
                f"it depends on {shown(package)[1:-1]}, as no model does: do not use it"
            )
        try:
            made, here = manifest["versions"][package], version_of(package)
        except PackageNotFoundError as error:
            raise ImportError(f"it needs {package}: pip install '{EXTRAS[package]}'") from error
        if made.split(".")[:2] != here.split(".")[:2]:
            others.append(f"{package} {shown(made)[1:-1]}, and this is {here}")
    return "; ".join(others)


def _described(model: Any, objects: Iterable[Any], packages: Iterable[str]) -> dict[str, Any]:
    """Return the manifest of a model, without the checksums.

    ``objects`` are all that it is made of, ``packages`` those that compute its predictions.
    """
    rule = _rule(model)
    shown = model if getattr(model, "_reads_prediction", False) else rule
    n, names = (getattr(shown, f"{name}_in_", None) for name in ("n_features", "feature_names"))
    types = next((part.kinds_[:n] for part in objects if hasattr(part, "kinds_")), None)
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {
        "format": FORMAT,
        "plcp": version_of("plcp"),
        "versions": {
            name: version_of(name) for name in (*ALWAYS, *sorted({*packages} - {*ALWAYS}))
        },
        "depends_on": sorted(packages),
        "class": full_name(type(model)),
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "features": {
            "n": _plain(n),
            "names": None if names is None else [str(name) for name in names],
            "types": types,
        },
        **_promises(model, rule),
        "seed": _plain(getattr(model, "random_state", None)),
        **getattr(model, "manifest", {}),
    }


def _promises(model: Any, rule: Any) -> dict[str, Any]:
    """Return what users rely on; `load` compares it with the model."""
    promises = {
        "alpha": _plain(getattr(rule, "alpha", None)),
        "guarantee": _promised(getattr(model, "guarantee_", None)),
    }
    own = getattr(model, "manifest", {})
    return {name: own.get(name, value) for name, value in promises.items()}


def _promised(guarantee: Any) -> Any:
    is_data = isinstance(guarantee, Guarantee | Guarantees)
    return guarantee.to_dict() if is_data else guarantee


def _check_description(manifest: Mapping[str, Any], model: Any) -> None:
    """Refuse a manifest that describes another model than the one it comes with."""
    for name, value in _promises(model, _rule(model)).items():
        if manifest[name] != value:
            raise ValueError(
                f"it says that its {name} is {shown(manifest[name])}, and it is {shown(value)}: do "
                "not use it"
            )
    # the module of a script has another name elsewhere
    stored, found = manifest["class"].rpartition(".")[2], full_name(type(model)).rpartition(".")[2]
    if stored != found:
        raise ValueError(
            f"it says that it holds a {shown(stored)[1:-1]}, and holds a {found}: do not use it"
        )


def _rule(model: Any) -> Any:
    """Return the rule of a model that has one, else the model."""
    tails = getattr(model, "tail_rules_", None)
    if isinstance(tails, list) and tails:
        return tails[0]
    return getattr(model, "rule", model)


def _plain(value: Any) -> Any:
    """Return a number or text as it is, and a short text for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float and np.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    # the text of a random stream would hold its address in memory
    is_object = hasattr(value, "__dict__") or isinstance(value, np.random.RandomState)
    return type(value).__name__ if is_object else shown(value)


def versions_of(rule: Any) -> dict[str, str]:
    """Versions of Python, of what the core stands on, and of the libraries the rule's parts are of.

    Examples
    --------
    >>> from plcp import SplitConformal
    >>> list(versions_of(SplitConformal()))
    ['python', 'plcp', 'numpy', 'scipy', 'scikit-learn']
    """
    found = core_versions()
    parts = [rule, *rule.get_params().values()]
    roots = {cls.__module__.split(".")[0] for part in parts for cls in type(part).__mro__}
    for root in sorted(roots - {*found, "sklearn"}):
        number = getattr(sys.modules.get(root), "__version__", None)
        if isinstance(number, str):
            found[root] = number
    return found


def core_versions() -> dict[str, str]:
    """Versions of Python and of what the core stands on."""
    return {"python": platform.python_version()} | {
        name: version_of(name) for name in ("plcp", *ALWAYS)
    }
