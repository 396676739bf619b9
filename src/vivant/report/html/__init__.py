"""The report: one self-contained HTML file over any number of runs."""

from vivant.report.html.page import build_report, write_report

__all__ = ["build_report", "write_report"]
