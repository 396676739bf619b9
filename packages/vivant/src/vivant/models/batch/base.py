"""What a provider's batch endpoint is: submit, ask how far it is, fetch the answers."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from vivant.core.types import Reply, Request
from vivant.models.base import ModelError, TransientError
from vivant.models.http import HttpClient, HttpModel
from vivant.models.reply_json import parse_json
from vivant.models.server_errors import RequestRefusedError, classify_error, excerpt

logger = logging.getLogger("vivant")
_MOST_PAGES = 50


class BatchState(Struct, frozen=True):
    """How far a batch is. An ended one has answers, though perhaps not to everything."""

    state: Literal["running", "ended", "failed"]
    done: int = 0
    note: str = ""
    """Why it failed."""


class BatchApi(ABC):
    """One provider. Methods raise as `HttpClient` does."""

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]

    @abstractmethod
    def line(self, custom_id: str, request: Request) -> bytes:
        """One request as it stands in a batch."""

    @abstractmethod
    async def submit(self, lines: list[bytes], name: str) -> str:
        """Hand over a batch under a name of ours; returns the provider's id."""

    @abstractmethod
    async def find(self, name: str, since: float, count: int) -> list[str]:
        """Ids of batches that may be the one handed over under this name at this time (Unix), because the
        process died before it could note the id."""

    @abstractmethod
    async def state(self, batch: str) -> BatchState:
        """How far it is."""

    @abstractmethod
    async def results(self, batch: str) -> list[tuple[str, Reply]]:
        """Answers by custom id, in any order."""


class HttpBatches(BatchApi):
    """A provider whose batches go through its model's client."""

    def __init__(self, model: HttpModel) -> None:
        self._model = model
        self._client = model.client


def decode_json_lines(data: bytes) -> list[dict[str, Any]]:
    """One object per line. A line that holds none costs its sample, not the batch."""
    values: list[dict[str, Any]] = []
    for line in filter(bytes.strip, data.split(b"\n")):
        try:
            value = parse_json(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            values.append(value)
        else:
            logger.warning("A result of the batch cannot be read: %s", excerpt(line))
    return values


def read_failure(status: int, body: Any, where: str) -> Reply:
    """The reply that stands for a request which failed inside a batch."""
    error = classify_error(status, {}, msgspec.json.encode(body), where)
    return error.reply if isinstance(error, RequestRefusedError) else Reply(status="error", error=str(error))


def read_reply(body: Any, where: str, reader: Callable[[Any, str], Reply]) -> Reply:
    """An answer that cannot be read costs its sample, not the batch."""
    try:
        return reader(body, where)
    except (TransientError, ModelError) as error:
        return Reply(status="error", error=str(error))


async def list_pages(
    client: HttpClient, path: str, field: str, next_page: Callable[[dict[str, Any]], str]
) -> list[dict[str, Any]]:
    """The entries of a list that comes in pages, newest first.

    Args:
        client: asks for them.
        path: of the first page, with a query.
        field: in which an answer holds its entries.
        next_page: what the query for the page after an answer adds; empty after the last.
    """
    entries: list[dict[str, Any]] = []
    more = ""
    for _ in range(_MOST_PAGES):
        answer = await client.get(f"{path}{more}")
        entries += answer.get(field) or []
        more = next_page(answer)
        if not more:
            break
    return entries


async def fetch_json_lines(client: HttpClient, path: str) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return decode_json_lines((await client.call("GET", path))[0])
