"""Replies that are there already: a file's, looked up by id (other people's judgements as a judge of their
own), or those of an earlier run, from its log."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import UsageError
from vivant.core.generated_images import PREFIX
from vivant.core.types import Image, Part, Reply, Request, Text
from vivant.models.base import Capabilities, Model, ModelOptions

_FIELDS = ("response", "reply", "text", "feedback", "gpt_feedback")
_VERDICT = re.compile(r"@\d+\.\d+$")
_REPEAT = re.compile(r"#\d+$")


class FileReplay(Model):
    """Answers with what the file holds for the sample's id; an id that it lacks is that sample's error."""

    cacheable = False

    def __init__(self, path: Path) -> None:
        self.name = f"replay/{path.name}"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"Cannot read the replies {path}: {error.strerror}") from error
        self._digest = hashlib.sha256(data).hexdigest()[:16]
        self._replies = _parse_replies(data, path)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": self.name, "replies": self._digest}

    async def generate(self, request: Request) -> Reply:
        key = _VERDICT.sub("", request.key)
        names = (key, _REPEAT.sub("", key))
        for name in (*names, *(named.split("/", 2)[-1] for named in names)):
            if name in self._replies:
                return Reply(text=self._replies[name])
        return Reply(status="error", error=f"{self.name} holds no reply to {names[-1]}")


def _parse_replies(data: bytes, path: Path) -> dict[str, str]:
    """From a list, or from a line each; the first of the known fields is the reply."""
    try:
        if path.suffix == ".json":
            entries = msgspec.json.decode(data)
        else:
            entries = [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} holds no JSON: {error}") from error
    replies: dict[str, str] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
        name = next((field for field in _FIELDS if isinstance(entry, dict) and field in entry), None)
        if name is None or "id" not in entry or not isinstance(entry[name], str):
            raise UsageError(f"{path}, entry {number}: a reply is an object with an id and a {_FIELDS[0]}")
        if str(entry["id"]) in replies:
            raise UsageError(
                f"{path}, entry {number}: the id '{entry['id']}' is repeated; ids must be unique"
            )
        replies[str(entry["id"])] = entry[name]
    return replies


class RunReplay(Model):
    """Answers as an earlier run was answered. A question that was put otherwise then is an error: its letter
    may have stood for another option."""

    cacheable = False
    capabilities = Capabilities(images=False)

    def __init__(self, path: Path) -> None:
        from vivant.runs.directory import RunDir

        directory = RunDir(path)
        manifest = directory.manifest()
        self.name = f"replay/{manifest.run}"
        self._path = path.resolve()
        self._records = directory.records()
        self._identity = {"model": self.name, "run": manifest.fingerprint, "records": len(self._records)}

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    async def generate(self, request: Request) -> Reply:
        record = self._records.get(request.key)
        if record is None:
            return Reply(status="error", error=f"{self.name} has no answer to {request.key}")
        question = "\n".join(p.text for m in record.messages for p in m.parts if isinstance(p, Text))
        if record.options != request.options or question != request.text:
            return Reply(
                status="error",
                error=f"{self.name} put {request.key} otherwise; give the same --style, --seed and --prompts",
            )
        parts = tuple(self._resolve(part) for part in record.reply.parts)
        return msgspec.structs.replace(record.reply, parts=parts)

    def _resolve(self, part: Part) -> Part:
        """Pictures of that run by their place on disk: this run makes copies of its own."""
        if isinstance(part, Image) and part.path.startswith(PREFIX):
            return Image(str(self._path / part.path.removeprefix(PREFIX)))
        return part


def create(name: str, options: ModelOptions) -> Model:
    """`--model replay/FILE`, `--model replay/RUN` or `--judge replay/FILE`."""
    options.resolve()
    if not name:
        raise UsageError("Name the file of replies, or the run: replay/FILE or replay/RUN")
    path = Path(name).expanduser()
    return RunReplay(path) if path.is_dir() else FileReplay(path)
