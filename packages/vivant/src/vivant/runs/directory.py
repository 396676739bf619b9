"""A run on disk: manifest.json, samples.jsonl, log.jsonl, scores/. docs/run-directory.md has every field."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.registry import list_code_versions
from vivant.core.errors import VivantError
from vivant.core.files import read_jsonl, write_atomic, write_jsonl
from vivant.core.records import Record, Score
from vivant.core.stored_lines import IN_MEMORY, count_lines
from vivant.core.types import Sample
from vivant.runs.log import read_log
from vivant.runs.settings import RunSettings

FORMAT = 1
_T = TypeVar("_T")
_PACKAGES = ("vivant", "aiohttp", "av", "msgspec", "numpy", "onnxruntime", "pillow", "polars", "simplejpeg")


class RunError(VivantError):
    """A run directory is missing, damaged or belongs to another run."""


class Manifest(Struct, frozen=True, kw_only=True):
    """What a run is. Written before the first request; nothing secret is in it."""

    format: int = FORMAT
    run: str
    """The directory's name, as tables show it."""
    model: str
    style: str
    tasks: tuple[str, ...]
    fingerprint: str
    settings: RunSettings
    planned: Mapping[str, int]
    """Samples per task."""
    roots: Mapping[str, str]
    """Where each task's media lay; not part of the fingerprint."""
    created: str
    """UTC, when the run was first started."""
    command: str = ""
    server: str = ""
    """Where the model answered; not part of the fingerprint."""
    origin: str = "run"
    """`run`, or `import` for other people's predictions."""
    notes: tuple[str, ...] = ()
    recipe: str = ""
    """The recipe that set the run's defaults; not part of the fingerprint, which holds what it set."""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)


class ScoreHeader(Struct, frozen=True, kw_only=True):
    """What a score file was made with: scores/<protocol>.json beside scores/<protocol>.jsonl.

    Scores with other settings than the default are beside them, as scores/<protocol>-<digest of the settings>."""

    protocol: str
    values: Mapping[str, Any]
    log_bytes: int
    """Length of the log that was scored: a longer one makes the scores stale."""
    judges: Mapping[str, int] = field(default_factory=dict)
    """Fingerprint of each judge and length of its log, where judges decided."""
    version: str
    code: Mapping[str, str] = field(default_factory=dict)
    """Which code scored, by benchmark, for those of a user's file or package."""


