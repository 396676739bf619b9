"""Texts for people that the pipeline writes: Markdown templates in `templates/`."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("vivant.build.mimic"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render_template(name: str, /, **values: Any) -> str:
    """The text of the template `templates/NAME.j2`."""
    return _environment().get_template(f"{name}.j2").render(values)
