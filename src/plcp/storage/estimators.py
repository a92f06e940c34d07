"""Any other object of scikit-learn, by skops: all of a file in one part."""

import io
import json
import zipfile
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from plcp.indices import packed_trees
from plcp.storage.archive import read_parts, write_parts
from plcp.storage.kinds import Kind
from plcp.storage.names import full_name
from plcp.storage.objects import check_attributes, check_stream
from plcp.storage.reachable import reachable
from plcp.storage.reader import Reader
from plcp.storage.skops_schema import check_archives, check_schema
from plcp.storage.types import HOME_OF, is_known, unknown
from plcp.storage.writer import Writer

PART, SCHEMA = "estimators.skops", "schema.json"
MOST_ARRAYS = 2**20  # skops gives each a part of its own
REMEDY = "pip install 'plcp[files]'"
# beside what skops trusts itself: all that is within scikit-learn's boosting, its searches, and
# parts of common models that hold numbers only
TRUSTED = (
    "functools.partial",
    "numpy.dtype",
    "sklearn._loss.loss.HalfTweedieLoss",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils.validation.check_array",
)


def _is_foreign(value: Any) -> bool:
    cls = type(value)
    return (
        cls.__module__.startswith("sklearn.")
        and not is_known(cls)
        and not packed_trees.is_packable(value)
    )


def _dump(value: Any, writer: Writer) -> int:
    writer.packages.add("scikit-learn")
    writer.estimators.append(value)
    return len(writer.estimators) - 1


def _load(number: Any, reader: Reader) -> Any:
    if PART not in reader.cache:
        trusted = [f"{home}.{name}" for name, home in HOME_OF.items()]
        trusted += [full_name(thing) for thing in reader.trusted]
        functions = {full_name(thing) for thing in reader.trusted if not isinstance(thing, type)}
        reader.cache[PART] = load_estimators(
            reader.parts[PART], [*TRUSTED, *trusted], functions=functions
        )
    found = reader.cache[PART]
    if type(number) is not int or not 0 <= number < len(found):
        raise ValueError(f"there is no estimator {number!r}")
    return found[number]


def estimator_parts(estimators: list[Any]) -> dict[str, bytes]:
    """Return the part that holds estimators, if there are any."""
    return {PART: dump_estimators(estimators)} if estimators else {}


def dump_estimators(estimators: Any) -> bytes:
    """Return objects as bytes: the same for the same objects.

    skops names objects by their address in memory, which is another in every run; here they are
    numbered in the order in which they come.
    """
    try:
        import skops.io  # takes two seconds: it looks through all of scikit-learn
    except ImportError as error:
        raise ImportError(f"models of scikit-learn are stored by skops: {REMEDY}") from error
    try:
        content = skops.io.dumps(estimators)
    except Exception as error:  # whatever skops says of a type that it cannot take
        names = ", ".join(sorted({full_name(type(each)) for each in estimators}))
        raise TypeError(f"skops cannot store one of {names}: {error}") from error
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    renamed: dict[str, str] = {}
    schema = _renumbered(json.loads(parts.pop(SCHEMA)), {}, renamed)
    files = {renamed[name]: part for name, part in parts.items()}
    text = json.dumps(schema, separators=(",", ":")).encode()
    return write_parts({**dict(sorted(files.items())), SCHEMA: text}, compressed=False)


def load_estimators(content: bytes, trusted: list[str], *, functions: Collection[str] = ()) -> Any:
    """Return the objects of these bytes, unless they name a type that is not trusted.

    Of what is trusted ``functions`` are not called.
    """
    try:
        import skops.io
        from skops.io.exceptions import UntrustedTypesFoundException
    except ImportError as error:
        raise ImportError(f"it holds what skops reads: {REMEDY}") from error
    import sklearn

    parts = read_parts(content, most_parts=MOST_ARRAYS)  # refuses what would not fit into memory
    check_archives(parts, len(content))
    check_schema(json.loads(parts[SCHEMA]), functions)
    try:
        made = skops.io.loads(content, trusted=trusted)
    except UntrustedTypesFoundException as error:
        names = [name for name in skops.io.get_untrusted_types(data=content) if name not in trusted]
        raise ValueError(unknown(names)) from error
    except Exception as error:  # whatever a scikit-learn other than the writer's may stumble over
        raise ValueError(
            f"scikit-learn {sklearn.__version__} cannot make its models ({type(error).__name__}): "
            "use the version that it was made with, or make it again"
        ) from error
    for part in reachable(made):
        _check(part)
    return made


def _check(part: Any) -> None:
    """Refuse what would lead compiled code astray."""
    if type(part) in packed_trees.CLASSES.values():
        check_attributes(type(part), vars(part))
        packed_trees.check(part)
    elif isinstance(part, np.random.RandomState):
        check_stream(part)
    elif isinstance(part, np.random.Generator) and type(part.bit_generator) is not np.random.PCG64:
        raise ValueError("a random stream is none that default_rng makes: do not use it")


def _renumbered(node: Any, numbers: dict[int, int], names: dict[str, str]) -> Any:
    """Return a node of skops with new numbers, and note the new names of files."""
    if isinstance(node, list):
        return [_renumbered(item, numbers, names) for item in node]
    if not isinstance(node, dict):
        return node
    own = node.get("__id__")
    if own is not None:
        number = numbers.setdefault(own, len(numbers))
        node = node | {"__id__": number}
        if "file" in node:
            new = f"{number:07d}{PurePosixPath(node['file']).suffix}"
            node["file"] = names.setdefault(node["file"], new)
    return {key: _renumbered(value, numbers, names) for key, value in node.items()}


KINDS = (Kind("estimator", _is_foreign, _dump, _load),)
