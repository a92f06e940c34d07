"""What a graph says of itself."""

import json
from importlib.metadata import version
from typing import Any, NamedTuple

from onnx import ValueInfoProto

from plcp.onnx.graph import TYPES, Graph
from plcp.thresholds.levels import check_levels, is_several

VERSION = version("plcp")
KINDS: dict[int, str] = {number: name for name, number in TYPES.items()}
MEANINGS = {
    "X": "rows, columns as in fit; nan where a value is missing",
    "prediction": "prediction of the model",
    "threshold": "largest score in the set; infinite for rows that predict would refuse",
    "group": "number of the learned or given group, -1 for none",
    "lower": "lower end of the interval",
    "upper": "upper end of the interval",
}


class Words(NamedTuple):
    """A text for people, and facts for programs."""

    text: str
    facts: dict[str, str]


def told(graph: Graph, model: Any, tails: list[Any], shown: Any) -> Words:
    """What goes in, what comes out, and what holds; ``tails``: the rule of each."""
    names = [str(name) for name in getattr(shown, "feature_names_in_", [])]
    facts = {
        "plcp_version": VERSION,
        "model": type(model).__name__,
        "rule": type(tails[0]).__name__,
        "alpha": json.dumps(_alpha(tails)),
        "guarantee": model.guarantee_,
        "feature_names": json.dumps(names, ensure_ascii=False),
    }
    lines = [
        f"{facts['model']} of plcp {VERSION} at alpha = {facts['alpha']}.",
        *(_line("Input", value) for value in graph.used_inputs()),
        *(_line("Output", value) for value in graph.outputs),
        model.guarantee_,
    ]
    return Words("\n".join(lines), facts)


def _alpha(tails: list[Any]) -> float | list[float]:
    """Level of the sets, of which each tail has a share; a list where there are several."""
    levels = [sum(shares) for shares in zip(*(check_levels(t.alpha) for t in tails), strict=True)]
    return levels if is_several(tails[0].alpha) else levels[0]


def _line(what: str, value: ValueInfoProto) -> str:
    kind = value.type.tensor_type
    shape = ", ".join(d.dim_param or str(d.dim_value) for d in kind.shape.dim)
    meaning = MEANINGS.get(value.name, "a column of the rows")
    if (what, value.name) == ("Input", "prediction"):
        meaning += ", which has no graph here: ask it for the same rows"
    return f"{what} {value.name} ({shape}), {KINDS[kind.elem_type]}: {meaning}."
