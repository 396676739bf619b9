"""Folders of YAML files, one entry each, read when an entry is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from vivant.core.yaml_files import read_yaml

_Entry = TypeVar("_Entry", bound=Struct)


class YamlFolder(Mapping[str, _Entry]):
    """The entries of a folder by the names of their files, which become their field `name`.

    Args:
        folder: Holds one `NAME.yaml` for each entry.
        kind: The struct that a file is read into.
        first: Names that come before the others; the rest is in the order of the alphabet.
    """

    def __init__(self, folder: Path, kind: type[_Entry], first: tuple[str, ...] = ()) -> None:
        self._folder = folder
        self._kind = kind
        self._first = first
        self._read: dict[str, _Entry] = {}

    @cached_property
    def _names(self) -> dict[str, Path]:
        files = {file.stem: file for file in sorted(self._folder.glob("*.yaml"))}
        return {name: files[name] for name in self._first} | files

    def __getitem__(self, name: str) -> _Entry:
        if name not in self._read:
            self._read[name] = structs.replace(read_yaml(self._names[name], self._kind), name=name)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
