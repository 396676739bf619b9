"""What can be fetched, as data, and where it goes."""

from __future__ import annotations

from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from vivant.benchmarks import registry
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.paths import cache_root
from vivant.core.yaml_files import read_resource


class Repo(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One repository on the hub."""

    id: str
    type: Literal["dataset", "model"] = "dataset"
    revision: str = "main"
    into: str = ""
    """The folder below the source's own."""
    files: tuple[str, ...] = ("*",)
    sha256: dict[str, str] = field(default_factory=dict)
    """Checksums of files at `revision`, so that not even the hub can send another one."""

    def wants(self, name: str) -> bool:
        """Whether a file of the repository is fetched."""
        return not name.startswith(".git") and any(fnmatch(name, pattern) for pattern in self.files)

    @property
    def page(self) -> str:
        """What a person opens."""
        return f"https://huggingface.co/{'datasets/' if self.type == 'dataset' else ''}{self.id}"


class DataSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that belongs to one name."""

    repos: tuple[Repo, ...]
    licence: str
    title: str = ""
    gated: bool = False
    """The owners want to know who fetches it."""
    size: str = ""
    folder: str = ""
    """Below the cache root; empty for benchmarks, which go to the data root."""
    archives: tuple[str, ...] = ()
    """Files that will be unpacked, so that as much room again is needed."""
    unpack: bool = False
    """Unpack them right away; otherwise the benchmark's own check does."""
    then: str = ""


@cache
def load_sources() -> dict[str, DataSource]:
    """All of them by name."""
    return read_resource("vivant.benchmarks", "sources.yaml", dict[str, DataSource])


def find(name: str) -> DataSource:
    """The source called `name`, or a line that says what to do instead."""
    known = load_sources()
    if name in known:
        return known[name]
    if name in registry.names():
        raise UsageError(f"{name} cannot be fetched. {registry.get(name).data.help}")
    raise unknown_name_error("source", name, known)


def resolve_folder(name: str, source: DataSource) -> Path:
    """Where it is looked for, hence where it goes."""
    return cache_root() / source.folder if source.folder else registry.data_root() / name
