"""The summary at a terminal: within its width, free of control signs, its figures unchanged."""

import numpy as np
import pandas as pd
from hypothesis import given, strategies as st

from plcp._formatting import WIDTH, fold, room
from plcp.evaluation import Described, GroupList, Outcome, audit, summarise
from plcp.evaluation.report import to_text
from strategies import few

names = st.text(min_size=1, max_size=150)


@few
@given(st.lists(names, min_size=2, max_size=4), names, st.booleans())
def test_lines_keep_within_the_width_whatever_names_there_are(groups, title, sized):
    n = 3 * len(groups)
    outcome = Outcome(np.arange(n) % 2 > 0, np.full(n, 1e9) if sized else None)
    learned = GroupList([Described(name) for name in groups], np.arange(n) % len(groups), title)
    told = summarise(
        {"Split": outcome, "PLCP": outcome},
        alpha=0.1,
        learned=learned,
        title=title,
        subtitle=title,
        size_name="number of labels" if sized else None,
        provenance={title: title},
        notes=[title],
        guarantee=title,
        choice={"about": title, "points": [], "chosen": 3},
        explanation={
            "fidelity": 0.5,
            "importance": [{"feature": title, "value": 0.1, "error": 0.1}],
            "sensitive": [{"column": title, "dependence": 0.1, "text": title}],
        },
    )
    text = to_text(told)
    assert all(room(line) <= WIDTH for line in text.split("\n"))
    assert text.replace("\n", "").isprintable()


def test_every_group_has_its_figures(rng):
    n = 3000
    frame = pd.DataFrame(
        {"y": rng.normal(size=n), "lo": -1.7, "hi": 1.7, "sex": rng.choice(["f", "m"], size=n)}
    )
    summary = audit(frame, target="y", lower="lo", upper="hi", by="sex").to_dict()
    lines = to_text(summary).splitlines()
    for group in summary["named"][0]["groups"]:
        cell = group["cells"]["audited"]
        line = next(line for line in lines if line.startswith(group["name"]))
        for figure in (f"{cell['n']:,}", f"{100 * cell['coverage']:.1f} %", "3.4", cell["verdict"]):
            assert figure in line
    for line in summary["headline"].values():
        assert line is None or line in " ".join(lines)


def test_a_group_without_rows_and_infinite_sizes_are_shown():
    outcome = Outcome(np.array([True, False]), np.array([np.inf, 1.0]))
    learned = GroupList([Described("some"), Described("nobody")], np.zeros(2, dtype=int), "")
    text = to_text(summarise({"a": outcome}, alpha=0.1, learned=learned, size_name="length"))
    some, nobody = (
        next(line for line in text.splitlines() if line.startswith(name))
        for name in ("some", "nobody")
    )
    assert "∞" in some
    assert nobody.split()[:3] == ["nobody", "0", "–"]


@few
@given(names, st.integers(4, 40))
def test_folding_loses_nothing_but_space(text, width):
    lines = fold(text, width)
    assert all(room(line) <= width for line in lines)
    kept = "".join(sign if sign.isprintable() else "�" for sign in " ".join(text.split()))
    assert "".join(lines).replace(" ", "") == kept.replace(" ", "")


def test_a_sign_stays_with_its_number():
    assert fold("SCHL ≤ 22 and SEX ≥ 2", 19) == ["SCHL ≤ 22 and SEX", "≥ 2"]
