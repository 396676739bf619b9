"""Whether a submission can be recomputed: its files, its questions, its log and the scores it claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.validation import load_samples
from vivant.core.errors import VivantError
from vivant.core.files import iter_jsonl
from vivant.core.records import Record
from vivant.core.table import Row
from vivant.core.types import Sample
from vivant.reporting.board.submission import (
    FILE,
    SCORES,
    Submission,
    SubmissionError,
    digest_evidence,
    read_claims,
    read_submission,
    recompute_rows,
)
from vivant.runs.directory import RunError
from vivant.runs.log import read_log
from vivant.runs.run import Run
from vivant.runs.settings import ListDigest

_TOLERANCE = 0.005
"""Points by which a claimed score may be off: it is stored to the last digit, and computed by one machine."""
_SHOWN = 5
_NAME = 3
"""Letters and digits that a name and the model's name must have in common."""
_FILES = ("manifest.json", FILE, SCORES, "samples.jsonl", "log.jsonl", "README.md")


class CheckResult(Struct, frozen=True, kw_only=True):
    """What a check found."""

    problems: tuple[str, ...] = ()
    """Why the submission is refused, a line each; empty where all is well."""
    rows: tuple[Row, ...] = ()
    """The scores, recomputed."""
    data: Mapping[str, str] = {}
    """The digest of each task's data."""
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything could be recomputed and agrees."""
        return not self.problems


def check_submission(
    path: Path,
    evidence: Path | None = None,
    data: Mapping[str, Path] | None = None,
    check_edition: Callable[[str, str], str | None] | None = None,
    names: Mapping[str, str] | None = None,
) -> CheckResult:
    """Recompute a submission from its log and compare.

    Args:
        path: The submission's folder.
        evidence: The run itself, where the submission holds only the digests of its log.
        data: Folders with the benchmarks' data, by benchmark: questions are compared with them.
        check_edition: Says why the data of a task, by their digest, are not taken; None where they are.
        names: Names that the board grants, by the run's model.
    """
    try:
        if links := _find_foreign_files(path):
            return CheckResult(problems=tuple(links))
        submission, claims = read_submission(path), read_claims(path)
        source = evidence or path
        run = Run(path)
        problems = [*_compare_digests(submission, source), *_check_coverage(run, claims)]
        if problems:
            return CheckResult(problems=tuple(problems))
        held = Run(source)
        problems += _compare_settings(run, held) if evidence else ()
        questions, notes = _check_questions(held, data or {}, check_edition)
        problems += [*questions, *_check_records(held)]
        problems += check_name(submission.name, run.model, names or {})
        if not problems and submission.name != run.model:
            notes.append(f"The board shows it as '{submission.name}'; the run is of '{run.model}'")
        rows = recompute_rows(held, submission.protocol)
        problems += _compare_claims(claims, rows)
    except VivantError as error:
        return CheckResult(problems=(str(error),))
    return CheckResult(
        problems=tuple(problems), rows=tuple(rows), data=held.manifest.settings.data, notes=tuple(notes)
    )


def check_name(name: str, model: str, names: Mapping[str, str]) -> list[str]:
    """A name is nothing that a log can prove: it may shorten or extend the run's model, not be another."""
    if names.get(model) == name:
        return []
    stated, own = (
        re.sub(r"[\W_]+", "", text).casefold() for text in (name, model.rpartition("/")[2] or model)
    )
    if name == model or (min(len(stated), len(own)) >= _NAME and (stated in own or own in stated)):
        return []
    return [
        f"It is named '{name[:80]}', the run is of '{model[:80]}': use the model's own name, or have the board grant "
        "another (names in board.yaml)"
    ]


