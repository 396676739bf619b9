"""From indexes to pages: what each template is given. Templates escape everything."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct

from vivant.core.errors import VivantError
from vivant.core.types import Audio, Image, Part, Record, Text, Video
from vivant.view.catalog import Shelved
from vivant.view.context import BusyError, Desk, Full, troubles
from vivant.view.labels import readings
from vivant.view.media import name_of, parts_of, seen_count
from vivant.view.query import (
    FLIPS,
    HITS,
    OUTCOMES,
    PAGE,
    STATUSES,
    Filter,
    flips,
    kin,
    neighbours,
    of_row,
    one,
    page,
    too_common,
)

_SHOWN = 20_000
"""Characters of a text that a page shows; the rest is a link away."""
_SEEN = 128
"""Frames that a page shows at once."""
_COT = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


class Piece(Struct, frozen=True, kw_only=True):
    """One part of a message or a question as a page shows it."""

    kind: str
    text: str = ""
    more: int = 0
    """Characters that are not shown."""
    url: str = ""
    path: str = ""


class Pages:
    """Renders; raises VivantError where there is nothing to show."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._templates = Environment(
            loader=PackageLoader("vivant.view"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True,
        )  # fmt: skip
        self._templates.filters["query"] = lambda values: urlencode(values)
        self._templates.globals.update(outcome_of=outcome_of, url=urlencode)

    def _render(self, name: str, **given: Any) -> str:
        return self._templates.get_template(name).render(
            protocol=self._desk.protocol or "by default", **given
        )

    # ── runs ──

    def runs(self, given: Mapping[str, str]) -> str:
        """The list of runs, filtered and sorted."""
        wanted = given.get("q", "").casefold()
        sort = given.get("sort", "created")
        lines = []
        for run in self._desk.shelf.runs():
            m = run.manifest
            told = f"{run.name} {m.model} {m.style} {' '.join(m.tasks)}" if m else run.name
            if all(word in told.casefold() for word in wanted.split()):
                lines.append(
                    {"run": run, "m": m, "progress": self._desk.shelf.progress(run), "tasks": _tasks(run)}
                )
        keys: dict[str, Any] = {
            "name": lambda line: line["run"].name,
            "model": lambda line: line["m"].model.casefold() if line["m"] else "",
            "tasks": lambda line: line["tasks"],
            "size": lambda line: -line["run"].planned,
        }
        if sort in keys:
            lines.sort(key=keys[sort])
        return self._render("runs.html", lines=lines, given=given, root=str(self._desk.shelf.root), sort=sort)

    def leaderboard(self, given: Mapping[str, str]) -> str:
        """All runs by task; runs that are still being read are said to be."""
        tasks: dict[str, list[dict[str, Any]]] = {}
        waiting: list[str] = []
        wanted = given.get("q", "").casefold()
        for run in self._desk.shelf.runs():
            if run.manifest is None:
                continue
            try:
                with self._desk.open(run) as db:
                    for total in self._desk.sums(run, db):
                        if wanted in f"{total.task} {run.manifest.model}".casefold():
                            tasks.setdefault(total.task, []).append({"run": run, "sum": total})
            except BusyError as busy:
                waiting.append(f"{run.name} ({busy.share:.0%})")
        for lines in tasks.values():
            lines.sort(key=lambda line: -(line["sum"].mean if line["sum"].mean is not None else -1e9))
        return self._render(
            "leaderboard.html", tasks=dict(sorted(tasks.items())), waiting=waiting, given=given
        )

    # ── one run ──

    def samples(self, run: Shelved, given: Mapping[str, str]) -> str:
        """A page of a run's samples."""
        wanted = Filter.read(given)
        with self._desk.open(run) as db:
            total = self._desk.count(run, db, wanted)
            last = max(1, -(-total // PAGE))
            number = min(max(1, _int(given.get("page"), 1)), last)
            return self._render(
                "samples.html",
                run=run,
                wanted=wanted,
                rows=page(db, wanted, number),
                total=total,
                number=number,
                last=last,
                facets=self._desk.facets(run, db, wanted.task),
                sums=self._desk.sums(run, db),
                troubles=troubles(db),
                common=HITS if too_common(db, wanted) else 0,
                progress=self._desk.shelf.progress(run),
                statuses=STATUSES,
                outcomes=OUTCOMES,
                others=[other for other in self._desk.shelf.runs() if _comparable(run, other)],
                address=lambda **other: wanted.address(**other),
            )

    def sample(self, run: Shelved, given: Mapping[str, str]) -> str:
        """One sample in full."""
        wanted = Filter.read(given)
        with self._desk.open(run) as db:
            row = _row(db, run, given.get("key", ""))
            before, after = neighbours(db, wanted, row["n"])
            full = self._desk.full(run, row)
            return self._render(
                "sample.html",
                run=run,
                view=self._view(run, full),
                facets=of_row(db, row),
                before=before,
                after=after,
                kin=kin(db, row),
                wanted=wanted,
                others=[other for other in self._desk.shelf.runs() if _comparable(run, other)],
                address=lambda **other: wanted.address(**other),
            )

    def _view(self, run: Shelved, full: Full) -> dict[str, Any]:
        """What a page shows of a sample: shared by one run's page and by two side by side."""
        key = full.row["key"]
        media = parts_of(full.sample, full.record)

        def pieces(parts: tuple[Part, ...], name: str) -> list[Piece]:
            return [_piece(run, key, media, part, name) for part in parts]

        record = full.record
        thinking, text = _thoughts(record)
        labelled, unreadable = readings(run.path, record)
        seen = seen_count(record) if record else 0
        return {
            "run": run,
            "row": full.row,
            "problem": "; ".join(filter(None, (full.problem, unreadable))),
            "readings": labelled,
            "sample": full.sample,
            "record": record,
            "score": full.score,
            "question": pieces(full.sample.question, "question") if full.sample else [],
            "reference": pieces(full.sample.reference, "reference") if full.sample else [],
            "messages": [(m.role, pieces(m.parts, "prompt")) for m in record.messages] if record else [],
            "reply": _cut(run, key, text, "reply"),
            "reply_parts": pieces(record.reply.parts, "reply") if record else [],
            "thinking": _cut(run, key, thinking, "thinking"),
            "options": _options(full),
            "media": [_piece(run, key, media, part, "") for part in media],
            "seen": [
                f"/seen/{run.rid}/{place}?{urlencode({'key': key})}" for place in range(min(seen, _SEEN))
            ],
            "seen_more": max(0, seen - _SEEN),
            "times": _times(record),
        }

    def whole_text(self, run: Shelved, key: str, part: str) -> str:
        """A long text, whole."""
        with self._desk.open(run) as db:
            full = self._desk.full(run, _row(db, run, key))
        thinking, reply = _thoughts(full.record)
        if part in ("reply", "thinking"):
            return thinking if part == "thinking" else reply
        messages = full.record.messages if full.record else ()
        question = full.sample.question if full.sample else ()
        parts = [p for m in messages for p in m.parts] if part == "prompt" else question
        return "\n\n".join(p.text for p in parts if isinstance(p, Text))

    # ── two runs ──

    def compare(self, a: Shelved, b: Shelved, given: Mapping[str, str]) -> str:
        """Who has what right."""
        kind = given.get("show", "a") if given.get("show") in FLIPS else "a"
        task = given.get("task", "")
        with self._desk.open(a, b) as db:
            counts = self._desk.flip_counts(a, b, db, task)
            last = max(1, -(-counts[kind] // PAGE))
            number = min(max(1, _int(given.get("page"), 1)), last)
            tasks = [total.task for total in self._desk.sums(a, db)]
            return self._render(
                "compare.html", a=a, b=b, kind=kind, kinds=FLIPS, counts=counts, task=task, tasks=tasks,
                rows=flips(db, kind, task, number), number=number, last=last,
            )  # fmt: skip

    def both(self, a: Shelved, b: Shelved, given: Mapping[str, str]) -> str:
        """One sample in two runs."""
        views = []
        for run in (a, b):
            with self._desk.open(run) as db:
                views.append(self._view(run, self._desk.full(run, _row(db, run, given.get("key", "")))))
        return self._render("both.html", a=a, b=b, views=views, key=given.get("key", ""))

    # ── otherwise ──

    def busy(self, share: float) -> str:
        """While an index is being made."""
        return self._render("busy.html", share=share)

    def problem(self, line: str) -> str:
        """When something is wrong."""
        return self._render("problem.html", line=line)


def _row(db: sqlite3.Connection, run: Shelved, key: str) -> sqlite3.Row:
    row = one(db, key)
    if row is None:
        raise VivantError(f"{run.name} has no sample {key[:200]}")
    return row


def _tasks(run: Shelved) -> str:
    if run.manifest is None:
        return ""
    tasks = run.manifest.tasks
    if len(tasks) <= 3:
        return ", ".join(tasks)
    names = dict.fromkeys(task.partition("/")[0] for task in tasks)
    return f"{', '.join(names)} ({len(tasks)} tasks)"


def _comparable(run: Shelved, other: Shelved) -> bool:
    if run.manifest is None or other.manifest is None or run.rid == other.rid:
        return False
    return bool(set(run.manifest.tasks) & set(other.manifest.tasks))


def _int(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else default


def outcome_of(outcome: str, value: float | None) -> str:
    """right, wrong, or what kept it from being either."""
    if outcome == "scored":
        return "right" if value is not None and value >= 0.5 else "wrong"
    return outcome or "unscored"


def _thoughts(record: Record | None) -> tuple[str, str]:
    """Reasoning apart from the answer: as the server reports it, or between tags that models write."""
    if record is None:
        return "", ""
    written = "\n\n".join(match.strip() for match in _COT.findall(record.reply.text))
    rest = _COT.sub("", record.reply.text).strip() if written else record.reply.text
    return "\n\n".join(filter(None, (record.reply.thinking, written))), rest


def _cut(run: Shelved, key: str, text: str, part: str) -> Piece:
    address = f"/run/{run.rid}/text?{urlencode({'key': key, 'part': part})}"
    return Piece(kind="text", text=text[:_SHOWN], more=max(0, len(text) - _SHOWN), url=address)


def _piece(run: Shelved, key: str, media: list[Part], part: Part, name: str) -> Piece:
    if isinstance(part, Text):
        return _cut(run, key, part.text, name)
    kind = {Image: "image", Video: "video", Audio: "audio"}[type(part)]
    if isinstance(part, Image) and part.tiles:
        return Piece(kind="grid", path=part.path)
    place = [name_of(one) for one in media].index(name_of(part))
    ends = ""
    if isinstance(part, Video) and (part.start is not None or part.end is not None):
        ends = f"#t={part.start or 0:g}" + ("" if part.end is None else f",{part.end:g}")
    address = f"/media/{run.rid}/{place}?{urlencode({'key': key})}{ends}"
    return Piece(kind=kind, url=address, path=part.path)


def _options(full: Full) -> list[dict[str, Any]]:
    """Options as they were shown, with the right one and the one that was read in the reply."""
    sample, record, score = full.sample, full.record, full.score
    shown = record.options if record and record.options else sample.options if sample else ()
    order = record.order if record and record.order else tuple(range(len(shown)))
    right = sample.key if sample else None
    return [
        {
            "name": option.name,
            "text": option.text[:2000],
            "right": right is not None and place < len(order) and order[place] == right,
            "chosen": score is not None and bool(score.answer) and score.answer in (option.name, option.text),
        }
        for place, option in enumerate(shown)
    ]


def _times(record: Record | None) -> list[str]:
    if record is None:
        return []
    times: list[str] = []
    for use in record.media:
        times += (
            [use.path.rpartition("/")[2]] if use.kind == "image" else [f"{time:.2f} s" for time in use.times]
        )
    return times
