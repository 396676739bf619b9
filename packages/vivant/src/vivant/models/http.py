"""What every HTTP backend shares: one session, failures classified, secrets kept out of messages."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from vivant.core.errors import MediaError, UsageError
from vivant.core.types import Reply, Request
from vivant.models.base import Model, ModelError, TransientError
from vivant.models.reply_json import parse_json
from vivant.models.server_errors import (
    RequestRefusedError,
    classify_error,
    encode_error,
    excerpt,
    find_embedded_error,
)

_UNMISTAKABLE = 8
"""A key of so many characters is no part of an ordinary word."""
_MAX_HEADER = 256 * 1024
"""Bytes of one response header: gateways that trace requests send long ones."""
_LARGE = 1 << 20
"""A larger body is handed over in portions: whole, the connection would hold it a second time."""


async def _portions(body: bytes) -> AsyncIterator[memoryview]:
    view = memoryview(body)
    for start in range(0, len(body), _LARGE // 4):
        yield view[start : start + _LARGE // 4]


class HttpClient:
    """Posts JSON and returns JSON, or raises what `classify_error` makes of the answer."""

    def __init__(self, base_url: str, headers: Mapping[str, str], timeout: float) -> None:
        self.base_url = complete_url(base_url).rstrip("/")
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
            max_line_size=_MAX_HEADER,
            max_field_size=_MAX_HEADER,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, path: str, body: bytes) -> Any:
        """The decoded JSON of a success; everything else is raised, an error inside a success too."""
        data, headers = await self.call("POST", path, body)
        answer = self.decode(data)
        if (embedded := find_embedded_error(answer)) is not None:
            status, content = embedded
            error = encode_error(content)
            raise classify_error(status, headers, error, public_url(self.base_url), self._redact(error))
        return answer

    async def get(self, path: str) -> Any:
        """The decoded JSON of a success; everything else is raised."""
        return self.decode((await self.call("GET", path))[0])

    def decode(self, data: bytes) -> Any:
        """JSON; something else may come right on another try."""
        try:
            return parse_json(data)
        except ValueError as error:
            where, text = public_url(self.base_url), excerpt(self._redact(data))
            raise TransientError(f"{where} sent something that is not JSON: {text}") from error

    def address(self, path: str) -> str:
        """Where a path leads. A path beside the API's version begins with `//`: with the base URL
        `https://host/proxy/v1`, `//health` is `https://host/proxy/health`. Of a whole URL that a server sends, only the
        path counts, so that a key goes nowhere but to the server that the user named."""
        parts = urlsplit(self.base_url)
        if path.startswith("//"):
            beside = re.sub(r"/v\d\w*$", "", parts.path)
            return (
                urlunsplit((parts.scheme, parts.netloc, beside if beside != parts.path else "", "", ""))
                + path[1:]
            )
        if "://" in path:
            sent = urlsplit(path)
            return urlunsplit((parts.scheme, parts.netloc, sent.path, sent.query, ""))
        return self.base_url + path

    async def call(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        """Body and headers of a success; everything else is raised."""
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
        if not 200 <= status < 300:
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

    def redact_text(self, text: str) -> str:
        """A message without the keys that it may quote."""
        return self._redact(text.encode("utf-8", "replace")).decode("utf-8", "replace")


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
            return refused.reply
        except TransientError as error:  # it may quote the answer, and the answer a key
            error.args = (self.client.redact_text(str(error)),)
            raise
        except MediaError as error:
            return Reply(status="error", error=str(error))

    @abstractmethod
    async def ask(self, request: Request) -> Reply:
        """Send one request and read the answer."""


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


def describe_missing_answer(*, thoughts: bool) -> str:
    """What is wrong with a reply that came to its end without an answer."""
    return "the reply holds thoughts alone" if thoughts else "the reply holds no content"


def complete_url(url: str) -> str:
    """A base URL with its scheme. `localhost:8000/v1`, `gpu:8000` and `10.0.0.7:8000` mean http; a host on the
    internet must say which, because a key goes there."""
    url = url.strip()
    scheme, rest = _split_scheme(url)
    host = re.split(r"[:/]", rest, maxsplit=1)[0]
    local = re.fullmatch(r"[\w-]+|\d+\.\d+\.\d+\.\d+", host) is not None
    if not scheme and local:
        url = f"http://{url}"
    if re.match(r"https?://[^/]", url, re.IGNORECASE) and _has_usable_port(url):
        return url
    meant = f"{scheme if scheme in ('http', 'https') else 'http' if local else 'https'}://{rest}"
    text = public_url(meant) if rest and _has_usable_port(meant) else "http://HOST:PORT/v1"
    raise UsageError(f"'{url.partition('?')[0]}' is not an address of a server; write {text}")


def _split_scheme(url: str) -> tuple[str, str]:
    """The scheme, in lower case, and the rest, also where slashes are missing: `http:/gpu:8000`, `https:gpu`."""
    match = re.match(r"(https?):/*|([a-z][a-z0-9+.-]*)://+", url, re.IGNORECASE)
    return ((match[1] or match[2]).lower(), url[match.end() :]) if match else ("", url.lstrip("/"))


def _has_usable_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


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
