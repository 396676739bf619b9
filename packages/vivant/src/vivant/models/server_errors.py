"""What a server's refusal means: for one request, for the run, or for now. `server_errors.yaml` has the words."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from vivant.core.types import Reply, ReplyStatus
from vivant.core.yaml_files import read_resource
from vivant.models.base import DeniedError, ModelError, TransientError
from vivant.models.reply_json import parse_json

Kind = Literal["too_long", "refused", "no_credit", "day_quota", "no_model", "bad_key", "no_access"]
_RETRIED_STATUSES = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_SLOW_DOWN = (429, 503, 529)
_TYPES = {
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "overloaded_error": 529,
    "unavailable": 503,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "timeout_error": 504,
}
"""Statuses that an error means which comes without a number."""
_ECHOES = {"input", "body", "ctx", "loc", "flagged_input", "prompt", "messages", "url"}
"""Fields in which servers send the request back: their content says nothing about the error."""
_CODES = ("code", "error_code", "status", "status_code")
"""Fields whose numbers say something; others are sizes and the like."""
_ENDS: Mapping[str, str] = {
    "no_credit": "{where} has no credit for this account ({answer}). Add credit, then run the same command to go on",
    "day_quota": "{where}: the quota of the day is used up ({answer}). Run the same command tomorrow to go on",
    "no_model": "{where} knows no such model ({answer}). Check the name after --model",
    "bad_key": "{where} refuses the key ({answer})",
    "no_access": "{where} does not serve this account ({answer})",
}


class RequestRefusedError(Exception):
    """The server will not take this request, now or later; other requests may pass."""

    def __init__(self, message: str, *, status: ReplyStatus = "error") -> None:
        super().__init__(message)
        self.status: ReplyStatus = status
        """Of the reply that stands for the request: `too_long`, `refused` or `error`."""

    @property
    def reply(self) -> Reply:
        """The reply that stands for the request."""
        return Reply(status=self.status, error=str(self))


class ErrorWords(Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of refusal and the words by which it is known."""

    kind: Kind
    words: tuple[str, ...]
    statuses: tuple[int, ...] = ()
    """Only with these HTTP statuses; empty: with any."""


class _Pattern(NamedTuple):
    kind: Kind
    words: re.Pattern[str]
    statuses: tuple[int, ...]


@cache
def _load_patterns() -> tuple[_Pattern, ...]:
    kinds = read_resource("vivant.models", "server_errors.yaml", tuple[ErrorWords, ...])
    return tuple(
        _Pattern(entry.kind, re.compile("|".join(entry.words), re.IGNORECASE | re.MULTILINE), entry.statuses)
        for entry in kinds
    )


def find_kind(data: bytes, status: int = 400) -> Kind | None:
    """The kind of refusal that an error's words tell; None where they tell none."""
    words = _read_words(data)
    for pattern in _load_patterns():
        if (not pattern.statuses or status in pattern.statuses) and pattern.words.search(words):
            return pattern.kind
    return None


def classify_error(
    status: int, headers: Mapping[str, str], data: bytes, where: str, redacted: bytes | None = None
) -> Exception:
    """Which kind of failure an answer other than a success is.

    Returns a `RequestRefusedError` for what concerns this request, a `TransientError` for what may pass, a
    `DeniedError` for what may concern this request or all, and a `ModelError` for what ends the run.

    Args:
        status: the HTTP status.
        headers: the answer's headers.
        data: the answer's body, as it came: it decides the kind.
        where: the server, for the message.
        redacted: the body without secrets, for the message; `data` where there are none.
    """
    answer = f"HTTP {status}: {read_error_message(data if redacted is None else redacted)}"
    kind = find_kind(data, status)
    if kind is None:
        kind = {401: "bad_key", 402: "no_credit", 413: "too_long"}.get(status)  # type: ignore[assignment]
    if kind == "too_long" or kind == "refused":
        return RequestRefusedError(answer, status=kind)
    if kind is not None:
        return ModelError(_ENDS[kind].format(where=where, answer=answer))
    if status in (403, 404):
        hint = "; does the address end in /v1?" if status == 404 and "/v1" not in where else ""
        return DeniedError(f"{where} denies the request ({answer}{hint})")
    if status in _RETRIED_STATUSES:
        return TransientError(
            f"{where} answered {answer}",
            retry_after=parse_retry_after(headers) or _retry_delay(data),
            slow_down=status in _SLOW_DOWN,
        )
    return RequestRefusedError(answer)


def is_rejection(error: str) -> bool:
    """Whether an error of a reply says that the server will not take the request as it is, now or later."""
    return re.match(r"HTTP \d{3}: ", error) is not None


def find_embedded_error(answer: Any) -> tuple[int, Any] | None:
    """The error that an answer with a status of success holds, with the status that it should have had."""
    if not isinstance(answer, dict) or answer.get("object") == "response":  # that one has states of its own
        return None
    error: Any = answer.get("error")
    choices = answer.get("choices")
    if not error and isinstance(choices, list) and choices and isinstance(choices[0], dict):
        error = choices[0].get("error")
    elif not error and answer.get("object") == "error":
        error = answer
    elif error and choices:
        return None  # an answer beside it counts
    return (read_error_status(error), error) if error else None


def read_error_status(error: Any) -> int:
    """The HTTP status that an error means which comes inside something else; 500 where it does not say."""
    if isinstance(error, dict):
        for name in ("code", "status", "type"):
            value = error.get(name)
            if isinstance(value, str):
                value = int(value) if value.isdigit() else _TYPES.get(value.lower())
            if isinstance(value, int) and 400 <= value < 600:
                return value
    return 500


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms`, or from `Retry-After` as a number or as a date."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", value):
        return max(0.0, float(value))
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _retry_delay(data: bytes) -> float | None:
    """Seconds to wait, from a body in the form of Google's APIs: details with a `retryDelay` of "34s"."""
    match = re.search(rb'"retryDelay"\s*:\s*"([0-9.]+)s"', data[:20_000])
    try:
        return float(match[1]) if match else None
    except ValueError:
        return None


def read_error_message(data: bytes) -> str:
    """The server's own words in one line, whichever of the usual shapes they come in."""
    try:
        decoded = parse_json(data)
    except ValueError:
        return excerpt(data)
    if isinstance(decoded, list) and len(decoded) == 1:
        decoded = decoded[0]
    error = decoded.get("error") or decoded if isinstance(decoded, dict) else decoded
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("msg") or error
    return excerpt(str(error).encode("utf-8", "replace"))


def excerpt(data: bytes) -> str:
    """The beginning of an answer, in one line."""
    text = " ".join(data[:400].decode("utf-8", "replace").split())
    return (text[:200] + "…") if len(text) > 200 else (text or "an empty body")


def _read_words(data: bytes) -> str:
    """What an error says: its texts and codes, and the names of its fields, one per line."""
    try:
        decoded = parse_json(data[:200_000])
    except ValueError:
        return data[:4_000].decode("utf-8", "replace")
    return "\n".join(_walk(decoded, 0))


def _walk(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:4_000]
    elif depth < 8 and isinstance(value, dict):
        for name, content in value.items():
            yield str(name)
            if isinstance(content, int) and name in _CODES:
                yield str(content)
            elif name not in _ECHOES:
                yield from _walk(content, depth + 1)
    elif depth < 8 and isinstance(value, list):
        for content in value[:50]:
            yield from _walk(content, depth + 1)


def encode_error(error: Any) -> bytes:
    """An error as a body, for `classify_error`."""
    return msgspec.json.encode({"error": error})
