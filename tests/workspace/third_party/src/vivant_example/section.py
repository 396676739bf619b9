from collections.abc import Sequence

from vivant import Run
from vivant.benchmarks.base import Protocol
from vivant.hooks import ReportSection

from .table import build_table


def build_section(runs: Sequence[Run], protocol: Protocol) -> ReportSection | None:
    table = build_table(runs, protocol)
    if not table.body:
        return None
    return ReportSection(title="Reply length", text="Long replies cost more.", tables=(table,))
