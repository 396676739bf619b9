"""A loopback stand-in for the hub's HTTP interface: repositories of files at commits, which can misbehave."""

from __future__ import annotations

import asyncio
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

LARGE = 1000
"""Files from this size on are kept as large ones, by SHA-256; smaller ones by Git's checksum."""


@dataclass
class Repository:
    """Its files at each commit; `main` is one of them."""

    commits: dict[str, dict[str, bytes]]
    main: str
    licence: str = "cc-by-4.0"
    gated: bool = False


@dataclass
class Hub:
    """What is served, and what was asked for."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fetched: list[tuple[str, str]] = field(default_factory=list)
    """Path and Range header of every file's download."""
    tokens: set[str] = field(default_factory=set)
    cut_at: int | None = None
    """A place in every larger file at which the connection breaks, wherever it began."""
    cuts: int = 1_000
    """How often it does."""
    stall_at: int | None = None
    """A place after which nothing more comes."""
    stalled: threading.Event = field(default_factory=threading.Event)
    failing: list[int] = field(default_factory=list)
    """Status codes with which the next downloads are refused."""
    listing_failing: list[int] = field(default_factory=list)
    """Status codes with which the next questions about a repository are refused."""
    retry_after: str = ""
    """What refusals say about when to come again."""
    agents: set[str] = field(default_factory=set)
    """Who asked."""
    hold: float = 0.0
    """Seconds for which every download is held, so that those under way at once can be counted."""
    under_way: int = 0
    most_at_once: int = 0
    chunked: bool = False
    """Whether large files are also offered through the chunk store."""
    spoil: str = ""
    """A file whose content is changed on the way."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _refuse(self, status: int) -> web.Response:
        return web.Response(
            status=status, headers={"Retry-After": self.retry_after} if self.retry_after else {}
        )

    def _find(self, request: web.Request) -> tuple[Repository, str] | web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token:
            self.tokens.add(token)
        if token not in ("", "hf_good", "hf_other"):
            return web.json_response({"error": "Invalid username or password."}, status=401)
        repository = self.repositories.get(f"{request.match_info['owner']}/{request.match_info['name']}")
        if repository is None:
            return _refusal(404, "RepoNotFound")
        if repository.gated and token != "hf_good" and "resolve" in request.path:
            return _refusal(403, "GatedRepo")
        revision = request.match_info.get("revision", "main")
        commit = repository.main if revision == "main" else revision
        if commit not in repository.commits:
            return _refusal(404, "RevisionNotFound")
        return repository, commit

    async def describe(self, request: web.Request) -> web.Response:
        """`/api/datasets/OWNER/NAME/revision/REVISION?blobs=true`."""
        self.asked.append(request.path)
        self.agents.add(request.headers.get("User-Agent", ""))
        if self.listing_failing:
            return self._refuse(self.listing_failing.pop(0))
        found = self._find(request)
        if isinstance(found, web.Response):
            return found
        repository, commit = found
        siblings: list[dict[str, Any]] = []
        for name, data in repository.commits[commit].items():
            entry: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": _blob(data)}
            if len(data) >= LARGE:
                digest = hashlib.sha256(data).hexdigest()
                entry["lfs"] = {"size": len(data), "sha256": digest, "pointerSize": 130}
            siblings.append(entry)
        return web.json_response(
            {
                "id": f"{request.match_info['owner']}/{request.match_info['name']}",
                "sha": commit,
                "gated": "auto" if repository.gated else False,
                "private": False,
                "cardData": {"license": repository.licence},
                "siblings": siblings,
            }
        )

    async def resolve(self, request: web.Request) -> web.StreamResponse:
        """A file, or a part of it."""
        found = self._find(request)
        if isinstance(found, web.Response):
            return found
        repository, commit = found
        name = request.match_info["path"]
        data = repository.commits[commit].get(name)
        if data is None:
            return _refusal(404, "EntryNotFound")
        etag = hashlib.sha256(data).hexdigest() if len(data) >= LARGE else _blob(data)
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if self.chunked and len(data) >= LARGE:
            headers |= {"X-Xet-Hash": etag, "X-Xet-Refresh-Route": f"{self.url}/xet"}
        if request.method == "HEAD":
            return web.Response(headers={**headers, "Content-Length": str(len(data))})
        asked = request.headers.get("Range", "")
        self.fetched.append((name, asked))
        self.agents.add(request.headers.get("User-Agent", ""))
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await asyncio.sleep(self.hold)
        self.under_way -= 1
        if name == self.spoil:
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0
        status = 206 if asked else 200
        if asked:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        body = data[start:]
        response = web.StreamResponse(status=status, headers={**headers, "Content-Length": str(len(body))})
        if self.failing:
            return self._refuse(self.failing.pop(0))
        await response.prepare(request)
        if self.stall_at is not None and len(data) > self.stall_at:
            await response.write(body[: max(self.stall_at - start, 0)])
            self.stalled.set()
            await asyncio.sleep(3600)
        if self.cuts and self.cut_at is not None and len(data) > self.cut_at:
            self.cuts -= 1
            await response.write(body[: max(self.cut_at - start, 0)])
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write(body)
        await response.write_eof()
        return response


def packed(name: str, data: bytes) -> bytes:
    """An archive of one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _refusal(status: int, code: str) -> web.Response:
    return web.json_response(
        {"error": code}, status=status, headers={"X-Error-Code": code, "X-Error-Message": code}
    )


@contextmanager
def hub() -> Iterator[Hub]:
    """A running stand-in, with nothing in it yet."""
    served = Hub()
    loop = asyncio.new_event_loop()
    started = threading.Event()
    stop = asyncio.Event()

    async def main() -> None:
        app = web.Application()
        for kind, prefix in (("datasets", "/datasets"), ("models", "")):
            app.router.add_get(f"/api/{kind}/{{owner}}/{{name}}", served.describe)
            app.router.add_get(f"/api/{kind}/{{owner}}/{{name}}/revision/{{revision}}", served.describe)
            app.router.add_get(
                f"{prefix}/{{owner}}/{{name}}/resolve/{{revision}}/{{path:.*}}", served.resolve
            )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        served.port = runner.addresses[0][1]
        started.set()
        await stop.wait()
        await runner.cleanup()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert started.wait(600)
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(600)
        loop.close()
