"""Well-formed files with altered values: files that an attacker who knows the format would write.

A file is taken apart into its entries, each array with the numbers that belong to it. One to three
things are altered, and all is written again: references renumbered, numbers in their order, sizes
and checksums right. So an input reaches the code behind the first checks.
"""

import copy
import io
import json
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from plcp.storage.allowlist import HOME_OF
from plcp.storage.archive import MANIFEST, read_parts, seal, write_parts
from plcp.storage.networks import LAYERS

MODEL, TENSORS, ARRAYS, TEXTS = "model.json", "tensors.safetensors", "arrays/", "lightgbm/"
NUMERIC = "biufc"  # numpy's letters of what lies in a part of its own
INTEGERS = (0, 1, -1, 2, 3, 7, 64, 255, 2**15, 2**31 - 1, 2**31, 2**53 + 1, 2**62, -(2**63))
LARGER = (10**5, 10**6, 10**9, 10**30, 10**400)
FLOATS = (0.5, -0.0, 1e-320, 1e300, 1e308, {"float": "nan"}, {"float": "inf"}, {"float": "-inf"})
WORDS = (
    *("", "a", "drop", "passthrough", "auto", "same", "soft", "hard", "fit", "mean", "predict"),
    *("first", "if_binary", "error", "ignore", "set_params", "relu", "identity", "reflect"),
    *("zeros", "gbdt", "log_loss", "raw", "float32", "<f8", "|O", "<U4", "٣", "１２", "1_0", "²"),
    *("é", "\u202e", "\0", "\ud800", "a\nb", "x" * 300, "9" * 5000, "__class__"),
    *("os.system", "builtins.eval"),
)
OTHERS = (None, True, False, [], {}, [0], [1], [[0]], {"float": "1_0"}, {"float": "x"})
NUMBERS = (0, 1, -1, 2, 7, 100, 255, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63), 1e300, -1e308)
UNREAL = (float("nan"), float("inf"), float("-inf"), 5e-324, 0.5)
TYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "|u1", "<u4", "<u8", "|b1", "<c16", ">f8")
KINDS = (
    *("array", "masked", "scalar", "dtype", "class", "list", "tuple", "dict", "bunch", "set"),
    *("slice", "partial", "function", "lightgbm", "arrow", "module", "tensor", "decision_tree"),
    *("extension", "booster", "random", "named", "object"),
)
NAMES = (*HOME_OF, *(f".{name}" for name in sorted(LAYERS)))
TOKEN = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
IN_TEXT = (
    *("0", "-1", "1", "2", "7", "-2147483648", "2147483648", "1e308", "nan", "inf", "-0", "٣"),
    *("１", "", "1 2", "1:2", "0x10", "9" * 400, "1e-320", "9223372036854775807", "+1", " ", "a"),
)


class Archive:
    """A file taken apart: entries with their numbers, texts, tensors and the manifest."""

    def __init__(self, content: bytes) -> None:
        parts = read_parts(content)
        self.manifest = {**json.loads(parts[MANIFEST])}
        self.manifest.pop("parts")
        self.texts = {name: part for name, part in parts.items() if name.startswith(TEXTS)}
        self.tensors = parts.get(TENSORS)
        self.entries: list[dict[str, Any]] = json.loads(parts[MODEL])
        self.numbers: list[Any] = _numbers_of(self.entries, parts)

    def content(self) -> bytes:
        """Return the file, with all checksums right."""
        parts = {MODEL: json.dumps(self.entries).encode()}
        flat: dict[str, list[Any]] = {}
        for numbers in self.numbers:
            if numbers is not None:
                flat.setdefault(numbers.dtype.str, []).append(numbers)
        for kind, pieces in flat.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.concatenate(pieces), (1, 0), allow_pickle=False)
            parts[f"{ARRAYS}{np.dtype(kind).name}.npy"] = part.getvalue()
        parts |= self.texts | ({} if self.tensors is None else {TENSORS: self.tensors})
        return write_parts(seal(self.manifest, parts), compressed=False)

    def insert(self, place: int, entries: Sequence[Any], numbers: Sequence[Any]) -> None:
        """Put entries before the one at a place, and renumber the references behind it."""
        for entry in self.entries[place:]:
            _renumber(entry, lambda i: i + len(entries) if i >= place else i)
        self.entries[place:place] = entries
        self.numbers[place:place] = numbers

    def remove(self, place: int) -> None:
        """Leave out an entry; what referred to it refers to the one before."""
        for entry in self.entries[place:]:
            _renumber(entry, lambda i: i - 1 if i >= place and i else i)
        del self.entries[place], self.numbers[place]


