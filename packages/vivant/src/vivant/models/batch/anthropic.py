"""Anthropic's message batches: all requests in one body."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from vivant.core.types import Reply, Request
from vivant.models.anthropic import read_message
from vivant.models.batch.base import (
    BatchState,
    HttpBatches,
    fetch_json_lines,
    list_pages,
    read_failure,
    read_reply,
)
from vivant.models.server_errors import read_error_status

if TYPE_CHECKING:
    from vivant.models.anthropic import Anthropic

_CLOCKS = 120.0
"""Seconds by which the provider's clock may differ from ours."""


class AnthropicBatches(HttpBatches):
    """`/messages/batches`."""

    most_requests: ClassVar[int] = 100_000
    most_bytes: ClassVar[int] = 240_000_000
    _model: Anthropic

    def line(self, custom_id: str, request: Request) -> bytes:
        return msgspec.json.encode({"custom_id": custom_id, "params": self._model.body(request)})

    async def submit(self, lines: list[bytes], name: str) -> str:  # noqa: ARG002
        answer = await self._client.post("/messages/batches", b'{"requests":[' + b",".join(lines) + b"]}")
        return str(answer["id"])

    async def find(self, name: str, since: float, count: int) -> list[str]:  # noqa: ARG002
        # Batches have no names here: those of the right time and size are looked into when they have ended.
        batches = await list_pages(
            self._client, "/messages/batches?limit=100", "data",
            lambda answer: f"&after_id={answer['last_id']}" if answer.get("has_more") else "",
        )  # fmt: skip
        return [
            batch["id"]
            for batch in batches
            if sum((batch.get("request_counts") or {}).values()) == count
            and datetime.fromisoformat(batch["created_at"]).timestamp() >= since - _CLOCKS
        ]

    async def state(self, batch: str) -> BatchState:
        info = await self._client.get(f"/messages/batches/{batch}")
        counts = dict(info.get("request_counts") or {})
        processing = counts.pop("processing", 0)
        ended = info["processing_status"] == "ended"
        return BatchState("ended" if ended else "running", 0 if processing is None else sum(counts.values()))

    async def results(self, batch: str) -> list[tuple[str, Reply]]:
        info = await self._client.get(f"/messages/batches/{batch}")
        if not info.get("results_url"):
            return []
        lines = await fetch_json_lines(self._client, info["results_url"])
        return [(line["custom_id"], self.read_result(line["result"])) for line in lines]

    def read_result(self, result: dict[str, Any]) -> Reply:
        """One result of a batch as a Reply."""
        if result["type"] == "succeeded":
            return read_reply(result["message"], self._model.server, read_message)
        if result["type"] == "errored":
            error = result.get("error") or {}
            inner = error.get("error") or error
            return read_failure(read_error_status(inner), {"error": inner}, self._model.server)
        return Reply(status="error", error=f"in the batch: {result['type']}")
