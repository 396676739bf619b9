"""From indexes to pages: the values of each template. Templates escape everything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from vivant.core.types import Audio, Image, Part, Record, Text, Video
from vivant.view.catalog import RunEntry
from vivant.view.context import BusyError, SampleDetails, ViewerContext, list_problems
from vivant.view.labels import load_labels
from vivant.view.media import count_images, list_media, part_key
from vivant.view.query import (
    FLIPS,
    HITS,
    OUTCOMES,
    PAGE,
    STATUSES,
    SampleFilter,
    find_neighbours,
    is_too_common,
    list_flips,
    list_kin,
    list_page,
    row_facets,
)
from vivant.web.pages import page_environment

_SHOWN = 20_000
"""Characters of a text that a page shows; the rest is a link away."""
_SEEN = 128
"""Frames that a page shows at once."""
_COT = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


class ContentBlock(Struct, frozen=True, kw_only=True):
    """One part of a message or a question as a page shows it."""

    kind: str
    text: str = ""
    more: int = 0
    """Characters that are not shown."""
    url: str = ""
    path: str = ""


class ViewerPages:
    """Renders; raises VivantError where there is nothing to show."""

    def __init__(self, context: ViewerContext) -> None:
        self._context = context
        self._templates = page_environment("vivant.view")
        self._templates.globals.update(outcome_of=name_outcome, url=urlencode)

    def _render(self, name: str, **values: Any) -> str:
        return self._templates.get_template(name).render(
            protocol=self._context.protocol or "by default", **values
        )

    # ── runs ──

    def runs(self, params: Mapping[str, str]) -> str:
        """The list of runs, filtered and sorted."""
        search = params.get("q", "").casefold()
        sort = params.get("sort", "created")
        lines = []
        for run in self._context.catalog.runs():
            m = run.manifest
            text = f"{run.name} {m.model} {m.style} {' '.join(m.tasks)}" if m else run.name
            if all(word in text.casefold() for word in search.split()):
                lines.append(
                    {
                        "run": run,
                        "m": m,
                        "progress": self._context.catalog.progress(run),
                        "tasks": _format_tasks(run),
                    }
                )
        keys: dict[str, Any] = {
            "name": lambda line: line["run"].name,
            "model": lambda line: line["m"].model.casefold() if line["m"] else "",
            "tasks": lambda line: line["tasks"],
            "size": lambda line: -line["run"].planned,
        }
        if sort in keys:
            lines.sort(key=keys[sort])
        return self._render(
            "runs.html", lines=lines, params=params, root=str(self._context.catalog.root), sort=sort
        )

    def leaderboard(self, params: Mapping[str, str]) -> str:
        """All runs by task; runs that are still being read are said to be."""
        tasks: dict[str, list[dict[str, Any]]] = {}
        waiting: list[str] = []
        search = params.get("q", "").casefold()
        for run in self._context.catalog.runs():
            if run.manifest is None:
                continue
            try:
                with self._context.open(run) as db:
                    for total in self._context.sums(run, db):
                        if search in f"{total.task} {run.manifest.model}".casefold():
                            tasks.setdefault(total.task, []).append({"run": run, "sum": total})
            except BusyError as busy:
                waiting.append(f"{run.name} ({busy.share:.0%})")
        for lines in tasks.values():
            lines.sort(key=lambda line: -(line["sum"].mean if line["sum"].mean is not None else -1e9))
        return self._render(
            "leaderboard.html", tasks=dict(sorted(tasks.items())), waiting=waiting, params=params
        )

    # ── one run ──

    def samples(self, run: RunEntry, params: Mapping[str, str]) -> str:
        """A page of a run's samples."""
        selected = SampleFilter.parse(params)
        with self._context.open(run) as db:
            total = self._context.count(run, db, selected)
            last = max(1, -(-total // PAGE))
            number = min(max(1, _int(params.get("page"), 1)), last)
            return self._render(
                "samples.html",
                run=run,
                selected=selected,
                rows=list_page(db, selected, number),
                total=total,
                number=number,
                last=last,
                facets=self._context.facets(run, db, selected.task),
                sums=self._context.sums(run, db),
                problems=list_problems(db),
                common=HITS if is_too_common(db, selected) else 0,
                progress=self._context.catalog.progress(run),
                statuses=STATUSES,
                outcomes=OUTCOMES,
                others=[other for other in self._context.catalog.runs() if _comparable(run, other)],
                address=lambda **other: selected.address(**other),
            )

    def sample(self, run: RunEntry, params: Mapping[str, str]) -> str:
        """One sample in full."""
        selected = SampleFilter.parse(params)
        with self._context.open(run) as db:
            row = self._context.find_row(db, run, params.get("key", ""))
            before, after = find_neighbours(db, selected, row["n"])
            details = self._context.load_details(run, row)
            return self._render(
                "sample.html",
                run=run,
                view=self._build_view(run, details),
                facets=row_facets(db, row),
                before=before,
                after=after,
                kin=list_kin(db, row),
                selected=selected,
                others=[other for other in self._context.catalog.runs() if _comparable(run, other)],
                address=lambda **other: selected.address(**other),
            )

    def _build_view(self, run: RunEntry, details: SampleDetails) -> dict[str, Any]:
        """What a page shows of a sample: shared by one run's page and by two side by side."""
        key = details.row["key"]
        media = list_media(details.sample, details.record)

        def blocks(parts: tuple[Part, ...], name: str) -> list[ContentBlock]:
            return [_build_block(run, key, media, part, name) for part in parts]

        record = details.record
        thinking, text = _split_thinking(record)
        labelled, unreadable = load_labels(run.path, record)
        seen = count_images(record) if record else 0
        return {
            "run": run,
            "row": details.row,
            "problem": "; ".join(filter(None, (details.problem, unreadable))),
            "labelled": labelled,
            "sample": details.sample,
            "record": record,
            "score": details.score,
            "question": blocks(details.sample.question, "question") if details.sample else [],
            "reference": blocks(details.sample.reference, "reference") if details.sample else [],
            "messages": [(m.role, blocks(m.parts, "prompt")) for m in record.messages] if record else [],
            "reply": _cut(run, key, text, "reply"),
            "reply_parts": blocks(record.reply.parts, "reply") if record else [],
            "thinking": _cut(run, key, thinking, "thinking"),
            "options": _build_options(details),
            "media": [_build_block(run, key, media, part, "") for part in media],
            "seen": [
                f"/seen/{run.rid}/{index}?{urlencode({'key': key})}" for index in range(min(seen, _SEEN))
            ],
            "seen_more": max(0, seen - _SEEN),
            "times": _list_times(record),
        }

    def full_text(self, run: RunEntry, key: str, part: str) -> str:
        """A long text, not cut."""
        details = self._context.find_details(run, key)
        thinking, reply = _split_thinking(details.record)
        if part in ("reply", "thinking"):
            return thinking if part == "thinking" else reply
        messages = details.record.messages if details.record else ()
        question = details.sample.question if details.sample else ()
        parts = [p for m in messages for p in m.parts] if part == "prompt" else question
        return "\n\n".join(p.text for p in parts if isinstance(p, Text))

    # ── two runs ──

    def compare(self, a: RunEntry, b: RunEntry, params: Mapping[str, str]) -> str:
        """Who has what right."""
        kind = params.get("show", "a") if params.get("show") in FLIPS else "a"
        task = params.get("task", "")
        with self._context.open(a, b) as db:
            counts = self._context.flip_counts(a, b, db, task)
            last = max(1, -(-counts[kind] // PAGE))
            number = min(max(1, _int(params.get("page"), 1)), last)
            tasks = [total.task for total in self._context.sums(a, db)]
            return self._render(
                "compare.html", a=a, b=b, kind=kind, kinds=FLIPS, counts=counts, task=task, tasks=tasks,
                rows=list_flips(db, kind, task, number), number=number, last=last,
            )  # fmt: skip

    def both(self, a: RunEntry, b: RunEntry, params: Mapping[str, str]) -> str:
        """One sample in two runs."""
        key = params.get("key", "")
        views = [self._build_view(run, self._context.find_details(run, key)) for run in (a, b)]
        return self._render("both.html", a=a, b=b, views=views, key=key)

    # ── otherwise ──

    def busy(self, share: float) -> str:
        """While an index is being made."""
        return self._render("busy.html", share=share)

    def problem(self, line: str) -> str:
        """When something is wrong."""
        return self._render("problem.html", line=line)


def _format_tasks(run: RunEntry) -> str:
    if run.manifest is None:
        return ""
    tasks = run.manifest.tasks
    if len(tasks) <= 3:
        return ", ".join(tasks)
    names = dict.fromkeys(task.partition("/")[0] for task in tasks)
    return f"{', '.join(names)} ({len(tasks)} tasks)"


def _comparable(run: RunEntry, other: RunEntry) -> bool:
    if run.manifest is None or other.manifest is None or run.rid == other.rid:
        return False
    return bool(set(run.manifest.tasks) & set(other.manifest.tasks))


def _int(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else default


def name_outcome(outcome: str, value: float | None) -> str:
    """right, wrong, or what kept it from being either."""
    if outcome == "scored":
        return "right" if value is not None and value >= 0.5 else "wrong"
    return outcome or "unscored"


def _split_thinking(record: Record | None) -> tuple[str, str]:
    """Reasoning apart from the answer: as the server reports it, or between tags that models write."""
    if record is None:
        return "", ""
    written = "\n\n".join(match.strip() for match in _COT.findall(record.reply.text))
    rest = _COT.sub("", record.reply.text).strip() if written else record.reply.text
    return "\n\n".join(filter(None, (record.reply.thinking, written))), rest


def _cut(run: RunEntry, key: str, text: str, part: str) -> ContentBlock:
    address = f"/run/{run.rid}/text?{urlencode({'key': key, 'part': part})}"
    return ContentBlock(kind="text", text=text[:_SHOWN], more=max(0, len(text) - _SHOWN), url=address)


def _build_block(run: RunEntry, key: str, media: list[Part], part: Part, name: str) -> ContentBlock:
    if isinstance(part, Text):
        return _cut(run, key, part.text, name)
    kind = {Image: "image", Video: "video", Audio: "audio"}[type(part)]
    if isinstance(part, Image) and part.tiles:
        return ContentBlock(kind="grid", path=part.path)
    index = [part_key(other) for other in media].index(part_key(part))
    ends = ""
    if isinstance(part, Video) and (part.start is not None or part.end is not None):
        ends = f"#t={part.start or 0:g}" + ("" if part.end is None else f",{part.end:g}")
    address = f"/media/{run.rid}/{index}?{urlencode({'key': key})}{ends}"
    return ContentBlock(kind=kind, url=address, path=part.path)


def _build_options(details: SampleDetails) -> list[dict[str, Any]]:
    """Options as they were shown, with the right one and the one that was read in the reply."""
    sample, record, score = details.sample, details.record, details.score
    options = record.options if record and record.options else sample.options if sample else ()
    order = record.order if record and record.order else tuple(range(len(options)))
    right = sample.key if sample else None
    return [
        {
            "name": option.name,
            "text": option.text[:2000],
            "right": right is not None and index < len(order) and order[index] == right,
            "chosen": score is not None and bool(score.answer) and score.answer in (option.name, option.text),
        }
        for index, option in enumerate(options)
    ]


def _list_times(record: Record | None) -> list[str]:
    if record is None:
        return []
    times: list[str] = []
    for use in record.media:
        times += (
            [use.path.rpartition("/")[2]] if use.kind == "image" else [f"{time:.2f} s" for time in use.times]
        )
    return times
