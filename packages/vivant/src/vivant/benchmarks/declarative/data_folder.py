"""The data folder of a described benchmark: what it should hold, which tasks it holds, unpacking its archives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vivant.benchmarks.declarative import media_files
from vivant.benchmarks.declarative.rows import find_files
from vivant.benchmarks.declarative.spec import SpecFile
from vivant.benchmarks.parts import DataFolder
from vivant.core.errors import DataError
from vivant.core.progress import ProgressCallback
from vivant.media.archives import unpack_all

if TYPE_CHECKING:
    from vivant.benchmarks.base import Benchmark, DataReport


class DescribedFolder(DataFolder):
    """Reads what `source` and `media` say."""

    def __init__(self, file: SpecFile) -> None:
        self._file = file
        super().__init__(_help(file))

    def media_root(self, root: Path) -> Path:
        """The folder itself; the cache folder where pictures inside rows could not be written beside them."""
        return media_files.media_root(root)

    def available(self, benchmark: Benchmark, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Tasks whose data files are there."""
        return tuple(task for task in tasks if self._has_files(root, task))

    def _has_files(self, root: Path, task: str) -> bool:
        try:
            return bool(find_files(self._file.tasks[task], root, task))
        except DataError:
            return False

    def check(
        self,
        benchmark: Benchmark,  # noqa: ARG002
        root: Path,
        progress: ProgressCallback | None = None,
    ) -> DataReport | None:
        """Unpack archives that are not unpacked yet; the usual check follows."""
        if root.is_dir():
            unpack_all(root, self._file.whole.source.archives, progress)
        return None


def _help(file: SpecFile) -> str:
    source = file.whole.source
    read = ", ".join(dict.fromkeys(pattern for spec in file.tasks.values() for pattern in spec.patterns))
    text = f"It reads {read or 'the one data file'} in the data folder"
    text += f" and the archives {', '.join(source.archives)}" if source.archives else ""
    others = f" (also {', '.join(source.also)})" if source.also else ""
    return text + (f"; from the hub: {source.hub}{others}." if source.hub else ".")