def _find_foreign_files(path: Path) -> list[str]:
    """Links could name anything on the machine that checks; other files do not belong here."""
    if path.is_symlink() or not path.is_dir():
        return [f"{path} is no folder"]
    problems = []
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.is_symlink():
            problems.append(f"{name} is a link; a submission holds files alone")
        elif file.is_file() and name not in _FILES and not name.startswith("judgements/"):
            problems.append(f"{name} does not belong to a submission; remove it")
    return problems[:_SHOWN]


def _compare_digests(submission: Submission, source: Path) -> list[str]:
    claimed, present = dict(submission.digests), digest_evidence(source)
    missing = [name for name in ("samples.jsonl", "log.jsonl") if name not in claimed]
    if missing:
        return [f"{FILE} states no digest of {missing[0]}, so nothing can be recomputed"]
    absent = [name for name in claimed if name not in present]
    if absent:
        return [
            f"{absent[0]} is not here, only its digest: nothing can be recomputed. Name the run that holds it: "
            "--run RUN"
        ]
    problems = [
        f"{name} is not the file that {FILE} states (SHA-256 {present[name][:12]}, stated {value[:12]})"
        for name, value in claimed.items()
        if present[name] != value
    ]
    return problems + [f"{name} has no digest in {FILE}" for name in present if name not in claimed]


def _compare_settings(stated: Run, held: Run) -> list[str]:
    same = msgspec.to_builtins(stated.manifest.settings) == msgspec.to_builtins(held.manifest.settings)
    return [] if same else [f"manifest.json is not that of {held.dir.path}: the settings differ"]


def _check_coverage(run: Run, claims: Sequence[Row]) -> list[str]:
    manifest = run.manifest
    if manifest.settings.fingerprint() != manifest.fingerprint:
        return ["manifest.json was changed by hand: its settings do not have the fingerprint that it states"]
    # What the board shows of the manifest is held against the settings, which the fingerprint covers.
    for name, stated, value in (
        ("model", manifest.model, manifest.settings.model.get("model", manifest.model)),
        ("style", manifest.style, manifest.settings.style),
        ("tasks", ", ".join(manifest.tasks), ", ".join(manifest.settings.tasks)),
    ):
        if stated != value:
            return [
                f"manifest.json was changed by hand: it states the {name} '{stated[:80]}', its settings "
                f"'{str(value)[:80]}'"
            ]
    claimed, tasks = {row.task for row in claims}, set(manifest.tasks)
    problems = [f"{task} was run, but {SCORES} claims nothing for it" for task in sorted(tasks - claimed)]
    return problems + [f"{SCORES} claims {task}, which was not run" for task in sorted(claimed - tasks)]


def _check_questions(
    run: Run, data: Mapping[str, Path], check_edition: Callable[[str, str], str | None] | None
) -> tuple[list[str], list[str]]:
    """Whether the questions are those of the edition that the manifest states. A changed key would show here."""
    problems: list[str] = []
    notes: list[str] = []
    manifest = run.manifest
    for task, samples in _group_samples(run).items():
        stated = manifest.settings.data.get(task, "")
        if check_edition is not None and (reason := check_edition(task, stated)):
            problems.append(reason)
        planned = manifest.planned.get(task, 0)
        if len(samples) != planned:
            problems.append(
                f"{task}: samples.jsonl has {len(samples):,} questions, the manifest plans {planned:,}"
            )
        if digest_samples(samples) == stated:
            continue
        pool = find_pool(task, stated, data)
        if pool is None:
            name = task.partition("/")[0]
            problems.append(
                f"{task}: its questions are a part of the data {stated}, or were changed. Name the folder of the "
                f"data, so that they can be compared: --data {name}=FOLDER"
            )
            continue
        wrong = [sample.id for sample in samples if pool.get(sample.id) != sample]
        if wrong:
            problems.append(f"{task}: the question '{wrong[0][:80]}' is not the one of the data {stated}")
        notes.append(f"{task}: {len(samples):,} of {len(pool):,} questions")
    return problems, notes


