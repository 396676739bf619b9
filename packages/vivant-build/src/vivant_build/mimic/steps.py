"""A step's folder: written beside its place, renamed when whole, left alone when nothing has changed.

    with begin(work, "clean", inputs=["ingest"], parameters=settings.clean) as step:
        if not step.done:
            …write into step.folder…
            step.count("videos", into=100, out=98, why={"no title": 2})
    return step

WORK/clean appears by one rename when the block ends well. `step.json` in it says what went in (a fingerprint),
the parameters, and the counts in and out with reasons. A step whose fingerprint is that of the folder found
is `done`; a step that was killed finds what it had written in `step.folder` again if it asks for it (`resume`).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.core.errors import VivantError
from vivant.core.files import lock_file, remove, write_atomic
from vivant.core.table import Cell, Table
from vivant.runs.settings import digest

RECORD = "step.json"
_BEGUN = ".begun"


class StepError(VivantError):
    """A step cannot go on; the line begins with the step's name."""


@contextlib.contextmanager
def stop_where_unwritable(path: Path) -> Iterator[None]:
    """Stop the whole work where its own files cannot be written: that is no fault of a file that is read."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StepError(f"{path} cannot be written: {reason}; make room and run the same command") from error


class StepCount(Struct, frozen=True, kw_only=True):
    """How many of something went into a step and came out of it."""

    what: str
    into: int | None = None
    """None where the step makes them."""
    out: int | None = None
    why: dict[str, int] = field(default_factory=dict)
    """Reason → how many were left out for it. With both ends known, they account for all the difference."""


class StepRecord(Struct, frozen=True, kw_only=True):
    """`step.json`."""

    step: str
    fingerprint: str
    inputs: dict[str, str]
    parameters: dict[str, Any]
    counts: tuple[StepCount, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences that belong under the table of counts."""

    def table(self) -> Table:
        """Counts in and out, and why."""
        body: list[tuple[Cell, ...]] = []
        rules: list[int] = []
        for count in self.counts:
            rules.append(len(body))
            body.append((count.what, count.into, count.out, ""))
            reasons = sorted(count.why.items(), key=lambda item: (-item[1], item[0]))
            body += [("", None, -number, reason) for reason, number in reasons if number]
        return Table(
            title=self.step,
            columns=("what", "in", "out", "why"),
            body=tuple(body),
            notes=self.notes,
            rules=tuple(rule for rule in rules if rule),
        )


class BuildStep:
    """One step at work. `folder` is where it writes; `done` says that there is nothing to do."""

    def __init__(
        self, work: Path, record: StepRecord, *, done: bool, resumed: bool, scratch: Sequence[str] = ()
    ) -> None:
        self.work = work
        self.name = record.step
        self.record = record
        self.done = done
        self.kept = done
        """Whether the folder was found as it should be; unlike `done` it stays False after a run."""
        self.resumed = resumed
        """Whether `folder` holds what an interrupted run with the same fingerprint wrote."""
        self.folder = work / record.step if done else _part(work, record.step)
        self._counts: list[StepCount] = []
        self._notes: list[str] = []
        self._scratch = scratch

    def count(
        self,
        what: str,
        *,
        into: int | None = None,
        out: int | None = None,
        why: Mapping[str, int] | None = None,
    ) -> None:
        """Account for what went in and came out; with both ends given, the reasons must cover the difference."""
        reasons = {reason: number for reason, number in (why or {}).items() if number}
        if into is not None and out is not None and into - out != sum(reasons.values()):
            raise ValueError(f"{self.name}: {into} {what} in, {out} out, but reasons for {reasons}")
        self._counts.append(StepCount(what=what, into=into, out=out, why=reasons))

    def note(self, sentence: str) -> None:
        """A sentence for below the table of counts."""
        self._notes.append(sentence)

    def fail(self, message: str) -> StepError:
        """An error to raise: one line that begins with the step's name."""
        return StepError(f"{self.name}: {message}")

    def commit(self) -> None:
        """Write `step.json` and put the folder in its place."""
        self.record = msgspec.structs.replace(
            self.record, counts=tuple(self._counts), notes=tuple(self._notes)
        )
        encoded = msgspec.json.format(msgspec.json.encode(self.record), indent=1)
        write_atomic(self.folder / RECORD, encoded + b"\n")
        # From here on the step is done; a run that is killed now finds it so.
        self.folder = _put_in_place(self.work, self.name, self._scratch)
        self.done = True


@contextlib.contextmanager
def begin_step(
    work: Path,
    name: str,
    inputs: Sequence[str | Path],
    parameters: Struct | Mapping[str, Any],
    *,
    version: int = 1,
    resume: bool = False,
    scratch: Sequence[str] = (),
    force: bool = False,
) -> Iterator[BuildStep]:
    """Begin a step. `inputs` are names of steps (which must be done) and files or folders of the user's.

    `version` is raised when the step's code would write something else from the same. With `resume`, the
    files of an interrupted run of the same fingerprint are kept; without, they are deleted. `scratch` names folders
    inside the step's own that are deleted when the rest is whole, and not before: an interrupted run needs them.
    """
    try:
        with explain_errors(work, name):
            if not work.exists():  # a name mistyped leaves nothing behind
                for source in inputs:
                    _fingerprint(work, name, source)
            work.mkdir(parents=True, exist_ok=True)
            busy = StepError(f"{name}: another run of this step is at work in {work}; wait for it")
            with lock_file(work / f".{name}.lock", busy):
                yield from _run_step(work, name, inputs, parameters, version, resume, scratch, force)
    except StepError:
        raise
    except VivantError as error:
        raise StepError(f"{name}: {error}") from error


