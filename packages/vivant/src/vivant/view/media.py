"""Media that a run names, and nothing else: files inside its data folder, and the pictures that its model saw."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from vivant.benchmarks import registry
from vivant.core.errors import MediaError, VivantError
from vivant.core.file_types import detect_browser_type
from vivant.core.paths import cache_root
from vivant.core.randomness import derive_seed
from vivant.core.records import Record
from vivant.core.types import Image, Job, Part, Picture, Sample, Text, iter_pictures
from vivant.media import MediaLoader, resolve_media
from vivant.runs.directory import Manifest
from vivant.view.catalog import RunEntry

_CACHED = 4
"""Samples whose pictures are kept in memory, so that thirty frames are not thirty decodings."""


class BrowserFile(Struct, frozen=True):
    """A file that may be sent."""

    path: str
    media_type: str


def list_media(sample: Sample | None, record: Record | None) -> list[Part]:
    """All media that a sample's question, its messages and its reply name, each once, in order."""
    parts: list[Part] = []
    if record is not None:
        parts += [part for message in record.messages for part in message.parts]
        parts += record.reply.parts
    if sample is not None:
        parts += [*sample.question, *sample.reference]
    media = [part for part in parts if not isinstance(part, Text)]
    return list({part_key(part): part for part in media}.values())


def part_key(part: Part) -> tuple[str, str]:
    """What tells one file of a sample from another."""
    return (type(part).__name__, "" if isinstance(part, Text) else part.path)


class MediaAccess:
    """Which files may be sent: those below a run's own folder or its data folder, if that folder may be shown."""

    def __init__(self, allowed: Sequence[Path] | None) -> None:
        """`allowed`: folders that data may lie in; None for wherever a run says, on one's own machine."""
        self._allowed = None if allowed is None else [folder.resolve() for folder in allowed]

    def root(self, run: RunEntry, task: str) -> Path:
        """The folder that a task's media paths are relative to."""
        folder = run.manifest.roots.get(task, "") if run.manifest else ""
        if not folder:
            raise MediaError(f"{run.name} does not say where the media of {task} lie")
        try:
            root = registry.get_by_task(task).data.media_root(Path(folder)).resolve()
        except VivantError:
            root = Path(folder).resolve()
        if root == Path(root.anchor):
            raise MediaError(f"{run.name} names the whole disk as its data folder; that is not shown")
        if self._allowed is not None and not any(root.is_relative_to(allowed) for allowed in self._allowed):
            raise MediaError(f"The media lie in {root}; to show them from here, start with --data {root}")
        return root

    def find(self, run: RunEntry, task: str, part: Part) -> BrowserFile:
        """The file of a part, if it is there, inside, and what it claims to be."""
        if isinstance(part, Text) or (isinstance(part, Image) and part.tiles):
            raise MediaError("This picture is made of others when it is sent; there is no file of it")
        if part.path.startswith("run:"):
            path = resolve_media(run.path, part.path.removeprefix("run:"))
        else:
            path = resolve_media(self.root(run, task), part.path)
        with open(path, "rb") as file:
            head = file.read(65536)
        return BrowserFile(path, detect_browser_type(type(part).__name__.lower(), head, part.path))


def count_images(record: Record) -> int:
    """How many pictures the model was shown."""
    return sum(1 if use.kind == "image" else len(use.times) for use in record.media)


class RequestImages:
    """The exact pictures that a model was sent: from the frame cache, decoded again where they left it."""

    def __init__(self, files: MediaAccess) -> None:
        self._files = files
        self._loader: MediaLoader | None = None
        self._cache: OrderedDict[tuple[str, str], tuple[Picture, ...]] = OrderedDict()
        self._lock = asyncio.Lock()

    async def load(self, run: RunEntry, record: Record, index: int) -> Picture:
        """The picture at an index, counted over the whole request."""
        pictures = await self._load_all(run, record)
        if index >= len(pictures):
            raise MediaError(f"The model was shown {len(pictures)} pictures; there is none at place {index}")
        return pictures[index]

    async def _load_all(self, run: RunEntry, record: Record) -> tuple[Picture, ...]:
        key = (run.rid, record.key)
        async with self._lock:
            if key not in self._cache:
                self._cache[key] = await self._prepare(run, record)
                while len(self._cache) > _CACHED:
                    self._cache.popitem(last=False)
            self._cache.move_to_end(key)
            return self._cache[key]

    async def _prepare(self, run: RunEntry, record: Record) -> tuple[Picture, ...]:
        if run.manifest is None:
            raise MediaError(f"{run.name} has lost its manifest, which says which frames were shown")
        if self._loader is None:
            self._loader = MediaLoader(cache_root(), workers=1)
        job = _build_job(run, run.manifest, record, self._files.root(run, record.task))
        prepared = await self._loader.load(job)
        before = {use.path: use.sha256 for use in record.media}
        for use in prepared.media:
            if before.get(use.path) and before[use.path] != use.sha256:
                raise MediaError(f"{use.path} is no longer the file that the model was shown")
        return tuple(iter_pictures(prepared.turns))

    def close(self) -> None:
        """End the workers."""
        if self._loader is not None:
            self._loader.close()
            self._loader = None


def _build_job(run: RunEntry, manifest: Manifest, record: Record, root: Path) -> Job:
    settings = manifest.settings
    repeat = [str(record.repeat)] if record.repeat else []
    return Job(
        key=record.key,
        task=record.task,
        id=record.id,
        messages=record.messages,
        root=str(root),
        run=str(run.path),
        frames=settings.frames,
        control=settings.control,
        seed=derive_seed(settings.seed, record.task, record.id, *repeat),
    )
