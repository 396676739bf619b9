"""Sections of the report that installed packages add."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError, format_traceback
from vivant.core.table import Table
from vivant.core.table_check import find_table_fault
from vivant.hooks import REPORT_SECTIONS, ReportSection, call_hook, hook_error, list_hooks
from vivant.reporting.html.blocks import Block, Paragraph, Section, TableBlock
from vivant.runs.run import Run

logger = logging.getLogger("vivant")


def build_hook_sections(runs: Sequence[Run], protocol: Protocol) -> list[Section]:
    """Return one section per hook that has something to say about the runs, ordered by name.

    A hook that fails costs its own section only: the section then gives the reason in one sentence.
    """
    sections: list[Section] = []
    for name, hook in sorted(list_hooks(REPORT_SECTIONS).items()):
        anchor = "package-" + re.sub(r"[^\w-]+", "-", name)
        try:
            section = _call_section(name, runs, protocol)
        except UsageError as error:
            logger.warning("%s", error)
            logger.debug("%s", format_traceback(error))
            reason = Paragraph(f"This section could not be made: {error}")
            sections.append(Section(anchor, name, [reason], summary="could not be made"))
            continue
        if section is not None:
            blocks: list[Block] = [Paragraph(section.text)] if section.text else []
            blocks += [TableBlock(table) for table in section.tables]
            summary = section.summary or f"from the package {hook.dist.name}"
            sections.append(Section(anchor, section.title, blocks, summary=summary))
    return sections


def _call_section(name: str, runs: Sequence[Run], protocol: Protocol) -> ReportSection | None:
    section = call_hook(REPORT_SECTIONS, name, runs, protocol)
    if section is None:
        return None
    if not isinstance(section, ReportSection):
        raise hook_error(
            REPORT_SECTIONS, name, f"returned {type(section).__name__}, not a ReportSection or None"
        )
    if not section.title or not all(
        isinstance(text, str) for text in (section.title, section.text, section.summary)
    ):
        raise hook_error(REPORT_SECTIONS, name, "returned a section whose title, text or summary is not text")
    if not isinstance(section.tables, tuple | list):
        raise hook_error(REPORT_SECTIONS, name, "returned a section whose `tables` is not a tuple of Table")
    for table in section.tables:
        fault = find_table_fault(table) if isinstance(table, Table) else f"it is {type(table).__name__}"
        if fault:
            raise hook_error(REPORT_SECTIONS, name, f"returned a table with a mistake: {fault}")
    return section
