"""Figure 1: noise that differs left and right of zero, and the boundary that PLCP finds."""

from plcp.experiments.toy.trial import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
