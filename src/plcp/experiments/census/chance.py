"""How far from its target chance alone takes the coverage of a group that several trials share."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from plcp.experiments.by_group import Floats


def independent_people(counts: ArrayLike, share: float) -> Floats:
    """Number of independent people that the mean over trials is worth, in each group.

    A trial tests each person with probability ``share``, and who is missed in one trial is missed
    in most others: a person who is tested t times counts as one, with weight t. A mean of weights t
    has the variance of (Σ t)² / Σ t² people, here with E t² of the binomial law. With endless
    trials it is all people there are; it is too few by as much as trials differ.

    Parameters
    ----------
    counts : array-like of shape (trials, groups)
        People of each group in the test part of each trial.
    share : float
        Share of all people that is tested in a trial.

    Examples
    --------
    >>> independent_people([[100, 30]], share=0.2).tolist()
    [100.0, 30.0]
    >>> independent_people([[100, 30]] * 1000, share=0.2).round().tolist()
    [498.0, 149.0]
    """
    tested = np.asarray(counts, dtype=float)
    return np.asarray(tested.sum(axis=0) / (1 + (len(tested) - 1) * share))


def chance_outside(people: ArrayLike, target: float, within: float) -> NDArray[np.float64]:
    """Probability that so many people, each covered with ``target``, are more than ``within`` off.

    Examples
    --------
    >>> chance_outside([10, 100, 1000], target=0.9, within=0.03).round(3).tolist()
    [0.613, 0.241, 0.001]
    """
    n = np.floor(people)
    low, high = (target - within) * n, (target + within) * n
    inside = binom.cdf(np.floor(high), n, target) - binom.cdf(np.ceil(low) - 1, n, target)
    return np.asarray(1 - inside)
