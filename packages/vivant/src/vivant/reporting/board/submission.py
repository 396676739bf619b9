"""A submission to a leaderboard: one folder that holds a run, what its contributor states, and the scores claimed.

submission.json    who submits what, and the digest of each file
manifest.json      the run's manifest, without paths and addresses of the contributor's machine
scores.json        the rows that the submission claims
samples.jsonl      the questions          } left out where the contributor
log.jsonl          every reply            } publishes their digests alone
judgements/        verdicts, where judges }
                   decide
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec
from msgspec import Struct, field

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import summarise
from vivant.core.errors import UsageError, VivantError
from vivant.core.files import atomic_path, write_atomic
from vivant.core.table import Row
from vivant.engine.prices import is_own_server
from vivant.runs.directory import Manifest
from vivant.runs.judgements import FOLDER as JUDGEMENTS
from vivant.runs.run import Run, choose_common_protocol
from vivant.runs.stopping_table import find_stopped

FILE = "submission.json"
SCORES = "scores.json"
FORMAT = 1
_EVIDENCE = ("samples.jsonl", "log.jsonl")
Weights = Literal["open", "closed", "not stated"]


class SubmissionError(VivantError):
    """A submission is damaged, or cannot be made from this run."""


class Submission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`submission.json`: what the contributor states, and what the folder holds."""

    format: int = FORMAT
    name: str
    """The model, as the board shows it."""
    protocol: Protocol
    contributor: str = ""
    link: str = ""
    """A page about the model or the paper: http or https."""
    weights: Weights = "not stated"
    """Whether the model's weights can be downloaded."""
    notes: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file that the scores rest on, by its path in the folder."""
    version: str = ""
    """The version of Vivant that made the scores."""

    def __post_init__(self) -> None:
        if self.link and not re.match(r"https?://[^\s]+\Z", self.link):
            raise SubmissionError(f"The link '{self.link[:80]}' is no web address: https://…")
        if not self.name.strip():
            raise SubmissionError("A submission needs a name: --name NAME")


def write_submission(run: Run, out: Path, submission: Submission, *, include_log: bool = True) -> Path:
    """Write a run as a submission folder, with its scores made again from its log.

    Args:
        run: The run to submit.
        out: The folder to write; it must not exist yet, or be empty.
        submission: What the contributor states; digests and version are filled in.
        include_log: Whether questions, replies and verdicts go along, or their digests alone.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists already; name another folder, or remove it first")
    if not any(run.manifest.planned.values()):
        raise SubmissionError(f"{run.dir.path} has no samples: there is nothing to submit")
    rows = recompute_rows(run, submission.protocol)
    files = dict(_list_evidence(run.dir.path))
    stated = msgspec.structs.replace(
        submission,
        digests={name: digest_file(path) for name, path in files.items()},
        version=version("vivant"),
    )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(out, keep_suffix=False) as folder:
            folder.mkdir()
            for name, path in files.items() if include_log else ():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            write_json(folder / "manifest.json", clean_manifest(run.manifest))
            write_json(folder / SCORES, rows)
            write_json(folder / FILE, stated)
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}") from error
    return out


def read_submission(path: Path) -> Submission:
    """`submission.json` of a folder."""
    file = path / FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=Submission)
    except FileNotFoundError as error:
        raise SubmissionError(
            f"{path} is no submission: it has no {FILE} (make one: vivant board submit RUN --out FOLDER)"
        ) from error
    except (OSError, msgspec.MsgspecError) as error:
        raise SubmissionError(f"{file} cannot be read: {error}") from error


def read_claims(path: Path) -> list[Row]:
    """The rows that a submission claims."""
    file = path / SCORES
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Row])
    except (OSError, msgspec.MsgspecError) as error:
        raise SubmissionError(f"{file} cannot be read: {error}") from error


def recompute_rows(run: Run, protocol: Protocol | None) -> list[Row]:
    """One row per task, scored anew from the log. Nothing is written into the run's folder."""
    _check_benchmarks(run.manifest)
    for task, part in find_stopped(run).items():
        if part.stopped:
            planned = run.manifest.planned.get(task, 0)
            raise SubmissionError(
                f"{task} stopped early, at {part.asked_count:,} of {planned:,} samples: a board compares runs that "
                "asked everything. Run the same command without --until…, which asks the rest"
            )
    protocol = choose_common_protocol([run], protocol)
    with _link_evidence(run.dir.path) as path:
        try:
            return [
                msgspec.structs.replace(row, run=run.name)
                for part in Run(path).scores(protocol)
                for row in summarise(part, registry.get_by_task(part.task))
            ]
        except VivantError as error:
            # The user knows the run's own folder, not the one with links.
            error.args = (str(error).replace(str(path), str(run.dir.path)),)
            raise


def _check_benchmarks(manifest: Manifest) -> None:
    """A manifest may name benchmarks that are installed, never a Python file: that would run its code."""
    for task in manifest.tasks:
        name = task.partition("/")[0]
        if name.endswith(".py") or ":" in name or name not in registry.list_benchmarks():
            raise SubmissionError(
                f"The manifest names the task '{task[:80]}'; no such benchmark is installed"
            )


@contextmanager
def _link_evidence(path: Path) -> Iterator[Path]:
    """A folder with the run's files and no scores, so that stored scores cannot be taken for new ones."""
    with TemporaryDirectory(prefix="vivant-board-") as scratch:
        folder = Path(scratch) / "run"
        folder.mkdir()
        for name, file in (("manifest.json", path / "manifest.json"), *_list_evidence(path)):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(file.resolve())
        yield folder


def _list_evidence(path: Path) -> Iterator[tuple[str, Path]]:
    """What scores are made from, by relative path; the pictures that a model wrote are not among it."""
    for name in _EVIDENCE:
        if (path / name).is_file():
            yield name, path / name
    for file in sorted((path / JUDGEMENTS).rglob("*.json*")) if (path / JUDGEMENTS).is_dir() else ():
        if file.is_file() and not file.name.startswith("."):
            yield file.relative_to(path).as_posix(), file


def digest_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_evidence(path: Path) -> dict[str, str]:
    """The digests of a folder's files, as `Submission.digests` has them."""
    return {name: digest_file(file) for name, file in _list_evidence(path)}


def clean_manifest(manifest: Manifest) -> Manifest:
    """The manifest without folders and private addresses of the machine that made it."""
    roots = {
        task: "/".join(Path(root).parts[-3:]) if mini.is_bundled(root, task.partition("/")[0]) else ""
        for task, root in manifest.roots.items()
    }
    server = "" if is_own_server(manifest.server) else manifest.server
    command = re.sub(r"(?:/[^\s/'\"]+){2,}/", "…/", manifest.command)
    return msgspec.structs.replace(manifest, roots=roots, server=server, command=command)


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON that people can read."""
    write_atomic(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n", durable=False)


def slugify(*words: str, taken: Iterable[str] = ()) -> str:
    """A name for files and addresses: letters, digits and hyphens, and none that is `taken`."""
    text = re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")[:60].strip("-") or "entry"
    names, number, slug = set(taken), 2, text
    while slug in names:
        slug, number = f"{text}-{number}", number + 1
    return slug
