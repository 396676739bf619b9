"""The step audit: how far each task can be guessed without the video, before and after drawing again.

A task is as guessable as its best guesser is right, told with a Wilson interval that is corrected for the number of
comparisons (Bonferroni over guessers and tasks). Where its lower end is above 25 %, the task gives something away. With
`redraw`, wrong options of such a task are drawn again by the same rules until it does not; a task that always does
keeps its best draw and is named. Comment popularity keeps its published ranks: what is drawn for it is a variant in a
file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic.format import ITEMS, MimicItem, iter_items
from vivant.benchmarks.mimic.names import OWN
from vivant.core.errors import DataError
from vivant.core.files import write_jsonl
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.table import Cell, Table, to_markdown
from vivant.runs.settings import digest
from vivant_build.mimic.blind_guessers import (
    CHANCE,
    GUESSERS,
    GuesserResult,
    Picks,
    detectable_advantage,
    find_best_guesser,
    find_solved,
    guess,
    guess_quickly,
    score_guessers,
)
from vivant_build.mimic.database import connect
from vivant_build.mimic.distributions import draw_distributions
from vivant_build.mimic.items import ItemMaker
from vivant_build.mimic.notes import count_noun
from vivant_build.mimic.option_classifier import OptionClassifier
from vivant_build.mimic.overlap import TextOverlap, find_overlaps
from vivant_build.mimic.practice_items import RankingPractice, make_practice_items, sample_practice
from vivant_build.mimic.rank_matching import VARIANT, PopularityScores, RankMatcher
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.steps import BuildStep, begin_step, read_record
from vivant_build.mimic.tasks import read_bench_videos
from vivant_build.mimic.vectors import TextEncoder, VectorStore

STEP = "audit"
REPORT = "audit.json"
VARIANT_ITEMS = f"items-{VARIANT}.jsonl"
_DEALERS = 2
"""Classifiers that deal: the second learns from what the first has dealt. A third found nothing more."""


class TaskAudit(Struct, frozen=True, kw_only=True):
    """One task: its items as they are, and what guessers make of them."""

    items: tuple[MimicItem, ...]
    results: tuple[GuesserResult, ...]
    solved: tuple[str, ...]
    """Items that all solvers get right."""

    @property
    def passes(self) -> bool:
        """Whether chance explains every guesser."""
        return all(result.passes for result in self.results)

    @property
    def worst(self) -> float:
        """How far the best guesser is above chance for certain."""
        return max((result.floor for result in self.results), default=0.0)


class AuditReport(Struct, frozen=True, kw_only=True):
    """`audit.json`."""

    before: tuple[GuesserResult, ...]
    after: tuple[GuesserResult, ...]
    draws: dict[str, int]
    """Which draw each task ended with; 0 is the first."""
    failing: tuple[str, ...]
    """Tasks that give something away, after everything."""
    solved: tuple[str, ...]
    dropped: tuple[str, ...]
    practised: dict[str, int]
    overlaps: tuple[TextOverlap, ...]
    variant: tuple[GuesserResult, ...] = ()
    """Guessers on comment popularity as matched; empty where it was not drawn."""
    variant_practised: int = 0
    level: float = 0.95
    """Of the intervals `low` to `high`."""


def audit(
    work: Path,
    settings: PipelineSettings,
    progress: ProgressCallback = ignore_progress,
    *,
    redraw: bool = False,
    drop: bool = False,
    force: bool = False,
    encoder: TextEncoder | None = None,
) -> BuildStep:
    """Look at the items as one who sees only options; writes `items.jsonl` as they are to be published."""
    parameters = {
        "audit": msgspec.to_builtins(settings.audit),
        "seed": settings.seed,
        "redraw": redraw,
        "drop": drop,
    }
    with begin_step(work, STEP, ["clean", "split", "tasks"], parameters, version=5, force=force) as step:
        if not step.done:
            _audit(work, settings, progress, step, redraw, drop, VectorStore(work, progress, encoder))
            practised, asked = len(sample_practice(work, settings)), settings.audit.practice
            if practised < asked:
                step.note(
                    f"the classifier practised on {count_noun(practised, 'video')}, all there are for training; "
                    f"audit.practice is {asked:,}"
                )
    return step


def _audit(
    work: Path,
    settings: PipelineSettings,
    progress: ProgressCallback,
    step: BuildStep,
    redraw: bool,
    drop: bool,
    store: VectorStore,
) -> None:
    first = _read_first_draw(work, settings, step)
    learned = {
        task: OptionClassifier(items) for task, items in make_practice_items(work, settings, progress).items()
    }
    ranking = RankingPractice(work, settings) if OWN in settings.tasks.tasks else None
    if ranking is not None:
        learned[OWN] = OptionClassifier(ranking.make_judging())
    auditor = _Auditor(settings, store, learned)
    before = {task: auditor.audit_items(items) for task, items in first.items()}
    drawn, draws = dict(before), dict.fromkeys(before, 0)
    failing = [task for task, audited in before.items() if not audited.passes and task != OWN]
    matched, variant_practised = None, 0
    if redraw and (failing or ranking is not None):
        maker = ItemMaker(read_bench_videos(work, settings), settings.tasks, settings.seed, store)
        for number, task in enumerate(failing):
            progress(number, len(failing), f"tasks drawn again; now {task}")
            drawn[task], draws[task] = auditor.draw_again(maker, task, before[task])
        if ranking is not None and before[OWN].items:
            progress(len(failing), len(failing) + 1, f"tasks drawn again; now {OWN}, {VARIANT}")
            matched, variant_practised = auditor.draw_matched(maker, ranking)
    solved = [name for audited in drawn.values() for name in audited.solved]
    after = drawn
    if drop:
        after = {
            task: auditor.audit_items([item for item in audited.items if item.id not in set(audited.solved)])
            for task, audited in drawn.items()
        }
        if matched is not None:
            kept = [item for item in matched.items if item.id not in set(matched.solved)]
            matched = auditor.audit_items(kept, auditor.matched_judge)
    with connect(work, settings.memory, settings.workers) as connection:
        overlaps = find_overlaps(connection, work)
        items = [item for audited in after.values() for item in audited.items]
        if not draw_distributions(connection, work, step.folder / "figures", items):
            step.note("no figures of the distributions: pip install 'vivant[figures]'")
    report = AuditReport(
        before=tuple(result for audited in before.values() for result in audited.results),
        after=tuple(result for audited in after.values() for result in audited.results),
        draws=draws,
        failing=tuple(task for task, audited in after.items() if not audited.passes),
        solved=tuple(solved),
        dropped=tuple(solved) if drop else (),
        practised={task: result.practised for task, result in learned.items()},
        overlaps=tuple(overlaps),
        variant=matched.results if matched else (),
        variant_practised=variant_practised,
        level=settings.audit.level,
    )
    _write(step, report, drawn, after, matched)


def _read_first_draw(work: Path, settings: PipelineSettings, step: BuildStep) -> dict[str, list[MimicItem]]:
    """The items of the step tasks, task by task; they must be of the tasks that the settings name."""
    first: dict[str, list[MimicItem]] = {task: [] for task in settings.tasks.tasks}
    if digest(read_record(work, "tasks").parameters["tasks"]) != digest(msgspec.to_builtins(settings.tasks)):
        raise step.fail(
            "the section tasks of the settings is not that of the step tasks; run tasks again with these settings"
        )
    for _, item in iter_items(work / "tasks"):
        first[item.task].append(item)
    return first


class _Auditor:
    def __init__(
        self, settings: PipelineSettings, store: VectorStore, learned: dict[str, OptionClassifier]
    ) -> None:
        self._settings = settings.audit
        self._store = store
        self._learned = learned
        self._comparisons = len(GUESSERS) * len(settings.tasks.tasks)
        self.matched_judge: OptionClassifier | None = None

    def audit_items(self, items: Sequence[MimicItem], judge: OptionClassifier | None = None) -> TaskAudit:
        """What guessers make of the items of one task."""
        if not items:
            return TaskAudit(items=(), results=(), solved=())
        picks = guess(items, self._store, judge or self._learned[items[0].task])
        return TaskAudit(
            items=tuple(items),
            results=tuple(self._score(items, picks)),
            solved=tuple(find_solved(items, picks)),
        )

    def draw_matched(self, maker: ItemMaker, practice: RankingPractice) -> tuple[TaskAudit, int]:
        """Comment popularity with matched options, judged by a classifier that learnt from such options elsewhere."""
        slack = self._settings.rank_slack
        dealt = practice.make_dealing()
        scores = PopularityScores(dealt)
        scores.add(OptionClassifier(dealt))
        # What a classifier finds in options that the first has dealt, the next one deals with.
        while len(scores) < _DEALERS:
            scores.add(OptionClassifier(practice.make_dealing(RankMatcher(scores, slack))))
        self.matched_judge = OptionClassifier(practice.make_judging(RankMatcher(scores, slack)))
        items = maker.make(OWN, 0, RankMatcher(scores, slack)).items
        return self.audit_items(items, self.matched_judge), self.matched_judge.practised

    def draw_again(self, maker: ItemMaker, task: str, first: TaskAudit) -> tuple[TaskAudit, int]:
        """The first draw that passes, or the best of all, and its number.

        MiniLM reads no draw that quick guessers have shown to fail, unless none passes and the best is looked for.
        """
        failed: list[tuple[float, int, tuple[MimicItem, ...]]] = []
        best, number = first, 0
        for attempt in range(1, self._settings.redraws + 1):
            items = maker.make(task, attempt).items
            if len(items) < len(first.items):
                continue
            quick = max(
                result.floor for result in self._score(items, guess_quickly(items, self._learned[task]))
            )
            if quick > CHANCE:
                failed.append((quick, attempt, items))
                continue
            audited = self.audit_items(items)
            if audited.worst < best.worst:
                best, number = audited, attempt
            if audited.passes:
                return audited, attempt
        for quick, attempt, items in sorted(failed, key=lambda result: result[:2]):
            if quick >= best.worst:
                break
            audited = self.audit_items(items)
            if audited.worst < best.worst:
                best, number = audited, attempt
        return best, number

    def _score(self, items: Sequence[MimicItem], picks: Mapping[str, Picks]) -> list[GuesserResult]:
        return score_guessers(items, picks, self._comparisons, self._settings.level)


# ── telling ──


def audit_table(results: Sequence[GuesserResult], title: str, level: float) -> Table:
    """Tasks down, guessers across: percent right with its interval; ✗ where it is more than chance."""
    by_task: dict[str, dict[str, GuesserResult]] = {}
    for result in results:
        by_task.setdefault(result.task, {})[result.guesser] = result
    body: list[tuple[Cell, ...]] = []
    for task, of_task in by_task.items():
        n = next(iter(of_task.values())).n
        cells = [_cell(of_task[name]) if name in of_task else "–" for name in GUESSERS]
        body.append((task, n, *cells, format_guessability(list(of_task.values()))))
    smallest = min((result.n for result in results), default=0)
    return Table(
        title=title,
        columns=("task", "items", *GUESSERS, "guessable"),
        body=tuple(body),
        notes=(
            f"Percent right with {100 * level:g} % intervals; chance is 25. guessable: the best guesser, with an "
            "interval corrected for the number of comparisons; ✗ where even its lower end is above chance.",
            f"The smallest task could have shown an advantage of {100 * detectable_advantage(smallest):.1f} points.",
        ),
    )


def format_guessability(results: Sequence[GuesserResult]) -> str:
    """The best guesser's share in percent, with its corrected interval."""
    best = find_best_guesser(results)
    if best is None:
        return "–"
    mark = "" if all(result.passes for result in results) else " ✗"
    return f"{100 * best.share:.1f} [{100 * best.floor:.1f}, {100 * best.ceiling:.1f}]{mark}"


