"""Pictures of coverage, length and thresholds, in the manner of scikit-learn's Displays.

Each keeps the numbers it draws, and can be drawn again elsewhere: ``display.plot(ax=other)``.
matplotlib is imported when something is drawn (``pip install 'plcp[plot]'``).
"""

from plcp.plotting.comparison import ComparisonDisplay
from plcp.plotting.coverage import CoverageDisplay
from plcp.plotting.history import HistoryDisplay
from plcp.plotting.selection import SelectionDisplay
from plcp.plotting.size import SizeDisplay
from plcp.plotting.threshold import ThresholdDisplay

__all__ = [
    "ComparisonDisplay",
    "CoverageDisplay",
    "HistoryDisplay",
    "SelectionDisplay",
    "SizeDisplay",
    "ThresholdDisplay",
]
