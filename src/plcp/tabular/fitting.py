"""A rule is fitted: to rows in memory, or by whoever knows more rows."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from plcp.tabular.features import Feature
from plcp.tabular.methods import Choice, Method
from plcp.tabular.pairs import Pairs
from plcp.tabular.roles import Roles
from plcp.tabular.tally import Counts
from plcp.thresholds import SplitConformal


@dataclass(frozen=True)
class Options:
    """What a user asks of a calibration, as `calibrate` explains it."""

    method: str = "plcp"
    alpha: float = 0.1
    by: Sequence[str] | None = None
    groups: int | None = None
    seed: int = 0
    explain: bool = True
    sensitive: Sequence[str] = ()
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Task:
    """Rows in memory, what a rule may see of them, and which rule is wanted."""

    method: Method
    choice: Choice
    roles: Roles
    classes: pa.Array | None
    features: tuple[Feature, ...]
    X: Any
    pairs: Pairs


@dataclass(frozen=True)
class Fitted:
    """A fitted rule and split conformal prediction beside it, and the rows they stand on.

    ``taught`` is the number of rows that the rule learned from, where others gave thresholds too.
    """

    rule: Any
    split: SplitConformal
    features: tuple[Feature, ...]
    counts: Counts
    notes: tuple[str, ...]
    taught: int | None = None


Fit = Callable[[Task], Fitted]


def fit_in_memory(task: Task) -> Fitted:
    """Fit to the rows of the task, and to no others."""
    pairs = task.pairs
    pairs.counts.check_any("calibrate")
    rule = task.method.make(task.choice)
    told = warned(lambda: rule.fit(task.X, pairs.scores, pairs.weights))
    split = SplitConformal(alpha=task.choice.alpha)
    nothing = np.zeros((len(pairs.scores), 1))
    warned(lambda: split.fit(nothing, pairs.scores, pairs.weights))  # the same as of the rule
    return Fitted(rule, split, task.features, pairs.counts, tuple(told))


def warned(work: Callable[[], Any]) -> list[str]:
    """Do something, and return what it warns of, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return list(dict.fromkeys(str(warning.message) for warning in caught))
