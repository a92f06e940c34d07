"""What is asked of each group of the census, beside what chance allows there."""

from collections.abc import Sequence

from plcp.experiments.by_group import Floats, Summary
from plcp.experiments.census.chance import chance_outside, independent_people
from plcp.experiments.census.people import DOCTORATE, NAMED, OVER_60, TEST_SHARE
from plcp.experiments.census.table_one import gain_claim
from plcp.experiments.methods import DEFAULT, PUBLISHED
from plcp.experiments.report import Claim, Table
from plcp.metrics.binomial import clopper_pearson
from plcp.quantiles import FloatArray

WITHIN = 0.03
SURE = 0.05  # a group in which chance alone fails more often cannot be judged


def named_places(summary: Summary) -> list[int]:
    """Places of the groups by race, sex and state."""
    return [place for place, name in enumerate(summary.groups) if name in NAMED]


def table_of_chance(summary: Summary) -> Table:
    """Each group's people, what chance does to so few, and the default's coverage with bounds."""
    people, outside = _chance(summary)
    coverage = summary.coverage[DEFAULT].mean(axis=0)
    low, high = _bounds_at_once(summary)
    rows = [
        [
            name,
            f"{summary.counts[:, g].mean():,.0f}",
            f"{people[g]:,.0f}",
            f"{outside[g]:.3f}",
            f"{coverage[g]:.3f}",
            f"{low[g]:.3f} to {high[g]:.3f}",
        ]
        for g, name in enumerate(summary.groups)
    ]
    header = [
        "",
        "people in a test part",
        "independent people in all trials",
        f"chance that a perfect rule misses {1 - summary.alpha:g} by more than {WITHIN:g}",
        f"coverage, {DEFAULT}",
        "95 % bounds for all groups at once",
    ]
    caption = (
        f"What chance alone does in each group, and bounds on the coverage of {DEFAULT} (mean over "
        "trials)"
    )
    return Table(caption, header, rows)


def _chance(summary: Summary) -> tuple[Floats, Floats]:
    people = independent_people(summary.counts, TEST_SHARE)
    return people, chance_outside(people, 1 - summary.alpha, WITHIN)


def _bounds_at_once(summary: Summary) -> tuple[FloatArray, FloatArray]:
    """Bounds on the default's coverage that hold in all groups together: Bonferroni's."""
    people, coverage = _chance(summary)[0], summary.coverage[DEFAULT].mean(axis=0)
    return clopper_pearson(coverage * people, people, 1 - SURE / len(people))


def claims(summary: Summary) -> list[Claim]:
    """What is to be reached, and whether it is."""
    named = named_places(summary)
    outside = _chance(summary)[1]
    tellable = [g for g in named if outside[g] <= SURE]
    unnamed = [g for g, name in enumerate(summary.groups) if name in (OVER_60, DOCTORATE)]
    near = f"within {WITHIN:g} of {1 - summary.alpha:g} on average over trials, {DEFAULT}"
    found = [_within(f"coverage of every race, sex and state {near}", summary, named)]
    if 0 < len(tellable) < len(named):
        too_few = [summary.groups[g] for g in named if g not in tellable]
        found.append(
            _within(
                "the same, for the groups large enough that a perfect rule would come that near "
                f"with probability {1 - SURE:g}: all but {', '.join(too_few)}",
                summary,
                tellable,
            )
        )
    if unnamed:
        found.append(
            _within(
                f"coverage of {' and '.join(f'“{summary.groups[g]}”' for g in unnamed)}, groups "
                f"that nobody named, {near}",
                summary,
                unnamed,
            )
        )
    return [*found, *(gain_claim(summary, method) for method in (PUBLISHED, DEFAULT))]


def _within(text: str, summary: Summary, places: Sequence[int]) -> Claim:
    gaps, coverage = summary.gap(DEFAULT), summary.coverage[DEFAULT].mean(axis=0)
    low, high = _bounds_at_once(summary)
    off = [g for g in places if gaps[g] > WITHIN]
    worst = max(places, key=lambda g: gaps[g])
    measured = "; ".join(
        f"{summary.groups[g]} {coverage[g]:.3f}, 95 % bounds {low[g]:.3f} to {high[g]:.3f}"
        for g in off or [worst]
    )
    return Claim(text, f"{'too far' if off else 'furthest'}: {measured}", not off)
