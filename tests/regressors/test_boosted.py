"""Scale first, quantile second."""

import numpy as np
import pytest

from plcp.datasets import make_nonlinear
from plcp.regressors import ScaledQuantile


def test_scaling_the_scores_scales_the_index():
    task = make_nonlinear(500, random_state=0)
    one, other = (ScaledQuantile(0.9, random_state=0).fit(task.X, c * task.scores) for c in (1, 64))
    np.testing.assert_allclose(64 * one.predict(task.X), other.predict(task.X), rtol=1e-9)


def test_orders_inputs_by_their_noise():
    task, new = make_nonlinear(4000, random_state=0), make_nonlinear(2000, random_state=1)
    regressor = ScaledQuantile(0.9, random_state=0).fit(task.X, task.scores).predict(new.X)
    noisy = new.sigma > np.median(new.sigma)
    assert np.median(regressor[noisy]) > 1.5 * np.median(regressor[~noisy])


@pytest.mark.parametrize("zeros", [0.3, 0.95])
def test_atoms_at_zero_are_taken(rng, zeros):
    X = rng.normal(size=(400, 2))
    scores = np.abs(rng.normal(size=400)) * (rng.uniform(size=400) > zeros)
    regressor = ScaledQuantile(0.9, random_state=0).fit(X, scores).predict(X)
    assert np.isfinite(regressor).all()


def test_missing_values_are_taken(rng):
    X = rng.normal(size=(200, 2))
    X[::3, 0] = np.nan
    regressor = ScaledQuantile(0.9).fit(X, np.abs(rng.normal(size=200)))
    assert np.isfinite(regressor.predict(X)).all()


def test_negative_scores_are_refused_with_the_remedy(rng):
    with pytest.raises(ValueError, match=r"must not be negative.*got -1.*HistGradientBoosting"):
        ScaledQuantile().fit(rng.normal(size=(3, 1)), [1.0, -1.0, 2.0])
