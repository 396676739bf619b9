"""Archives unpacked safely: a tar in pieces, a tar.gz, a zip, with no member leaving the folder.

The pieces are read once, one after the other, as one stream: no joined copy is written, and the checksum
of each piece is taken as it passes. Every file appears under its name only when it is whole, so an
interrupted unpacking goes on where it stopped; a note beside the files lets a finished one be skipped.
A file that is there is compared with the archive's: a changed one is written again, unless the note of another
archive says that it is that one's.
"""

from __future__ import annotations

import errno
import io
import lzma
import os
import re
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.file_parts import FilePart, JoinedFile, read_head
from vivant.core.file_types import detect_impostor
from vivant.core.progress import ProgressCallback
from vivant.media.unpack_notes import list_owners, read_note, read_state, write_note

_CHUNK = 1 << 20
_JUNK = ("__MACOSX", ".DS_Store")

MemberPath = Callable[[PurePosixPath], PurePosixPath | None]
"""Where a member goes, relative to the output folder; None leaves it out."""


class UnpackResult(Struct, frozen=True, kw_only=True):
    """What an unpacking did, and what it could not do."""

    pieces: tuple[FilePart, ...]
    written: int
    """Files extracted now."""
    present: int
    """Files that an earlier unpacking had left whole."""
    problems: tuple[str, ...]
    """One line each: refused members, gaps between pieces, where the archive breaks off."""

    @property
    def complete(self) -> bool:
        """Whether every member of the archive is in the folder."""
        return not self.problems


# ── Members ──────────────────────────────────────────────────────────────────────────────────────


class _Entry(tarfile.TarInfo):
    """A member that tells its archive when the mark of the end was met.

    `tarfile` stops without a word at a damaged header; only the mark shows that nothing was lost.
    """

    @classmethod
    def fromtarfile(cls, archive: Any) -> Any:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # absent from the stubs alone
            archive.ended = True
            raise


class _Tar(tarfile.TarFile):
    ended = False
    tarinfo = _Entry


def unsafe_reason(name: str) -> str:
    """Why a member of this name must not be extracted; '' where it may."""
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", name):
        return "an absolute path"
    if ".." in re.split(r"[\\/]", name):
        return "a path that leaves the folder"
    if "\0" in name:
        return "a name with a NUL"
    return ""


def unpack_archive(
    sources: Sequence[Path],
    out: Path,
    *,
    choose_path: MemberPath | None = None,
    progress: ProgressCallback | None = None,
) -> UnpackResult:
    """Extract a tar (plain or compressed, in one file or in pieces already in order) into `out`.

    Damaged archives give what comes before the damage and a line that says so; links, devices and paths
    that leave `out` are refused one by one. Raises DataError where nothing can be read or written.
    """
    missing = [path for path in sources if not path.is_file()]
    if missing or not sources:
        raise DataError(f"{missing[0] if missing else out}: no archive to unpack")
    out.mkdir(parents=True, exist_ok=True)
    note_file = out / f".unpacked-{sources[0].name}.json"
    if done := _already(note_file, sources, out):
        return done
    total, read, current = sum(path.stat().st_size for path in sources), 0, ""

    def report_read(count: int) -> None:
        nonlocal read
        read += count
        if progress:
            progress(read, total, current)

    extraction = _Extraction(out, choose_path, list_owners(out, note_file))
    raw = JoinedFile(sources, report_read)
    try:
        with io.BufferedReader(raw, _CHUNK) as stream:
            try:
                with _Tar.open(fileobj=stream, mode="r|*", bufsize=_CHUNK) as archive:
                    for member in archive:
                        current = member.name
                        extraction.take(archive, member)
                    ended = archive.ended
                broken = "" if ended else "the archive ends without its end mark or has a damaged header"
            except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
                broken = str(error) or type(error).__name__
            while stream.read(_CHUNK):  # what follows the end mark belongs to the checksums too
                pass
    except OSError as error:
        raise _stopped_error(sources[0], extraction.complete, error) from error
    finally:
        extraction.clean()
    if broken:
        extraction.problems.append(_broken_line(sources, current, broken, extraction.complete))
    result = UnpackResult(
        pieces=tuple(raw.pieces),
        written=extraction.written,
        present=extraction.present,
        problems=tuple(extraction.problems),
    )
    if not broken and not extraction.disputed:
        digests = [piece.sha256 for piece in result.pieces]
        write_note(note_file, sources, digests, result.problems, extraction.files)
    return result


