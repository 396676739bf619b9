"""Markdown documents from Jinja2 templates: cards, data sheets and galleries of what is built."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render_markdown(package: str, template: str, **values: object) -> str:
    """Fill in a template.

    Args:
        package: The package whose folder `templates` holds it.
        template: Its file name.
        values: What it names; a name that is missing is an error.
    """
    return _environment(package).get_template(template).render(**values)
