"""A loopback stand-in for the part of the hub that takes uploads: repositories, large files, commits."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.standin import running


@dataclass
class Taken:
    """A repository as it was pushed."""

    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)


@dataclass
class PushHub:
    """What was pushed, and how the stand-in is to misbehave."""

    repositories: dict[str, Taken] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: int = 0
    """Large files that were sent."""
    token: str = "hf_writer"
    owners: tuple[str, ...] = ("lab",)
    broken: bool = False
    """Whether commits are refused."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _refused(self, request: web.Request, owner: str) -> web.Response | None:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"error": "Invalid username or password."}, status=401)
        if owner not in self.owners:
            return web.json_response({"error": "You don't have the rights"}, status=403)
        return None

    async def create(self, request: web.Request) -> web.Response:
        asked: dict[str, Any] = await request.json()
        refused = self._refused(request, asked["organization"])
        if refused is not None:
            return refused
        assert asked["type"] == "dataset"
        name = f"{asked['organization']}/{asked['name']}"
        url = {"url": f"{self.url}/datasets/{name}"}
        if name in self.repositories:
            return web.json_response({"error": "You already created this dataset repo", **url}, status=409)
        self.repositories[name] = Taken(private=asked.get("visibility") == "private")
        return web.json_response(url)

    def _repository(self, request: web.Request) -> tuple[str, Taken]:
        name = f"{request.match_info['owner']}/{request.match_info['name']}"
        return name, self.repositories[name]

    async def describe(self, request: web.Request) -> web.Response:
        name, taken = self._repository(request)
        siblings = [{"rfilename": path} for path in taken.files]
        return web.json_response(
            {"id": name, "sha": "a" * 40, "private": taken.private, "gated": False, "siblings": siblings}
        )

    async def preupload(self, request: web.Request) -> web.Response:
        files = (await request.json())["files"]
        return web.json_response(
            {
                "files": [
                    {
                        "path": entry["path"],
                        "uploadMode": "lfs" if entry["path"].endswith(".mp4") else "regular",
                        "shouldIgnore": False,
                        "oid": None,
                    }
                    for entry in files
                ]
            }
        )

    async def validate(self, request: web.Request) -> web.Response:
        """Looks at the head of a README; one without it is refused."""
        text = (await request.json())["content"]
        errors = [] if text.startswith("---\n") else [{"message": "there is no head"}]
        return web.json_response({"errors": errors, "warnings": []}, status=400 if errors else 200)

    async def batch(self, request: web.Request) -> web.Response:
        refused = self._refused(request, request.match_info["owner"])
        if refused is not None:
            return refused
        objects = []
        for entry in (await request.json())["objects"]:
            answer = {"oid": entry["oid"], "size": entry["size"]}
            if entry["oid"] not in self.objects:
                answer["actions"] = {"upload": {"href": f"{self.url}/objects/{entry['oid']}"}}
            objects.append(answer)
        return web.json_response({"transfer": "basic", "objects": objects})

    async def put(self, request: web.Request) -> web.Response:
        data = await request.read()
        if hashlib.sha256(data).hexdigest() != request.match_info["oid"]:
            return web.Response(status=400)
        self.objects[request.match_info["oid"]] = data
        self.uploads += 1
        return web.Response()

    async def commit(self, request: web.Request) -> web.Response:
        if self.broken:
            return web.json_response({"error": "out of order"}, status=500)
        name, taken = self._repository(request)
        for line in (await request.text()).splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "header":
                taken.commits.append(value["summary"])
            elif entry["key"] == "file":
                taken.files[value["path"]] = base64.b64decode(value["content"])
            else:
                taken.files[value["path"]] = self.objects[value["oid"]]
        return web.json_response(
            {"commitUrl": f"{self.url}/datasets/{name}/commit/{'b' * 40}", "commitOid": "b" * 40}
        )


@contextmanager
def push_hub() -> Iterator[PushHub]:
    """A running stand-in, with no repository yet."""
    served = PushHub()
    app = web.Application(client_max_size=10**9)
    one = "{owner}/{name}"
    app.router.add_post("/api/repos/create", served.create)
    app.router.add_get(f"/api/datasets/{one}", served.describe)
    app.router.add_get(f"/api/datasets/{one}/revision/{{revision}}", served.describe)
    app.router.add_post(f"/api/datasets/{one}/preupload/{{revision}}", served.preupload)
    app.router.add_post(f"/api/datasets/{one}/commit/{{revision}}", served.commit)
    app.router.add_post(f"/datasets/{one}.git/info/lfs/objects/batch", served.batch)
    app.router.add_post("/api/validate-yaml", served.validate)
    app.router.add_put("/objects/{oid}", served.put)
    with running(app) as served.port:
        yield served
