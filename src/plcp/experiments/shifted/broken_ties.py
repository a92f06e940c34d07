"""The paper's score for RxRx1, with the tie of all likeliest labels broken at random."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from plcp.quantiles import FloatArray
from plcp.scores import CumulativeProbability


class BrokenTies(CumulativeProbability):
    """S = Σ {π_i : π_i > π_y}, and a uniform draw from (-1, 0] where that is zero.

    The likeliest label scores 0, whatever its probability: a tie of most calibration scores where
    the predictor is good, on which any threshold covers all or none. Broken at random, once a row,
    a threshold below zero covers a share of it; scores above zero stay what they are.

    Examples
    --------
    >>> score = BrokenTies(random_state=0)
    >>> first, second = score([[0.75, 0.25], [0.75, 0.25]], [0, 1])
    >>> bool(-1 < first <= 0), second
    (True, np.float64(0.75))
    """

    def _all_scores(self, prediction: ArrayLike, stream: int) -> FloatArray:
        scores = super()._all_scores(prediction, stream)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        drawn = np.random.default_rng([seed, stream]).random((len(scores), 1))
        return np.where(scores == 0, -drawn, scores)
