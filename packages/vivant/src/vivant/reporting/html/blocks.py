"""What a page is made of: sections of headings, paragraphs, lists, tables and figures. Templates draw them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from jinja2 import Environment
from markupsafe import Markup
from msgspec import Struct

from vivant.core.table import Table, format_cell, is_numeric_column
from vivant.core.templates import template_environment

if TYPE_CHECKING:
    from vivant.reporting.html.drawing import Drawing
    from vivant.reporting.html.matrix_table import MatrixBlock

_LONG_TABLE = 40
_LONG_CELL = 400
"""Characters of one cell: names are short, and what is not a name need not be complete here."""
# Control characters mean nothing in a page, and some end the parsing of one.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Heading(Struct, frozen=True):
    """A heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str
    level: int = 3


class Paragraph(Struct, frozen=True):
    """A paragraph; `quote` follows it and comes from data."""

    kind: ClassVar[str] = "paragraph"
    text: str
    quote: str = ""
    css_class: str = ""


class BulletList(Struct, frozen=True):
    """One line per bullet."""

    kind: ClassVar[str] = "list"
    lines: Sequence[str]
    css_class: str


class Definition(Struct, frozen=True):
    """A name and what belongs to it."""

    name: str
    text: str
    code: bool = False


class DefinitionList(Struct, frozen=True):
    """Names and what belongs to them."""

    kind: ClassVar[str] = "definitions"
    entries: Sequence[Definition]


class FigureRow(Struct, frozen=True):
    """Figures with their captions, side by side."""

    kind: ClassVar[str] = "figures"
    figures: Sequence[tuple[str, Drawing]]


class Details(Struct, frozen=True):
    """Blocks that are folded away under a summary."""

    kind: ClassVar[str] = "details"
    summary: str
    blocks: Sequence[Block]


class SideBySide(Struct, frozen=True):
    """Columns of blocks, where the page is wide enough; else one below the other."""

    kind: ClassVar[str] = "columns"
    columns: Sequence[Sequence[Block]]


class TableBlock(Struct, frozen=True):
    """A table with its notes; one with more than forty rows is folded unless `folded` says otherwise."""

    kind: ClassVar[str] = "table"
    table: Table
    caption: bool = True
    folded: bool | None = None

    @property
    def is_folded(self) -> bool:
        """Whether only the title shows at first."""
        return len(self.table.body) > _LONG_TABLE if self.folded is None else self.folded

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds numbers."""
        return [is_numeric_column(self.table, index) for index in range(len(self.table.columns))]

    @property
    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """CSS classes and texts of each row."""
        for number, row in enumerate(self.table.body):
            classes = ["rule"] if number in self.table.rules else []
            classes += ["published"] if "published" in row else []
            texts = [format_cell(cell, self.table.decimals) for cell in row]
            yield " ".join(classes), [_shorten(text) for text in texts]


def _shorten(text: str) -> str:
    return text if len(text) <= _LONG_CELL else f"{text[:_LONG_CELL]}… ({len(text):,} characters)"


Block: TypeAlias = (
    "Heading | Paragraph | BulletList | DefinitionList | FigureRow | Details | SideBySide | TableBlock"
    " | Markup | Drawing | MatrixBlock"
)
"""Markup is an SVG figure from `vivant.reporting.html.svg`, a drawing is one that can be downloaded."""


class Section(Struct, frozen=True):
    """A part of a page with its anchor and its heading."""

    anchor: str
    heading: str
    blocks: Sequence[Block]
    summary: str = ""
    """Where there is one, the section is folded, and this stands beside its heading."""


def render_page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Render one self-contained HTML file: no network, no script."""
    return (
        page_environment()
        .get_template("page.html")
        .render(
            title=title,
            subtitle=subtitle,
            sections=sections,
            version=version("vivant"),
            time=time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        )
    )


@cache
def page_environment() -> Environment:
    """Templates of the report and the leaderboard, with every value escaped."""
    return template_environment(
        "vivant.reporting",
        autoescape=True,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markup) else replace_controls(str(value)),
    )


def replace_controls(text: str) -> str:
    """Replace characters that no page may hold."""
    return _CONTROLS.sub("�", text)
