"""Trees in one node: the same leaf as by traversal, on cuts, in gaps and among categories."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, strategies as st
from lightgbm import LGBMRegressor
from onnx import helper
from onnx.reference import ReferenceEvaluator
from served import CLOSE, assert_served
from sklearn.ensemble import HistGradientBoostingRegressor

from plcp import PLCP, OrderedPartition, Rectified
from plcp.onnx.graph import IR_VERSION, VERSIONS, Graph
from plcp.onnx.regressors import forest
from plcp.regressors import StackedQuantile
from plcp.regressors._fast_trees import Trees, joined
from plcp.regressors.encoding import CategoryMeans
from strategies import few

VALUES = [-np.inf, -1e308, -1.0, -5e-324, 0.0, 5e-324, 0.1, 1.0, 2.0, 3.0, 1e308, np.inf]
N_COLUMNS, N_OUTPUTS = 3, 2


@st.composite
def trees(draw):
    """A tree of up to a dozen leaves whose values add up without rounding."""
    nodes = [None]
    for _ in range(draw(st.integers(0, 11))):
        place = draw(st.sampled_from([i for i, node in enumerate(nodes) if node is None]))
        nodes[place] = (len(nodes), len(nodes) + 1)
        nodes += [None, None]
    n = len(nodes)
    codes = st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True)
    sets = {
        i: np.array(draw(codes))
        for i, node in enumerate(nodes)
        if node is not None and draw(st.booleans())
    }
    columns = [0 if i in sets else draw(st.integers(1, N_COLUMNS - 1)) for i in range(n)]
    trees = Trees(
        roots=np.array([0]),
        column=np.array(columns),
        cut=np.array([draw(st.sampled_from(VALUES)) for _ in range(n)]),
        missing_left=np.array([draw(st.booleans()) for _ in range(n)]),
        left=np.array([i if node is None else node[0] for i, node in enumerate(nodes)]),
        right=np.array([i if node is None else node[1] for i, node in enumerate(nodes)]),
        value=np.array([float(draw(st.integers(-8, 8))) for _ in range(n)]),
        sets=sets,
    )
    outputs = np.array([draw(st.integers(0, N_OUTPUTS - 1)) for _ in range(n)])
    return trees, outputs


@st.composite
def tables(draw):
    """Rows with a column of codes, and numbers that lie on cuts more often than not."""
    codes = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan])
    numbers = st.sampled_from([*VALUES, np.nan])
    rows = st.tuples(codes, *[numbers] * (N_COLUMNS - 1))
    return np.array(draw(st.lists(rows, min_size=1, max_size=12)))


def traversed(drawn, X):
    """What the leaves add to each output, one row and one split after the other."""
    totals = np.zeros((len(X), N_OUTPUTS))
    for row, x in enumerate(X):
        for trees, outputs in drawn:
            node = 0
            while not trees.is_leaf[node]:
                value = x[trees.column[node]]
                if np.isnan(value):
                    left = trees.missing_left[node]
                elif node in trees.sets:
                    left = value in trees.sets[node]
                else:
                    left = value <= trees.cut[node]
                node = trees.left[node] if left else trees.right[node]
            totals[row, outputs[node]] += trees.value[node]
    return totals


def model_of(drawn):
    graph = Graph()
    graph.input("X", "double", N_COLUMNS)
    trees, outputs = (list(part) for part in zip(*drawn, strict=True))
    sums = forest(graph, "X", joined(trees), np.concatenate(outputs), N_OUTPUTS)
    graph.output("Y", sums, "double", N_OUTPUTS)
    inner = helper.make_graph(
        graph.nodes, "trees", graph.used_inputs(), graph.outputs, graph.constants
    )
    versions = [helper.make_opsetid(*version) for version in VERSIONS.items()]
    return helper.make_model(inner, opset_imports=versions, ir_version=IR_VERSION)


def run(drawn, X):
    session = onnxruntime.InferenceSession(model_of(drawn).SerializeToString())
    return session.run(None, {"X": X})[0]


@few
@given(st.lists(trees(), min_size=1, max_size=4), tables())
def test_a_forest_adds_the_leaves_that_each_row_reaches(drawn, X):
    np.testing.assert_array_equal(run(drawn, X), traversed(drawn, X))


@few
@given(st.lists(trees(), min_size=1, max_size=6))
def test_no_root_has_two_children_of_one_number(drawn):
    node = next(node for node in model_of(drawn).graph.node if node.op_type == "TreeEnsemble")
    options = {
        attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute
    }
    for root in options["tree_roots"]:
        kinds = options["nodes_trueleafs"][root], options["nodes_falseleafs"][root]
        children = options["nodes_truenodeids"][root], options["nodes_falsenodeids"][root]
        assert kinds[0] == kinds[1] or children[0] != children[1]


def coded(rng, n, n_codes):
    """Rows with a column of codes whose effect has no order, beside a number; both with gaps."""
    codes, number = rng.integers(0, n_codes, n), rng.normal(size=n).round(1)
    scores = np.abs(rng.normal(size=n)) * (1.0 + codes % 3 + (number > 0))
    X = np.column_stack([codes, number])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, scores


def boosted(**options):
    return HistGradientBoostingRegressor(
        loss="quantile", max_iter=10, min_samples_leaf=5, **options
    )


@pytest.mark.parametrize("n_codes", [3, 100])
@pytest.mark.parametrize("offset", [0.0, 0.5, -7.0])
def test_codes_of_categories_are_distinguished_and_unseen_ones_are_missing(n_codes, offset, rng):
    X, scores = coded(rng, 800, n_codes)
    X[:, 0] += offset
    regressor = boosted(categorical_features=[True, False])
    rule = PLCP(OrderedPartition(regressor), n_groups=3, calibration="cross", random_state=0).fit(
        X, scores
    )
    new, _ = coded(rng, 300, 2 * n_codes)  # half of the codes were never seen
    new[:, 0] += offset
    new[0] = -0.0
    assert_served(rule, new)
    missing = np.where(np.isin(new, X), new, np.nan)
    new[:, 0] = missing[:, 0]
    assert_served(rule, new)


def test_means_stand_for_codes_of_many_categories(rng):
    X, scores = coded(rng, 800, 60)
    regressor = StackedQuantile(members=[CategoryMeans(boosted(), [True, False]), boosted()])
    rule = Rectified(regressor, random_state=0).fit(np.nan_to_num(X), scores)
    assert_served(rule, np.nan_to_num(coded(rng, 300, 90)[0]))


@pytest.mark.parametrize("gaps", [False, True])
def test_trees_of_lightgbm_take_tiny_numbers_for_zero_and_gaps_as_in_fit(gaps, rng):
    X, scores = coded(rng, 800, 5)
    regressor = LGBMRegressor(
        objective="quantile", alpha=0.9, n_estimators=10, n_jobs=1, verbose=-1
    )
    X = X if gaps else np.nan_to_num(X)
    rule = Rectified(regressor, random_state=0).fit(X, scores)
    tiny = np.array([[a, b] for a in (0.0, 1e-36, -1e-36, 1e-34) for b in (1e-35, -1e-35, -1e-34)])
    assert_served(rule, np.vstack([X, tiny]) if gaps else np.vstack([np.nan_to_num(X), tiny]))


def test_another_runtime_predicts_alike(rng):
    X, scores = coded(rng, 400, 5)
    regressor = boosted(categorical_features=[True, False])
    rule = PLCP(OrderedPartition(regressor), n_groups=3, calibration="cross", random_state=0).fit(
        X, scores
    )
    served = assert_served(rule, X)
    found = ReferenceEvaluator(served.graph).run(None, {"X": X[:20]})
    for values, name in zip(found, served.outputs, strict=True):
        np.testing.assert_allclose(values, served(X[:20])[name], rtol=CLOSE)
