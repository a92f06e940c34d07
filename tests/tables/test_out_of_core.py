"""Tables larger than memory: exact thresholds, bounded memory, changes noticed."""

import contextlib
import gc
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import ipc
from tabular_worlds import make_table, roles_of

from plcp.out_of_core import Held
from plcp.quantiles import conformal_quantile, conformal_rank, excess_over, shared_confidence
from plcp.tables import Applier, calibrate, calibrate_file, choose_roles
from plcp.tables.columns import Framer
from plcp.tables.io import open_table
from plcp.tables.out_of_core import Stored

N, MOST = 900, 200


def stored(table, cuts, folder, rows=None):
    """The table in parts, read in batches of so many rows."""
    edges = [0, *(min(cut, len(table)) for cut in sorted(cuts)), len(table)]
    folder.mkdir(exist_ok=True)
    for number, (start, end) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(start, end - start), folder / f"part-{number}.parquet")
    file = open_table(folder)
    if rows is not None:
        file.batches = partial(file.batches, rows=rows)
    return file


def with_gaps(table, name, gaps):
    """The table without some values of a column."""
    values = [None if row in gaps else v for row, v in enumerate(table[name].to_pylist())]
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table[name].type))


def doubled(table, names, rows):
    """The table with some values of some columns doubled."""
    factor = np.isin(np.arange(len(table)), [*rows]) + 1.0
    for name in names:
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(table[name].to_numpy() * factor))
    return table


def same(one, other):
    """Whether two models have learned the same, from the same rows."""
    return all(
        np.array_equal(getattr(one.rule, name, None), getattr(other.rule, name, None))
        for name in (
            "threshold_",
            "thresholds_",
            "corrections_",
            "groups_",
            "group_sizes_",
            "guarantee_",
        )
    ) and (
        one.split.threshold_ == other.split.threshold_
        and one.features == other.features
        and one.notes == other.notes
        and {**one.about, "versions": None} == {**other.about, "versions": None}
    )


@given(
    task=st.sampled_from(["regression", "quantiles", "classes", "scores"]),
    by=st.sampled_from([None, ["sex"], ["sex", "w"], ["member", "x"]]),
    n=st.integers(1, 60),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    gaps=st.sets(st.integers(0, 60), max_size=5),
    most=st.integers(1, 60),
    rows=st.integers(1, 61),
    alpha=st.sampled_from([0.1, 0.5]),
    confidence=st.sampled_from([None, 0.5]),
)
def test_split_and_mondrian_learn_what_they_learn_from_all_rows_in_memory(
    task, by, n, cuts, gaps, most, rows, alpha, confidence
):
    table = make_table(task, n)
    outcome = {"classes": "label", "scores": "s"}.get(task, "y")
    table = with_gaps(table, outcome, gaps - {0})
    if task == "classes":  # some of whose probabilities do not add up to one
        table = doubled(table, ["p_maybe", "p_no", "p_yes"], rows=gaps)
    roles = roles_of(table, task)
    method = "mondrian" if by else "split"
    options = {"method": method, "by": by, "alpha": alpha, "confidence": confidence}
    with tempfile.TemporaryDirectory() as folder:
        file = stored(table, cuts, Path(folder), rows)
        found = calibrate_file(file, roles, most=most, **options)
    assert same(found, calibrate(table, roles, **options))
    new = make_table(task, 20, 1).combine_chunks().to_batches()[0]
    ours, theirs = (Applier(model) for model in (found, calibrate(table, roles, **options)))
    assert ours.apply(new).equals(theirs.apply(new))
    assert ours.notes() == theirs.notes()


@pytest.fixture(scope="module")
def table():
    return with_gaps(make_table("scores", N, many=40), "s", {3, 70, 500})


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    return stored(table, (100, 100, 640), tmp_path_factory.mktemp("parts"), rows=64)


def learned(file, table, method, most=MOST, **options):
    roles = roles_of(table, "scores", features="x,sex")
    return calibrate_file(file, roles, most=most, method=method, **options)


