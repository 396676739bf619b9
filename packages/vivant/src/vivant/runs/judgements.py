"""What judges said of a run, on disk: `judgements/<fingerprint>/` with `judge.json` and a log like any other.

    judgements/
      panel.json               which judges count, by protocol: those that were asked last
      1a2b3c4d/judge.json      who judged, by which rubrics, how often
      1a2b3c4d/log.jsonl       one line per verdict: key `<record's key>@<sample>.<attempt>`

Records and verdicts are joined by key. The fingerprint tells two judges apart, and what the log holds is not
asked twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.rubric import JudgeInfo, Rubric
from vivant.benchmarks.verdict import Verdict
from vivant.core.files import write_atomic
from vivant.core.records import Record
from vivant.runs.directory import RunError
from vivant.runs.log import read_log
from vivant.runs.settings import digest

FOLDER = "judgements"
_NOTE = "rubric "


class JudgeSettings(Struct, frozen=True, kw_only=True):
    """Everything that decides what a judge says: equal settings give equal fingerprints."""

    model: Mapping[str, Any]
    """The model's identity, without secrets."""
    protocol: str
    """Protocols may show a judge different things."""
    rubrics: tuple[Rubric, ...]
    samples: int = 1
    """Verdicts per answer: the first is greedy, the others are drawn."""
    attempts: int = 3
    """How often one verdict is asked for until it can be read."""
    temperature: float = 0.7
    """Of drawn verdicts, and of second attempts."""
    max_images: int | None = None

    def fingerprint(self) -> str:
        """Sixteen hex digits."""
        return digest(msgspec.to_builtins(self))[:16]


class JudgeManifest(Struct, frozen=True, kw_only=True):
    """`judge.json`."""

    name: str
    fingerprint: str
    settings: JudgeSettings
    server: str = ""
    caveat: str = ""
    created: str = field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    version: str = field(default_factory=lambda: version("vivant"))


class JudgeVerdict(Struct, frozen=True):
    """One verdict that was asked for, after its last attempt."""

    verdict: Verdict
    rubric: str
    attempts: int
    text: str = ""
    error: str = ""
    """Why there is no reply at all."""
    notes: tuple[str, ...] = ()
    """What the judge did not get to see."""


VerdictReader = Callable[[str, Rubric], Verdict]
"""(a judge's reply, the rubric it was asked by) → verdict."""


class Judgements:
    """One judge's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_file = path / "log.jsonl"
        self._manifest: JudgeManifest | None = None

    @property
    def manifest(self) -> JudgeManifest:
        """Who judged."""
        if self._manifest is None:
            file = self.path / "judge.json"
            try:
                self._manifest = msgspec.json.decode(file.read_bytes(), type=JudgeManifest)
            except (OSError, msgspec.MsgspecError) as error:
                raise RunError(f"{file} cannot be read: {error}; judge the run again with --judge") from error
        return self._manifest

    @property
    def info(self) -> JudgeInfo:
        """The judge as tables name it."""
        m = self.manifest
        return JudgeInfo(name=m.name, fingerprint=m.fingerprint, samples=m.settings.samples, caveat=m.caveat)

    def create(self, manifest: JudgeManifest) -> None:
        """Make the folder, unless it is there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not (self.path / "judge.json").exists():
                encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
                write_atomic(self.path / "judge.json", encoded)
        except OSError as error:
            raise RunError(f"Cannot write {self.path}: {error.strerror}") from error

    def records(self) -> Iterator[tuple[str, int, int, Record]]:
        """Key of the answer, number of the verdict, attempt, and the judge's record."""
        for record in read_log(self.log_file):
            key, sample, attempt = split_key(record.key)
            yield key, sample, attempt, record

    def verdicts(self, reader: VerdictReader) -> dict[str, dict[int, JudgeVerdict]]:
        """Verdicts by the answer's key and their number; of several attempts the first that can be read."""
        rubrics = {rubric.name: rubric for rubric in self.manifest.settings.rubrics}
        verdicts: dict[str, dict[int, JudgeVerdict]] = {}
        for key, sample, attempt, record in self.records():
            by_sample = verdicts.setdefault(key, {})
            before = by_sample.get(sample)
            if before is not None and before.verdict.read:
                continue
            by_sample[sample] = read_verdict(record, attempt, rubrics, reader)
        return verdicts


def read_verdict(
    record: Record, attempt: int, rubrics: Mapping[str, Rubric], reader: VerdictReader
) -> JudgeVerdict:
    """What one record of a judge's log says."""
    name, notes = record.notes[0].removeprefix(_NOTE) if record.notes else "", record.notes[1:]
    reply = record.reply
    if name not in rubrics:
        raise RunError(f"{record.key}: judged by a rubric '{name}' that judge.json does not name")
    if reply.status in ("error", "too_long"):
        error = f"{reply.status}: {reply.error}" if reply.status == "too_long" else reply.error
        return JudgeVerdict(Verdict(why=error), name, attempt + 1, error=error, notes=notes)
    if reply.status == "refused":
        verdict = Verdict(why=f"the judge refused: {reply.error}")
    else:
        verdict = reader(reply.text, rubrics[name])
    return JudgeVerdict(verdict, name, attempt + 1, reply.text, notes=notes)


def rubric_note(rubric: Rubric) -> str:
    """The note that stands first in a judge's record and names its rubric."""
    return _NOTE + rubric.name


def verdict_key(key: str, sample: int, attempt: int) -> str:
    """The key of a judge's record."""
    return f"{key}@{sample}.{attempt}"


def split_key(key: str) -> tuple[str, int, int]:
    """The inverse of `verdict_key`."""
    answer, at, number = key.rpartition("@")
    sample, dot, attempt = number.partition(".")
    if not (at and dot and sample.isdecimal() and attempt.isdecimal()):
        raise RunError(f"'{key}' is no key of a judgement")
    return answer, int(sample), int(attempt)


def find_judgements_folder(run: Path, fingerprint: str) -> Path:
    """Where a judge's verdicts on a run lie."""
    return run / FOLDER / fingerprint[:8]


def list_judgements(run: Path, protocol: str) -> list[Judgements]:
    """Every judge that was asked about a run under a protocol, in the order of asking."""
    folders = sorted((run / FOLDER).glob("*/judge.json"))
    judges = [Judgements(file.parent) for file in folders]
    chosen = [judgements for judgements in judges if judgements.manifest.settings.protocol == protocol]
    return sorted(
        chosen, key=lambda judgements: (judgements.manifest.created, judgements.manifest.fingerprint)
    )


def read_panel(run: Path, protocol: str) -> list[Judgements]:
    """The judges that count for a run under a protocol; empty where none was asked."""
    file = run / FOLDER / "panel.json"
    if not file.exists():
        return []
    try:
        named = msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.MsgspecError) as error:
        raise RunError(f"{file} cannot be read: {error}; judge the run again with --judge") from error
    return [Judgements(find_judgements_folder(run, fingerprint)) for fingerprint in named.get(protocol, [])]


def write_panel(run: Path, protocol: str, fingerprints: list[str]) -> None:
    """Let these judges count from now on."""
    file = run / FOLDER / "panel.json"
    named: dict[str, list[str]] = {}
    if file.exists():
        named = msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]])
    named[protocol] = fingerprints
    write_atomic(file, msgspec.json.encode(named))


def measure_panel(panel: list[Judgements]) -> dict[str, int]:
    """Fingerprint and length of each judge's log: what scores made from them depend on."""
    return {
        judgements.manifest.fingerprint: judgements.log_file.stat().st_size
        if judgements.log_file.exists()
        else 0
        for judgements in panel
    }
