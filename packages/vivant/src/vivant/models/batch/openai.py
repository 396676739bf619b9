"""OpenAI's batches: a JSONL file, uploaded, then named in a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

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

if TYPE_CHECKING:
    from vivant.models.openai import OpenAI

_ENDED = ("completed", "expired", "cancelled")


class OpenAIBatches(HttpBatches):
    """`/files` and `/batches`."""

    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 190_000_000
    _model: OpenAI

    def line(self, custom_id: str, request: Request) -> bytes:
        body = self._model.body(request)
        line = {"custom_id": custom_id, "method": "POST", "url": f"/v1{self._model.endpoint}", "body": body}
        return msgspec.json.encode(line)

    async def submit(self, lines: list[bytes], name: str) -> str:
        body, kind = _encode_form(b"\n".join(lines) + b"\n", name)
        data, _ = await self._client.call("POST", "/files", body, {"Content-Type": kind})
        batch_body = {
            "input_file_id": self._client.decode(data)["id"],
            "endpoint": f"/v1{self._model.endpoint}",
            "completion_window": "24h",
            "metadata": {"vivant": name},
        }
        answer = await self._client.post("/batches", msgspec.json.encode(batch_body))
        return str(answer["id"])

    async def find(self, name: str, since: float, count: int) -> list[str]:  # noqa: ARG002
        batches = await list_pages(
            self._client, "/batches?limit=100", "data",
            lambda answer: f"&after={answer['last_id']}" if answer.get("has_more") else "",
        )  # fmt: skip
        return [b["id"] for b in batches if (b.get("metadata") or {}).get("vivant") == name]

    async def state(self, batch: str) -> BatchState:
        info = await self._client.get(f"/batches/{batch}")
        if info["status"] == "failed":
            problems = (info.get("errors") or {}).get("data") or [{}]
            return BatchState("failed", note=str(problems[0].get("message") or "no reason given"))
        counts = info.get("request_counts") or {}
        done = (counts.get("completed") or 0) + (counts.get("failed") or 0)
        return BatchState("ended" if info["status"] in _ENDED else "running", done)

    async def results(self, batch: str) -> list[tuple[str, Reply]]:
        info = await self._client.get(f"/batches/{batch}")
        files = [info.get("output_file_id"), info.get("error_file_id")]
        lines: list[Any] = []
        for file in filter(None, files):
            lines += await fetch_json_lines(self._client, f"/files/{file}/content")
        return [(line["custom_id"], self._reply(line)) for line in lines]

    def _reply(self, line: dict[str, Any]) -> Reply:
        response = line.get("response") or {}
        if response.get("status_code") == 200:
            return read_reply(response["body"], self._model.server, self._model.read_answer)
        error = line.get("error")
        if error:
            return Reply(status="error", error=f"in the batch: {error.get('message') or error.get('code')}")
        return read_failure(int(response.get("status_code") or 500), response.get("body"), self._model.server)


def _encode_form(data: bytes, name: str) -> tuple[bytes, str]:
    """A form with the file and its purpose, and its media type."""
    border = uuid4().hex
    head = (
        f'--{border}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    body = head.encode() + data + f"\r\n--{border}--\r\n".encode()
    return body, f"multipart/form-data; boundary={border}"
