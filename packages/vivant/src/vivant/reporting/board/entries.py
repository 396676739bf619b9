"""What a leaderboard lists: one entry per submission and task, and ranks among those that can be compared.

Entries are ranked together where they answered the same questions of the same task under the same protocol.
Baselines, controls, incomplete runs, texts that people judge apart and what could not be recomputed are listed beside
them without a rank, and so is an entry that is alone on its questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.base import WRITTEN, Protocol
from vivant.core.errors import UsageError, VivantError
from vivant.core.files import iter_jsonl
from vivant.core.table import Row
from vivant.core.types import Sample
from vivant.metrics.rank_ranges import format_rank, rank_ranges
from vivant.reporting.board.checking import check_name, check_submission, find_bundled_digest
from vivant.reporting.board.submission import (
    FILE,
    Submission,
    digest_evidence,
    read_claims,
    read_submission,
    recompute_rows,
    slugify,
)
from vivant.reporting.score_matrix import classify_model, describe_frames
from vivant.runs.directory import Manifest, RunError
from vivant.runs.run import Run, choose_common_protocol, find_run_folders
from vivant.runs.settings import ListDigest

Standing = Literal["ranked", "baseline", "control", "incomplete", "digest only", "judged apart", "alone"]
"""Whether an entry has a rank, or why it has none."""
DATA = "board.json"
"""All entries of a site."""
_MISSING_SHARE = 0.01
_NATIVE = (True, "native", "file", "video")
"""How a model's identity says that it takes videos as they are."""


class BoardConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`board.yaml` of a leaderboard's repository."""

    title: str = "Leaderboard"
    description: str = ""
    editions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Names of the editions that the board knows, by task and digest of the data. A task that is named here takes
    no other data."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By the run's model, another name that the board grants it: a checkpoint's folder says little."""

    def check_edition(self, task: str, digest: str) -> str | None:
        """Why data are refused; None where they are accepted."""
        known = self.editions.get(task)
        if known is None or digest in known:
            return None
        return f"{task}: asked on data {digest}; this board takes {', '.join(known)}"


class BoardSource(Struct, frozen=True, kw_only=True):
    """One submission, or one run as it is, with its scores recomputed."""

    slug: str
    submission: Submission
    manifest: Manifest
    rows: tuple[Row, ...]
    sets: Mapping[str, str]
    """The digest of the questions that were asked, by task."""
    recomputed: bool
    path: Path


class BoardEntry(Struct, frozen=True, kw_only=True):
    """One score of the board, with everything needed to judge it: a line of `board.json` and `board.csv`."""

    submission: str
    model: str
    benchmark: str
    task: str
    edition: str
    protocol: str
    rank: str
    standing: Standing
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    metric: str
    n: int
    errors: int
    unparsed: int
    truncated: int
    style: str
    frames: str
    settings: str
    recipe: str
    weights: str
    contributor: str
    link: str
    date: str
    data: str
    """Digest of the data; `questions` is that of the questions asked, which differs where they are a part."""
    questions: str
    version: str

    @property
    def is_contestant(self) -> bool:
        """Whether it has a rank, or would have one beside another entry."""
        return self.standing in ("ranked", "alone")


def gather_sources(
    paths: Sequence[Path], protocol: Protocol | None = None, config: BoardConfig | None = None
) -> tuple[list[BoardSource], list[str]]:
    """Read runs and submissions; returns them, and why others were refused, a line each."""
    sources: list[BoardSource] = []
    refused: list[str] = []
    taken: set[str] = set()
    folders = dict.fromkeys(folder.resolve() for path in paths for folder in find_folders(path))
    # Of twins, one with its log can be recomputed, and a submission says more than the run that it was made from.
    for folder in sorted(folders, key=_prefer_complete):
        try:
            source = _read_source(folder, protocol, config or BoardConfig(), taken)
        except VivantError as error:
            refused.append(f"{folder.name}: {error}")
            continue
        log = source.submission.digests.get("log.jsonl", "")
        twin = next((other for other in sources if other.submission.digests.get("log.jsonl") == log), None)
        if twin is not None:
            refused.append(f"{folder.name}: has the same log as {twin.path.name}")
            continue
        taken.add(source.slug)
        sources.append(source)
    if not sources:
        reason = refused[0] if refused else "no run and no submission is there"
        raise UsageError(f"Nothing to put on the board: {reason}")
    return sources, refused


def _prefer_complete(folder: Path) -> tuple[bool, bool]:
    return not (folder / "log.jsonl").exists(), not (folder / FILE).exists()


def find_folders(path: Path) -> list[Path]:
    """Submissions, some of which hold no samples, and runs; up to three folders down."""
    if (path / FILE).exists():
        return [path]
    submissions = sorted(file.parent for depth in ("*", "*/*") for file in path.glob(f"{depth}/{FILE}"))
    runs = find_run_folders(path)
    folders = submissions + [run for run in runs if run not in submissions]
    # A site that was written before is no source of another one.
    return [folder for folder in folders if not (folder.parent.parent / DATA).exists()]


