"""Elements of an SVG drawing as text: only what `element` made passes unescaped."""

from __future__ import annotations

from html import escape

from markupsafe import Markup

from vivant.reporting.html.blocks import replace_controls


def element(
    name: str, /, *children: str | int | float | None, **attributes: str | int | float | bool | None
) -> Markup:
    """Write an element. Children that are not `Markup` are escaped; None and False attributes are left out.

    `class_` and `for_` lose their underscore, other names have theirs turned into hyphens.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        parts.append(f" {attribute}" if value is True else f' {attribute}="{_escape(value)}"')
    parts.append(">")
    parts += [
        child if isinstance(child, Markup) else _escape(child) for child in children if child is not None
    ]
    return Markup("".join([*parts, f"</{name}>"]))


def _escape(value: str | int | float) -> str:
    return escape(replace_controls(str(value)))
