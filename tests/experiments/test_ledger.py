"""The file of trials: complete lines only, one writer, nothing of other settings."""

import json

import pytest

from plcp.experiments.runner import Ledger, plain


def record(seed, **settings):
    return {"seed": seed, "settings": settings, "results": seed * seed}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "deep" / "coin.jsonl")


def fill(ledger, *records):
    with ledger.opened():
        for one in records:
            ledger.append(one)


def test_a_new_ledger_is_empty(ledger):
    assert list(ledger) == []
    assert ledger.of({"n": 1}) == {}


def test_what_is_written_is_read_back_a_line_each(ledger):
    fill(ledger, record(3, n=1), record(1, n=1))
    assert ledger.of({"n": 1}) == {3: record(3, n=1), 1: record(1, n=1)}
    assert [json.loads(line)["seed"] for line in ledger.path.read_text().splitlines()] == [3, 1]


def test_records_of_other_settings_stay_and_are_not_read(ledger):
    fill(ledger, record(0, n=1), record(0, n=2), record(0, n=1, more=None))
    assert ledger.of({"n": 2}) == {0: record(0, n=2)}
    assert ledger.of({"n": 3}) == {}
    assert len(list(ledger)) == 3


def test_settings_are_compared_as_json_gives_them_back(ledger):
    fill(ledger, plain(record(0, levels=(0, 1), by={1: 2})))
    assert set(ledger.of({"levels": (0, 1), "by": {1: 2}})) == {0}
    assert ledger.of({"levels": (0, 1.5), "by": {1: 2}}) == {}


def test_of_two_records_of_a_seed_the_first_counts(ledger):
    fill(ledger, record(0, n=1), {**record(0, n=1), "results": "again"})
    assert ledger.of({"n": 1})[0]["results"] == 0


@pytest.mark.parametrize("kept", [1, 10, -1])
def test_an_unfinished_line_is_cut_off_before_the_next_is_written(ledger, kept):
    fill(ledger, record(0, n=1))
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole + whole[:kept])  # -1: all but the newline
    assert set(ledger.of({"n": 1})) == {0}
    fill(ledger, record(1, n=1))
    assert ledger.path.read_bytes().startswith(whole)
    assert set(ledger.of({"n": 1})) == {0, 1}


def test_a_damaged_line_in_the_middle_is_named(ledger):
    fill(ledger, record(0, n=1), record(1, n=1))
    first, second, _ = ledger.path.read_bytes().split(b"\n")
    ledger.path.write_bytes(first[:-3] + b"\n" + second + b"\n")
    with pytest.raises(ValueError, match=r"line 1 of .*coin\.jsonl is no record"):
        ledger.of({"n": 1})


@pytest.mark.parametrize("stranger", [b"", b"7", b"[]", b'{"seed": 1}', b"\xff"])
def test_a_line_that_is_no_record_is_named(ledger, stranger):
    fill(ledger, record(0, n=1))
    with ledger.path.open("ab") as file:
        file.write(stranger + b"\n")
    with pytest.raises(ValueError, match=r"line 2 of .*coin\.jsonl is no record"):
        ledger.of({"n": 1})


def test_what_an_editor_does_to_the_file_loses_no_record(ledger):
    fill(ledger, record(0, n=1), record(1, n=1))
    edited = b"\xef\xbb\xbf" + ledger.path.read_bytes().replace(b"\n", b"\r\n").rstrip()
    ledger.path.write_bytes(edited)  # a mark of UTF-8, other ends of lines, none at the end
    assert set(ledger.of({"n": 1})) == {0, 1}
    fill(ledger, record(2, n=1))
    assert ledger.path.read_bytes().startswith(edited)
    assert set(ledger.of({"n": 1})) == {0, 1, 2}


def test_only_one_run_writes_at_a_time(ledger):
    other = Ledger(ledger.path)
    with (
        ledger.opened(),
        pytest.raises(RuntimeError, match=r"another run is writing to .*coin\.jsonl"),
        other.opened(),
    ):
        pass
    with other.opened():  # free again
        other.append(record(0, n=1))


def test_what_json_cannot_hold_is_refused(ledger):
    with ledger.opened(), pytest.raises(ValueError, match="JSON"):
        ledger.append(record(0, n=float("inf")))
    assert list(ledger) == []
