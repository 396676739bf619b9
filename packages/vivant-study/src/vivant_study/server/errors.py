"""Requests that are not carried out, and how their fields are read."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request


class PageRefusedError(Exception):
    """Not carried out. `notice` and `text` name the page's title and text among the interface's texts."""

    def __init__(self, status: int, notice: str = "bad_request", text: str = "") -> None:
        super().__init__(notice)
        self.status, self.notice, self.text = status, notice, text


class ScriptMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the page's script sends: answers as they are given, or what became of a video."""

    form: str
    page: str
    fields: dict[str, str] = {}
    media: str = ""
    what: str = ""
    seconds: float = 0.0
    report: str = ""
    """The number of a report of playing or leaving: the same when it is sent again."""


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a plain form. Files cannot be sent, and no field twice."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise PageRefusedError(415)
    try:
        pairs = parse_qsl(
            (await request.body()).decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=500,
        )
    except ValueError:
        raise PageRefusedError(400) from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise PageRefusedError(400)
    return fields


async def read_script(request: Request) -> ScriptMessage:
    """What a script sent."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise PageRefusedError(415)
    try:
        return msgspec.json.decode(await request.body(), type=ScriptMessage)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise PageRefusedError(400) from None


def split_fields(fields: dict[str, str], *names: str) -> tuple[dict[str, Any], ...]:
    """The fields of these names, and all others."""
    return {name: fields.get(name, "") for name in names}, {
        name: value for name, value in fields.items() if name not in names
    }
