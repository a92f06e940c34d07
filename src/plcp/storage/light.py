"""Models of LightGBM, by the text that it keeps them in itself, but for how they were grown."""

import sys
from typing import Any

from plcp.indices.light_text import sound_text
from plcp.storage.kinds import Kind
from plcp.storage.reader import Reader
from plcp.storage.writer import Writer


def _is_booster(value: Any) -> bool:
    """Whether this is a booster of LightGBM; whoever has one has imported it already."""
    lightgbm = sys.modules.get("lightgbm")
    return lightgbm is not None and type(value) is lightgbm.Booster


def _dump_booster(booster: Any, writer: Writer) -> list[Any]:
    writer.packages.add("lightgbm")
    name = f"lightgbm/{len(writer.texts)}.txt"
    writer.texts[name] = sound_text(booster.model_to_string(num_iteration=-1)).encode()
    return [name, booster.best_iteration]


def _load_booster(content: Any, reader: Reader) -> Any:
    import lightgbm

    name, best = content
    if name in reader.cache:
        raise ValueError("two models of LightGBM share one text: do not use it")
    reader.cache[name] = None
    booster = lightgbm.Booster(model_str=sound_text(reader.parts[name].decode()))
    booster.best_iteration = int(best)
    return booster


KINDS = (Kind("lightgbm", _is_booster, _dump_booster, _load_booster),)