class RunDir:
    """Paths of one run, and the reading and writing of its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_file = path / "manifest.json"
        self.samples_file = path / "samples.jsonl"
        self.log_file = path / "log.jsonl"

    def exists(self) -> bool:
        """Whether there is a run here."""
        return self.manifest_file.exists()

    def is_unfinished(self) -> bool:
        """Whether there is nothing here but what a run leaves that was killed while it started."""
        if not self.path.is_dir():
            return True
        file_names = (self.log_file.name, self.samples_file.name, self.manifest_file.name)
        return self.log_bytes() == 0 and all(
            file.name.removeprefix(".").startswith(file_names)
            for file in self.path.iterdir()
            if file.name != "scores"
        )

    def manifest(self) -> Manifest:
        """The manifest, or a clear line on why it cannot be read."""
        if not self.path.is_dir():
            raise RunError(f"No run at {self.path}: no such directory")
        try:
            return msgspec.json.decode(self.manifest_file.read_bytes(), type=Manifest)
        except FileNotFoundError as error:
            raise RunError(f"{self.path} is not a run: it has no manifest.json") from error
        except (OSError, msgspec.MsgspecError) as error:
            raise RunError(f"{self.manifest_file} cannot be read: {error}") from error

    def make(self) -> None:
        """Make the directory, unless it is there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"Cannot write the run directory {self.path}: {error.strerror}") from error

    def create(self, manifest: Manifest, samples: Iterable[Sample]) -> None:
        """Write samples first and the manifest last, so that a directory with a manifest is complete."""
        self.make()
        try:
            write_jsonl(self.samples_file, samples)
            write_atomic(self.manifest_file, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        except OSError as error:
            raise RunError(f"Cannot write the run directory {self.path}: {error.strerror}") from error

    def replace_settings(self, settings: RunSettings, note: str) -> None:
        """Go on with other settings, and note why that is the same run."""
        manifest = msgspec.structs.replace(
            self.manifest(), settings=settings, fingerprint=settings.fingerprint()
        )
        manifest = msgspec.structs.replace(manifest, notes=(*manifest.notes, note))
        try:
            write_atomic(self.manifest_file, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        except OSError as error:
            raise RunError(f"Cannot write the run directory {self.path}: {error.strerror}") from error

    def samples(self) -> list[Sample]:
        """The samples planned, as the data stated them."""
        return read_jsonl(self.samples_file, Sample, RunError)

    def records(self) -> dict[str, Record]:
        """The log by key."""
        return {record.key: record for record in read_log(self.log_file)}

    def is_large(self) -> bool:
        """Whether the run has more samples or records than should be held in memory at once."""
        return any(count_lines(file, IN_MEMORY) > IN_MEMORY for file in (self.samples_file, self.log_file))

    def score_file(self, protocol: str, variant: str = "") -> Path:
        """Scores of one protocol; with settings other than the default, in a file of their own."""
        return self.path / "scores" / f"{protocol}{'-' if variant else ''}{variant}.jsonl"

    def write_scores(
        self,
        protocol: str,
        values: Mapping[str, Any],
        scores: Iterable[Score],
        judges: Mapping[str, int] | None = None,
        variant: str = "",
    ) -> bool:
        """Replace the scores of a protocol, or those that were made with other settings (`variant`); whether that
        was possible.

        Where the directory may only be read (somebody else's run), nothing is stored: scores are made from the
        log whenever they are asked for.
        """
        file = self.score_file(protocol, variant)
        if not os.access(file.parent if file.parent.exists() else self.path, os.W_OK):
            return False
        try:
            file.parent.mkdir(exist_ok=True)
            # Without a header, scores count as not made: a failure in between cannot pair new with old.
            file.with_suffix(".json").unlink(missing_ok=True)
            write_jsonl(file, scores)
            header = ScoreHeader(
                protocol=protocol,
                values=values,
                log_bytes=self.log_bytes(),
                judges=judges or {},
                version=version("vivant"),
                code=list_code_versions(values),
            )
            write_atomic(file.with_suffix(".json"), msgspec.json.encode(header))
        except OSError as error:
            raise RunError(f"Cannot write scores in {self.path}: {error.strerror}") from error
        return True

    def score_header(self, protocol: str, variant: str = "") -> ScoreHeader | None:
        """The header of the stored scores, unless they are stale or were never made."""
        file = self.score_file(protocol, variant).with_suffix(".json")
        if not file.exists():
            return None
        header = msgspec.json.decode(file.read_bytes(), type=ScoreHeader)
        code = list_code_versions(header.values)  # of benchmarks that are known here
        fresh = (
            header.log_bytes == self.log_bytes()
            and header.version == version("vivant")
            and all(header.code.get(name) == now for name, now in code.items())
        )
        return header if fresh else None

    def count_records(self) -> int:
        """Lines of the log, without reading what is in them."""
        if not self.log_file.exists():
            return 0
        with self.log_file.open("rb") as log:
            return sum(block.count(b"\n") for block in iter(lambda: log.read(1 << 20), b""))

    def log_bytes(self) -> int:
        """Length of the log."""
        return self.log_file.stat().st_size if self.log_file.exists() else 0


def new_manifest(
    run: Path,
    model: str,
    settings: RunSettings,
    planned: Mapping[str, int],
    roots: Mapping[str, str],
    *,
    origin: str = "run",
    notes: tuple[str, ...] = (),
    command: str = "",
    server: str = "",
    recipe: str = "",
) -> Manifest:
    """A manifest with this machine and its versions filled in."""
    return Manifest(
        run=run.name,
        model=model,
        style=settings.style,
        tasks=settings.tasks,
        fingerprint=settings.fingerprint(),
        settings=settings,
        planned=planned,
        roots=roots,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        command=command,
        server=server,
        recipe=recipe,
        origin=origin,
        notes=notes,
        versions=_package_versions(),
        machine={
            "python": platform.python_version(),
            "system": platform.system(),
            "arch": platform.machine(),
        },
    )


def _package_versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            # `version` would parse the whole description of a package.
            text = distribution(name).read_text("METADATA") or ""
        except PackageNotFoundError:
            versions[name] = "absent"
            continue
        match = re.search(r"^Version: *(\S+)", text, re.MULTILINE)
        versions[name] = match[1] if match else version(name)
    return versions


def command_line() -> str:
    """How this process was called, for the manifest: addresses without user, password and query."""
    words = (re.sub(r"(\w+://)[^/@\s]*@", r"\1", word) for word in sys.argv[1:])
    return shlex.join(["vivant", *(re.sub(r"(\w+://[^?\s]*)\?\S*", r"\1", word) for word in words)])
