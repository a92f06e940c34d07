"""A fitted rule as bytes, without pickle: the same bytes for the same rule."""

import io
import json
import zipfile
from pathlib import PurePosixPath
from typing import Any

from plcp.tabular.archive import read_parts, write_parts
from plcp.tabular.trusted import TRUSTED

SCHEMA = "schema.json"


def dump_rule(rule: Any) -> bytes:
    """Return a rule as bytes.

    skops names objects by their address in memory, which is another in every run; here they are
    numbered in the order in which they come.
    """
    import skops.io  # takes two seconds: it looks through all of scikit-learn

    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(rule))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[int, int] = {}
    schema = _renumbered(json.loads(parts.pop(SCHEMA)), numbers)
    files = {_renamed(name, numbers): content for name, content in parts.items()}
    text = json.dumps(schema, separators=(",", ":")).encode()
    return write_parts({**dict(sorted(files.items())), SCHEMA: text}, compressed=False)


def load_rule(content: bytes) -> Any:
    """Return the rule of these bytes, unless they name a type that is not trusted."""
    import sklearn
    import skops.io
    from skops.io.exceptions import UntrustedTypesFoundException

    read_parts(io.BytesIO(content))  # refuses what would not fit into memory
    try:
        return skops.io.loads(content, trusted=[*TRUSTED])
    except UntrustedTypesFoundException as error:
        raise ValueError(f"it holds what no rule needs, so do not use it ({error})") from error
    except Exception as error:  # whatever a scikit-learn other than the writer's may stumble over
        raise ValueError(
            f"scikit-learn {sklearn.__version__} cannot make its rule ({type(error).__name__}): "
            "use the version that the model was made with, or make it again"
        ) from error


def _renumbered(node: Any, numbers: dict[int, int]) -> Any:
    if isinstance(node, list):
        return [_renumbered(item, numbers) for item in node]
    if not isinstance(node, dict):
        return node
    own = node.get("__id__")
    if own is not None:
        number = numbers.setdefault(own, len(numbers))
        node = node | {"__id__": number}
        if "file" in node:
            node["file"] = _renamed(node["file"], numbers)
    return {key: _renumbered(value, numbers) for key, value in node.items()}


def _renamed(file: str, numbers: dict[int, int]) -> str:
    path = PurePosixPath(file)
    return f"{numbers[int(path.stem)]:07d}{path.suffix}"
