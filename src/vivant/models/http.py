"""What every HTTP backend shares: one session, failures classified, secrets kept out of messages."""

from __future__ import annotations

import email.utils
import os
import re
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import msgspec

from vivant.core.errors import MediaError
from vivant.core.types import Reply, Request
from vivant.models.base import Model, ModelError, TransientError

_RETRIED_STATUSES = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_UNMISTAKABLE = 8
"""A key of so many characters is no part of an ordinary word."""
_TOO_LONG = (
    "context_length",
    "context length",
    "maximum context",
    "too many tokens",
    "too long",
    "prompt is too",
)


_LARGE = 1 << 20
"""A larger body is handed over in portions: whole, the connection would hold it a second time."""


async def _portions(body: bytes) -> AsyncIterator[memoryview]:
    view = memoryview(body)
    for start in range(0, len(body), _LARGE // 4):
        yield view[start : start + _LARGE // 4]


class RequestRefusedError(Exception):
    """The server will not take this request, now or later; other requests may pass."""

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class HttpClient:
    """Posts JSON and returns JSON, or raises one of the three kinds of failure."""

    def __init__(self, base_url: str, headers: Mapping[str, str], timeout: float) -> None:
        self.base_url = base_url.rstrip("/")
        self._headers = {"Content-Type": "application/json", **headers}
        self._secrets = [
            value.split()[-1].encode()
            for name, value in headers.items()
            if name.lower().endswith(("key", "authorization")) and value.split()
        ]
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, 30.0))
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Start the session; the number of connections is the engine's business, not the pool's."""
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            headers=self._headers,
            skip_auto_headers=["User-Agent"],
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, path: str, body: bytes) -> Any:
        """The decoded JSON of a 200; everything else is raised."""
        return self.decode((await self.call("POST", path, body))[0])

    async def get(self, path: str) -> Any:
        """The decoded JSON of a 200; everything else is raised."""
        return self.decode((await self.call("GET", path))[0])

    def decode(self, data: bytes) -> Any:
        """JSON; something else may come right on another try."""
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            where = public_url(self.base_url)
            raise TransientError(f"{where} sent something that is not JSON: {_excerpt(data)}") from error

    def address(self, path: str) -> str:
        """Where a path leads. A path on the server's root begins with `//`; of a whole URL that a server
        sends, only the path counts, so that a key goes nowhere but to the server that the user named."""
        if path.startswith("//"):
            parts = urlsplit(self.base_url)
            return urlunsplit((parts.scheme, parts.netloc, "", "", "")) + path[1:]
        if "://" in path:
            parts = urlsplit(path)
            return self.address("/" + urlunsplit(("", "", parts.path, parts.query, "")))
        return self.base_url + path

    async def call(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        """Body and headers of a 200; everything else is raised."""
        assert self._session is not None, "open() first"
        where = public_url(self.base_url)
        try:
            content: Any = body
            if body is not None and len(body) > _LARGE:
                content, headers = _portions(body), {**(headers or {}), "Content-Length": str(len(body))}
            async with self._session.request(
                method, self.address(path), data=content, headers=headers
            ) as response:
                data = await response.read()
                status, response_headers = response.status, response.headers
        except TimeoutError as error:
            raise TransientError(f"{where} did not answer in time") from error
        except aiohttp.ClientConnectorError as error:
            raise TransientError(
                f"No server answers at {where} ({error.os_error})", unreachable=True
            ) from error
        except aiohttp.InvalidURL as error:
            raise ModelError(f"'{where}' is not a usable base URL") from error
        except (aiohttp.ClientError, OSError) as error:
            raise TransientError(f"The connection to {where} broke: {type(error).__name__}") from error
        if status != 200:
            raise classify_error(status, response_headers, data, where, self._redact(data))
        return data, response_headers

    def _redact(self, data: bytes) -> bytes:
        """An answer without the keys that servers like to quote; a word that contains a short key stays whole."""
        for secret in self._secrets:
            if len(secret) >= _UNMISTAKABLE:
                data = data.replace(secret, b"[key]")
            else:
                data = re.sub(rb"(?<![\w-])" + re.escape(secret) + rb"(?![\w-])", b"[key]", data)
        return data


class HttpModel(Model):
    """A model behind an HTTP API. A subclass implements `ask`; what the server will not take becomes a reply
    with a status, what may pass is raised."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self.name = name
        self.client = HttpClient(url, headers, timeout)

    @property
    def server(self) -> str:
        return public_url(self.client.base_url)

    async def open(self) -> None:
        await self.client.open()

    async def close(self) -> None:
        await self.client.close()

    async def generate(self, request: Request) -> Reply:
        return await self.read_reply(self.ask(request))

    async def read_reply(self, asking: Awaitable[Reply]) -> Reply:
        """The reply, also where the server refused the request."""
        try:
            return await asking
        except RequestRefusedError as refused:
            return refusal_reply(refused)
        except MediaError as error:
            return Reply(status="error", error=str(error))

    @abstractmethod
    async def ask(self, request: Request) -> Reply:
        """Send one request and read the answer."""


def refusal_reply(refused: RequestRefusedError) -> Reply:
    """The reply that stands for a request which the server will not take."""
    return Reply(status="too_long" if refused.too_long else "error", error=str(refused))


def classify_error(
    status: int, headers: Mapping[str, str], data: bytes, where: str, shown: bytes | None = None
) -> Exception:
    """Which of the three kinds of failure an answer other than 200 is.

    Args:
        status: the HTTP status.
        headers: the answer's headers.
        data: the answer's body, as it came: it decides the kind.
        where: the server, for the message.
        shown: the body without secrets, for the message; `data` where there are none.
    """
    message = read_error_message(data if shown is None else shown)
    words = read_error_message(data).lower()
    if status in (401, 403) or (status == 400 and "api key" in words):
        return ModelError(f"{where} refuses the key (HTTP {status}): {message}")
    if status in _RETRIED_STATUSES:
        return TransientError(
            f"{where} answered HTTP {status}: {message}",
            retry_after=parse_retry_after(headers) or _retry_delay(data),
            slow_down=status in (429, 503, 529),
        )
    if status == 404:
        return ModelError(f"{where} knows no such model or address (HTTP 404): {message}")
    too_long = status == 413 or any(sign in words for sign in _TOO_LONG)
    return RequestRefusedError(f"HTTP {status}: {message}", too_long=too_long)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms`, or from `Retry-After` as a number or as a date."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
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
        decoded = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return _excerpt(data)
    error = decoded.get("error", decoded) if isinstance(decoded, dict) else decoded
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return _excerpt(str(error).encode())


def _excerpt(data: bytes) -> str:
    text = " ".join(data[:400].decode("utf-8", "replace").split())
    return (text[:200] + "…") if len(text) > 200 else (text or "an empty body")


def read_count(value: Any) -> int | None:
    """A number of tokens, whichever way a server writes it; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if 0 <= number < 2**53 else None


def read_string(value: Any) -> str:
    """A text, also where a server sends it in pieces or sends a number; empty for everything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(read_string, value))
    if isinstance(value, dict):
        return read_string(value.get("text") or value.get("thinking") or value.get("content"))
    return "" if isinstance(value, bool) or value is None else str(value)


@lru_cache(maxsize=16)
def public_url(url: str) -> str:
    """A URL without user, password and query: fit for logs."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    netloc = f"{host}:{parts.port}" if parts.port else host
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))


def read_key(variable: str) -> str:
    """A key from the environment, without the line break that `export KEY=$(cat file)` may leave."""
    return os.environ.get(variable, "").strip()
