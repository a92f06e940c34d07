"""Files made to do harm, with the right checksums: each is refused before it can."""

import io
import json
import struct
import zipfile
from functools import partial

import lightgbm
import numpy as np
import pytest
from opened_files import opened, resealed, with_entries
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_array

import plcp
from plcp.storage import archive
from plcp.storage.archive import read_parts, write_parts
from plcp.storage.estimators import PART, SCHEMA, dump_estimators

X = np.arange(60.0).reshape(20, 3)
LINE = LinearRegression().fit(X, X[:, 0])
called = []


def shout(*words):
    """A function of the user's, which no file may call."""
    called.append(words)


def refused(parts, path, words, **options):
    with pytest.raises(ValueError, match=words):
        plcp.load(resealed(parts, path), **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.plcp"


def asking(nodes, files=(), model=LINE):
    """Parts of a model with more nodes, and more files, for skops."""
    parts = opened(model)
    inner = read_parts(parts[PART], most_parts=999)
    schema = json.loads(inner[SCHEMA])
    schema["content"] += nodes
    inner |= {**dict(files), SCHEMA: json.dumps(schema).encode()}
    return parts | {PART: write_parts(inner, compressed=False)}


def node(loader, name="shout", module=__name__, **more):
    return {"__loader__": loader, "__class__": name, "__module__": module, **more}


TEXT = node("JsonNode", "str", "builtins", content='"now"', is_json=True)
WORDS = node("TupleNode", "tuple", "builtins", content=[TEXT])
NOTHING = node("DictNode", "dict", "builtins", content={}, key_types={"content": []})
MENTION = node("FunctionNode", __id__=9001)


def keys(*made_by):
    """A dict whose one key is made by something."""
    kinds = node("ListNode", "list", "builtins", content=[*made_by])
    return node("DictNode", "dict", "builtins", content={"now": TEXT}, key_types=kinds)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("ConstructorFromReduceNode", content=WORDS)],
        [node("LossNode", content=NOTHING, __reduce__={"args": WORDS})],
        [node("ListNode", content=[TEXT])],
        [node("DictNode", content={}, key_types=WORDS)],
        [keys(MENTION)],
        [keys(node("TypeNode"))],
        [MENTION, keys(node("TypeNode", "str", "builtins", __id__=9001))],
        [keys(node("PartialNode", "partial", "functools", content={"func": MENTION}))],
    ],
)
def test_a_trusted_function_may_be_named_but_is_not_called(path, nodes):
    refused(asking(nodes), path, "it calls|two objects|a key is made", trusted=[shout])
    assert not called


def test_a_small_array_that_is_read_again_and_again(path):
    content = io.BytesIO()
    np.save(content, np.zeros(1000))
    array = node("NdArrayNode", "ndarray", "numpy", type="numpy", file="0009001.npy")
    again = [array | {"__id__": number} for number in (9001, 9002)]
    refused(asking(again, {"0009001.npy": content.getvalue()}), path, "which is another's")


def test_a_sparse_array_that_is_a_bomb(path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.npy", b"\0" * (archive.FREE_BYTES + 1))
    parts = asking([], {"0009001.npz": content.getvalue()})
    refused(parts, path, "bytes, more than the")


def test_a_part_packed_by_what_asks_for_any_memory(path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("manifest.json", "{}")
    changed = bytearray(content.getvalue())
    struct.pack_into("<L", changed, changed.index(b"manifest.json") + 18, 2**32 - 1)
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="packed as those of no model"):
        plcp.load(path)


def test_a_tree_that_is_deeper_than_it_says(path):
    """scikit-learn makes room for a path by the depth, and writes on beyond it."""

    def change(entries):
        next(each["tree"] for each in entries if "tree" in each)[3] = 0

    parts = with_entries(opened(DecisionTreeRegressor().fit(X, X[:, 0])), change)
    refused(parts, path, "leads nowhere")


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (DecisionTreeRegressor(), "_validate_X_predict"),
        (HistGradientBoostingRegressor(), "_preprocess_X"),
        (HistGradientBoostingRegressor(warm_start=True), "_preprocess_X"),
        (plcp.SplitConformal(), "predict"),
    ],
)
def test_a_method_replaced_by_another_function(path, model, method):
    """Whoever looks at no columns lets a tree ask about any."""
    setattr(model.fit(X, X[:, 0]), method, partial(check_array, dtype=np.float32))
    plcp.save(model, path)
    with pytest.raises(ValueError, match=rf"has its own {type(model).__name__}\.{method}"):
        plcp.load(path)


