"""Section 4.1: incomes of 2018, to be covered alike whoever earns them."""

from plcp.experiments.census.trial import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
