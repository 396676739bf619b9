"""Fetching from the Hugging Face hub: asked first, checked afterwards, resumed where it was.

1. The hub is asked which files there are, how large, with which checksums, at which commit. Nothing is fetched yet.
2. What is there already and whole is left alone; room for the rest is checked before anything is written.
3. Each file is fetched, from where an earlier try broke off, and its checksum compared.
The token comes from HF_TOKEN, or from `hf auth login`; it is written nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.benchmarks.sources import Repo, Source
from vivant.core.disk_space import check_free_space, format_size
from vivant.core.errors import DataError, is_connection_fault
from vivant.core.progress import ProgressCallback
from vivant.fetch.note import Note, Wanted, read_note, write_note
from vivant.fetch.stream import arrived_of, download
from vivant.media.archives import unpack_archive


class Listing(Struct, frozen=True, kw_only=True):
    """What the hub says it has."""

    name: str
    source: Source
    revisions: dict[str, str]
    licences: dict[str, str]
    gated: bool
    files: tuple[Wanted, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(file.size for file in self.files)


class Todo(Struct, frozen=True, kw_only=True):
    """What is still to be fetched into a folder."""

    place: Path
    missing: tuple[Wanted, ...]
    arrived: int
    """Bytes of them that an earlier try left."""
    room: int
    """Bytes needed, unpacking included."""
    note: Note

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        return sum(file.size for file in self.missing) - self.arrived


def ask(name: str, source: Source, revision: str | None = None, note: Note | None = None) -> Listing:
    """Ask the hub for all files of a source, at the commit that was fetched before or that the source names."""
    from huggingface_hub import HfApi

    revisions: dict[str, str] = {}
    licences: dict[str, str] = {}
    files: list[Wanted] = []
    gated = False
    for repo in source.repos:
        wanted = revision or (note.revisions.get(repo.id) if note is not None else None) or repo.revision
        with _clear_errors(repo, wanted):
            info: Any = HfApi().repo_info(
                repo.id, repo_type=repo.type, revision=wanted, files_metadata=True, timeout=30.0
            )
        revisions[repo.id] = info.sha
        licences[repo.id] = _licence(info)
        gated = gated or bool(info.gated)
        files += [_wanted(repo, entry) for entry in info.siblings or () if repo.wants(entry.rfilename)]
    if not files:
        raise DataError(f"{', '.join(repo.page for repo in source.repos)} holds no file of {name}")
    return Listing(
        name=name, source=source, revisions=revisions, licences=licences, gated=gated, files=tuple(files)
    )


def _wanted(repo: Repo, entry: Any) -> Wanted:
    path = f"{repo.into}/{entry.rfilename}" if repo.into else entry.rfilename
    if ".." in Path(path).parts or Path(path).is_absolute():
        raise DataError(f"{repo.page} names a file outside of its folder: {entry.rfilename}")
    return Wanted(
        repo=repo.id,
        name=entry.rfilename,
        path=path,
        size=entry.size or 0,
        sha256=entry.lfs.sha256 if entry.lfs is not None else "",
        blob=entry.blob_id or "",
    )


def _licence(info: Any) -> str:
    card = getattr(info, "card_data", None)
    stated = card.get("license") if card is not None else None
    return ", ".join(stated) if isinstance(stated, list) else str(stated or "not stated")


def compare(listing: Listing, place: Path, tell: Callable[[str], None] | None = None) -> Todo:
    """Which files are missing or not whole in a folder. Files never checked before are read."""
    note = read_note(place, listing.name)
    missing: list[Wanted] = []
    for wanted in listing.files:
        file = place / wanted.path
        if note.knows(wanted, file):
            continue
        if file.exists() and tell is not None:
            tell(f"checking {wanted.path}")
        if wanted.fits(file):
            note.learn(wanted, file)
        else:
            missing.append(wanted)
    archives = sum(
        file.size for file in missing if any(Path(file.path).match(one) for one in listing.source.archives)
    )
    size = sum(file.size for file in missing)
    arrived = sum(arrived_of(file, place / file.path) for file in missing)
    return Todo(
        place=place, missing=tuple(missing), arrived=arrived, room=size - arrived + archives, note=note
    )


def fetch(
    listing: Listing, todo: Todo, say: Callable[[str], None], tick: ProgressCallback | None = None
) -> None:
    """Fetch what is missing. Stops with a line, and goes on there when it is called again."""
    if todo.missing:
        check_free_space(todo.place, todo.room)
    try:
        todo.place.mkdir(parents=True, exist_ok=True)
        for number, wanted in enumerate(todo.missing, 1):
            say(f"[{number}/{len(todo.missing)}] {wanted.path}, {format_size(wanted.size)}")
            _fetch_one(listing, wanted, todo, tick)
            write_note(todo.place, todo.note)
        todo.note.revisions = dict(listing.revisions)
        todo.note.licences = dict(listing.licences)
        write_note(todo.place, todo.note)
    except OSError as error:
        raise DataError(
            f"{todo.place}: {error.strerror or error}; run the same command to go on from there"
        ) from error


def _fetch_one(listing: Listing, wanted: Wanted, todo: Todo, tick: ProgressCallback | None) -> None:
    from huggingface_hub import hf_hub_url

    repo = next(repo for repo in listing.source.repos if repo.id == wanted.repo)
    commit = listing.revisions[repo.id]
    file = todo.place / wanted.path
    with _clear_errors(repo, commit):
        url = hf_hub_url(repo.id, wanted.name, repo_type=repo.type, revision=commit)
        download(url, wanted, file, tick)
    todo.note.learn(wanted, file)


def unpack_archives(source: Source, place: Path, say: Callable[[str], None], tick: Any = None) -> None:
    """Unpack what a source brings in archives, where its benchmark does not do so itself."""
    if not source.unpack:
        return
    for archive in sorted(file for pattern in source.archives for file in place.glob(pattern)):
        done = unpack_archive([archive], place, progress=tick)
        say(f"{archive.name}: {done.written} files unpacked, {done.present} there already")
        if done.problems:
            raise DataError(f"{archive}: {done.problems[0]}")


@contextmanager
def _clear_errors(repo: Repo, revision: str) -> Iterator[None]:
    """The hub's refusals in one line each, with what to do."""
    from huggingface_hub import errors, get_token

    try:
        yield
    except errors.GatedRepoError as error:
        whose = "set HF_TOKEN to a token of that account"
        if get_token():
            whose = "wait until they are granted, and use a token of the account that asked"
        raise DataError(f"{repo.id} is gated: accept its terms at {repo.page}, then {whose}") from error
    except errors.RepositoryNotFoundError as error:
        hint = "" if get_token() else ", or it is private: set HF_TOKEN"
        raise DataError(f"The hub has no {repo.type} {repo.id}{hint}") from error
    except (errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise DataError(f"{repo.id} has no such revision or file ({revision}): {_line(error)}") from error
    except errors.HfHubHTTPError as error:
        if error.response is not None and error.response.status_code == 401:
            raise DataError(
                "The hub does not know the token that it was sent: set HF_TOKEN to a valid one, or unset it"
            ) from error
        raise DataError(f"The hub refused {repo.id}: {_line(error)}") from error
    except (ValueError, errors.OfflineModeIsEnabled) as error:
        raise DataError(f"{repo.id} cannot be fetched: {_line(error)}") from error
    except Exception as error:
        if not is_connection_fault(error):
            raise
        raise DataError(
            f"The hub did not send {repo.id}: {_line(error)}; run the same command to go on"
        ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:240] or type(error).__name__
