"""The page to show: drawn and rendered from a summary, computing nothing."""

from plcp.report.of_model import summarise_model
from plcp.report.page import render_page, write_page

__all__ = ["render_page", "summarise_model", "write_page"]