def _tables(report: AuditReport) -> list[Table]:
    tables = [audit_table(report.before, "Options alone, as first drawn", report.level)]
    if any(report.draws.values()) or report.dropped:
        tables.append(audit_table(report.after, "Options alone, as published", report.level))
    if report.variant:
        title = f"Options alone, {OWN} as {VARIANT} ({VARIANT_ITEMS})"
        table = audit_table(report.variant, title, report.level)
        learnt = f"Its classifier learnt from {report.variant_practised:,} questions with options of the same kind."
        tables.append(msgspec.structs.replace(table, notes=(*table.notes, learnt)))
    return tables


def report_tables(work: Path) -> list[Table]:
    """The tables of a finished audit: before, and after where something was drawn again or dropped."""
    return _tables(read_report(work))


def read_report(work: Path) -> AuditReport:
    """`audit.json` of a finished audit."""
    path = work / STEP / REPORT
    try:
        return msgspec.json.decode(path.read_bytes(), type=AuditReport)
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(f"{path} cannot be read ({error}); run the step audit again with --force") from error


def _cell(result: GuesserResult) -> str:
    mark = "" if result.passes else " ✗"
    return f"{100 * result.share:.1f} [{100 * result.low:.1f}, {100 * result.high:.1f}]{mark}"


def _write(
    step: BuildStep,
    report: AuditReport,
    drawn: dict[str, TaskAudit],
    after: dict[str, TaskAudit],
    matched: TaskAudit | None,
) -> None:
    write_jsonl(step.folder / ITEMS, [item for audited in after.values() for item in audited.items])
    if matched is not None:
        variant = {**after, OWN: matched}
        write_jsonl(
            step.folder / VARIANT_ITEMS, [item for audited in variant.values() for item in audited.items]
        )
    (step.folder / REPORT).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    text = "\n".join(to_markdown(table) for table in _tables(report))
    (step.folder / "audit.md").write_text(text, encoding="utf-8")
    (step.folder / "solved.txt").write_text("".join(f"{name}\n" for name in report.solved), encoding="utf-8")
    write_jsonl(step.folder / "overlaps.jsonl", report.overlaps)
    for task, audited in drawn.items():
        into, out = len(audited.items), len(after[task].items)
        step.count(f"{task} items", into=into, out=out, why={"solved by every guesser": into - out})
    if matched is not None:
        step.count(f"{OWN} items, {VARIANT}", out=len(matched.items))
    for task, number in report.draws.items():
        if number:
            step.note(f"{task}: drawn again, draw {number} stands")
    step.note(f"{count_noun(len(report.solved), 'item')} solved by every guesser: solved.txt")
    step.note(
        f"{count_noun(len(report.overlaps), 'text')} word for word on both sides of the split: overlaps.jsonl"
    )
    for sentence in describe_guessability(report):
        step.note(sentence)


def describe_guessability(report: AuditReport, variant: str = VARIANT_ITEMS) -> list[str]:
    """How far the tasks can be guessed from options alone, in sentences. `variant` says where the variant is."""
    by_task: dict[str, list[GuesserResult]] = {}
    for result in report.after:
        by_task.setdefault(result.task, []).append(result)
    sentences = []
    told = {task: format_guessability(results).removesuffix(" ✗") for task, results in by_task.items()}
    others = [task for task in by_task if task not in report.failing]
    if others:
        most = max(others, key=lambda task: max(result.share for result in by_task[task]))
        sentences.append(
            f"Of {', '.join(others)} the most guessable from options alone is {most}: {told[most]} %, which chance "
            "(25) explains"
        )
    for task in report.failing:
        remedy = (
            f"compare scores with that, not with 25; with --redraw the variant {VARIANT} is written beside it"
            if task == OWN
            else "try --redraw, then --drop, or leave the task out (tasks.tasks)"
        )
        sentences.append(f"GUESSABLE: {task}, {told[task]} % from options alone: {remedy}")
    if report.variant:
        sentences.append(
            f"{OWN}, {VARIANT}: guessable in {format_guessability(report.variant).removesuffix(' ✗')} % "
            f"({variant})"
        )
    return sentences
