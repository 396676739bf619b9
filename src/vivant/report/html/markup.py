"""HTML and SVG as text that cannot be forgotten to be escaped: only what `tag` made passes unchanged."""

from __future__ import annotations

import re
from html import escape

# Control characters mean nothing in a page, and some end the parsing of one.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | float | None


def text(value: str) -> Html:
    """Anybody's text as it may stand in a page."""
    return Html(escape(_CONTROLS.sub("�", value)))


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """An element. Children that are not `Html` are escaped; None and False attributes are left out.

    `class_` and `for_` lose their underscore, others have theirs turned into hyphens.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        plain = key.rstrip("_").replace("_", "-")
        parts.append(f" {plain}" if value is True else f' {plain}="{text(str(value))}"')
    parts.append(">")
    if name in _VOID:
        return Html("".join(parts))
    parts += [join(*children), f"</{name}>"]
    return Html("".join(parts))


def join(*children: Child) -> Html:
    """Several pieces as one."""
    return Html(
        "".join(
            child if isinstance(child, Html) else text(str(child)) for child in children if child is not None
        )
    )


def own(value: str) -> Html:
    """A name that somebody else chose, kept from turning the text around it (right-to-left marks)."""
    return tag("bdi", value)
