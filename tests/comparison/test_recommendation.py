"""The steps of a recommendation, each where it is the one that decides."""

import dataclasses

import numpy as np
import pytest

from plcp import Guarantee
from plcp.comparison import ComparedMethod
from plcp.comparison.recommendation import choose, may_be_smallest
from plcp.comparison.roster import COSTS
from plcp.metrics import coverage, mean_size
from plcp.metrics.measure import mean_measure

N = 1_000


def method(
    name, error=0.02, length=1.0, seconds=0.01, kind="exact", scope="marginal", cost="", noise=0.0
):
    """A method with these measures; errors of rows vary alike for all."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=N)
    terms = error + 0.1 * (rows - rows.mean())
    sizes = length * (1 + 0.1 * np.sin(np.arange(N))) + noise
    covered = np.arange(N) % 10 > 0
    return ComparedMethod(
        name=name,
        how=name,
        cost=cost,
        conditional_error=mean_measure("ERT in L1", terms, meaning=""),
        worst_group=None,
        coverage=coverage(covered),
        size=mean_size(sizes),
        seconds=mean_measure("seconds per fold", np.full(5, seconds), meaning=""),
        fit_seconds=seconds,
        predict_seconds=0.0,
        guarantee=Guarantee(kind, scope, 0.1, 100),
        covered=covered,
        sizes=sizes,
    )


def chosen(*methods):
    given = {one.name: one for one in methods}
    errors = {name: one.conditional_error for name, one in given.items()}
    return choose(given, may_be_smallest(errors, floor=0.0), alpha=0.1)


CASES = {
    "error": (
        (method("a", 0.05), method("b", 0.02)),
        "b",
        "b has the smallest conditional error (estimated at 2.0 percentage points); 1 other is",
    ),
    "guarantee": (
        (method("a", kind="approximate"), method("b")),
        "b",
        "b has the strongest kind of guarantee, exact",
    ),
    "size": ((method("a", length=1.2), method("b")), "b", "b has the smallest sets"),
    "size of 3 %": (
        (method("a", length=1.03, scope="learned groups"), method("b")),
        "a",
        "the guarantee of a holds in groups",
    ),
    "cost": (
        (method("a", cost=COSTS[2]), method("b", cost=COSTS[1], seconds=9.0), method("c")),
        "b",
        "b is the simplest (one learned rule)",
    ),
    "estimates": (
        (method("a", length=1.01), method("b", seconds=9.0)),
        "b",
        "b has the smallest estimate of mean length",
    ),
    "nothing": ((method("a"), method("b")), "a", "a and b give the same sets"),
    "alone": ((method("a"),), "a", "a is the only method"),
    "infinite": (
        (method("a", noise=np.inf), method("b", kind="none")),
        "b",
        "a has infinite sets, and is set aside",
    ),
    "all infinite": (
        (method("a", noise=np.inf), method("b", noise=np.inf, cost=COSTS[0])),
        "b",
        "Some sets of b are infinite",
    ),
    "none": (
        (method("a", kind="none"), method("b", kind="none", length=2.0)),
        "a",
        "None of them has a guarantee. Of these, a has the smallest sets",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_step_decides_where_the_others_do_not(case):
    methods, name, words = CASES[case]
    for order in (methods, methods[::-1]):
        found = chosen(*order)
        assert found.name == name
        assert words in " ".join(found.reasons)


def test_the_worst_group_decides_before_the_guarantee():
    hits = np.arange(N) % 10 > 0
    worst = {"a": hits, "b": hits & (np.arange(N) % 3 > 0)}
    given = [
        dataclasses.replace(method(name, kind=kind), worst_group=coverage(worst[name]))
        for name, kind in (("a", "approximate"), ("b", "exact"))
    ]
    found = chosen(*given)
    assert found.name == "a"
    assert "a covers the worst group best, beyond chance (0.900)" in " ".join(found.reasons)


def test_errors_below_zero_are_no_smaller_than_zero():
    low, high = method("low", -0.05), method("high", 0.0)
    errors = {one.name: one.conditional_error for one in (low, high)}
    assert may_be_smallest(errors) == ["low"]
    assert may_be_smallest(errors, floor=0.0) == ["low", "high"]


def test_a_margin_keeps_what_is_little_larger():
    size = np.linspace(1, 2, 200)
    sizes = {"a": mean_size(size), "b": mean_size(1.04 * size), "c": mean_size(1.2 * size)}
    assert may_be_smallest(sizes) == ["a"]
    assert may_be_smallest(sizes, margin=0.05) == ["a", "b"]