def rows_of(file, table, model, most=MOST):
    """Sample and other rows, as frames and scores."""
    drawn = np.zeros(len(table), dtype=bool)
    drawn[file.draw(most=most, seed=0).rows] = True
    known = ~np.isnan(table["s"].to_numpy())
    frame = Framer(model.features).frame(table)
    scores = table["s"].to_numpy()
    return [(frame[rows & known], scores[rows & known]) for rows in (drawn, ~drawn)]


def test_the_sample_learns_and_the_other_rows_give_the_threshold(file, table):
    model = learned(file, table, "plcp", groups=3)
    rule, (drawn, others) = model.rule, rows_of(file, table, model)
    assert rule.group_sizes_.sum() == len(drawn[1])
    assert model.about["rows"] == N - 3
    assert model.about["rows_left_out"] == 3
    assert model.about["rows_learned_from"] == len(drawn[1])
    message, = (note for note in model.notes if "learned" in note)  # fmt: skip
    assert f"{len(drawn[1])} rows" in message
    assert f"the other {len(others[1])} rows" in message
    # words are about the groups of the final rule, Split about all rows
    assert [group["group"] for group in model.explanation["groups"]] == [0, 1, 2]
    assert (np.diff(rule.thresholds_) >= 0).all()
    scores = np.concatenate([drawn[1], others[1]])
    assert model.split.threshold_ == conformal_quantile(scores, rule.alpha)
    # exactly as many of the other rows lie below as the conformal rank says
    assert (rule.guarantee_.kind, rule.guarantee_.n) == ("exact", len(others[1]))
    hits = (others[1] <= rule.assign(others[0]).thresholds).sum()
    assert hits == conformal_rank(len(others[1]), rule.alpha)


def test_rows_learned_from_have_no_states_in_exact_thresholds(file, table):
    model = learned(file, table, "plcp-split", most=N - 1, groups=2, explain=False)
    rule, (drawn, others) = model.rule, rows_of(file, table, model, N // 2)  # no more than half
    groups, regressor = rule.groups(others[0]), rule.partition_.predict_quantile(others[0])
    assert rule.n_groups_ == 2
    for group in range(2):
        rows = groups == group
        expected = conformal_quantile(excess_over(regressor[rows], others[1][rows]), rule.alpha)
        assert rule.corrections_[group] == expected
        assert rule.group_sizes_[group] == rows.sum()
    message, = (note for note in model.notes if "learned" in note)  # fmt: skip
    assert f"{len(drawn[1])} rows" in message
    assert f"the other {len(others[1])} rows" in message
    assert rule.guarantee_.kind == "exact"


@pytest.mark.parametrize("method", ["plcp", "split", "mondrian"])
def test_a_model_is_the_same_to_the_last_bit_however_its_rows_are_cut(table, tmp_path, method):
    options = {"by": ["sex", "town"]} if method == "mondrian" else {"explain": False}
    files = []
    for name, cuts, rows in (("one", (), N), ("many", (1, 333, 334), 300)):
        (tmp_path / name).mkdir()
        files.append(stored(table, cuts, tmp_path / name / "cal", rows))
    one, other = (learned(file, table, method, **options) for file in files)
    assert same(one, other)
    new = make_table("scores", 50, 1, many=40).combine_chunks().to_batches()[0]
    assert Applier(one).apply(new).equals(Applier(other).apply(new))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "rectified"}, "the rows of the method rectified must be in memory"),
        ({"method": "batch-gcp", "by": ["sex"]}, "the rows of the method batch-gcp must be"),
        ({"method": "split", "weight": "w"}, "the rows of a weighted table must be in memory"),
    ],
)
def test_what_must_be_in_memory_stays_with_the_sample_with_a_note(file, table, options, words):
    weight = options.pop("weight", None)
    roles = roles_of(table, "scores", features="x,sex", weight=weight)
    model = calibrate_file(file, roles, most=MOST, **options)
    assert f"A random sample of {MOST} of {N} rows" in model.notes[0]
    assert words in model.notes[0]
    in_memory = calibrate(file.read(most=MOST), roles, **options)
    assert np.array_equal(*(m.rule.predict(Framer(m.features).frame(table) if m.features
                            else np.zeros((N, 1))) for m in (model, in_memory)))  # fmt: skip
    assert model.about["rows"] == in_memory.about["rows"] <= MOST


