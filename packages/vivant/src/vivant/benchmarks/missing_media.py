"""Media files that questions name and that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from vivant.benchmarks.base import Benchmark
from vivant.core.stored_lines import KeySet
from vivant.core.types import Audio, Image, Sample, Video


class MissingMedia(Struct, frozen=True, kw_only=True):
    """How many of the named files are missing, and the first."""

    missing: int
    total: int
    first: str

    def __str__(self) -> str:
        return f"{self.missing} of {self.total} media files are missing, {self.first}"


def find_missing_media(benchmark: Benchmark, root: Path, samples: Iterable[Sample]) -> MissingMedia:
    """Count the media files that are not there."""
    folder = benchmark.data.media_root(root)
    seen = KeySet()
    missing = 0
    first = ""
    for sample in samples:
        for path in list_media_paths(sample):
            if seen.add(path) and not (folder / path).is_file():
                missing += 1
                first = first or f"the first is {folder / path} (sample {sample.id})"
    return MissingMedia(missing=missing, total=len(seen), first=first)


def list_media_paths(sample: Sample) -> Iterator[str]:
    """Files that a question names."""
    return (part.path for part in sample.question if isinstance(part, Image | Video | Audio))
