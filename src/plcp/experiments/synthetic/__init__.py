"""Section 4.2: 20 overlapping groups, of which BatchGCP is told 18, and PLCP none."""

from plcp.experiments.synthetic.trial import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
