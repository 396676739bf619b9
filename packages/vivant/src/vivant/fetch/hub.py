"""Fetching from the Hugging Face hub: asked first, checked afterwards, resumed where it was.

1. The hub is asked which files there are, how large, with which checksums, at which commit. Nothing is fetched yet.
2. What is there already and whole is left alone; room for the rest is checked before anything is written.
3. Files are fetched, several at once, each from where an earlier try broke off, and checksums compared.
The token comes from HF_TOKEN, or from `hf auth login`; it is written nowhere.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.benchmarks.sources import DataSource, Repo
from vivant.core.disk_space import check_free_space, format_size
from vivant.core.errors import DataError, is_connection_fault
from vivant.core.progress import ProgressCallback
from vivant.fetch.hub_client import create_api
from vivant.fetch.hub_download import FetchStoppedError, count_arrived_bytes, download
from vivant.fetch.retrying import retry
from vivant.fetch.source_record import HubFile, SourceRecord, read_source_record, write_source_record
from vivant.media.archives import unpack_all

WORKERS = 4
"""Files fetched at once."""

logger = logging.getLogger("vivant")


class HubListing(Struct, frozen=True, kw_only=True):
    """What the hub says it has."""

    name: str
    source: DataSource
    revisions: dict[str, str]
    licences: dict[str, str]
    gated: bool
    files: tuple[HubFile, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(file.size for file in self.files)


class FetchPlan(Struct, frozen=True, kw_only=True):
    """What is still to be fetched into a folder."""

    folder: Path
    missing: tuple[HubFile, ...]
    arrived: int
    """Bytes of them that an earlier try left."""
    room: int
    """Bytes needed, unpacking included."""
    record: SourceRecord

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        return sum(file.size for file in self.missing) - self.arrived


def list_hub_files(
    name: str, source: DataSource, revision: str | None = None, record: SourceRecord | None = None
) -> HubListing:
    """Ask the hub for all files of a source, at the commit that was fetched before or that the source names."""
    api = create_api()
    revisions: dict[str, str] = {}
    licences: dict[str, str] = {}
    files: list[HubFile] = []
    gated = False
    for repo in source.repos:
        commit = revision or (record.revisions.get(repo.id) if record is not None else None) or repo.revision
        with _clear_errors(repo, commit, source.also):
            ask = partial(
                api.repo_info,
                repo.id,
                repo_type=repo.type,
                revision=commit,
                files_metadata=True,
                timeout=30.0,
            )
            info: Any = retry(ask)
        revisions[repo.id] = info.sha
        licences[repo.id] = _licence(info)
        gated = gated or bool(info.gated)
        # A commit that the user names is theirs to trust; the source's own comes with checksums.
        pinned = repo.sha256 if revision is None and commit == repo.revision else {}
        files += [
            _describe_file(repo, entry, pinned.get(entry.rfilename, ""))
            for entry in info.siblings or ()
            if repo.wants(entry.rfilename)
        ]
    if not files:
        raise DataError(f"{', '.join(repo.page for repo in source.repos)} holds no file of {name}")
    return HubListing(
        name=name, source=source, revisions=revisions, licences=licences, gated=gated, files=tuple(files)
    )


def _describe_file(repo: Repo, entry: Any, pinned: str) -> HubFile:
    path = f"{repo.into}/{entry.rfilename}" if repo.into else entry.rfilename
    if ".." in Path(path).parts or Path(path).is_absolute():
        raise DataError(f"{repo.page} names a file outside of its folder: {entry.rfilename}")
    stated = entry.lfs.sha256 if entry.lfs is not None else ""
    if pinned and stated and stated != pinned:
        raise DataError(
            f"{repo.page} offers another {entry.rfilename} than the one that Vivant knows "
            f"(sha256 {stated[:12]}…, expected {pinned[:12]}…); nothing was fetched"
        )
    return HubFile(
        repo=repo.id,
        name=entry.rfilename,
        path=path,
        size=entry.size or 0,
        sha256=pinned or stated,
        blob=entry.blob_id or "",
    )


def _licence(info: Any) -> str:
    card = getattr(info, "card_data", None)
    licence = card.get("license") if card is not None else None
    return ", ".join(licence) if isinstance(licence, list) else str(licence or "not stated")


def find_missing(listing: HubListing, folder: Path) -> FetchPlan:
    """Which files are missing or not whole in a folder. Files never checked before are read."""
    record = read_source_record(folder, listing.name)
    missing: list[HubFile] = []
    for hub_file in listing.files:
        file = folder / hub_file.path
        if record.knows(hub_file, file):
            continue
        if file.exists():
            logger.info("checking %s", hub_file.path)
        if hub_file.fits(file):
            record.learn(hub_file, file)
        else:
            missing.append(hub_file)
    archives = sum(
        file.size
        for file in missing
        if any(Path(file.path).match(pattern) for pattern in listing.source.archives)
    )
    size = sum(file.size for file in missing)
    arrived = sum(count_arrived_bytes(file, folder / file.path) for file in missing)
    return FetchPlan(
        folder=folder, missing=tuple(missing), arrived=arrived, room=size - arrived + archives, record=record
    )


def fetch_files(
    listing: HubListing, plan: FetchPlan, progress: ProgressCallback | None = None, workers: int = WORKERS
) -> None:
    """Fetch what is missing, several files at once. Stops with a line, and goes on there when it is called again.

    The first failure ends the others between two pieces; what arrived of them stays.
    """
    if plan.missing:
        check_free_space(plan.folder, plan.room)
    fetch = _Fetch(listing, plan, progress)
    try:
        plan.folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="fetch") as pool:
            futures = [pool.submit(fetch.fetch_one, *entry) for entry in enumerate(plan.missing, 1)]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                fetch.stop.set()
                for future in futures:
                    future.cancel()
                raise
        plan.record.revisions = dict(listing.revisions)
        plan.record.licences = dict(listing.licences)
        write_source_record(plan.folder, plan.record)
    except OSError as error:
        raise DataError(
            f"{plan.folder}: {error.strerror or error}; run the same command to go on from there"
        ) from error


class _Fetch:
    """What the threads of one fetch share."""

    def __init__(self, listing: HubListing, plan: FetchPlan, progress: ProgressCallback | None) -> None:
        self._listing = listing
        self._plan = plan
        self._progress = progress
        self._lock = threading.Lock()
        self._arrived = {
            file.path: count_arrived_bytes(file, plan.folder / file.path) for file in plan.missing
        }
        self._total = sum(file.size for file in plan.missing)
        self.stop = threading.Event()

    def fetch_one(self, number: int, hub_file: HubFile) -> None:
        """Fetch a file and note that it is whole."""
        from huggingface_hub import hf_hub_url

        if self.stop.is_set():
            return
        listing, plan = self._listing, self._plan
        logger.info("[%d/%d] %s, %s", number, len(plan.missing), hub_file.path, format_size(hub_file.size))
        repo = next(repo for repo in listing.source.repos if repo.id == hub_file.repo)
        commit = listing.revisions[repo.id]
        file = plan.folder / hub_file.path
        try:
            with _clear_errors(repo, commit):
                url = hf_hub_url(repo.id, hub_file.name, repo_type=repo.type, revision=commit)
                download(url, hub_file, file, self._report, self.stop)
        except FetchStoppedError:
            return
        with self._lock:
            plan.record.learn(hub_file, file)
            write_source_record(plan.folder, plan.record)

    def _report(self, arrived: int, _size: int, path: str) -> None:
        """Bytes of all files together, and the file that grew."""
        with self._lock:
            self._arrived[path] = arrived
            if self._progress is not None:
                self._progress(sum(self._arrived.values()), self._total, path)


def unpack_archives(source: DataSource, folder: Path, progress: Any = None) -> None:
    """Unpack what a source brings in archives, where its benchmark does not do so itself."""
    if not source.unpack:
        return
    written = unpack_all(folder, source.archives, progress)
    logger.info("%d files unpacked", written)


@contextmanager
def _clear_errors(repo: Repo, revision: str, also: Sequence[str] = ()) -> Iterator[None]:
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
        others = ", ".join(f"--repo {other}" for other in also if other != repo.id)
        tried = f"; the same data may be at another id: {others}" if others else ""
        raise DataError(f"The hub has no {repo.type} {repo.id}{hint}{tried}") from error
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