def _stopped_error(source: Path, complete: int, error: OSError) -> DataError:
    remedy = "make room and run it again" if error.errno == errno.ENOSPC else "run it again to go on"
    return DataError(f"{source}: unpacking stopped after {complete} files ({error}); {remedy}")


def _broken_line(sources: Sequence[Path], member: str, why: str, recovered: int) -> str:
    last = sources[-1]
    if not recovered and not member:
        what = detect_impostor(read_head(sources[0])) or f"no tar archive ({why}); fetch it again"
        return f"{sources[0]}: {what}"
    where = f" in '{member}'" if member else ""
    what = f"{last}: truncated or damaged" if len(sources) == 1 else f"{last}: the pieces break off here"
    return f"{what}{where} ({why}); {recovered} file(s) recovered; fetch the rest and run it again"


class _Extraction:
    """Takes members one by one; keeps count of what became of them."""

    def __init__(self, out: Path, choose_path: MemberPath | None, owners: Mapping[str, str]) -> None:
        self.out = out
        self.choose_path = choose_path
        self.owners = owners
        self.disputed = False
        """Whether another archive owns the place of a member; that is settled outside, so no note is left."""
        self.written = 0
        self.present = 0
        self.files: dict[str, int] = {}
        self.problems: list[str] = []
        self._origin: dict[str, str] = {}
        for stale in out.glob(".vivant-part-*"):  # left by an unpacking that was killed
            if time.time() - stale.stat().st_mtime > 3600:
                stale.unlink(missing_ok=True)
        self._part = out / f".vivant-part-{os.getpid()}"

    @property
    def complete(self) -> int:
        return self.written + self.present

    def clean(self) -> None:
        self._part.unlink(missing_ok=True)

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        name = member.name
        if member.isdir():
            return
        reason = unsafe_reason(name)
        if not reason and not member.isreg():
            kind = "a link" if member.issym() or member.islnk() else "a device or special file"
            reason = kind + (f" to {member.linkname}" if member.linkname else "")
        if reason:
            self.problems.append(f"member '{name}' refused: {reason}")
            return
        inner = PurePosixPath(name)
        if any(part in _JUNK or part.startswith("._") for part in inner.parts):
            return
        goal = self.choose_path(inner) if self.choose_path else inner
        if goal is None:
            return
        self._store(archive, member, goal)

    def _store(self, archive: tarfile.TarFile, member: tarfile.TarInfo, goal: PurePosixPath) -> None:
        relative = goal.as_posix()
        if relative in self._origin:
            self.problems.append(
                f"member '{member.name}' left out: '{self._origin[relative]}' has the same place {relative}"
            )
            return
        self._origin[relative] = member.name
        path = self.out / goal
        try:
            there = path.is_file() and not path.is_symlink()
            same_size = there and path.stat().st_size == member.size
            path.parent.mkdir(parents=True, exist_ok=True)
            leads_away = not path.parent.resolve().is_relative_to(self.out.resolve())
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            self.problems.append(f"member '{member.name}' left out: the name is too long for this disk")
            return
        source = archive.extractfile(member)
        if source is None:
            raise tarfile.ReadError(f"no data for {member.name}")
        alike, chunk = _count_alike(source, path) if same_size else (0, source.read(_CHUNK))
        if same_size and not chunk:
            self.present += 1
            self.files[relative] = member.size
            return
        if leads_away:
            self.problems.append(f"member '{member.name}' refused: its folder is a link that leads away")
            return
        if there and relative in self.owners:
            self.disputed = True
            self.problems.append(_dispute(member.name, self.owners[relative]))
            return
        with self._part.open("wb") as target:
            if alike:  # the archive cannot be read twice
                with path.open("rb") as old:
                    for start in range(0, alike, _CHUNK):
                        target.write(old.read(min(_CHUNK, alike - start)))
            while chunk:
                target.write(chunk)
                chunk = source.read(_CHUNK)
        self._part.replace(path)
        self.written += 1
        self.files[relative] = member.size


def _count_alike(source: IO[bytes], path: Path) -> tuple[int, bytes]:
    """How many bytes of a member are as in a file of the same size, and the chunk that differs; b'' for none."""
    alike = 0
    with path.open("rb") as old:
        while chunk := source.read(_CHUNK):
            if old.read(len(chunk)) != chunk:
                return alike, chunk
            alike += len(chunk)
    return alike, b""


def _dispute(member: str, owner: str) -> str:
    return (
        f"member '{member}' refused: {owner} has another file of that name; unpack the two in folders of their "
        f"own, or remove {owner} and .unpacked-{owner}.json and run it again"
    )


