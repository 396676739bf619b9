"""Markdown documents from Jinja2 templates: cards, data sheets and galleries of what is built."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment

from vivant.core.templates import template_environment


@cache
def _environment(package: str) -> Environment:
    return template_environment(package, autoescape=False, keep_trailing_newline=True)


def render_markdown(package: str, template: str, **values: object) -> str:
    """Fill in a template.

    Args:
        package: The package whose folder `templates` holds it.
        template: Its file name.
        values: What it names; a name that is missing is an error.
    """
    return _environment(package).get_template(template).render(**values)
