"""What can be fetched, as data, and where it goes."""

from __future__ import annotations

from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.plugin_files import is_description, list_suite
from vivant.benchmarks.question_files import HUB, hub_folder, split_hub
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
    also: tuple[str, ...] = ()
    """Other ids of the same dataset, for `--repo`."""
    archives: tuple[str, ...] = ()
    """Files that will be unpacked, so that as much room again is needed."""
    unpack: bool = False
    """Unpack them right away; otherwise the benchmark's own check does."""
    then: str = ""


@cache
def load_sources() -> dict[str, DataSource]:
    """All of them by name: those of `sources.yaml`, and the described benchmarks of the package."""
    described = {name: describe_source(registry.get(name)) for name in list_suite()}
    known = {name: source for name, source in described.items() if source is not None}
    return {**read_resource("vivant.benchmarks", "sources.yaml", dict[str, DataSource]), **known}


def describe_source(benchmark: Benchmark) -> DataSource | None:
    """Where a benchmark's description says that its data are; None where it names no dataset."""
    file = getattr(benchmark, "file", None)
    if file is None or not file.whole.source.hub:
        return None
    source = file.whole.source
    return DataSource(
        title=benchmark.title,
        repos=(Repo(id=source.hub, revision=source.revision, files=source.fetch),),
        also=source.also,
        licence=source.licence,
        gated=source.gated,
        size=source.size,
        archives=source.archives,
        unpack=True,
        then=f"vivant data check {benchmark.name}",
    )


def find(name: str) -> DataSource:
    """The source called `name`, or a line that says what to do instead."""
    if name.startswith(HUB):
        return DataSource(repos=(Repo(id=split_hub(name)[0]),), licence="as the hub's page says")
    known = load_sources()
    if name in known:
        return known[name]
    if is_description(name) or name in registry.list_benchmarks():
        described = describe_source(registry.get(name))
        if described is not None:
            return described
        raise UsageError(f"{name} cannot be fetched. {registry.get(name).data.help}")
    raise unknown_name_error("source", name, known)


def resolve_folder(name: str, source: DataSource) -> Path:
    """Where it is looked for, hence where it goes."""
    if source.folder:
        return cache_root() / source.folder
    if name.startswith(HUB):
        return registry.data_root() / hub_folder(split_hub(name)[0])
    return registry.data_root() / (registry.get(name).name if is_description(name) else name)
