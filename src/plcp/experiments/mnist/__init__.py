"""Section 4.1: digits blurred to five levels, which nobody is told."""

from plcp.experiments.mnist.trial import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