def test_thresholds_of_labels_are_those_of_the_sample_with_a_note(tmp_path):
    file = stored(make_table("classes", N), (100, 640), tmp_path / "parts", rows=64)
    roles = choose_roles(file.schema.names, target="label", probabilities="p_*")
    options = {"method": "split", "label_conditional": True}
    model = calibrate_file(file, roles, most=MOST, **options)
    assert "the rows of label-conditional thresholds must be in memory" in model.notes[0]
    in_memory = calibrate(file.read(most=MOST), roles, **options)
    assert np.array_equal(model.rule.thresholds_, in_memory.rule.thresholds_)
    assert model.about["rows"] == MOST


def test_values_that_the_sample_never_had_are_reported(tmp_path):
    table = make_table("scores", N)
    rare = ["rare" if row == 100 else "often" for row in range(N)]
    table = table.append_column("kind", pa.array(rare))
    file = stored(table, (), tmp_path / "cal")
    drawn = file.draw(most=MOST, seed=0).rows
    seed = 0 if 100 not in drawn else 1
    roles = roles_of(table, "scores", features="x,kind")
    model = calibrate_file(file, roles, most=MOST, seed=seed, groups=2, explain=False)
    assert any("'kind' that the sampled rows lack ('rare': 1)" in note for note in model.notes)
    assert model.features[1].categories == ("often",)
    mondrian = calibrate_file(file, roles, most=MOST, seed=seed, method="mondrian", by=["kind"])
    assert mondrian.features[0].categories == ("often", "rare")


def test_rows_that_a_sample_left_out_keep_a_confidence_in_its_groups(file, table):
    model = learned(file, table, "plcp-split", groups=2, confidence=0.9)
    rule, (_, (others, scores)) = model.rule, rows_of(file, table, model)
    assert rule.guarantee_.kind == "pac"
    groups, thresholds = rule.assign(others)
    for group, n in enumerate(rule.group_sizes_.astype(int)):
        below = (scores <= thresholds)[groups == group].sum()
        assert below == conformal_rank(n, rule.alpha, shared_confidence(0.9, rule.n_groups_))


@pytest.mark.parametrize("method", ["plcp", "plcp-split", "split", "mondrian"])
def test_too_few_rows_give_infinite_thresholds_with_a_note(tmp_path, method):
    table = make_table("scores", 8)
    options = {"by": ["member"]} if method == "mondrian" else {}
    roles = roles_of(table, "scores", features="x")
    file = stored(table, (4,), tmp_path / "cal", rows=3)
    model = calibrate_file(file, roles, most=4, method=method, **options)
    applied = Applier(model).apply(table.combine_chunks().to_batches()[0])
    assert np.isinf(applied["threshold"].to_numpy()).all()
    assert any("too few" in note or "fewer than" in note for note in model.notes)


def test_a_sample_that_holds_all_rows_of_use_is_learned_from_alone(file, table, tmp_path):
    others = {*range(N)} - {*file.draw(most=MOST, seed=0).rows.tolist()}
    sparse = with_gaps(table, "s", others)
    again = stored(sparse, (), tmp_path / "cal")
    found = learned(again, sparse, "plcp-split", groups=2, explain=False)
    roles = roles_of(table, "scores", features="x,sex")
    options = {"method": "plcp-split", "groups": 2, "explain": False}
    assert same(found, calibrate(sparse, roles, **options))


