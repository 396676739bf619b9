"""Parameters of the step ingest."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


class Ingest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is taken in, and what becomes of people's names."""

    platform: str = ""
    """For records that do not name theirs."""
    licence: str = ""
    """For records that state none."""
    mentions: Literal["hash", "remove", "keep"] = "remove"
    """@-mentions in texts: taken out, or replaced by @ and six letters that depend on the salt."""
    links: Literal["remove", "keep"] = "remove"
    """Web addresses, e-mail addresses and telephone numbers."""
    batch: Annotated[int, Meta(ge=1)] = 100_000
    """Comments held in memory by a process before they are written."""
