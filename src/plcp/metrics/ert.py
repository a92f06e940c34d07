"""Excess risk of the target coverage."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict


def ert(
    X: Any,
    covered: ArrayLike,
    alpha: float,
    classifier: Any = None,
    cv: int = 5,
    random_state: int | None = 0,
) -> float:
    """Excess risk of the target coverage, in L1: a lower bound on E|P(covered | x) - (1 - alpha)|.

    A classifier p(x) of the coverage indicator is cross-fitted; the estimate is
    mean[sign(p(x) - (1 - alpha)) · (covered - (1 - alpha))], which the best classifier maximises at
    the true mean absolute error. Zero, up to noise that can make it negative, where nothing can be
    predicted.

    References
    ----------
    Braun, Holzmüller, Jordan, Bach (2025). Conditional coverage diagnostics for conformal
    prediction.

    Examples
    --------
    >>> x = np.repeat([[0.0], [1.0]], 500, axis=0)
    >>> covered = (np.arange(1000) % 5 > 0) | (x[:, 0] == 1)  # 0.8 left, 1.0 right
    >>> round(ert(x, covered, alpha=0.1), 12)
    0.1
    """
    covered = np.asarray(covered, dtype=int)
    target = 1 - alpha
    rarer = min(covered.sum(), len(covered) - covered.sum())
    if rarer < 2:  # too few of one kind to learn from some and to test on others
        return float(abs(covered.mean() - target))
    if classifier is None:
        classifier = HistGradientBoostingClassifier(
            max_iter=100, max_leaf_nodes=15, learning_rate=0.05, random_state=random_state
        )
    folds = StratifiedKFold(min(cv, rarer), shuffle=True, random_state=random_state)
    p = cross_val_predict(clone(classifier), X, covered, cv=folds, method="predict_proba")[:, 1]
    return float(np.mean(np.sign(p - target) * (covered - target)))