def _group_samples(run: Run) -> dict[str, list[Sample]]:
    groups: dict[str, list[Sample]] = {task: [] for task in run.manifest.tasks}
    for sample in iter_jsonl(run.dir.samples_file, Sample, RunError):
        if sample.task not in groups:
            raise SubmissionError(
                f"samples.jsonl holds a question of '{sample.task[:80]}', which was not run"
            )
        groups[sample.task].append(sample)
    for task, samples in groups.items():
        if len({sample.id for sample in samples}) != len(samples):
            raise SubmissionError(f"{task}: samples.jsonl asks a question twice")
    return groups


def digest_samples(samples: Sequence[Sample]) -> str:
    """The digest of a set of questions, as a manifest states that of its data."""
    digest = ListDigest()
    for sample in samples:
        digest.add(sample)
    return digest.hexdigest()[:16]


def find_pool(task: str, stated: str, data: Mapping[str, Path]) -> dict[str, Sample] | None:
    """All questions of the data with this digest: of a folder that the user names, or the bundled edition."""
    name = task.partition("/")[0]
    for root in (data.get(name), mini.root(name)):
        if root is None:
            continue
        digest, pool = _load_pool(task, root)
        if digest == stated:
            return pool
        if name in data:
            raise SubmissionError(
                f"{root} holds other data of {task}: {digest}, the manifest states {stated}"
            )
    return None


@cache
def _load_pool(task: str, root: Path) -> tuple[str, dict[str, Sample]]:
    digest = ListDigest()
    samples = load_samples(registry.get_by_task(task), root, task, digest.add)
    return digest.hexdigest()[:16], {sample.id: sample for sample in samples}


def find_bundled_digest(task: str) -> str | None:
    """The digest of a task's bundled mini-edition; None where there is none."""
    name = task.partition("/")[0]
    root = mini.root(name)
    if root is None or task.partition("/")[2] not in {info.name for info in registry.get(name).tasks}:
        return None
    return _load_pool(task, root)[0]


def _check_records(run: Run) -> list[str]:
    """Whether the log answers the questions: a record may not bring options of its own."""
    samples = {(sample.task, sample.id): sample for group in _group_samples(run).values() for sample in group}
    return list(islice(_find_wrong_records(samples, read_log(run.dir.log_file)), _SHOWN))


def _find_wrong_records(
    samples: Mapping[tuple[str, str], Sample], records: Iterator[Record] | Sequence[Record]
) -> Iterator[str]:
    for record in records:
        sample = samples.get((record.task, record.id))
        if sample is None:
            yield f"log.jsonl answers '{record.key[:80]}', which samples.jsonl does not ask"
        elif record.order and sample.options and not _shows_options(sample, record):
            yield f"log.jsonl: '{record.key[:80]}' shows other options than its question has"


def _shows_options(sample: Sample, record: Record) -> bool:
    if len(set(record.order)) != len(record.order) or len(record.order) != len(record.options):
        return False
    if not all(0 <= index < len(sample.options) for index in record.order):
        return False
    texts = [sample.options[index].text.strip() for index in record.order]
    return all(text == option.text.strip() for text, option in zip(texts, record.options, strict=True))


def _compare_claims(claims: Sequence[Row], rows: Sequence[Row]) -> list[str]:
    recomputed = {row.task: row for row in rows}
    problems: list[str] = []
    for claim in claims:
        row = recomputed.get(claim.task)
        if row is None:
            problems.append(f"{claim.task} cannot be scored here, so its claim cannot be checked")
            continue
        for name in ("value", "n", "errors", "unparsed", "truncated"):
            stated, value = getattr(claim, name), getattr(row, name)
            if stated != value and not _nearly_equal(stated, value):
                problems.append(f"{claim.task}: claims {name} {_show(stated)}, the log gives {_show(value)}")
    return problems


def _nearly_equal(first: float | None, second: float | None) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return abs(first - second) <= _TOLERANCE
    return False


def _show(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
