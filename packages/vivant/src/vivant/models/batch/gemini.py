"""Gemini's batches: a JSONL file through the files API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from vivant.core.types import Reply, Request
from vivant.models.batch.base import (
    BatchState,
    HttpBatches,
    fetch_json_lines,
    list_pages,
    read_failure,
    read_reply,
)
from vivant.models.gemini import read_response

if TYPE_CHECKING:
    from vivant.models.gemini import Gemini


_RPC_STATUSES = {
    1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 13: 500,
    14: 503, 15: 500, 16: 401,
}  # fmt: skip
"""HTTP statuses of the codes of gRPC, which errors inside a batch have."""


class GeminiBatches(HttpBatches):
    """`:batchGenerateContent` and `/batches`."""

    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 500_000_000
    _model: Gemini

    def line(self, custom_id: str, request: Request) -> bytes:
        return msgspec.json.encode({"key": custom_id, "request": self._model.body(request, {})})

    async def submit(self, lines: list[bytes], name: str) -> str:
        file = await self._model.files.upload(b"\n".join(lines) + b"\n", "application/jsonl", name)
        body = {"batch": {"display_name": name, "input_config": {"file_name": file["name"]}}}
        path = f"/models/{self._model.model}:batchGenerateContent"
        answer = await self._client.post(path, msgspec.json.encode(body))
        return str(answer["name"])

    async def find(self, name: str, since: float, count: int) -> list[str]:  # noqa: ARG002
        batches = await list_pages(
            self._client, "/batches?pageSize=100", "operations",
            lambda answer: f"&pageToken={answer['nextPageToken']}" if answer.get("nextPageToken") else "",
        )  # fmt: skip
        return [b["name"] for b in batches if (b.get("metadata") or {}).get("displayName") == name]

    async def state(self, batch: str) -> BatchState:
        info = await self._client.get(f"/{batch}")
        metadata = info.get("metadata") or {}
        state = str(metadata.get("state") or "")
        if info.get("error") or state.endswith("_FAILED"):
            return BatchState("failed", note=str((info.get("error") or {}).get("message") or state))
        stats = metadata.get("batchStats") or {}
        done = int(stats.get("successfulRequestCount") or 0) + int(stats.get("failedRequestCount") or 0)
        ended = bool(info.get("done")) or state.endswith(("_SUCCEEDED", "_CANCELLED", "_EXPIRED"))
        return BatchState("ended" if ended else "running", done)

    async def results(self, batch: str) -> list[tuple[str, Reply]]:
        info = await self._client.get(f"/{batch}")
        output = info.get("response") or (info.get("metadata") or {}).get("output") or {}
        if not output.get("responsesFile"):
            return []
        lines = await fetch_json_lines(
            self._client, f"//download/v1beta/{output['responsesFile']}:download?alt=media"
        )
        return [(line["key"], self._reply(line)) for line in lines]

    def _reply(self, line: dict[str, Any]) -> Reply:
        if "response" in line:
            return read_reply(line["response"], self._model.server, read_response)
        error = line.get("error") or {}
        code = int(error.get("code") or 500)
        return read_failure(_RPC_STATUSES.get(code, code), {"error": error}, self._model.server)
