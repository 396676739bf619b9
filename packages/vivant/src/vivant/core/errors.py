"""Errors that a user can act on: one line each, shown without a traceback."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable


class VivantError(Exception):
    """Something the user can mend; the message names the file, the item and the remedy."""


class DataError(VivantError):
    """A benchmark's files are missing, unreadable or contradict themselves."""


class MediaError(VivantError):
    """One picture, video or sound cannot be used. Costs a sample, never a run."""


class UsageError(VivantError):
    """An unknown name or an impossible combination of options."""


def unknown_name_error(kind: str, name: str, candidates: Iterable[str], hint: str = "") -> UsageError:
    """An error for a name that is not among the `candidates`, with the nearest one suggested."""
    names = sorted(candidates)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        remedy = f"did you mean '{near[0]}'?"
    elif not names:
        remedy = "there are none"
    else:
        listing = ", ".join(names[:12]) + (" …" if len(names) > 12 else "")
        remedy = f"known: {listing}"
    return UsageError(f"Unknown {kind} '{name}'; {remedy}{' ' + hint if hint else ''}")


def shorten_line(text: str) -> str:
    """The first line of a message, at a length that fits a log."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 300 else line[:299] + "…"


def format_traceback(error: BaseException, longest: int = 8_000) -> str:
    """Where an exception comes from, as Python prints it; of a long one the end."""
    text = "".join(traceback.format_exception(error)).strip()
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= longest else "…" + text[-longest:]


def is_connection_fault(error: Exception) -> bool:
    """Whether the HTTP library says that the connection broke. Which library it is depends on the hub client's
    version, and its errors share no public base, so they are known by where they come from."""
    return type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2")