def out_of_place():
    """Streams whose next number would lie outside of their memory."""
    twister, counter = np.random.RandomState(0), np.random.Generator(np.random.Philox(0))
    state = twister.get_state(legacy=False)
    state["state"]["pos"] = 10**9
    twister.set_state(state)
    counter.bit_generator.state = {**counter.bit_generator.state, "buffer_pos": -(10**8)}
    return [twister, counter]


@pytest.mark.parametrize("stream", out_of_place(), ids=["twister", "counter"])
def test_a_random_stream_within_skops_in_no_state(path, stream):
    parts = opened(LINE) | {PART: dump_estimators([stream])}
    refused(parts, path, "random stream")


def repeated(kind, times):
    """A change that makes an entry again and again, of what was written once."""

    def change(entries):
        each = next(each for each in entries if kind in each)
        entries[-1:] = [each] * times + entries[-1:]

    return change


@pytest.mark.parametrize("kind", ["tree", "booster"])
def test_trees_that_are_made_again_and_again(path, kind):
    model = {
        "tree": DecisionTreeRegressor(),
        "booster": BaggingRegressor(HistGradientBoostingRegressor(), 1),
    }[kind]
    rng = np.random.default_rng(0)
    fitted = model.fit(rng.uniform(size=(5000, 2)), rng.uniform(size=5000))
    fitted = fitted.estimators_[0] if kind == "booster" else fitted
    refused(with_entries(opened(fitted), repeated(kind, 2000)), path, "more memory than a model")


def test_a_text_of_lightgbm_that_is_read_again_and_again(path):
    model = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1).fit(X, X[:, 0])
    refused(with_entries(opened(model), repeated("lightgbm", 2)), path, "share one text")


def test_labels_that_are_made_again_and_again(path):
    def change(entries):
        texts, labels = {"list": ["a" * 1000] * 100}, {"arrow": ["string", [0]]}
        entries[:] = [texts, *[labels] * 1000]

    refused(with_entries(opened(plcp.SplitConformal()), change), path, "more memory than a model")


@pytest.mark.parametrize("kind", ["set", "dict"])
def test_whole_numbers_that_all_have_one_hash(path, kind):
    alike = [(2**61 - 1) * i for i in range(2**10)]

    def change(entries):
        entries.insert(0, {kind: alike if kind == "set" else [[key, 1] for key in alike]})

    refused(with_entries(opened(plcp.SplitConformal()), change), path, "a key is")


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_number_that_is_none_in_json(path, constant):
    parts = opened(plcp.SplitConformal().fit(X, X[:, 0]))
    parts["model.json"] = parts["model.json"].replace(b'"alpha":0.1', b'"alpha":' + constant)
    refused(parts, path, f"{constant.decode()} stands for no value")


@pytest.mark.parametrize(
    "told",
    [
        {"class": "plcp.tabular.model.TabularModel"},
        {"alpha": 0.01},
        {"guarantee": "It covers all."},
        {"data": "0" * 64},
    ],
)
def test_a_manifest_that_tells_of_another_model(path, told):
    parts = opened(plcp.SplitConformal().fit(X, X[:, 0]))
    with pytest.raises(ValueError, match="it says that"):
        plcp.load(resealed(parts, path, **told))


@pytest.mark.parametrize("path", [None, 3, b"m.plcp", io.BytesIO()])
def test_what_is_no_name_of_a_file(path):
    for call in (lambda: plcp.save(LINE, path), lambda: plcp.load(path)):
        with pytest.raises(TypeError, match="path must be a str or a Path, got"):
            call()


@pytest.mark.parametrize("trusted", [True, None, "os.system", shout, plcp.PLCP, ["os.system"]])
def test_who_is_trusted_is_listed_as_itself_and_not_by_name(path, trusted):
    plcp.save(LINE, path)
    with pytest.raises(TypeError, match="trusted must be a list of classes and functions, got"):
        plcp.load(path, trusted=trusted)
