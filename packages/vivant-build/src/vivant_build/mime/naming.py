"""Can people, and models, name what rendered clips mime? A blind study and free-form runs, counted by action.

Everything lies below one folder: `study/` with the answers of people, `models/NAME/` with a run of each model, and
`clips.json` with the clips that they are about. So the count can be made again whenever there are more answers, and
answers about clips that were rendered anew since are never counted for the new ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.mime import Mime
from vivant.benchmarks.mime.score import SETTINGS
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.table import Table
from vivant.core.types import Sample
from vivant.core.yaml_files import write_text
from vivant.hooks import NewStudy, load_people_hook
from vivant.metrics.intervals import wilson
from vivant_build.mime.edition import read_edition

TASK = "mime/ff"
STUDY, MODELS, CLIPS = "study", "models", "clips.json"
_QUESTION = "What is this person miming?"


class NamedClips(Struct, frozen=True):
    """Which clips a folder of names is about: the content of `clips.json`."""

    variant: str
    clips: dict[str, str]
    """File name → SHA-256."""


class NamedAction(Struct, frozen=True, kw_only=True):
    """How often an action was named, by whom, and what else it was taken for."""

    action: str
    label: str
    source: str
    """`people`, or a model."""
    named: int
    answers: int
    others: tuple[str, ...] = ()
    """Wrong names, most frequent first."""

    @property
    def share(self) -> float:
        """The share of answers that name it."""
        return self.named / self.answers if self.answers else 0.0


class Naming(Struct, frozen=True, kw_only=True):
    """What a count found."""

    actions: tuple[NamedAction, ...]
    least: float
    """The share below which an action is doubtful."""
    notes: tuple[str, ...] = ()

    @property
    def doubtful(self) -> tuple[NamedAction, ...]:
        """The actions that too few answers of a source name."""
        return tuple(entry for entry in self.actions if entry.answers and entry.share < self.least)


def choose_variant(folder: Path, variant: str | None) -> str:
    """A variant of a rendered folder by name; its first, without one."""
    names = [entry.name for entry in read_edition(folder).specification.shown]
    if variant is None:
        return names[0]
    if variant not in names:
        raise unknown_name_error("variant", variant, names)
    return variant


def make_naming_study(
    folder: Path, out: Path, variant: str, *, people: int = 5, seed: int = 0
) -> NewStudy | None:
    """The blind study of a rendered folder's clips below `out`; None where there is one already.

    Raises where clips are missing, or where `out` is about others: of another variant, or since rendered anew.

    Args:
        folder: What `vivant build mime render` made.
        out: Where everything about the naming lies.
        variant: The clips to show.
        people: Answers wanted of each clip.
        seed: Of the orders.
    """
    _record_clips(folder, out, variant)
    if (out / STUDY).exists():
        return None
    return load_people_hook().make(
        out / STUDY,
        kind="free-then-mcq",
        origin=("mime",),
        data=(str(folder),),
        where=(f"variant={variant}",),
        seed=seed,
        judgements_per_item=people,
        languages=("en",),
        title="What is mimed?",
        question=_QUESTION,
        copy=True,
    )


def _record_clips(folder: Path, out: Path, variant: str) -> None:
    """Write which clips `out` is about, or refuse others than those."""
    files = [shot.file for shot in read_edition(folder).shots if shot.variant == variant]
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"{folder}: {missing[0]} is missing, with {len(missing) - 1} more of {len(files)} clips; "
            "`vivant build mime render` makes them"
        )
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    current = NamedClips(variant, hashes)
    record = out / CLIPS
    if not record.is_file():
        write_text(record, msgspec.json.format(msgspec.json.encode(current), indent=1).decode() + "\n")
        return
    try:
        earlier = msgspec.json.decode(record.read_bytes(), type=NamedClips)
    except msgspec.DecodeError as error:
        raise DataError(f"{record} is broken ({error}); name another folder with --out") from None
    if earlier.variant != variant:
        raise UsageError(
            f"{out} is about the clips of '{earlier.variant}', not of '{variant}'; name another folder with --out"
        )
    changed = sorted(name for name in earlier.clips | hashes if earlier.clips.get(name) != hashes.get(name))
    if changed:
        raise UsageError(
            f"{out} is about other clips than {folder} has now: {len(changed)} differ, the first is {changed[0]}; "
            "name another folder with --out"
        )


def name_model_folder(out: Path, model: str) -> Path:
    """Where a model's run lies."""
    return out / MODELS / re.sub(r"[^\w.-]+", "-", model).strip("-")


