"""The report: one self-contained HTML file over any number of runs."""

from vivant.reporting.html.page import build_report, write_report

__all__ = ["build_report", "write_report"]