def test_a_label_that_is_no_class_is_reported_wherever_it_stands(tmp_path):
    table = make_table("classes", 300)
    labels = table["label"].to_pylist()
    place = table.column_names.index("label")
    for row in (0, 299):
        strange = [*labels[:row], "perhaps", *labels[row + 1 :]]
        changed = table.set_column(place, "label", pa.array(strange))
        file = stored(changed, (150,), tmp_path / f"{row}", rows=50)
        with pytest.raises(ValueError, match="holds the label 'perhaps'"):
            calibrate_file(file, roles_of(table, "classes"), most=10, method="split")


def test_rows_of_no_use_are_refused_with_what_they_lack(tmp_path):
    table = with_gaps(make_table("scores", 30), "s", range(30))
    file = stored(table, (15,), tmp_path / "cal")
    with pytest.raises(ValueError, match="no row can calibrate: 30 of 30 rows have no score"):
        calibrate_file(file, roles_of(table, "scores"), most=5, method="split")


VALUES = st.floats(-5, 5) | st.sampled_from([0.0, 1.0, np.inf, -np.inf])
GROUPS = st.integers(0, 2)
BLOCKS = st.lists(
    st.integers(0, 30).flatmap(
        lambda n: st.tuples(arrays(float, n, elements=VALUES), arrays(int, n, elements=GROUPS))
    ),
    min_size=1,
    max_size=5,
)


def turned(values, groups):
    return groups.astype(np.int32), values[:, None] * [1.0, 2.0]


def first(*block):
    return [array.tolist() for array in block]


@given(blocks=BLOCKS)
def test_what_is_kept_on_disk_is_what_would_be_kept_in_memory(blocks):
    stored, held = Stored(lambda: iter(blocks)), Held(blocks)
    assert stored.keep(turned).each(first) == held.keep(turned).each(first)
    assert stored.keep(turned).keep(turned_back).each(first) == held.each(first)
    assert stored.keep(turned).total(len_of) == held.total(len_of)
    assert stored.beside(blocks[0]).each(first) == [*held.each(first), first(*blocks[0])]
    assert stored.keep(turned).each(kinds) == [kinds(*turned(*block)) for block in blocks]


def kinds(*block):
    return [(array.dtype, array.shape) for array in block]


def turned_back(groups, values):
    return values[:, 0], groups.astype(int)


def len_of(values, groups):
    return len(values)


def held_in(folder):
    """The files of a folder this process has open, named or not; other threads may open others."""
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return [link for link in links if link.startswith(str(folder))]


def test_files_are_gone_with_the_last_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = Stored(lambda: iter([(np.arange(9), np.arange(9.0))])).keep(lambda a, b: (a, b))
    ((array, _),) = kept.each(lambda *block: block)
    assert held_in(tmp_path)
    assert list(tmp_path.iterdir()) == []  # not even a name for others to see
    del kept
    gc.collect()
    assert array.tolist() == list(range(9))  # who has an array may go on looking at it
    del array, _
    gc.collect()
    assert held_in(tmp_path) == []


def test_a_full_disk_is_reported_with_its_remedy():
    blocks = Stored(lambda: iter([(np.zeros(100_000),)]))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"no room for temporary files in .*TMPDIR"):
            blocks.keep(lambda values: (values,))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


ROLES = choose_roles(["s"], score="s")


def drawing(file, then):
    """The table; once rows of it were drawn, something happens to it."""
    draw = file.draw

    def draw_and_go_on(*args, **options):
        sample = draw(*args, **options)
        then()
        return sample

    file.draw = draw_and_go_on
    return file


def write(path, values):
    pq.write_table(pa.table({"s": np.asarray(values, dtype=float)}), path)


@pytest.mark.parametrize("most", [100, 1000])
@pytest.mark.parametrize("values", [np.arange(50), np.arange(500)[::-1]])
def test_a_part_that_is_written_again_is_named(tmp_path, most, values):
    for number in range(2):
        write(tmp_path / f"part.{number}.parquet", np.arange(500))
    file = drawing(open_table(tmp_path), lambda: write(tmp_path / "part.1.parquet", values))
    with pytest.raises(ValueError, match=r"changed while it was read: wait until no program"):
        calibrate_file(file, ROLES, most=most, method="split")