def count_names(folder: Path, out: Path, *, least: float = 0.5) -> Naming:
    """Count the answers of people and models that are there, action by action.

    Args:
        folder: The rendered clips.
        out: Where the study and the runs lie.
        least: The share of right names below which an action is doubtful.
    """
    if not 0 <= least <= 1:
        raise UsageError(f"--least is a share from 0 to 1, not {least:g}")
    samples = {sample.id: sample for sample in Mime().load(folder, TASK)}
    notes: list[str] = []
    actions: list[NamedAction] = []
    if (out / STUDY).is_dir():
        actions += _count_people(out / STUDY, samples, notes)
    runs = sorted(path for path in (out / MODELS).glob("*") if (path / "manifest.json").is_file())
    for run in runs:
        actions += _count_run(run, samples, notes)
    return Naming(actions=tuple(actions), least=least, notes=tuple(notes))


def _count_people(study: Path, samples: dict[str, Sample], notes: list[str]) -> list[NamedAction]:
    texts = load_people_hook().read_free_answers(study)
    if texts is None:
        notes.append(f"nobody has answered yet; `vivant study serve {study}` asks them")
        return []
    answers = [(samples[entry.sample], entry.text) for entry in texts if entry.sample in samples]
    unknown = len(texts) - len(answers)
    if unknown:
        notes.append(f"{unknown} answers are about clips that the folder no longer has, and are set aside")
    if not answers:
        notes.append("nobody has named a clip yet")
        return []
    return _gather("people", _match(answers, samples))


def _match(
    answers: Sequence[tuple[Sample, str]], samples: dict[str, Sample]
) -> list[tuple[Sample, str, bool]]:
    """Whether each answer means a label, by the similarity that free-form scoring uses.

    Beyond that scoring, an answer that is nearer to another action of the folder names that one: "jumping rope" is
    similar enough to "climbing" to pass there.
    """
    from vivant.metrics.similarity import best_similarity

    labels = {sample.facets["action"]: sample.answers for sample in samples.values()}
    texts = [answer for _, answer in answers]
    own = best_similarity(texts, [sample.answers for sample, _ in answers])
    others = [
        [label for action, group in labels.items() if action != sample.facets["action"] for label in group]
        for sample, _ in answers
    ]
    nearest = best_similarity(texts, others) if len(labels) > 1 else [0.0] * len(texts)
    return [
        (sample, text, float(mine) >= SETTINGS["threshold"] and float(mine) >= float(other))
        for (sample, text), mine, other in zip(answers, own, nearest, strict=True)
    ]


def _count_run(path: Path, samples: dict[str, Sample], notes: list[str]) -> list[NamedAction]:
    from vivant.runs.run import load_run

    run = load_run(path)
    answers: list[tuple[Sample, str]] = []
    failed = 0
    scores = [score for scored in run.scores() if scored.task == TASK for *_, score in scored.rows]
    for score in scores:
        sample = samples.get(score.id)
        if sample is None:
            continue
        if score.value is None:
            failed += 1
            continue
        answers.append((sample, str(score.answer or "")))
    if failed:
        notes.append(f"{run.model}: {failed} clips have no answer that could be scored, and are set aside")
    return _gather(run.model, _match(answers, samples))


def _gather(source: str, rows: Sequence[tuple[Sample, str, bool]]) -> list[NamedAction]:
    groups: dict[str, list[tuple[Sample, str, bool]]] = {}
    for row in rows:
        groups.setdefault(row[0].facets["action"], []).append(row)
    entries = []
    for action, group in sorted(groups.items()):
        wrong = [answer.strip().lower() for _, answer, right in group if not right and answer.strip()]
        others = sorted(set(wrong), key=lambda answer: (-wrong.count(answer), answer))
        entries.append(
            NamedAction(
                action=action,
                label=group[0][0].answers[0],
                source=source,
                named=sum(right for *_, right in group),
                answers=len(group),
                others=tuple(others[:3]),
            )
        )
    return entries


def build_naming_table(naming: Naming) -> Table:
    """The count as a table: an action a row, the least named first."""
    if not naming.actions:
        raise DataError("There are no answers yet: let people answer the study, or name a model with --model")
    rows = []
    for entry in sorted(naming.actions, key=lambda entry: (entry.source, entry.share, entry.action)):
        interval = wilson(entry.named, entry.answers).scale(100)
        rows.append(
            (
                entry.source,
                entry.action,
                entry.label,
                f"{entry.named} of {entry.answers}",
                f"{interval.low:.0f} – {interval.high:.0f}",
                "doubtful" if entry in naming.doubtful else "",
                "; ".join(entry.others),
            )
        )
    return Table(
        title="Named",
        columns=("by", "action", "label", "named", "95 % interval", "", "taken for"),
        body=tuple(rows),
        notes=naming.notes,
        optional=("taken for", "95 % interval"),
        kept=2,
    )
