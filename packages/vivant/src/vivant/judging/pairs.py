"""Two answers to the same question, compared by a judge in both orders: one unit, so that order cannot decide.

An answer wins where the judge prefers it in both orders, or in one with a tie in the other; where it prefers
whatever stands first (or second), the pair is inconsistent and nobody wins.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.rubric import JudgeContext, JudgeQuestion, Rubric
from vivant.benchmarks.verdict import Contract, Field, Verdict
from vivant.core.errors import MediaError, UsageError
from vivant.core.fenced_text import FencedBlock
from vivant.core.generated_images import PREFIX
from vivant.core.types import Image
from vivant.judging.judge_run import JudgeRequest, JudgeRunner, make_settings
from vivant.judging.options import JudgeOptions
from vivant.media.paths import resolve_media
from vivant.models.registry import create
from vivant.runs.judgements import FOLDER, Judgements, JudgeVerdict
from vivant.runs.run import Run, choose_common_protocol
from vivant.runs.run_scoring import iter_answers
from vivant.runs.settings import digest

logger = logging.getLogger("vivant")
Winner = Literal["first", "second", "tie", "inconsistent", "unparsed"]
CHOICES = ("first", "tie", "second")
_CONTRACT = Contract(fields=(Field(name="Better", choices=CHOICES),))
_ORDERS = (">ab", ">ba")


class PairVerdict(Struct, frozen=True):
    """What came of one comparison: who won, and which place the judge named in each order."""

    key: str
    winner: Winner
    places: tuple[str, ...] = ()
    """`first`, `second` or `tie`, for the order as given and for the order swapped."""


def pair_rubric(rubric: Rubric) -> Rubric:
    """The same criteria, for saying which of two answers meets them better."""
    return Rubric(
        name=f"{rubric.name}-pair",
        role=f"{rubric.role} Here there are two answers to the same question, by two models; compare them.",
        criteria=rubric.criteria,
        scale=(
            "Say which answer meets the criteria better on the whole, or that neither does. Their order and their "
            "length say nothing about them."
        ),
        contract=_CONTRACT,
    )


def decide_winner(forward: str | None, backward: str | None) -> Winner:
    """The winner of a pair from the place named in each order; None where a verdict could not be read."""
    if forward is None or backward is None:
        return "unparsed"
    swapped = {"first": "second", "second": "first", "tie": "tie"}[backward]
    if forward == swapped:
        return forward  # type: ignore[return-value]
    if "tie" in (forward, swapped):
        return swapped if forward == "tie" else forward  # type: ignore[return-value]
    return "inconsistent"


def judge_pairs(
    first: Run, second: Run, options: JudgeOptions, protocol: Protocol | None = None
) -> list[PairVerdict]:
    """Compare two runs' answers to the samples that both answered; resumes like any judging."""
    protocol = choose_common_protocol((first, second), protocol)
    asks = list(_build_requests(first, second, protocol, options))
    if not asks:
        raise UsageError(f"{first.name} and {second.name} have no judged sample in common")
    rubrics = tuple({ask.question.rubric.name: ask.question.rubric for ask in asks}.values())
    model = create(options.model, options.backend_options)
    settings = make_settings(options, model, protocol, rubrics)
    judge = settings.fingerprint()[:8]
    folder = first.dir.path / FOLDER / "pairs" / f"{judge}-{_name_opponent(first, second)}"
    if not folder.exists() and (older := _find_older(first, second, protocol, judge)):
        older[0].path.rename(folder)
    logger.info("Judge %s: %d pairs in both orders → %s", model.name, len(asks) // 2, folder)
    outcome = JudgeRunner(model, settings, folder, _read, options).judge(asks)
    return [] if outcome.stopped else read_pairs(Judgements(folder))


def _name_opponent(run: Run, opponent: Run) -> str:
    """Eight hex digits for the other run of a comparison: its settings, and the way to it, so that both can move."""
    way = os.path.relpath(opponent.dir.path.resolve(), run.dir.path.resolve())
    return digest(opponent.manifest.fingerprint + way)[:8]


def _find_older(run: Run, opponent: Run, protocol: Protocol, judge: str = "*") -> list[Judgements]:
    """Comparisons under the name that all opponents of equal settings and folder names had, if of these answers."""
    found: list[Judgements] = []
    for name in sorted({opponent.name, opponent.dir.path.resolve().name}):
        pattern = f"{judge}-{digest(opponent.manifest.fingerprint + name)[:8]}/judge.json"
        for file in sorted((run.dir.path / FOLDER / "pairs").glob(pattern)):
            judgements = Judgements(file.parent)
            settings = judgements.manifest.settings
            if settings.protocol != protocol:
                continue
            options = JudgeOptions(model="", max_images=settings.max_images)
            # The last message holds the answers; a judge's own wording is in the one before.
            asked = {
                (ask.key, digest(ask.question.messages(again=again)[-1]))
                for ask in _build_requests(run, opponent, protocol, options)
                for again in (False, True)
            }
            if all((key, digest(record.messages[-1])) in asked for key, *_, record in judgements.records()):
                found.append(judgements)
    return found


def _read(text: str, rubric: Rubric) -> Verdict:
    return rubric.contract.read(text)


def read_pairs(judgements: Judgements) -> list[PairVerdict]:
    """The comparisons in a folder; one with a failed request is not among them."""
    by_key = judgements.verdicts(_read)
    keys = dict.fromkeys(
        key.removesuffix(order) for key in by_key for order in _ORDERS if key.endswith(order)
    )
    pairs: list[PairVerdict] = []
    for key in keys:
        verdicts = [by_key.get(key + order, {}).get(0) for order in _ORDERS]
        if any(verdict is None or verdict.error for verdict in verdicts):
            continue
        positions = [_chosen_position(verdict) for verdict in verdicts if verdict is not None]
        pairs.append(
            PairVerdict(
                key, decide_winner(*positions), tuple(position or "unparsed" for position in positions)
            )
        )
    return pairs


def _chosen_position(verdict: JudgeVerdict) -> str | None:
    return str(verdict.verdict.values["Better"]) if verdict.verdict.read else None


def list_pairs(run: Run, protocol: str) -> list[tuple[str, str, list[PairVerdict]]]:
    """Name and fingerprint of the judge and its comparisons, for every comparison kept in a run."""
    folders = sorted((run.dir.path / FOLDER / "pairs").glob("*/judge.json"))
    judges = [Judgements(file.parent) for file in folders]
    return [
        (judgements.manifest.name, judgements.manifest.fingerprint, read_pairs(judgements))
        for judgements in judges
        if judgements.manifest.settings.protocol == protocol
    ]


def find_pairs(first: Run, second: Run, protocol: Protocol) -> list[tuple[str, str, list[PairVerdict]]]:
    """Judge, fingerprint and comparisons of two runs, winners named as these are given, whichever came first."""
    results: list[tuple[str, str, list[PairVerdict]]] = []
    turned: dict[Winner, Winner] = {"first": "second", "second": "first"}
    for run, other, swap in ((first, second, False), (second, first, True)):
        pattern = f"*-{_name_opponent(run, other)}/judge.json"
        files = sorted((run.dir.path / FOLDER / "pairs").glob(pattern))
        stored = [Judgements(file.parent) for file in files]
        for judgements in (*stored, *_find_older(run, other, protocol)):
            if judgements.manifest.settings.protocol != protocol:
                continue
            pairs = read_pairs(judgements)
            if swap:
                pairs = [PairVerdict(p.key, turned.get(p.winner, p.winner), p.places) for p in pairs]
            results.append((judgements.manifest.name, judgements.manifest.fingerprint, pairs))
    return results


def _build_requests(
    first: Run, second: Run, protocol: Protocol, options: JudgeOptions
) -> Iterator[JudgeRequest]:
    """Both orders of every pair. All pictures are named from the folder that holds both runs and their data."""
    tasks = [
        t
        for t in first.manifest.tasks
        if t in second.manifest.tasks and registry.get_by_task(t).task(t).judged
    ]
    for task in tasks:
        base = _common_folder([first, second], task)
        by_run = [dict(_load_questions(run, task, protocol, options, base)) for run in (first, second)]
        for key in by_run[0].keys() & by_run[1].keys():
            answer, rival = by_run[0][key], by_run[1][key]
            for order, (left, right) in zip(_ORDERS, ((answer, rival), (rival, answer)), strict=True):
                question = _pair_question(left, right)
                yield JudgeRequest(
                    key=key + order, task=task, id=key, question=question, root=str(base), run=str(base)
                )


def _pair_question(left: JudgeQuestion, right: JudgeQuestion) -> JudgeQuestion:
    by_name = {material.name: material for material in left.materials}
    second = next(material for material in right.materials if material.name == "answer")
    materials = [
        by_name["question"],
        FencedBlock("first answer", by_name["answer"].parts),
        FencedBlock("second answer", second.parts),
    ]
    if "reference" in by_name:
        materials.append(by_name["reference"])
    return JudgeQuestion(
        rubric=pair_rubric(left.rubric),
        materials=tuple(materials),
        max_tokens=left.max_tokens,
        notes=tuple(dict.fromkeys((*left.notes, *right.notes))),
    )


def _load_questions(
    run: Run, task: str, protocol: Protocol, options: JudgeOptions, base: Path
) -> Iterator[tuple[str, JudgeQuestion]]:
    benchmark = registry.get_by_task(task)
    root = Path(run.manifest.roots.get(task, ""))
    context = JudgeContext(protocol=protocol, root=root, run=run.dir.path, max_images=options.max_images)
    for sample, record in iter_answers(task, run.dir.samples(), run.records(), protocol):
        question = benchmark.judged.ask(sample, record, context)
        if isinstance(question, JudgeQuestion) and record.repeat == 0:
            rubric = question.rubric.reword(options.prompts)
            moved = tuple(_rebase_material(material, context, base) for material in question.materials)
            yield record.key, msgspec.structs.replace(question, rubric=rubric, materials=moved)


def _rebase_material(material: FencedBlock, context: JudgeContext, base: Path) -> FencedBlock:
    parts = (
        Image(_rebase_path(part.path, context, base)) if isinstance(part, Image) else part
        for part in material.parts
    )
    return FencedBlock(material.name, tuple(parts))


def _rebase_path(path: str, context: JudgeContext, base: Path) -> str:
    inside = path.startswith(PREFIX)
    try:
        real = resolve_media(context.run if inside else context.root, path.removeprefix(PREFIX))
    except MediaError:
        return path
    return os.path.relpath(real, base)


def _common_folder(runs: Sequence[Run], task: str) -> Path:
    folders = [os.path.realpath(run.dir.path) for run in runs]
    folders += [os.path.realpath(run.manifest.roots.get(task, run.dir.path)) for run in runs]
    return Path(os.path.commonpath(folders))
