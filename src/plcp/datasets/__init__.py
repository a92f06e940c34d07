"""Data with known noise, so that conditional coverage can be computed and not only estimated."""

from plcp.datasets.synthetic import ScoreTask, make_nonlinear, make_synthetic, make_toy

__all__ = ["ScoreTask", "make_nonlinear", "make_synthetic", "make_toy"]
