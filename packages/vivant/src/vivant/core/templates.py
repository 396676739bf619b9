"""Jinja2 templates of a package. A missing variable is an error."""

from __future__ import annotations

from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def template_environment(*packages: str, autoescape: bool, **settings: Any) -> Environment:
    """The folders `templates` of packages, the first first.

    Args:
        packages: Where templates are looked for.
        autoescape: Whether values are escaped, as HTML needs it.
        settings: Further settings of `jinja2.Environment`.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **settings,
    )
