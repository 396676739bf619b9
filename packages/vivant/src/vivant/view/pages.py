"""From indexes to pages: the values of each template. Templates escape everything."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from vivant.core.errors import VivantError
from vivant.core.table import format_cell
from vivant.reporting.score_matrix import classify_model
from vivant.view.breakdown import Breakdown, Confusion, find_confusion, list_breakdowns
from vivant.view.catalog import RunEntry
from vivant.view.context import BusyError, NotFoundError, ViewerContext, list_problems, read_state
from vivant.view.corrected import build_home_correction
from vivant.view.home import (
    build_home_matrix,
    count_states,
    describe_cell,
    draw_bar,
    list_differing,
    list_lines,
    list_published_lines,
    list_run_notes,
    list_stopped,
    list_unfinished,
    sort_lines,
)
from vivant.view.joint import (
    MOST,
    JointIndex,
    JointKind,
    count_kinds,
    list_joint_page,
    list_kinds,
    list_tasks,
)
from vivant.view.links import Links
from vivant.view.outcomes import OUTCOMES
from vivant.view.query import (
    HITS,
    PAGE,
    SORTS,
    SampleFilter,
    find_neighbours,
    find_row,
    list_kin,
    list_page,
    load_rows,
    row_facets,
)
from vivant.view.run_status import STATES, describe_status, format_seconds
from vivant.view.sample_view import ListedSample, SampleViews, build_line
from vivant.view.summary import find_stopped
from vivant.web.pages import page_environment

_BESIDE = 20
"""Other runs that the page of a sample names."""


class ViewerPages:
    """Renders; raises VivantError where there is nothing to show."""

    def __init__(self, context: ViewerContext, links: Links | None = None) -> None:
        self._context = context
        self._links = links or Links()
        self._views = SampleViews(context, self._links)
        self._templates = page_environment("vivant.view")
        self._templates.globals.update(
            url=urlencode,
            link=self._links,
            outcomes=OUTCOMES,
            draw_bar=draw_bar,
            describe_cell=describe_cell,
            classify_model=classify_model,
            format_seconds=format_seconds,
            states_of_runs=STATES,
        )

    def _render(self, name: str, **values: Any) -> str:
        values.setdefault("live", "")
        root = self._context.catalog.root
        return self._templates.get_template(name).render(
            protocol=self._context.protocol or "",
            root=root.resolve().name if self._links.is_export else str(root),
            **values,
        )

    # ── all runs ──

    def home(self, params: Mapping[str, str]) -> str:
        """The matrix of scores."""
        version = self.version(())  # before anything is read: what comes later is news
        lines = list_lines(self._context)
        published = params.get("published") == "1"
        matrix, figures = build_home_matrix(self._context, lines, published=published)
        corrected, problem = build_home_correction(self._context, [line.run for line in lines])
        return self._render(
            "home.html",
            matrix=matrix,
            corrected=corrected,
            correction_problem=problem,
            format_cell=format_cell,
            notes=figures.notes,
            published=published,
            other_editions=[
                benchmark.title for benchmark in matrix.benchmarks if benchmark.name in figures.other_editions
            ],
            published_lines=list_published_lines(matrix, figures.other_editions) if published else {},
            reading=[line for line in lines if line.share is not None],
            problems=[line for line in lines if line.problem],
            running=[line for line in lines if line.status is not None and line.status.is_running],
            unfinished=list_unfinished(lines),
            stopped=list_stopped(lines),
            run_notes=list_run_notes(lines),
            states=count_states(lines),
            total=len(lines),
            names={line.run.rid: line.run.name for line in lines},
            empty=not lines,
            live=self._links.state(),
            version=version,
        )

    def runs(self, params: Mapping[str, str]) -> str:
        """The list of runs, filtered and sorted."""
        version = self.version(())
        words = params.get("q", "").casefold().split()
        state = params.get("status", "")
        lines = [
            line
            for line in list_lines(self._context)
            if all(word in _describe_run(line.run) for word in words)
            and (not state or (line.status is not None and line.status.state == state))
        ]
        return self._render(
            "runs.html",
            lines=sort_lines(lines, params.get("sort", "")),
            differing=list_differing(lines),
            costs=any(line.status is not None and line.status.cost for line in lines),
            params=params,
            live=self._links.state(),
            version=version,
        )

    def version(self, rids: Sequence[str]) -> str:
        """What changes whenever a page over these runs would; of all runs where none is named."""
        runs = [self._context.find_run(rid) for rid in rids] if rids else self._context.catalog.runs()
        states: list[str] = []
        for run in runs:
            if run.manifest is None:
                states.append(f"{run.rid}|{run.problem}")
                continue
            try:
                summary, state = self._context.summary_and_state(run, 0.02)
                states.append(f"{run.rid}|{state}|{describe_status(run, summary).state}")
            except BusyError as busy:
                states.append(f"{run.rid}|{busy.share:.1f}")
            except VivantError as error:
                states.append(f"{run.rid}|{error}")
        return hashlib.sha256("\n".join(states).encode("utf-8", "replace")).hexdigest()[:16]

    # ── one run ──

    def samples(self, run: RunEntry, params: Mapping[str, str], size: int = PAGE) -> str:
        """A page of a run's samples."""
        version = self.version([run.rid])
        selected = SampleFilter.parse(params)
        with self._context.open(run) as db:
            selection, total = self._context.select(run, db, selected)
            last = max(1, -(-total // size))
            number = min(max(1, _int(params.get("page"), 1)), last)
            rows = list_page(db, selection, number, total, size)
            summary = self._context.summary(run)
            return self._render(
                "samples.html",
                run=run,
                selected=selected,
                lines=[build_line(details) for details in self._context.load_details(run, rows)],
                total=total,
                number=number,
                last=last,
                facets=self._context.facets(run, db, selected.task),
                summary=summary,
                status=describe_status(run, summary),
                problems=list_problems(db),
                common=HITS if selection.is_cut else 0,
                sorts=SORTS,
                others=self._list_others(run),
                address=selected.address,
                live=self._links.state([run.rid]),
                version=version,
            )

    def sample(self, run: RunEntry, params: Mapping[str, str]) -> str:
        """One sample in full."""
        selected = SampleFilter.parse(params)
        with self._context.open(run) as db:
            row = self._context.find_row(db, run, params.get("key", ""))
            before, after = find_neighbours(db, self._context.select(run, db, selected)[0], row["n"])
            (details,) = self._context.load_details(run, [row])
            kin = [build_line(each) for each in self._context.load_details(run, list_kin(db, row))]
            return self._render(
                "sample.html",
                run=run,
                view=self._views.build(run, details),
                facets=row_facets(db, row["n"]),
                before=before,
                after=after,
                kin=kin,
                selected=selected,
                others=self._find_beside(run, row["key"]),
                address=selected.address,
            )

    def breakdown(self, run: RunEntry, params: Mapping[str, str]) -> str:
        """Where a run is right and where it is not."""
        version = self.version([run.rid])
        with self._context.open(run) as db:
            summary = self._context.summary(run)
            tasks = [each.task for each in summary.tasks]
            # One task at a time: tasks differ in metric and difficulty, and each stops by itself.
            task = params.get("task", "") if params.get("task", "") in tasks else next(iter(tasks), "")

            def compute() -> tuple[Confusion | None, list[Breakdown], bool]:
                stopped = find_stopped(db, task, run.path)
                return find_confusion(db, task), list_breakdowns(db, task, stopped), stopped is not None

            confusion, breakdowns, stopped = self._context.remember(
                (run.rid, read_state(db), "breakdown", task), compute
            )
            return self._render(
                "breakdown.html",
                run=run,
                task=task,
                tasks=tasks,
                summary=summary,
                confusion=confusion,
                breakdowns=breakdowns,
                stopped=stopped,
                live=self._links.state([run.rid]),
                version=version,
            )

    def full_text(self, run: RunEntry, key: str, part: str) -> str:
        """A long text, not cut."""
        return self._views.full_text(self._context.find_details(run, key), part)

    def _list_others(self, run: RunEntry) -> list[RunEntry]:
        return [other for other in self._context.catalog.runs() if is_comparable(run, other)]

    def _find_beside(self, run: RunEntry, key: str) -> list[tuple[RunEntry, ListedSample | None]]:
        """Runs that have this sample too, and what they made of it; without that where they are being read."""
        others = self._list_others(run)[:_BESIDE]
        if self._links.is_export:  # thousands of pages, each with the links alone
            return [(other, None) for other in others]
        beside: list[tuple[RunEntry, ListedSample | None]] = []
        for other in others:
            try:
                db = self._context.open_index(other, 0.0).open()
            except VivantError:
                beside.append((other, None))
                continue
            try:
                row = find_row(db, key)
                if row is not None:
                    beside.append((other, build_line(self._context.load_details(other, [row])[0])))
            finally:
                db.close()
        return beside

    # ── several runs ──

    def compare(self, runs: Sequence[RunEntry], params: Mapping[str, str]) -> str:
        """Where runs agree and differ."""
        version = self.version([run.rid for run in runs])
        joint = self._open_joint(runs)
        kinds = self.list_kinds(runs)
        kind = next((each for each in kinds if each.name == params.get("kind")), kinds[0])
        rids = [run.rid for run in runs]
        db = joint.open()
        try:
            tasks = list_tasks(db)
            task = params.get("task", "") if params.get("task", "") in tasks else ""
            counts = self._context.remember(
                (joint.file.name, "counts", task), lambda: count_kinds(db, kinds, task)
            )
            last = max(1, -(-counts[kind.name] // PAGE))
            number = min(max(1, _int(params.get("page"), 1)), last)
            page = list_joint_page(db, kind, task, number)
        finally:
            db.close()
        columns = []
        for index, run in enumerate(runs):
            with self._context.open(run) as own:
                rows = load_rows(own, [row[f"n{index}"] for row in page])
            columns.append([build_line(details) for details in self._context.load_details(run, rows)])
        return self._render(
            "compare.html", runs=runs, rids=rids, kinds=kinds, kind=kind, counts=counts, tasks=tasks, task=task,
            lines=list(zip(*columns, strict=True)), number=number, last=last,
            live=self._links.state(rids), version=version,
        )  # fmt: skip

    def compare_sample(self, runs: Sequence[RunEntry], key: str) -> str:
        """One sample in several runs."""
        views = [self._views.build(run, self._context.find_details(run, key)) for run in runs]
        return self._render(
            "compare_sample.html", runs=runs, rids=[run.rid for run in runs], views=views, key=key
        )

    def _open_joint(self, runs: Sequence[RunEntry]) -> JointIndex:
        if not 2 <= len(runs) <= MOST:
            raise NotFoundError(f"Choose two to {MOST} runs to compare; {len(runs)} named")
        joint = JointIndex([self._context.open_index(run) for run in runs])
        if not joint.exists():
            joint.build()
        return joint

    def list_compared(self, runs: Sequence[RunEntry], limit: int) -> list[str]:
        """Keys of samples to look at side by side, the most telling kinds first; none where runs share no question."""
        db = self._open_joint(runs).open()
        try:
            pages = [list_joint_page(db, kind, "", 1) for kind in self.list_kinds(runs)]
        finally:
            db.close()
        numbers = list(dict.fromkeys(row["n0"] for page in pages for row in page))[:limit]
        with self._context.open(runs[0]) as own:
            return [row["key"] for row in load_rows(own, numbers)]

    def list_kinds(self, runs: Sequence[RunEntry]) -> list[JointKind]:
        """Of samples, when these runs are compared."""
        controls = [
            run.manifest is not None
            and (run.manifest.settings.control != "none" or classify_model(run.manifest.model) == "baseline")
            for run in runs
        ]
        return list_kinds([f"{'ABCDEFGH'[index]}" for index in range(len(runs))], controls)

    # ── otherwise ──

    def busy(self, share: float) -> str:
        """While an index is being made."""
        return self._render("busy.html", share=share)

    def problem(self, line: str) -> str:
        """When something is wrong."""
        return self._render("problem.html", line=line)


def _describe_run(run: RunEntry) -> str:
    m = run.manifest
    words = f"{m.model} {m.style} {' '.join(m.tasks)} {' '.join(m.settings.list_distinctions())}" if m else ""
    return f"{run.name} {words}".casefold()


def is_comparable(run: RunEntry, other: RunEntry) -> bool:
    """Whether two runs have a task in common."""
    if run.manifest is None or other.manifest is None or run.rid == other.rid:
        return False
    return bool(set(run.manifest.tasks) & set(other.manifest.tasks))


def _int(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else default
