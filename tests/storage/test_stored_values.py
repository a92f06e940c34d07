"""Values that models are made of come back as they were; what cannot be stored is named."""

import datetime as dt
import io
from functools import partial

import numpy as np
import pytest
from opened_files import value_again as again
from saved_examples import over_zero
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Bunch

import plcp

pytestmark = pytest.mark.filterwarnings("ignore::plcp.storage.TrustWarning")

VALUES = {
    "plain": [None, True, 1, 2**70, -1.5, "", "naïve ✓", "\ud800"],
    "containers": [[], (), {}, {"a": [1, (2, {3: [4]})]}, {1, 3, 2}, slice(1, None, 2)],
    "keys": [{None: 1, True: 2, 2.5: 3, "x": 4, np.str_("y"): 5, np.float64(7.5): 6}],
    "floats": [0.1, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), float("nan")],
    "scalars": [
        np.float64(0.1), np.float32(0.1), np.float16(0.1), np.int8(-3), np.uint64(2**63),
        np.bool_(True), np.str_("text"), np.datetime64("2020-02-03T04:05:06.789"),
        np.timedelta64(5, "D"), np.float64("inf"), np.float32("nan"), np.datetime64("NaT", "D"),
    ],
    "arrays": [
        np.arange(6).reshape(2, 3), np.asfortranarray(np.eye(3)), np.zeros((0, 4)),
        np.array(3.5), np.array([np.nan, -0.0, np.inf]), np.array([1 + 2j]),
        np.array(["a", "böse", ""]), np.array([b"a\xff", b""]), np.array([], dtype="<U3"),
        np.array([None, "a", 1.5, [1, 2]], dtype=object),
        np.array(["2020-01-01", "NaT"], dtype="M8[D]"), np.array([True, False]),
        np.arange(10)[::3], np.arange(3.0).astype(">f8"), np.zeros(3),
        np.float32([0.1]), np.array([2**63], dtype=np.uint64),
    ],
    "types": [
        np.float32, np.number, np.bool_, bool, object, str, np.dtype("<f4"), np.dtype("<U7"),
        np.ma.MaskedArray([1.0, 2.0], [True, False]), Bunch(a=1),
    ],
}  # fmt: skip


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ma.MaskedArray):
        assert_same(one.filled(), other.filled())
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if other.flags.forc:
            assert one.flags.f_contiguous == other.flags.f_contiguous
        if one.dtype == object:
            for pair in zip(one.ravel(), other.ravel(), strict=True):
                assert_same(*pair)
        else:
            assert one.tobytes() == other.tobytes()
    elif isinstance(one, np.generic):
        assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, dict):
        assert_same(list(one), list(other))
        assert_same(list(one.values()), list(other.values()))
    else:
        assert repr(one) == repr(other)


@pytest.mark.parametrize("kind", VALUES)
def test_values_come_back_as_they_were(kind, tmp_path):
    for value in VALUES[kind]:
        assert_same(again(value, tmp_path), value)
    assert_same(again(VALUES[kind], tmp_path), VALUES[kind])


def test_what_was_one_object_stays_one(tmp_path):
    shared, array = [1, 2], np.arange(3)
    array.setflags(write=False)
    one, two, three, four = again([shared, {"a": shared}, array, (array,)], tmp_path)
    assert one is two["a"]
    three[0] = 7  # it may be written
    assert four[0][0] == 7


def local_function():
    def inside(X):
        return X

    return inside


def itself():
    value = []
    value.append(value)
    return value


class Slotted:
    """An object whose attributes lie elsewhere."""

    __slots__ = ("a",)


OPEN = io.StringIO("an open file")
LOCAL = type("Local", (), {})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lambda X: X, r"\.value is a lambda, .* def at the top of a module"),
        (local_function, r"the function local_function\.<locals>\.inside, .* def at the top"),
        (lambda: OPEN, r"\.value is a _io\.StringIO, which cannot be stored"),
        (lambda: {"a": [1, OPEN]}, r"\.value\['a'\]\[1\] is a _io\.StringIO"),
        (itself, "is part of itself"),
        (Slotted, "Slotted, which cannot be stored"),
        (LOCAL, "define its class at the top of a module"),
        (lambda: {1, "a"}, "give a list in its place"),
        (lambda: np.zeros(2, dtype=[("a", "<f8")]), "array of numbers or text"),
        (lambda: plcp.Intervals([0.0], [1.0]), "no part of a model"),
        (lambda: dt.date(2020, 1, 1), "cannot be stored"),
        (lambda: (x for x in "ab"), "cannot be stored"),
        (lambda: np.longdouble(1) / 3, "give a plain number"),
    ],
)
def test_what_cannot_be_stored_is_named_with_its_place_and_no_file_is_made(make, words, tmp_path):
    with pytest.raises(TypeError, match=words) as raised:
        again(make(), tmp_path)
    assert str(raised.value).startswith("SplitConformal.value")
    assert not list(tmp_path.iterdir())


def test_functions_of_the_users_own_come_back_if_they_are_trusted(tmp_path):
    value = [over_zero, FunctionTransformer(over_zero)]
    with pytest.raises(ValueError, match=r"names saved_examples\.over_zero, .*trusted=\[over_zero"):
        again(value, tmp_path)
    found = again(value, tmp_path, trusted=[over_zero])
    assert found[0] is over_zero
    assert found[1].func is over_zero


def test_a_partial_of_a_universal_function_is_code_and_has_to_be_trusted(tmp_path):
    """As a step of a pipeline it would write its sum into the rows that it is given."""
    step = FunctionTransformer(partial(np.add, np.zeros(3), np.ones(3)))
    for trusted in ([], [np.add], [partial]):
        with pytest.raises(ValueError, match=r"names (functools\.partial|numpy\.add), "):
            again(step, tmp_path, trusted=trusted)
    found = again(step, tmp_path, trusted=[partial, np.add])
    assert found.func.func is np.add


@pytest.mark.parametrize("model", [None, 3, "model", plcp.PLCP])
def test_what_is_no_model_leaves_an_older_file_as_it_was(model, tmp_path):
    plcp.save(plcp.SplitConformal(alpha=0.3), tmp_path / "m.plcp")
    with pytest.raises(TypeError, match="give an estimator"):
        plcp.save(model, tmp_path / "m.plcp")
    assert plcp.load(tmp_path / "m.plcp").alpha == 0.3


def test_lists_within_lists_without_end_are_named(tmp_path):
    value = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(TypeError, match="a SplitConformal nested so deeply"):
        again(value, tmp_path)
