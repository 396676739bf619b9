"""The runs in a folder, found again whenever a page is asked for: new ones appear, broken ones say why."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from vivant.runs.directory import Manifest, RunDir, RunError


class RunEntry(Struct, frozen=True, kw_only=True):
    """One run as the list shows it."""

    rid: str
    """Its name in addresses: the path below the folder of runs, with `~` for `/`."""
    path: Path
    manifest: Manifest | None
    problem: str = ""
    """Why it cannot be read, where it cannot."""

    @property
    def name(self) -> str:
        """The path below the folder of runs."""
        return self.rid.replace("~", "/")

    @property
    def planned(self) -> int:
        """Requests in all."""
        if self.manifest is None:
            return 0
        return sum(self.manifest.planned.values()) * max(1, self.manifest.settings.repeat)


_DEPTH = 5
_RESCAN = 2.0
"""Seconds for which the list of runs is not looked up again."""


class RunCatalog:
    """All runs below a folder; a folder that is a run itself holds that one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs: dict[str, RunEntry] = {}
        self._scanned = float("-inf")

    def runs(self) -> list[RunEntry]:
        """Newest first."""
        if time.monotonic() - self._scanned > _RESCAN:
            self._runs = {run.rid: run for run in self._scan()}
            self._scanned = time.monotonic()
        return sorted(
            self._runs.values(), key=lambda run: run.manifest.created if run.manifest else "", reverse=True
        )

    def get(self, rid: str) -> RunEntry | None:
        """A run by its name in addresses: only what was found can be asked for."""
        self.runs()
        return self._runs.get(rid)

    def _scan(self) -> Iterator[RunEntry]:
        for path in _run_folders(self.root):
            below = path.relative_to(self.root).as_posix()
            rid = self.root.resolve().name if below == "." else below.replace("/", "~")
            try:
                yield RunEntry(rid=rid, path=path, manifest=RunDir(path).manifest())
            except RunError as error:
                yield RunEntry(rid=rid, path=path, manifest=None, problem=str(error))


def _run_folders(root: Path) -> Iterator[Path]:
    """Folders with a manifest, or with a log that lost it; nothing is looked for inside a run."""
    base = len(root.parts)
    for folder, below, files in os.walk(root):
        if "manifest.json" in files or "log.jsonl" in files:
            yield Path(folder)
            below.clear()
        elif len(Path(folder).parts) - base >= _DEPTH:
            below.clear()
        else:
            below[:] = sorted(name for name in below if not name.startswith("."))