def _read_source(
    folder: Path, protocol: Protocol | None, config: BoardConfig, taken: set[str]
) -> BoardSource:
    run = Run(folder)
    manifest = run.manifest
    is_submission = (folder / FILE).exists()
    for task in manifest.tasks:
        if reason := config.check_edition(task, manifest.settings.data.get(task, "")):
            raise UsageError(reason)
    if is_submission:
        submission = read_submission(folder)
        if wrong := check_name(submission.name, manifest.model, config.names):
            raise UsageError(wrong[0])
        recomputed = all((folder / name).is_file() for name in submission.digests)
        if recomputed:
            result = check_submission(folder, names=config.names)
            if not result.passed:
                raise UsageError(result.problems[0])
            rows: Sequence[Row] = result.rows
        else:
            rows = read_claims(folder)
    else:
        chosen = choose_common_protocol([run], protocol)
        submission = Submission(name=run.model, protocol=chosen, digests=digest_evidence(folder))
        rows, recomputed = recompute_rows(run, chosen), True
    return BoardSource(
        slug=slugify(submission.name, manifest.fingerprint[:8], taken=taken),
        submission=submission,
        manifest=manifest,
        rows=tuple(rows),
        sets=_digest_sets(run) if recomputed else {},
        recomputed=recomputed,
        path=folder,
    )


def _digest_sets(run: Run) -> dict[str, str]:
    digests = {task: ListDigest() for task in run.manifest.tasks}
    for sample in iter_jsonl(run.dir.samples_file, Sample, RunError):
        digests[sample.task].add(sample)
    return {task: digest.hexdigest()[:16] for task, digest in digests.items()}


def list_entries(sources: Sequence[BoardSource], config: BoardConfig | None = None) -> list[BoardEntry]:
    """All entries, those that are compared side by side, the best first."""
    entries = [_make_entry(source, row, config or BoardConfig()) for source in sources for row in source.rows]
    groups: dict[tuple[str, ...], list[BoardEntry]] = {}
    for entry in entries:
        groups.setdefault(comparison_key(entry), []).append(entry)
    return [entry for key in sorted(groups) for entry in rank_entries(groups[key])]


def comparison_key(entry: BoardEntry) -> tuple[str, ...]:
    """Entries with the same key were asked the same questions, and read in the same way."""
    return (entry.benchmark, entry.task, entry.edition, entry.questions, entry.protocol, entry.metric)


def rank_entries(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """Best first, with ranks as ranges where intervals overlap; unranked entries among them by value."""
    ordered = sorted(entries, key=lambda entry: (entry.value is None, -(entry.value or 0.0), entry.model))
    ranked = [entry for entry in ordered if entry.standing == "ranked"]
    ends = [
        (entry.low, entry.high) if entry.low is not None and entry.high is not None else None
        for entry in ranked
    ]
    ranks = {id(entry): format_rank(rank) for entry, rank in zip(ranked, rank_ranges(ends), strict=True)}
    if len(ranked) == 1:
        alone = ranked[0]
        return [
            msgspec.structs.replace(entry, standing="alone") if entry is alone else entry for entry in ordered
        ]
    return [msgspec.structs.replace(entry, rank=ranks.get(id(entry), "")) for entry in ordered]


def _make_entry(source: BoardSource, row: Row, config: BoardConfig) -> BoardEntry:
    manifest, submission = source.manifest, source.submission
    settings = manifest.settings
    data = settings.data.get(row.task, "")
    questions = source.sets.get(row.task, data)
    low, high = row.interval or (None, None)
    return BoardEntry(
        submission=source.slug,
        model=submission.name,
        benchmark=row.benchmark,
        task=row.task,
        edition=_name_edition(row.task, data, questions, row, config),
        protocol=submission.protocol,
        rank="",
        standing=_find_standing(source, row),
        value=row.value,
        low=low,
        high=high,
        chance=row.chance,
        metric=row.metric,
        n=row.n,
        errors=row.errors,
        unparsed=row.unparsed,
        truncated=row.truncated,
        style=manifest.style,
        frames="video" if settings.model.get("video") in _NATIVE else describe_frames(settings.frames),
        settings=", ".join(settings.list_distinctions()),
        recipe=manifest.recipe,
        weights=submission.weights,
        contributor=submission.contributor,
        link=submission.link,
        date=manifest.created[:10],
        data=data,
        questions=questions,
        version=submission.version or manifest.versions.get("vivant", ""),
    )


def _find_standing(source: BoardSource, row: Row) -> Standing:
    total = row.n + row.errors + row.truncated
    if not source.recomputed:
        return "digest only"
    if classify_model(source.manifest.model) != "model":
        return "baseline"
    if source.manifest.settings.control != "none":
        return "control"
    if not total or row.errors / total > _MISSING_SHARE:
        return "incomplete"
    return "judged apart" if row.metric == WRITTEN else "ranked"


def _name_edition(task: str, data: str, questions: str, row: Row, config: BoardConfig) -> str:
    name = config.editions.get(task, {}).get(data) or (
        "mini" if find_bundled_digest(task) == data else data[:8]
    )
    total = row.n + row.errors + row.truncated
    return name if questions == data else f"{name}, {total:,} questions of it"
