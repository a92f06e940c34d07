"""Export of a fitted rule or ConformalRegressor as an ONNX graph that describes itself."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from onnx import ModelProto, ValueInfoProto, checker, helper
from sklearn.utils.validation import check_is_fitted

from plcp._features import SINGLE
from plcp._files import check_output, write_atomically
from plcp.conformal import ConformalClassifier, ConformalRegressor, columns_source
from plcp.onnx.graph import IR_VERSION, TYPES, VERSIONS, Graph, inputs_of, place_of, refused
from plcp.onnx.rules import COLUMNS, Answer, answers, check_score, ends, point, prediction
from plcp.thresholds import ThresholdRule
from plcp.thresholds.base import check_alphas, lists_alphas

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


class Description(NamedTuple):
    """A text for people, and facts for programs."""

    text: str
    facts: dict[str, str]


def describe(graph: Graph, model: Any, tails: list[Any], shown: Any) -> Description:
    """What goes in, what comes out, and what holds; ``tails``: the rule of each."""
    names = [str(name) for name in getattr(shown, "feature_names_in_", [])]
    facts = {
        "plcp_version": VERSION,
        "model": type(model).__name__,
        "rule": type(tails[0]).__name__,
        "alpha": json.dumps(_alpha(tails)),
        "guarantee": json.dumps(model.guarantee_.to_dict()),
        "feature_names": json.dumps(names, ensure_ascii=False),
    }
    lines = [
        f"{facts['model']} of plcp {VERSION} at alpha = {facts['alpha']}.",
        *(_line("Input", value) for value in graph.used_inputs()),
        *(_line("Output", value) for value in graph.outputs),
        str(model.guarantee_),
    ]
    return Description("\n".join(lines), facts)


def _alpha(tails: list[Any]) -> float | list[float]:
    """Alpha of the sets, of which each tail has a share; a list where there are several."""
    levels = [sum(shares) for shares in zip(*(check_alphas(t.alpha) for t in tails), strict=True)]
    return levels if lists_alphas(tails[0].alpha) else levels[0]


def _line(what: str, value: ValueInfoProto) -> str:
    kind = value.type.tensor_type
    shape = ", ".join(d.dim_param or str(d.dim_value) for d in kind.shape.dim)
    meaning = MEANINGS.get(value.name, "a column of the rows")
    if (what, value.name) == ("Input", "prediction"):
        meaning += ", which has no graph here: give its prediction of the same rows"
    return f"{what} {value.name} ({shape}), {KINDS[kind.elem_type]}: {meaning}."


def export(model: Any, path: str | Path | None = None) -> ModelProto:
    """Write a fitted threshold rule or ``ConformalRegressor`` as an ONNX graph.

    The graph gives each row its ``threshold`` and learned ``group``, and for a
    ``ConformalRegressor`` also ``prediction``, ``lower`` and ``upper``: the same as Python's, but
    for the rounding of sums in another order. It wants a runtime of ONNX 1.16 or later that knows
    trees in double precision and large sets of categories, as onnxruntime does from 1.23 on.

    Rows go in as one table ``X`` of doubles, (n, d), columns as in fit: cast single precision to
    double first, as scikit-learn does. Gaps are nan, codes of categories numbers, dates days since
    1970. Where the rule was fitted to a data frame with text, each column is an input of its own
    name, (n, 1), of strings or doubles, and text that did not occur in fit counts as missing. Rows
    that ``predict`` would refuse (infinite numbers, nan where the rule takes none, numbers too
    large for those who do sums) are given an infinite threshold and group -1.

    A model that has no graph here (any but linear ones, ``HistGradientBoostingRegressor``,
    LightGBM's and networks within ``TorchQuantile``) stays where it is: its prediction is then a
    second input, ``prediction``, (n,), or (n, 2) for scores that read a band or a scale.

    Rules: ``PLCP`` with any partition of plcp (ordered: a linear, boosted, mixed or neural
    regressor; a
    classifier: ``HistGradientBoostingClassifier``), ``SplitConformal``, ``Rectified``, and
    ``Mondrian`` of one column. Thresholds have one column for each tail and level, if there are
    several, and so have groups that levels do not share.

    Parameters
    ----------
    model : ThresholdRule or ConformalRegressor
        Fitted.
    path : str or Path, default=None
        A file ``.onnx`` to write as well; one that is there is replaced, whole or not at all.

    Returns
    -------
    onnx.ModelProto
        The graph. Its ``doc_string`` states inputs and outputs, its metadata hold alpha, the
        guarantee, the names of the features and the version of plcp.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from plcp import SplitConformal
    >>> from plcp.onnx import export
    >>> rule = SplitConformal(alpha=0.1).fit(np.zeros((19, 1)), np.arange(1, 20))
    >>> session = onnxruntime.InferenceSession(export(rule).SerializeToString())
    >>> session.run(["threshold"], {"X": np.array([[0.0], [5.0]])})
    [array([18., 18.])]
    """
    if path is not None:
        check_output(path, force=True, ending=".onnx")
    if not isinstance(model, ConformalRegressor | ThresholdRule):
        raise _unknown(model)
    check_is_fitted(model)
    graph = Graph()
    if isinstance(model, ConformalRegressor):
        _add_model(graph, model)
        description = describe(graph, model, model.tail_rules_, columns_source(model))
    else:
        _give(graph, [answers(inputs_of(graph, model, model), model)])
        description = describe(graph, model, [model], model)
    exported = _finished(graph, description)
    if path is not None:
        with write_atomically(path, force=True) as temporary:
            temporary.write_bytes(exported.SerializeToString())
    return exported


def _add_model(graph: Graph, model: ConformalRegressor) -> None:
    """Add the model, the rule of each tail, and the ends of intervals."""
    score, rules, shown = model.conformity_, model.tail_rules_, columns_source(model)
    check_score(score)
    kept = _kept(model)
    rows = inputs_of(graph, shown, rules[0], kept)
    given = prediction(rows, model.estimator_, score)
    if model._reads_prediction:
        seen = rows.beside(_rounded(graph, given), COLUMNS[type(score)])
    else:
        seen = rows if kept is None else rows.select(kept)
    tails = [answers(seen, rule) for rule in rules]
    levels = len(tails[0])
    _give(graph, tails)
    joined = [graph.side_by_side([answer.threshold for answer in tail]) for tail in tails]
    lower, upper = ends(graph, score, given, joined)
    if "prediction" not in graph.inputs:
        graph.output("prediction", point(graph, score, given), "double", 1)
    graph.output("lower", lower, "double", levels)
    graph.output("upper", upper, "double", levels)


def _rounded(graph: Graph, prediction: str) -> str:
    """Return predictions as rules read them, in single precision where that holds them."""
    least, most = (graph.constant(size) for size in SINGLE)
    size = graph.add("Abs", prediction)
    holds = graph.add("And", graph.add("Greater", size, least), graph.add("Less", size, most))
    return graph.add(
        "Where", holds, graph.cast(graph.cast(prediction, "float"), "double"), prediction
    )


def _kept(model: ConformalRegressor) -> list[int] | None:
    """Places of the columns that the rule is shown; None for all that it was fitted to."""
    if model._reads_prediction:
        return list(range(model.n_features_in_))
    if model.features is None:
        return None
    if callable(model.features):
        raise refused(
            "features",
            "a function of X has no graph",
            "name columns, or export the rule, model.tail_rules_[0], and give it features(X)",
        )
    given = [model.features] if isinstance(model.features, str | int) else list(model.features)
    return [place_of(model, column) for column in given]


def _give(graph: Graph, tails: Sequence[Sequence[Answer]]) -> None:
    """Name thresholds and groups: a vector, or one column for each tail and level."""
    found = [answer for tail in tails for answer in tail]
    threshold = graph.side_by_side([answer.threshold for answer in found])
    graph.output("threshold", threshold, "double", len(found))
    groups = [answer.group for answer in found if answer.group is not None]
    if groups:
        graph.output("group", graph.side_by_side(groups), "int64", len(groups))


def _finished(graph: Graph, description: Description) -> ModelProto:
    inner = helper.make_graph(
        graph.nodes, "plcp", graph.used_inputs(), graph.outputs, graph.constants
    )
    versions = [helper.make_opsetid(domain, version) for domain, version in VERSIONS.items()]
    exported = helper.make_model(
        inner,
        opset_imports=versions,
        ir_version=IR_VERSION,
        producer_name="plcp",
        producer_version=description.facts["plcp_version"],
        doc_string=description.text,
    )
    helper.set_model_props(exported, description.facts)
    checker.check_model(exported)
    return exported


def _unknown(model: Any) -> ValueError:
    if isinstance(model, ConformalClassifier):
        return refused(
            model,
            "sets of labels have no graph here",
            "export its rule, model.tail_rules_[0], and compare scores with thresholds",
        )
    local = hasattr(model, "to_local")
    return refused(
        model,
        "only threshold rules and ConformalRegressor can",
        "give model.to_local()" if local else "give one of these, fitted",
    )
