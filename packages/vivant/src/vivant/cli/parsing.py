"""Texts from the command line taken apart."""

from __future__ import annotations

from typing import Any, Literal

from vivant.core.errors import UsageError


def parse_pairs(entries: list[str] | None, flag: str) -> dict[str, str]:
    """`NAME=VALUE` entries as a mapping."""
    pairs: dict[str, str] = {}
    for entry in entries or []:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {entry}: write NAME=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs


def split_values(entries: list[str] | None) -> list[str]:
    """Repeated and comma-separated values as one list."""
    return [name.strip() for entry in entries or [] for name in entry.split(",") if name.strip()]


def parse_permute(text: str) -> int | Literal["all"]:
    """`all`, or a number of orders."""
    if text == "all":
        return "all"
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--permute {text}: write 'all' or a number of orders from 1 up")
    return int(text)


def parse_number_or_server(
    text: str, flag: str, kind: type[int] | type[float]
) -> int | float | Literal["server"]:
    """A number, or `server` where the setting is not sent."""
    if text == "server":
        return "server"
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{flag} {text}: write a number, or 'server' to leave it to the server") from None


def parse_model_options(entries: list[str] | None, trust_remote_code: bool = False) -> dict[str, Any]:
    """The backend's own settings; those with a flag of their own among them."""
    values: dict[str, Any] = dict(parse_pairs(entries, "--model-option"))
    return {**values, "trust_remote_code": True} if trust_remote_code else values
