"""How models fail: answers that somebody has labelled with a failure mode, counted by variant.

A labelled file is CSV or JSON lines with the column `fail_mode` (or `mode`) and either the video
(`file_name`, `video_path` or `id`) or at least its `variant`; `response` is optional. A raw free-form file
with `fail_mode` in its items serves as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vivant.benchmarks.base import Imported, ScoredRun
from vivant.benchmarks.mime.names import REAL, VARIANTS, Index
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Record, Reply, Sample

_MODES = ("fail_mode", "mode")
_VIDEOS = ("file_name", "video_path", "id", "sample_id")

PUBLISHED_BY = ("Gemini-1.5-Flash", "cot")
PUBLISHED_SOURCE = "MIME repository, failure labels"
PUBLISHED_VARIANTS = ("base+blank@0", "base+aligned@0", "base+misaligned@0")
PUBLISHED_TOTAL = 86
PUBLISHED: dict[str, tuple[int, int, int]] = {
    "completely incorrect description of action": (14, 16, 12),
    "partially correct description of action": (47, 20, 34),
    "correct description of action but incorrect interpretation": (11, 6, 8),
    "confused by context": (0, 1, 21),
    "none": (12, 11, 11),
    "none, helped by context": (0, 32, 0),
    "valid alternative description of action": (2, 0, 0),
}
"""Labels of Gemini's free-form answers with chain of thought, in the repository."""


def is_labelled(columns: set[str]) -> bool:
    """Whether a file with these columns holds failure labels."""
    return any(name in columns for name in _MODES) and any(name in columns for name in (*_VIDEOS, "variant"))


def read(
    file: Path, lines: Iterable[tuple[int, dict[str, Any]]], samples: Sequence[Sample], task: str
) -> Imported:
    """The labels as records; a row that names no video stands for a sample of its variant."""
    if task != "mime/ff":
        raise DataError(f"{file} holds failure labels of free-form answers; import it as mime/ff")
    index = Index(samples)
    records: list[Record] = []
    answered: dict[str, Sample] = {}
    for number, line in lines:
        where = f"{file}, row {number}"
        mode = next((str(line[name]).strip() for name in _MODES if line.get(name)), "")
        if not mode:
            raise DataError(f"{where}: there is no failure mode; fill in the column '{_MODES[0]}'")
        sample = _sample(where, number, line, index)
        if sample.id in answered:
            raise DataError(f"{where}: the video of sample '{sample.id}' is labelled already; remove one row")
        answered[sample.id] = sample
        response = str(line.get("response") or line.get("output_text") or "")
        without = Reply(status="error", error="the labelled file holds no reply")
        records.append(
            Record(
                key=f"{task}/{sample.id}",
                task=task,
                id=sample.id,
                reply=Reply(text=response) if response else without,
                extra={"filed": True, "fail_mode": mode},
            )
        )
    if not records:
        raise DataError(f"{file} holds no labels")
    return Imported(task=task, records=tuple(records), samples=tuple(answered.values()))


def _sample(where: str, number: int, line: dict[str, Any], index: Index) -> Sample:
    video = next((str(line[name]).strip() for name in _VIDEOS if line.get(name)), "")
    if video:
        found = index.find(video)
        if found is None:
            raise DataError(f"{where}: '{video}' is not in the data; give the data that were labelled")
        return found
    variant = str(line.get("variant") or "").strip()
    if not variant:
        raise DataError(f"{where}: neither the video nor its variant is named")
    if variant not in (*VARIANTS, REAL):
        raise DataError(f"{where}: {unknown_name_error('variant', variant, (*VARIANTS, REAL))}")
    return Sample(id=f"row-{number}", task="mime/ff", answers=("",), facets={"variant": variant})


def table(title: str, runs: Sequence[ScoredRun]) -> Table:
    """How often each mode occurs in each variant, beside the published counts."""
    counts = _count(runs)
    if not counts:
        raise UsageError(
            "None of these runs holds failure labels; import a file with a column fail_mode (docs/mime.md)"
        )
    several = len({run for run, _ in counts}) > 1
    found = {mode for group in counts.values() for mode in group}
    modes = [*PUBLISHED, *sorted(found - set(PUBLISHED))]
    nothing = (0,) * len(PUBLISHED_VARIANTS)
    body: list[tuple[Cell, ...]] = [
        (mode, *(group[mode] for group in counts.values()), *PUBLISHED.get(mode, nothing)) for mode in modes
    ]
    totals = [sum(group.values()) for group in counts.values()]
    body.append(("all", *totals, *(PUBLISHED_TOTAL for _ in PUBLISHED_VARIANTS)))
    columns = [f"{run} {variant}" if several else variant for run, variant in counts]
    return Table(
        title=title,
        columns=("failure mode", *columns, *(f"published {variant}" for variant in PUBLISHED_VARIANTS)),
        body=tuple(body),
        rows=tuple(_rows(runs, counts, modes)),
        notes=(f"Published: {', '.join(PUBLISHED_BY)}, as labelled in the benchmark's repository.",),
        rules=(len(modes),),
    )


def _count(runs: Sequence[ScoredRun]) -> dict[tuple[str, str], Counter[str]]:
    """Modes by run and variant, in the order of the runs and of the variants."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for run in runs:
        for variant in (*VARIANTS, REAL):
            modes = Counter(
                _folded(record.extra["fail_mode"])
                for sample, record, _ in run.rows
                if record and record.extra.get("fail_mode") and sample.facets.get("variant") == variant
            )
            if modes:
                counts[run.run, variant] = modes
    return counts


def _folded(mode: Any) -> str:
    return " ".join(str(mode).lower().split())


def _rows(
    runs: Sequence[ScoredRun], counts: dict[tuple[str, str], Counter[str]], modes: Sequence[str]
) -> Iterator[Row]:
    by_name = {run.run: run for run in runs}
    for (name, variant), group in counts.items():
        run, total = by_name[name], sum(group.values())
        for mode in modes:
            yield _row(
                run.run, variant, mode, group[mode], total, run.model, run.style, run.protocol, "measured"
            )
    for place, variant in enumerate(PUBLISHED_VARIANTS):
        for mode, cells in PUBLISHED.items():
            yield _row(
                "published", variant, mode, cells[place], PUBLISHED_TOTAL, *PUBLISHED_BY, "", PUBLISHED_SOURCE
            )


def _row(
    run: str,
    variant: str,
    mode: str,
    count: int,
    total: int,
    model: str,
    style: str,
    protocol: str,
    source: str,
) -> Row:
    return Row(
        run=run,
        benchmark="mime",
        task="mime/ff",
        group={"variant": variant, "fail_mode": mode},
        metric="count",
        value=float(count),
        n=total,
        errors=0,
        unparsed=0,
        interval=None,
        model=model,
        style=style,
        protocol=protocol,
        source=source,
    )