@contextlib.contextmanager
def explain_errors(folder: Path, name: str) -> Iterator[None]:
    """What the file system refuses to a step that writes a folder, as one line that begins with the step's name."""
    try:
        yield
    except OSError as error:
        file = f" {error.filename}" if error.filename else ""
        raise StepError(f"{name}: cannot work in {folder}:{file} {error.strerror or error}") from error


def _run_step(
    work: Path,
    name: str,
    inputs: Sequence[str | Path],
    parameters: Struct | Mapping[str, Any],
    version: int,
    resume: bool,
    scratch: Sequence[str],
    force: bool,
) -> Iterator[BuildStep]:
    old, part, target = _old(work, name), _part(work, name), work / name
    if old.exists():  # killed between two renames, or while deleting
        if target.exists():
            shutil.rmtree(old)
        else:
            old.rename(target)
    if (part / RECORD).is_file():  # killed on the way to its place
        _put_in_place(work, name, scratch)
    fingerprints = {_input_name(source): _fingerprint(work, name, source) for source in inputs}
    values = msgspec.to_builtins(parameters)
    fingerprint = digest([name, version, fingerprints, values])
    fresh = StepRecord(step=name, fingerprint=fingerprint, inputs=fingerprints, parameters=values)
    existing = read_record(work, name) if (target / RECORD).is_file() else None
    if existing is not None and existing.fingerprint == fingerprint and not force:
        yield BuildStep(work, existing, done=True, resumed=False)
        return
    resumed = resume and not force and _read_text(part / _BEGUN) == fingerprint
    if not resumed:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        (part / _BEGUN).write_text(fingerprint, encoding="ascii")
    step = BuildStep(work, fresh, done=False, resumed=resumed, scratch=scratch)
    yield step
    if not step.done:
        step.commit()


def _put_in_place(work: Path, name: str, scratch: Sequence[str]) -> Path:
    """Make a step's folder whose record is written the one that others read. It can be done again at any point."""
    old, part, target = _old(work, name), _part(work, name), work / name
    for leftover in (*scratch, _BEGUN):
        remove(part / leftover)
    if target.exists():
        target.rename(old)
    part.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    return target


def read_record(work: Path, name: str) -> StepRecord:
    """What a finished step says of itself."""
    path = work / name / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=StepRecord)
    except OSError as error:
        raise StepError(f"{name}: cannot read {path}: {error.strerror}; run the step again") from error
    except msgspec.MsgspecError as error:
        raise StepError(
            f"{name}: {path} is broken ({error}); delete {path.parent} and run the step again"
        ) from error


def _fingerprint(work: Path, name: str, source: str | Path) -> str:
    if isinstance(source, str):
        if not (work / source / RECORD).is_file():
            raise StepError(
                f"{name}: {work / source} is not there yet; first run: "
                f"vivant build mimic {source.partition('/')[0]} --work {shlex.quote(str(work))}"
            )
        return read_record(work, source).fingerprint
    if not source.exists():
        raise StepError(f"{name}: {source} does not exist")
    return digest([(p, s, t) for p, s, t in sorted(_list_files(source, work))])


def _list_files(source: Path, work: Path) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of change of every file: a million files are listed, not read.

    What the steps write is left out, where the work folder lies in the source. A folder that cannot be opened stands
    for itself, and one behind a link is listed once; of a file behind a link it is the file's own size and time.
    """
    if source.is_file():
        status = source.stat()
        yield source.name, status.st_size, status.st_mtime_ns
        return
    folders = [str(source)]
    start = len(str(source)) + 1
    seen = {os.path.realpath(source), os.path.realpath(work)}
    while folders:
        folder = folders.pop()
        try:
            listed = os.scandir(folder)
        except OSError:
            yield folder[start:], -1, 0
            continue
        with listed as entries:
            for entry in entries:
                linked = entry.is_symlink()
                if Path(entry.path).is_dir() if linked else entry.is_dir():
                    own = os.path.realpath(entry.path) if linked or entry.name == work.name else ""
                    if own not in seen:
                        folders.append(entry.path)
                        seen |= {own} - {""}
                else:
                    dangling = linked and not Path(entry.path).exists()
                    status = entry.stat(follow_symlinks=not dangling)
                    yield entry.path[start:], status.st_size, status.st_mtime_ns


def _input_name(source: str | Path) -> str:
    return source if isinstance(source, str) else str(source.resolve())


def _part(work: Path, name: str) -> Path:
    return work / f".{name}.part"


def _old(work: Path, name: str) -> Path:
    return work / f".{name}.old"


def _read_text(path: Path) -> str:
    return path.read_text(encoding="ascii") if path.is_file() else ""
