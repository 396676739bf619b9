"""The step audit: what can be solved without the video, before and after drawing again; and what is in it.

A task passes if chance explains every guesser: the lower end of its Wilson interval, corrected for the number of
looks (Bonferroni over guessers and tasks), is not above 25 %. With `redraw`, wrong options of a task that fails are
drawn again by the same rules until it passes; a task that never does keeps its best draw and is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic.format import ITEMS, MimicItem, iter_items
from vivant.benchmarks.mimic.names import OWN
from vivant.build.mimic.blind_guessers import (
    CHANCE,
    GUESSERS,
    Look,
    Picks,
    detectable,
    guess,
    guess_quickly,
    look,
    solved_by_all,
)
from vivant.build.mimic.database import connect
from vivant.build.mimic.distributions import draw_distributions
from vivant.build.mimic.items import Maker
from vivant.build.mimic.option_classifier import Learned
from vivant.build.mimic.overlap import Overlap, find_overlaps
from vivant.build.mimic.popularity import Even, Near
from vivant.build.mimic.practice import dealing_practice, practice
from vivant.build.mimic.settings import Settings
from vivant.build.mimic.steps import Step, begin
from vivant.build.mimic.tasks import read_bench
from vivant.build.mimic.vectors import Encoder, VectorStore
from vivant.core.errors import DataError
from vivant.core.files import write_jsonl
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.table import Cell, Table, to_markdown

STEP = "audit"
REPORT = "audit.json"
_MADE_SO = (
    f"{OWN} was dealt out anew by this classifier's own scores: its figure there shows that it could be done, "
    "not what another classifier would find."
)


class Audited(Struct, frozen=True, kw_only=True):
    """One task: its items as they are, and what guessers make of them."""

    items: tuple[MimicItem, ...]
    looks: tuple[Look, ...]
    solved: tuple[str, ...]
    """Items that all solvers get right."""

    @property
    def passes(self) -> bool:
        """Whether chance explains every guesser."""
        return all(one.passes for one in self.looks)

    @property
    def worst(self) -> float:
        """How far the best guesser is above chance for certain."""
        return max((one.floor for one in self.looks), default=0.0)


class Report(Struct, frozen=True, kw_only=True):
    """`audit.json`."""

    before: tuple[Look, ...]
    after: tuple[Look, ...]
    draws: dict[str, int]
    """Which draw each task ended with; 0 is the first."""
    failing: tuple[str, ...]
    """Tasks that give something away, after everything."""
    solved: tuple[str, ...]
    dropped: tuple[str, ...]
    practised: dict[str, int]
    overlaps: tuple[Overlap, ...]


def audit(
    work: Path,
    settings: Settings,
    progress: ProgressCallback = ignore_progress,
    *,
    redraw: bool = False,
    drop: bool = False,
    force: bool = False,
    encoder: Encoder | None = None,
) -> Step:
    """Look at the items as one who sees only options; writes `items.jsonl` as they are to be published."""
    parameters = {
        "audit": msgspec.to_builtins(settings.audit),
        "seed": settings.seed,
        "redraw": redraw,
        "drop": drop,
    }
    with begin(work, STEP, ["clean", "split", "tasks"], parameters, version=2, force=force) as step:
        if not step.done:
            _audit(work, settings, progress, step, redraw, drop, VectorStore(work, progress, encoder))
    return step


def _audit(
    work: Path,
    settings: Settings,
    progress: ProgressCallback,
    step: Step,
    redraw: bool,
    drop: bool,
    store: VectorStore,
) -> None:
    first: dict[str, list[MimicItem]] = {task: [] for task in settings.tasks.tasks}
    for _, item in iter_items(work / "tasks"):
        first[item.task].append(item)
    learned = {task: Learned(items) for task, items in practice(work, settings, progress).items()}
    auditor = _Auditor(work, settings, store, learned)
    before = {task: auditor.look_at(items) for task, items in first.items()}
    after, draws = dict(before), dict.fromkeys(before, 0)
    failing = [task for task, found in before.items() if not found.passes]
    if redraw and failing:
        maker = Maker(read_bench(work, settings), settings.tasks, settings.seed, store)
        for number, task in enumerate(failing):
            progress(number, len(failing), f"tasks drawn again; now {task}")
            after[task], draws[task] = auditor.draw_again(maker, task, before[task])
    solved = [name for found in after.values() for name in found.solved]
    dropped: list[str] = []
    if drop:
        dropped = solved
        after = {
            task: auditor.look_at([item for item in found.items if item.id not in set(found.solved)])
            for task, found in after.items()
        }
    with connect(work, settings.memory, settings.workers) as connection:
        overlaps = find_overlaps(connection, work)
        draw_distributions(
            connection, work, step.folder / "figures", [i for f in after.values() for i in f.items]
        )
    report = Report(
        before=tuple(one for found in before.values() for one in found.looks),
        after=tuple(one for found in after.values() for one in found.looks),
        draws=draws,
        failing=tuple(task for task, found in after.items() if not found.passes),
        solved=tuple(solved),
        dropped=tuple(dropped),
        practised={task: one.practised for task, one in learned.items()},
        overlaps=tuple(overlaps),
    )
    _write(step, report, before, after)


class _Auditor:
    def __init__(
        self, work: Path, settings: Settings, store: VectorStore, learned: dict[str, Learned]
    ) -> None:
        self._work = work
        self._all = settings
        self._settings = settings.audit
        self._store = store
        self._learned = learned
        self._looks = len(GUESSERS) * len(settings.tasks.tasks)

    def look_at(self, items: Sequence[MimicItem]) -> Audited:
        """What guessers make of the items of one task."""
        if not items:
            return Audited(items=(), looks=(), solved=())
        picks = guess(items, self._store, self._learned[items[0].task])
        return Audited(
            items=tuple(items),
            looks=tuple(self._look(items, picks)),
            solved=tuple(solved_by_all(items, picks)),
        )

    def draw_again(self, maker: Maker, task: str, found: Audited) -> tuple[Audited, int]:
        """The first draw that passes, or the best of all, and its number.

        MiniLM reads no draw that quick guessers have shown to fail, unless none passes and the best is looked for.
        """
        failed: list[tuple[float, int, tuple[MimicItem, ...]]] = []
        best, number = found, 0
        for attempt in range(1, self._settings.redraws + 1):
            items = maker.make(task, attempt, self._near(task, attempt)).items
            if len(items) < len(found.items):
                continue
            quick = max(one.floor for one in self._look(items, guess_quickly(items, self._learned[task])))
            if quick > CHANCE:
                failed.append((quick, attempt, items))
                continue
            made = self.look_at(items)
            if made.worst < best.worst:
                best, number = made, attempt
            if made.passes:
                return made, attempt
        for quick, attempt, items in sorted(failed, key=lambda one: one[:2]):
            if quick >= best.worst:
                break
            made = self.look_at(items)
            if made.worst < best.worst:
                best, number = made, attempt
        return best, number

    def _near(self, task: str, attempt: int) -> Near | None:
        """How comments of one video are dealt out: first by the classifier's score, then evenly by length too.

        From then on the score is another classifier's, so that the one that judges has not dealt.
        """
        if task != OWN:
            return None
        if attempt == 1:
            return Near(self._learned[task].score, self._settings.rank_slack)
        return Near(self._dealer.score, self._settings.rank_slack, Even((len, self._dealer.score)))

    @cached_property
    def _dealer(self) -> Learned:
        return Learned(dealing_practice(self._work, self._all))

    def _look(self, items: Sequence[MimicItem], picks: Mapping[str, Picks]) -> list[Look]:
        return look(items, picks, self._looks, self._settings.level)


# ── telling ──


def audit_table(looks: Sequence[Look], title: str) -> Table:
    """Tasks down, guessers across: percent right with its interval; ✗ where it is more than chance."""
    by_task: dict[str, dict[str, Look]] = {}
    for one in looks:
        by_task.setdefault(one.task, {})[one.guesser] = one
    body: list[tuple[Cell, ...]] = []
    for task, found in by_task.items():
        n = next(iter(found.values())).n
        cells = [_cell(found[name]) if name in found else "–" for name in GUESSERS]
        verdict = "yes" if all(one.passes for one in found.values()) else "NO"
        body.append((task, n, *cells, verdict))
    smallest = min((next(iter(found.values())).n for found in by_task.values()), default=0)
    return Table(
        title=title,
        columns=("task", "items", *GUESSERS, "passes"),
        body=tuple(body),
        notes=(
            "Percent right with 95 % intervals; chance is 25. ✗: above chance, corrected for the number of looks.",
            f"The smallest task could have shown an advantage of {100 * detectable(smallest):.1f} points.",
        ),
    )


def _tables(report: Report) -> list[Table]:
    tables = [audit_table(report.before, "Options alone, as first drawn")]
    if any(report.draws.values()) or report.dropped:
        published = audit_table(report.after, "Options alone, as published")
        if report.draws.get(OWN) == 1:
            published = msgspec.structs.replace(published, notes=(*published.notes, _MADE_SO))
        tables.append(published)
    return tables


def show_report(work: Path) -> list[Table]:
    """The tables of a finished audit: before, and after where something was drawn again or dropped."""
    return _tables(read_report(work))


def read_report(work: Path) -> Report:
    """`audit.json` of a finished audit."""
    path = work / STEP / REPORT
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(f"{path} cannot be read ({error}); run the step audit again with --force") from error


def _cell(one: Look) -> str:
    mark = "" if one.passes else " ✗"
    return f"{100 * one.share:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]{mark}"


def _write(step: Step, report: Report, before: dict[str, Audited], after: dict[str, Audited]) -> None:
    write_jsonl(step.folder / ITEMS, [item for found in after.values() for item in found.items])
    (step.folder / REPORT).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    text = "\n".join(to_markdown(table) for table in _tables(report))
    (step.folder / "audit.md").write_text(text, encoding="utf-8")
    (step.folder / "solved.txt").write_text("".join(f"{name}\n" for name in report.solved), encoding="utf-8")
    write_jsonl(step.folder / "overlaps.jsonl", report.overlaps)
    for task, found in before.items():
        kept = len(after[task].items)
        why = {"solved by every guesser": len(found.items) - kept} if report.dropped else {}
        step.count(f"{task} items", into=len(found.items), out=kept, why=why)
    for task, number in report.draws.items():
        if number:
            step.note(f"{task}: drawn again, draw {number} stands")
    step.note(f"{len(report.solved)} items are solved by every guesser: solved.txt")
    step.note(f"{len(report.overlaps)} texts stand word for word on both sides of the split: overlaps.jsonl")
    if report.failing:
        step.note(
            f"NOT PASSED: {', '.join(report.failing)} can be solved above chance from options alone (audit.md); "
            "try --redraw, then --drop, or leave the task out (tasks.tasks)"
        )
    else:
        step.note("Passed: no guesser that sees only the options is above chance in any task (audit.md)")