def test_rows_are_counted_in_every_pass(tmp_path):
    """A file of the same size and time may hold more rows all the same."""
    path = tmp_path / "cal.csv"
    path.write_text("s\n" + "111\n" * 300)
    before = path.stat()

    def rewritten():
        path.write_text("s\n" + "1\n" * 600)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    file = drawing(open_table(path), rewritten)
    with pytest.raises(ValueError, match=r"cal\.csv changed while it was read"):
        calibrate_file(file, ROLES, most=100, method="split")


def test_a_part_that_comes_later_changes_nothing(tmp_path):
    write(tmp_path / "part.0.parquet", np.arange(500))
    file = open_table(tmp_path)
    expected = calibrate_file(file, ROLES, most=100, method="split").rule.threshold_
    file = drawing(open_table(tmp_path), lambda: write(tmp_path / "part.1.parquet", [1e9] * 500))
    found = calibrate_file(file, ROLES, most=100, method="split").rule.threshold_
    assert found == expected


ROWS, FEATURES, TIMES = 100_000, 10, 5
MORE_BYTES = 8 * ROWS * (FEATURES + 1) * (TIMES - 1)

# what is freed goes back at once, so that the peak tells what is held
FRUGAL = {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
CALIBRATE = """
import functools, sys
from pathlib import Path
from plcp.tables.io import open_table
from plcp.tables import calibrate_file, choose_roles
file = open_table(sys.argv[1])
file.batches = functools.partial(file.batches, rows=16_384)  # many, so that one does not matter
roles = choose_roles(file.schema.names, score="s")
model = calibrate_file(file, roles, most=1000, explain=False)
assert model.about["rows"] == file.n_rows
# its own peak: that of getrusage begins with the memory of the process which started it
print(1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of one part, and one of five."""
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.normal(size=ROWS) for i in range(FEATURES)}
    table = pa.table({**columns, "s": np.abs(rng.normal(size=ROWS))})
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "five")]
    for folder, parts in zip(folders, (1, TIMES), strict=True):
        for part in range(parts):
            pq.write_table(table, folder / f"{part}.parquet", use_dictionary=False)
    return folders


def test_five_times_the_rows_do_not_need_five_times_the_memory(folders):
    one, five = (
        int(
            subprocess.run(
                [sys.executable, "-c", CALIBRATE, folder],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, **FRUGAL},
            ).stdout
        )
        for folder in folders
    )
    assert five - one < MORE_BYTES


ROWS, COLUMNS = 1_000_000, 6
BYTES = 8 * ROWS * COLUMNS

COPY = """
import sys
import pyarrow as pa
from plcp.tables.io import create_table, open_table
file = open_table(sys.argv[1])
with create_table(sys.argv[2], file.schema) as writer:
    for batch in file.batches():
        writer.write(batch)
print(pa.default_memory_pool().max_memory())
"""
SAMPLE = """
import sys
import pyarrow as pa
from plcp.tables.io import open_table
open_table(sys.argv[1]).read(most=1000)
print(pa.default_memory_pool().max_memory())
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """One table in large pieces: a single row group, two batches."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    table = pa.table({f"x{i}": rng.random(ROWS) for i in range(COLUMNS)})
    pq.write_table(table, folder / "a.parquet", row_group_size=ROWS, use_dictionary=False)
    with ipc.new_file(folder / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=ROWS // 2)
    return folder


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("program", [COPY, SAMPLE], ids=["copy", "sample"])
def test_a_table_in_large_pieces_is_never_held_whole(sources, tmp_path, ending, program):
    command = [sys.executable, "-c", program, sources / f"a.{ending}", tmp_path / f"b.{ending}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert int(done.stdout) < BYTES / 2
    if program is COPY:
        assert (tmp_path / f"b.{ending}").stat().st_size > BYTES / 2  # the work was done
