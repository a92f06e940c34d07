"""Methods by name: the rule each of them stands for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plcp.thresholds import (
    PLCP,
    BatchGCP,
    Mondrian,
    Rectified,
    SplitConformal,
    ThresholdRule,
)
from plcp.thresholds.learned.selection import most_groups
from plcp.validation import check_alpha, check_count, check_option

MOST_GROUPS = 8  # as many as people read; thresholds follow the index, and more gain little


@dataclass(frozen=True)
class Choice:
    """What a rule is made from: level, seed, the user's groups, how many to learn, rows."""

    alpha: float
    seed: int
    by: tuple[str, ...]
    groups: int | None
    rows: int


@dataclass(frozen=True)
class Method:
    """A rule, and what it looks at: "features", the columns "by" which it groups, or nothing."""

    make: Callable[[Choice], ThresholdRule]
    looks_at: str | None = "features"
    learns_groups: bool = False


def _plcp(choice: Choice) -> PLCP:
    m = choice.groups or most_groups(choice.rows, MOST_GROUPS)
    return PLCP(n_groups=m, alpha=choice.alpha, random_state=choice.seed)


def _plcp_split(choice: Choice) -> PLCP:
    m = choice.groups or most_groups(choice.rows // 2, MOST_GROUPS)  # half of the rows teach
    return _plcp(choice).set_params(n_groups=m, calibration="split")


METHODS = {
    "plcp": Method(_plcp, learns_groups=True),
    "plcp-split": Method(_plcp_split, learns_groups=True),
    "split": Method(lambda choice: SplitConformal(alpha=choice.alpha), looks_at=None),
    "rectified": Method(lambda choice: Rectified(alpha=choice.alpha, random_state=choice.seed)),
    "mondrian": Method(lambda choice: Mondrian([*choice.by], alpha=choice.alpha), looks_at="by"),
    "batch-gcp": Method(lambda choice: BatchGCP([*choice.by], alpha=choice.alpha), looks_at="by"),
}


def check_choice(method: str, alpha: float, by: Sequence[str], groups: int | None) -> Method:
    """Return the method of this name, after a look at options that do not go with it."""
    found = METHODS[check_option("method", method, tuple(METHODS))]
    check_alpha(alpha)
    if found.looks_at == "by" and not by:
        raise ValueError(f"method {method!r} needs groups: name their columns, as in --by sex")
    if found.looks_at != "by" and by:
        raise ValueError(
            f"method {method!r} takes no groups by {by[0]!r}: use 'mondrian' or 'batch-gcp'"
        )
    if groups is not None:
        check_count("groups", groups, 1)
        if not found.learns_groups:
            raise ValueError(
                f"method {method!r} learns no groups, got groups={groups}: use 'plcp' or "
                "'plcp-split'"
            )
    return found
