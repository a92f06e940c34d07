"""What hypothesis draws: levels, scores, groups and weights."""

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.extra import numpy as hnp

few = settings(max_examples=50)

# Rates as people write them, whose products with n + 1 are often whole numbers.
alphas = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.9])
finite = st.floats(-1e6, 1e6)


@st.composite
def distinct_scores(draw, min_size=1, max_size=60):
    """Distinct scores in no order."""
    n = draw(st.integers(min_size, max_size))
    return np.array(draw(st.permutations(range(n))), dtype=float) * draw(st.floats(0.1, 100))


@st.composite
def scores_with_groups(draw, max_groups=4):
    """Distinct scores, each with the number of its group."""
    scores = draw(distinct_scores(min_size=2))
    return scores, draw(hnp.arrays(np.intp, len(scores), elements=st.integers(0, max_groups - 1)))


@st.composite
def scores_with_counts(draw, max_count=4):
    """Scores with ties, and whole weights of which one at least is positive."""
    n = draw(st.integers(1, 30))
    scores = draw(hnp.arrays(float, n, elements=st.integers(-5, 5).map(float)))
    counts = draw(hnp.arrays(np.intp, n, elements=st.integers(0, max_count)))
    counts[draw(st.integers(0, n - 1))] += 1
    return scores, counts