# ── Archives by pattern, zip files among them ────────────────────────────────────────────────────


def unpack_all(folder: Path, patterns: Sequence[str], progress: ProgressCallback | None = None) -> int:
    """Unpack the archives of a folder that match, where they are not unpacked yet, and return the files written.

    Pieces of one tar (`videos.tar.part.aa`, `…ab`) are read as one. Raises DataError for a damaged archive.
    """
    written = 0
    for sources in _group_pieces(sorted({path for pattern in patterns for path in folder.glob(pattern)})):
        if sources[0].suffix.lower() == ".zip":
            written += _unpack_zip(sources[0], sources[0].parent, progress)
            continue
        result = unpack_archive(sources, sources[0].parent, progress=progress)
        if result.problems:
            raise DataError(f"{sources[0]}: {result.problems[0]}")
        written += result.written
    return written


def is_unpacked(archive: Path) -> bool:
    """Whether an archive's files are beside it: all of a zip; of a tar or a piece, by the note of its unpacking."""
    if archive.suffix.lower() != ".zip":
        pieces = next(group for group in _group_pieces(sorted(archive.parent.iterdir())) if archive in group)
        return (archive.parent / f".unpacked-{pieces[0].name}.json").is_file()
    try:
        with zipfile.ZipFile(archive) as content:
            names = [PurePosixPath(member.filename) for member in content.infolist() if not member.is_dir()]
    except (OSError, zipfile.BadZipFile):
        return False
    return all((archive.parent / name).is_file() for name in names if not set(name.parts) & set(_JUNK))


def _group_pieces(files: Sequence[Path]) -> list[list[Path]]:
    """Files that are pieces of one archive together: those alike up to `.tar`, `.tar.gz` or `.tgz`."""
    groups: dict[str, list[Path]] = {}
    for file in files:
        match = re.match(r"(.*\.(?:tar\.gz|tgz|tar))\b", file.name)
        groups.setdefault(str(file.parent / (match[1] if match else file.name)), []).append(file)
    return list(groups.values())


def _unpack_zip(source: Path, out: Path, progress: ProgressCallback | None) -> int:
    """Extract a zip archive; members that are there unchanged are left alone."""
    note_file = out / f".unpacked-{source.name}.json"
    if _already(note_file, [source], out):
        return 0
    written, owners, files = 0, list_owners(out, note_file), dict[str, int]()
    part = out / f".vivant-part-{os.getpid()}"
    try:
        with zipfile.ZipFile(source) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            for number, member in enumerate(members, 1):
                reason = unsafe_reason(member.filename)
                if reason:
                    raise DataError(f"{source}: member '{member.filename}' refused: {reason}")
                inner = PurePosixPath(member.filename)
                path = out / inner
                if any(name in _JUNK or name.startswith("._") for name in inner.parts):
                    continue
                files[inner.as_posix()] = member.file_size
                if path.is_file():
                    if path.stat().st_size == member.file_size and _crc(path) == member.CRC:
                        continue
                    if inner.as_posix() in owners:
                        raise DataError(f"{source}: {_dispute(member.filename, owners[inner.as_posix()])}")
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.parent.resolve().is_relative_to(out.resolve()):
                    raise DataError(f"{source}: member '{member.filename}' refused: its folder leads away")
                with archive.open(member) as content, part.open("wb") as target:
                    shutil.copyfileobj(content, target, _CHUNK)
                part.replace(path)
                written += 1
                if progress:
                    progress(number, len(members), member.filename)
        if os.access(out, os.W_OK):  # data that are whole may be read-only
            write_note(note_file, [source], [""], (), files)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{source}: damaged or not readable ({error}); fetch it again") from error
    except OSError as error:
        raise _stopped_error(source, written, error) from error
    finally:
        part.unlink(missing_ok=True)
    return written


def _crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


def _already(file: Path, sources: Sequence[Path], out: Path) -> UnpackResult | None:
    """The result of an earlier unpacking of the same pieces, if all its files are still there, whole."""
    note = read_note(file)
    if note is None:
        return None
    if [entry[:3] for entry in note.pieces] != [read_state(path) for path in sources]:
        return None
    for name, size in note.files.items():
        path = out / name
        if not path.is_file() or path.stat().st_size != size:
            return None
    pieces = tuple(FilePart(name, size, digest) for name, size, _, digest in note.pieces)
    return UnpackResult(pieces=pieces, written=0, present=len(note.files), problems=note.problems)
