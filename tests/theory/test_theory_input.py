"""Arguments that bounds refuse, in errors that name the value."""

import numpy as np
import pytest

from plcp import theory

NAN = float("nan")
FINITE = {"m": 3, "n": 100, "variance": 0.1, "delta": 0.05, "log_covering": 1.0}
SHARP = FINITE | {"alpha": 0.1}
LEARNING = {key: FINITE[key] for key in ("m", "n", "delta", "log_covering")}
CLASS = {"m": 3, "n_features": 2, "radius": 1.0, "bound": 1.0, "epsilon": 0.1}
GOOD = {
    "msce_bound": {"excess": 0.1, "lipschitz": 1.0},
    "population_excess": {"m": 3, "variance": 0.1},
    "population_msce": {"m": 3, "variance": 0.1, "lipschitz": 1.0},
    "sharp_population_excess": {"m": 3, "variance": 0.1, "alpha": 0.1, "score_range": 1.0},
    "sharp_population_msce": {"m": 3, "variance": 0.1, "lipschitz": 1.0, "alpha": 0.1},
    "learning_error": LEARNING | {"score_range": 1.0},
    "finite_excess": FINITE | {"gap": 0.0},
    "finite_msce": FINITE | {"lipschitz": 1.0},
    "sharp_learning_error": LEARNING | {"alpha": 0.1, "score_range": 1.0},
    "sharp_finite_excess": SHARP | {"gap": 0.0},
    "sharp_finite_msce": SHARP | {"lipschitz": 1.0},
    "quantisation_bits": {"error": 0.1, "variance": 1.0},
    "sharp_quantisation_bits": {"error": 0.1, "variance": 1.0, "alpha": 0.1},
    "fallback_coverage": {"msce": 0.1, "alpha": 0.1, "mass": 1.0},
    "calibrated_coverage": {"msce": 0.1, "alpha": 0.1, "mass": 1.0},
    "population_coverage": {"m": 3, "variance": 0.1, "lipschitz": 1.0, "alpha": 0.1, "mass": 0.5},
    "finite_coverage": SHARP | {"lipschitz": 1.0, "mass": 0.5},
    "log_covering_softmax": CLASS,
    "log_covering_ordered": CLASS | {"width": 1.0},
    "log_covering_network": {"widths": [2, 3], "norms": [1.0], "bound": 1.0, "epsilon": 0.1},
    "log_growth_ordered": {"m": 3, "n_features": 2, "n": 10},
    "best_m": {key: FINITE[key] for key in ("n", "variance", "delta", "log_covering")},
    "sharp_best_m": {key: SHARP[key] for key in SHARP if key != "m"},
}
COUNTS = (0, -1, 2.5, NAN, True, "3", None)
NOT_NEGATIVE = (-0.1, NAN, "much", [0.1, -1.0])
POSITIVE = (0.0, -1.0, NAN, np.inf, "much")
SHARES = (0.0, 1.0, -0.1, 2.0, NAN, "0.1x")
BAD = {
    **dict.fromkeys(("m", "n", "n_features"), COUNTS),
    **dict.fromkeys(("variance", "excess", "msce", "gap", "log_covering"), NOT_NEGATIVE),
    **dict.fromkeys(("lipschitz", "score_range", "error"), POSITIVE),
    **dict.fromkeys(("radius", "bound", "epsilon", "width"), POSITIVE),
    **dict.fromkeys(("delta", "alpha"), SHARES),
    "mass": (0.0, -0.1, 1.1, NAN),
    "widths": ([2], [2, 0], [2, 3, 4], 5, [2.5, 3]),
    "norms": ([], [1.0, 1.0], [0.0], [NAN], 1.0),
}
CASES = [
    (name, argument, value)
    for name, good in GOOD.items()
    for argument in good
    for value in BAD[argument]
]


@pytest.mark.parametrize("name", GOOD)
def test_every_function_takes_what_is_right(name):
    assert np.isfinite(getattr(theory, name)(**GOOD[name])).all()


@pytest.mark.parametrize(("name", "argument", "value"), CASES)
def test_every_function_names_what_is_wrong(name, argument, value):
    with pytest.raises(ValueError, match=f"{argument} must|and norms|must be one longer than"):
        getattr(theory, name)(**GOOD[name] | {argument: value})


def test_every_public_function_is_tested_here():
    assert set(GOOD) | {"Estimate", "lipschitz_constant", "quantile_variance"} == set(
        theory.__all__
    )


def test_theorem_3_6_needs_two_groups():
    with pytest.raises(ValueError, match="m must be a whole number, at least 2, got 1"):
        theory.population_excess(1, 0.1)


@pytest.mark.parametrize("name", ["finite_msce", "sharp_finite_excess", "best_m", "sharp_best_m"])
def test_no_scores_of_this_range_vary_so_much(name):
    """As those in dollars whose range was forgotten do."""
    call = getattr(theory, name)
    assert np.isfinite(call(**GOOD[name] | {"variance": 0.25}))
    with pytest.raises(ValueError, match=r"variance .* got 0.26 and 1.0: give the length"):
        call(**GOOD[name] | {"variance": 0.26})
    assert np.isfinite(call(**GOOD[name] | {"variance": 0.26, "score_range": 2.0}))


def test_no_law_has_a_smaller_density_than_the_even_one():
    with pytest.raises(ValueError, match=r"at least 1 / score_range.*no law on so short"):
        theory.sharp_population_excess(2, 0.1, alpha=0.1, lipschitz=0.9)


def test_an_infinite_class_or_variance_has_an_infinite_bound():
    assert theory.finite_excess(3, 100, 0.1, 0.05, np.inf) == np.inf
    assert theory.population_excess(3, np.inf) == np.inf