def altered(archive: Archive, others: Sequence[Archive], rng: Random) -> bytes:
    """Return a file with one to three things altered."""
    archive = copy.deepcopy(archive)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choices(ALTERATIONS, WEIGHTS)[0](archive, others, rng)
    return archive.content()


def _numbers_of(entries: list[dict[str, Any]], parts: dict[str, bytes]) -> list[Any]:
    """Return the numbers of each entry that is an array of them, else None."""
    left = {}
    for name, part in parts.items():
        if name.startswith(ARRAYS):
            flat = np.load(io.BytesIO(part), allow_pickle=False)
            left[flat.dtype.str] = flat
    found: list[Any] = []
    for entry in entries:
        found.append(None)
        if "array" in entry:
            kind, shape, *_ = entry["array"]
            dtype = np.dtype(kind)
            if dtype.kind in NUMERIC + "mM":
                stored = "<i8" if dtype.kind in "mM" else dtype.newbyteorder("<").str
                n = int(np.prod(shape, dtype=int))
                found[-1], left[stored] = left[stored][:n].copy(), left[stored][n:]
    return found


def _values(entry: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield holder and key of each place in an entry at which a value or a reference stands."""
    if len(entry) != 1:  # altered before
        return
    ((kind, content),) = entry.items()
    if kind == "random":
        yield entry, kind
    elif kind == "array":
        yield from _places(content[3]) if isinstance(content, list) and len(content) > 3 else ()
    elif isinstance(content, list | dict):
        yield from _places(content)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    stack = [tree] if isinstance(tree, list | dict) else []
    while stack:
        holder = stack.pop()
        for key in range(len(holder)) if isinstance(holder, list) else list(holder):
            yield holder, key
            if isinstance(holder[key], list | dict) and not _is_reference(holder[key]):
                stack.append(holder[key])


def _is_reference(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1 and type(value[0]) is int


def _references(entry: dict[str, Any]) -> list[tuple[Any, Any]]:
    found = [(holder, key) for holder, key in _values(entry) if _is_reference(holder[key])]
    match entry:
        case {"decision_tree": [_, _, list(tree)]}:  # whose numbers of classes are a list as well
            return [(holder, key) for holder, key in found if holder is not tree or key != 1]
    return found


def _renumber(entry: dict[str, Any], new: Callable[[int], int]) -> None:
    for holder, key in _references(entry):
        holder[key] = [new(holder[key][0])]


def _value(rng: Random, n_entries: int) -> Any:
    """Return a value of any type, often an extreme one."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(INTEGERS + LARGER)
    if kind == 1:
        return rng.choice(FLOATS)
    if kind == 2:
        return rng.choice(WORDS)
    if kind == 3:
        return rng.choice(NAMES)
    if kind == 4:
        return [rng.randrange(n_entries)]
    return copy.deepcopy(rng.choice(OTHERS))


def _alter_value(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """Another value, or that of another place, at any place of the entries."""
    places = list(_places(rng.choice(archive.entries)))
    if not places:
        return
    holder, key = rng.choice(places)
    old, kind = holder[key], rng.randrange(8)
    if kind == 0 and type(old) is int:
        holder[key] = old + rng.choice((1, -1, 7, -7, 10**6))
    elif kind == 1:
        other, place = rng.choice(list(_places(rng.choice(archive.entries))) or [(holder, key)])
        holder[key] = copy.deepcopy(other[place])
    elif kind == 2:
        del holder[key]
    elif kind == 3 and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(old)] * rng.choice((1, 2, 50))
    elif kind == 4 and isinstance(old, list | dict) and old:
        holder[key] = type(old)()
    else:
        holder[key] = _value(rng, len(archive.entries))


def _alter_plain(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """Another value in place of a number, a text or a truth value: the options of estimators."""
    places = [
        (holder, key)
        for entry in archive.entries
        for holder, key in _values(entry)
        if holder[key] is None or isinstance(holder[key], bool | int | float | str)
    ]
    if places:
        holder, key = rng.choice(places)
        if isinstance(holder[key], bool) and rng.random() < 0.5:
            holder[key] = not holder[key]
        else:
            holder[key] = _value(rng, len(archive.entries))


def _alter_name(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """Another kind, class or name of an attribute."""
    entry = rng.choice(archive.entries)
    ((kind, content),) = entry.items() if len(entry) == 1 else (("list", []),)
    choice = rng.randrange(3)
    if choice == 0:
        entry[rng.choice(KINDS)] = entry.pop(kind, None)
    elif choice == 1 and isinstance(content, list) and content and isinstance(content[0], str):
        content[0] = rng.choice((*NAMES, *WORDS))
    else:
        states = [holder for holder, _ in _places(entry) if isinstance(holder, dict) and holder]
        names = [
            name
            for other in (archive, rng.choice(others))
            for each in other.entries
            for holder, name in _places(each)
            if isinstance(holder, dict)
        ]
        if states and names:
            state = rng.choice(states)
            state[rng.choice((*names, *WORDS))] = state.pop(rng.choice(list(state)))


def _alter_reference(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """A reference to another entry: what was apart is shared, or of another type."""
    found = [(entry, *each) for entry in archive.entries for each in _references(entry)]
    if found:
        entry, holder, key = rng.choice(found)
        holder[key] = [rng.randrange(archive.entries.index(entry) + 1)]


def _alter_depth(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """An entry within lists within lists, or within lists that hold each other many times."""
    found = [(i, *each) for i, entry in enumerate(archive.entries) for each in _references(entry)]
    if not found:
        return
    place, holder, key = rng.choice(found)
    kind, times = rng.choice(("list", "tuple")), rng.choice((1, 1, 2, 3))
    depth = rng.choice((1, 2, 20, 63, 64, 5000))
    start = holder[key]
    chain = [{kind: [start] * times}]
    chain += [{kind: [[place + i]] * times} for i in range(depth - 1)]
    archive.insert(place, chain, [None] * depth)
    holder[key] = [place + depth - 1]


def _alter_entries(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """Entries that are left out, doubled or exchanged."""
    i, j = (rng.randrange(len(archive.entries)) for _ in range(2))
    kind = rng.randrange(3)
    if kind == 0 and len(archive.entries) > 1:
        archive.remove(i)
    elif kind == 1:
        archive.insert(i, [copy.deepcopy(archive.entries[i])], [copy.deepcopy(archive.numbers[i])])
    else:
        for held in (archive.entries, archive.numbers):
            held[i], held[j] = held[j], held[i]


def _alter_by_another(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """A part of another model in place of one of this."""
    other = copy.deepcopy(rng.choice(others))
    found = [(i, *each) for i, entry in enumerate(archive.entries) for each in _references(entry)]
    if not found:
        return
    place, holder, key = rng.choice(found)
    kinds = [*archive.entries[max(0, min(holder[key][0], place))]]
    alike = [i for i, entry in enumerate(other.entries) if [*entry] == kinds]
    last = rng.choice(alike) if alike and rng.random() < 0.7 else rng.randrange(len(other.entries))
    wanted, stack = {last}, [last]
    while stack:
        for each, name in _references(other.entries[stack.pop()]):
            i = each[name][0]
            if i not in wanted and 0 <= i < len(other.entries):
                wanted.add(i)
                stack.append(i)
    order = {i: place + n for n, i in enumerate(sorted(wanted))}
    for i in order:
        _renumber(other.entries[i], lambda i: order.get(i, 0))
    archive.insert(place, [other.entries[i] for i in order], [other.numbers[i] for i in order])
    holder[key] = [order[last]]
    archive.texts |= {name: text for name, text in other.texts.items() if name not in archive.texts}
    archive.tensors = archive.tensors or other.tensors


def _alter_numbers(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """Numbers of an array: some, all, their order, their count, shape or type."""
    places = [i for i, numbers in enumerate(archive.numbers) if numbers is not None]
    places = [i for i in places if isinstance(archive.entries[i].get("array"), list)]
    if not places:
        return
    place = rng.choice(places)
    numbers, content = archive.numbers[place], archive.entries[place]["array"]
    kind = rng.randrange(9)
    if kind <= 2 and len(numbers):
        number = rng.choice(NUMBERS + (UNREAL if numbers.dtype.kind in "fc" else ()))
        chosen = slice(None) if kind == 0 else rng.randrange(len(numbers))
        with np.errstate(all="ignore"):
            numbers[chosen] = np.array([number]).astype(numbers.dtype)[0]
    elif kind == 3:
        np.random.default_rng(rng.randrange(2**32)).shuffle(numbers)
    elif kind in (4, 8):
        _alter_length(archive, place, rng)
    elif kind == 5 and len(content) > 1 and isinstance(content[1], list):
        content[1] = rng.choice((content[1][::-1], [*content[1], 1], [1, *content[1]], [-1]))
    elif kind == 6 and len(content) > 2:
        content[2] = rng.choice(("C", "F", "A", "K"))
    else:
        dtype = np.dtype(rng.choice(TYPES))
        with np.errstate(all="ignore"):
            archive.numbers[place] = numbers.astype(dtype.newbyteorder("<"))
        content[:1] = [dtype.str]


def _alter_length(archive: Archive, place: int, rng: Random) -> None:
    """Fewer or more numbers, along the first or the last axis, and a shape of as many."""
    numbers, content = archive.numbers[place], archive.entries[place]["array"]
    if len(content) < 2 or not isinstance(content[1], list) or not content[1]:
        return
    shape = list(content[1])
    axis = rng.choice((0, -1))
    if not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        return
    shape[axis] = rng.choice((0, 1, shape[axis] - 1, shape[axis] + 1, 2 * shape[axis], 5000))
    n = int(np.prod(shape, dtype=int))
    if 0 <= n < 10**6:
        content[1] = shape
        archive.numbers[place] = np.resize(numbers, n) if len(numbers) else np.zeros(n)


def _alter_text(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """A number, or a line, of the text that LightGBM keeps a model in."""
    if not archive.texts:
        return
    name = rng.choice(sorted(archive.texts))
    text = archive.texts[name].decode()
    kind, lines = rng.randrange(4), text.split("\n")
    i, j = (rng.randrange(len(lines)) for _ in range(2))
    if kind <= 1:
        tokens = list(TOKEN.finditer(text))
        if tokens:
            token = rng.choice(tokens)
            text = text[: token.start()] + rng.choice(IN_TEXT) + text[token.end() :]
        archive.texts[name] = text.encode()
        return
    if kind == 2:
        lines[i] = lines[j]
    else:
        del lines[i]
    archive.texts[name] = "\n".join(lines).encode()


def _alter_tensors(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """A tensor's type, shape, place or numbers."""
    if archive.tensors is None:
        return
    (length,) = struct.unpack("<Q", archive.tensors[:8])
    header, numbers = json.loads(archive.tensors[8 : 8 + length]), archive.tensors[8 + length :]
    key = rng.choice(sorted(header))
    kind = rng.randrange(5)
    if kind == 0 and "shape" in header[key]:
        header[key]["shape"] = rng.choice(
            (header[key]["shape"][::-1], [*header[key]["shape"], 1], [], [0], [2**40])
        )
    elif kind == 1 and "dtype" in header[key]:
        # of as many bytes, so that the offsets still hold
        header[key]["dtype"] = rng.choice(("I32", "U32", "F32", "F64", "I64", "BOOL", "F8_E4M3"))
    elif kind == 2:
        header[rng.choice(sorted(header))] = header[key]
    elif kind == 3:
        header[rng.choice(WORDS[:-1])] = header.pop(key)
    elif len(numbers) >= 4:
        place = 4 * rng.randrange(len(numbers) // 4)
        number = struct.pack("<f", rng.choice((0.0, -1.0, 3e38, *UNREAL[:3])))
        numbers = numbers[:place] + number + numbers[place + 4 :]
    text = json.dumps(header).encode()
    archive.tensors = struct.pack("<Q", len(text)) + text + numbers


def _alter_manifest(archive: Archive, others: Sequence[Archive], rng: Random) -> None:
    """A value of the manifest."""
    holder, key = rng.choice(list(_places(archive.manifest)))
    value = _value(rng, len(archive.entries))
    holder[key] = "\ufffd" if value == "\ud800" else value  # no text of a manifest can hold it


ALTERATIONS = (
    *(_alter_value, _alter_plain, _alter_name, _alter_reference, _alter_depth, _alter_entries),
    *(_alter_by_another, _alter_numbers, _alter_text, _alter_tensors, _alter_manifest),
)
WEIGHTS = (8, 12, 4, 5, 2, 2, 6, 12, 5, 2, 1)
