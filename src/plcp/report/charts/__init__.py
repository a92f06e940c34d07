"""Charts as inline SVG, drawn from plain values.

Places across are per cent of the width and places down are pixels: a chart then fills a phone
or a sheet of paper without its letters shrinking.
"""

from plcp.report.charts.bars import draw_bar, draw_value_axis, value_scale
from plcp.report.charts.coverage import coverage_scale, draw_axis, draw_key, draw_strip
from plcp.report.charts.curve import draw_curve
from plcp.report.charts.histogram import draw_histogram

__all__ = [
    "coverage_scale",
    "draw_axis",
    "draw_bar",
    "draw_curve",
    "draw_histogram",
    "draw_key",
    "draw_strip",
    "draw_value_axis",
    "value_scale",
]
