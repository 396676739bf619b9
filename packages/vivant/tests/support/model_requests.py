"""Requests to models, and models made to think, without an engine."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.standin import Standin
from vivant.core.types import Decoding, Reply, Request, Text, Turn
from vivant.models.base import ModelOptions, ThinkingOptions
from vivant.models.gemini import Gemini

ROOM = 32_768


def question(*parts: Any, **decoding: Any) -> Request:
    return Request(turns=(Turn("user", parts),), decoding=Decoding(**decoding))


ASKED = question(Text("Which?"), max_tokens=64, temperature=0.0)


def make(kind: Any, name: str, values: dict[str, Any] | None = None, **thinking: Any) -> Any:
    options = ModelOptions(
        base_url="http://127.0.0.1:9/v1", values=values or {}, thinking=ThinkingOptions(**thinking)
    )
    return kind(name, options)


def body_of(kind: Any, name: str, values: dict[str, Any] | None = None, **thinking: Any) -> dict[str, Any]:
    made = make(kind, name, values, **thinking)
    body: dict[str, Any] = made.body(ASKED, {}) if kind is Gemini else made.body(ASKED)
    return body


def reply_of(server: Standin, kind: Any, name: str, root: str = "v1", **thinking: Any) -> Reply:
    options = ModelOptions(
        base_url=f"http://127.0.0.1:{server.port}/{root}", thinking=ThinkingOptions(**thinking)
    )

    async def ask() -> Reply:
        model = kind(name, options)
        await model.open()
        try:
            reply: Reply = await model.generate(ASKED)
            return reply
        finally:
            await model.close()

    return asyncio.run(ask())
