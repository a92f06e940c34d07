"""The methods that can be compared, by name, and what each needs.

A module of its own, since the command line names them in its help before it imports numpy.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from plcp._files import nearest

REGRESSION, CLASSIFICATION = "regression", "classification"
BOTH = (REGRESSION, CLASSIFICATION)
COSTS = (  # from the simplest: what a method needs besides the predictions of the shared model
    "quantiles of the scores",
    "one learned rule",
    "several learned rules or models",
    "stored rows, which each prediction reads",
)


@dataclass(frozen=True)
class Entry:
    """A method that takes part in a comparison by its name.

    Parameters
    ----------
    about : str
        What it is, in a clause.
    how : str
        How to make it, in Python, for regression where it does both; of a rule, the rule alone.
    cost : str
        What it needs, one of four classes from "quantiles of the scores" to "stored rows, which
        each prediction reads". Where nothing else decides, the simplest is recommended.
    tasks : tuple of str
        "regression", "classification" or both.
    needs : tuple of str
        What it cannot do without: "groups", a "model" to train, "points" (predictions that are
        single numbers).
    package : str
        What provides it.

    Examples
    --------
    >>> from plcp.comparison import ROSTER
    >>> ROSTER["mondrian"].needs, ROSTER["mondrian"].cost, ROSTER["crepes-split"].package
    (('groups',), 'quantiles of the scores', 'crepes')
    """

    about: str
    how: str
    cost: str
    tasks: tuple[str, ...] = BOTH
    needs: tuple[str, ...] = ()
    package: str = "plcp"


QUANTILES, ONE_RULE, SEVERAL, ROWS = COSTS
REGRESSOR, CLASSIFIER, GROUPS = (REGRESSION,), (CLASSIFICATION,), ("groups",)
ROSTER = {
    "split": Entry("one threshold for all rows", "SplitConformal()", QUANTILES),
    "mondrian": Entry(
        "one threshold for each cell of the given groups", "Mondrian(groups)",
        QUANTILES, BOTH, GROUPS,
    ),
    "batch-gcp": Entry(
        "given groups that may overlap, for many rows", "BatchGCP(groups)", ONE_RULE, BOTH, GROUPS
    ),
    "batch-mvp": Entry(
        "the same, at each value of the threshold", "BatchMVP(groups)", ONE_RULE, BOTH, GROUPS
    ),
    "conditional-groups": Entry(
        "given groups that may overlap, exact", "ConditionalCalibration(groups=groups)",
        ROWS, BOTH, GROUPS,
    ),
    "conditional": Entry("shifts linear in the columns", "ConditionalCalibration()", ROWS),
    "rectified": Entry("a regressor of the score, without groups", "Rectified()", ONE_RULE),
    "local": Entry("scores of near calibration rows", "LocalCP()", ROWS),
    "rlcp": Entry("scores near a randomly drawn neighbour", "RLCP()", ROWS),
    "posterior": Entry("soft groups, drawn", "PosteriorConformal()", ROWS),
    "tree": Entry(
        "leaves of a tree (LOCART)", 'PLCP(TreePartition(), calibration="split")', ONE_RULE
    ),
    "plcp": Entry("learned groups, the default", "PLCP()", SEVERAL),
    "plcp-held-out": Entry(
        "learned groups, exact without a draw", 'PLCP(calibration="held-out")', ONE_RULE
    ),
    "plcp-split": Entry("learned groups, exact in each", 'PLCP(calibration="split")', ONE_RULE),
    "plcp-cross": Entry(
        "learned groups, by cross-fitting", 'PLCP(calibration="cross")', SEVERAL
    ),
    "plcp-paper": Entry(
        "learned groups as published",
        'PLCP(SoftmaxPartition(), n_groups=10, calibration="joint", assignment="sample")',
        ONE_RULE,
    ),
    "plcp-taught": Entry(
        "learned groups, taught by the rows that train the model",
        "ConformalRegressor(model)",
        SEVERAL, BOTH, ("model",),
    ),
    "cqr": Entry(
        "conformalised quantile regression, two boosted quantile models",
        "ConformalRegressor(QuantilePair(low, high), QuantileResidual(), SplitConformal())",
        SEVERAL, REGRESSOR, ("model",),
    ),
    "plcp-on-cqr": Entry(
        "learned groups on the scores of cqr",
        "ConformalRegressor(QuantilePair(low, high), QuantileResidual(), PLCP())",
        SEVERAL, REGRESSOR, ("model",),
    ),
    "aps": Entry(
        "one threshold of cumulative probability",
        "ConformalClassifier(model, CumulativeProbability(), SplitConformal())",
        QUANTILES, CLASSIFIER,
    ),
    "split-by-label": Entry(
        "one threshold for each label",
        "ConformalClassifier(model, threshold=SplitConformal(), label_conditional=True)",
        QUANTILES, CLASSIFIER,
    ),
    "mapie-split": Entry(
        "split conformal prediction of MAPIE",
        "SplitConformalRegressor of MAPIE",
        QUANTILES, BOTH, ("points",), "mapie",
    ),
    "mapie-conditional": Entry(
        "conditional calibration of MAPIE, linear in the columns",
        "ConditionalSplitConformalRegressor of MAPIE",
        ROWS, REGRESSOR, ("points",), "mapie",
    ),
    "mapie-cross": Entry(
        "CV+ of MAPIE, five folds", "CrossConformalRegressor of MAPIE",
        SEVERAL, REGRESSOR, ("points", "model"), "mapie",
    ),
    "mapie-aps": Entry(
        "adaptive prediction sets of MAPIE",
        'SplitConformalClassifier(conformity_score="aps") of MAPIE',
        QUANTILES, CLASSIFIER, (), "mapie",
    ),
    "crepes-split": Entry(
        "split conformal prediction of crepes",
        "ConformalRegressor of crepes",
        QUANTILES, BOTH, ("points",), "crepes",
    ),
    "crepes-normalized": Entry(
        "residuals over a difficulty estimated from neighbours",
        "ConformalRegressor of crepes with a DifficultyEstimator",
        ROWS, REGRESSOR, ("points", "model"), "crepes",
    ),
    "crepes-mondrian": Entry(
        "five bins of the estimated difficulty",
        "ConformalRegressor of crepes with a MondrianCategorizer",
        ROWS, REGRESSOR, ("points", "model"), "crepes",
    ),
}  # fmt: skip
MISSING = {
    "groups": "no groups are given",
    "model": "it trains models, and only predictions are given",
    "points": "predictions are not single numbers",
}


def check_names(names: Iterable[str]) -> list[str]:
    """Return names of methods, each once; refuse unknown ones.

    Examples
    --------
    >>> check_names(["splt"])
    Traceback (most recent call last):
    ValueError: no method is called 'splt': did you mean 'split'?
    """
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in ROSTER:
            close = nearest(str(name), list(ROSTER))
            remedy = f"did you mean {close!r}?" if close else f"choose from {', '.join(ROSTER)}"
            raise ValueError(f"no method is called {name!r}: {remedy}")
    if not chosen:
        raise ValueError('methods names none: give "all", or names such as ["split", "plcp"]')
    return chosen


def reason_to_leave_out(entry: Entry, task: str, given: Iterable[str]) -> str | None:
    """Return why a method cannot take part in a comparison, if it cannot.

    Examples
    --------
    >>> reason_to_leave_out(ROSTER["cqr"], "classification", {"model"})
    'for regression alone'
    """
    if task not in entry.tasks:
        return f"for {entry.tasks[0]} alone"
    missing = [MISSING[what] for what in entry.needs if what not in given]
    return missing[0] if missing else None
