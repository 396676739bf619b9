"""Files of questions that are run by their path: JSON lines, and VLMEvalKit's tables; also as fetched from the hub."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from vivant.core.errors import DataError, UsageError

HUB = "hub:"
"""`hub:ORG/NAME[/file.jsonl]`: questions of a dataset that `vivant data get hub:ORG/NAME` fetched."""
VLMEVALKIT = "vlmevalkit:"
"""`vlmevalkit:NAME`: the table of that name in VLMEvalKit's data folder."""
TABLE = "vlmevalkit-tsv"
"""The benchmark that reads such tables."""
_LINES = (".jsonl", ".ndjson")


def is_question_file(selector: str) -> bool:
    """Whether the user names a file of questions rather than a benchmark."""
    return selector.endswith((*_LINES, ".tsv")) or selector.startswith((HUB, VLMEVALKIT))


def find_question_file(selector: str, data_root: Callable[[], Path]) -> tuple[str, Path]:
    """The benchmark that reads a file (`jsonl` or `vlmevalkit-tsv`), and the file.

    Args:
        selector: A path, `hub:ORG/NAME` or `vlmevalkit:NAME`.
        data_root: Says where fetched data are.
    """
    if selector.startswith(VLMEVALKIT):
        return TABLE, _find_vlmevalkit(selector.removeprefix(VLMEVALKIT))
    if selector.startswith(HUB):
        path = _find_fetched(selector, data_root())
    else:
        path = on_this_machine(selector, "copy the questions and their media to it")
        if not path.is_file():
            raise DataError(f"No such file: {path}")
    return TABLE if path.suffix == ".tsv" else "jsonl", path


def hub_folder(identity: str) -> str:
    """The folder below the data root for a dataset: `ORG--NAME`."""
    return identity.replace("/", "--")


def split_hub(selector: str) -> tuple[str, str]:
    """`hub:ORG/NAME/dir/file.jsonl` as (`ORG/NAME`, `dir/file.jsonl`)."""
    parts = selector.removeprefix(HUB).split("/", 2)
    if len(parts) < 2 or not all(parts[:2]):
        raise UsageError(f"{selector}: write {HUB}ORG/NAME, or {HUB}ORG/NAME/FILE.jsonl")
    return "/".join(parts[:2]), parts[2] if len(parts) > 2 else ""


def _find_fetched(selector: str, root: Path) -> Path:
    identity, name = split_hub(selector)
    folder = root / hub_folder(identity)
    if not folder.is_dir():
        raise DataError(f"{identity} is not in {folder}; fetch it first: vivant data get {HUB}{identity}")
    files = sorted(path for path in folder.rglob("*") if path.suffix in (*_LINES, ".tsv"))
    if name:
        path = folder / name
        if path.is_file():
            return path
        raise DataError(f"{folder} holds no {name}; it holds {_list_names(files, folder)}")
    if len(files) != 1:
        raise DataError(
            f"{folder} holds {_list_names(files, folder)}; name one: {HUB}{identity}/FILE.jsonl. Tables in another "
            f"form take a description: vivant benchmarks new FILE.yaml --from {folder}"
        )
    return files[0]


def _list_names(files: list[Path], folder: Path) -> str:
    names = [path.relative_to(folder).as_posix() for path in files]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more if names else "no file of questions"


def _find_vlmevalkit(name: str) -> Path:
    folder = Path(os.environ.get("LMUData") or Path.home() / "LMUData")  # noqa: SIM112
    path = folder / f"{name}.tsv"
    if not path.is_file():
        others = sorted(file.stem for file in folder.glob("*.tsv"))[:8] if folder.is_dir() else []
        there = f"it holds {', '.join(others)}" if others else "it holds no table"
        raise DataError(f"{path} does not exist ({there}); set LMUData, or give the path of the .tsv file")
    return path


def on_this_machine(address: str, remedy: str) -> Path:
    """A path or URL as a path. What lies in an object store is fetched when the user asks for it, never by a run."""
    scheme, separator, _ = address.partition("://")
    if not separator:
        return Path(address).expanduser()
    if scheme == "file":
        return Path(unquote(urlsplit(address).path))
    raise UsageError(f"{address}: a run reads files on its own machine and downloads nothing; {remedy}")
