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

from vivant.benchmarks.base import Imported, Published, ScoredRun
from vivant.benchmarks.mime.names import REAL, VARIANTS, SampleIndex
from vivant.benchmarks.summary import make_published_row
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.records import Record
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Reply, Sample

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


def read_labels(
    file: Path, lines: Iterable[tuple[int, dict[str, Any]]], samples: Sequence[Sample], task: str
) -> Imported:
    """The labels as records; a row that names no video stands for a sample of its variant."""
    if task != "mime/ff":
        raise DataError(f"{file} holds failure labels of free-form answers; import it as mime/ff")
    index = SampleIndex(samples)
    records: list[Record] = []
    answered: dict[str, Sample] = {}
    for number, line in lines:
        where = f"{file}, row {number}"
        mode = next((str(line[name]).strip() for name in _MODES if line.get(name)), "")
        if not mode:
            raise DataError(f"{where}: there is no failure mode; fill in the column '{_MODES[0]}'")
        sample = _find_sample(where, number, line, index)
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


def _find_sample(where: str, number: int, line: dict[str, Any], index: SampleIndex) -> Sample:
    video = next((str(line[name]).strip() for name in _VIDEOS if line.get(name)), "")
    if video:
        sample = index.find(video)
        if sample is None:
            raise DataError(f"{where}: '{video}' is not in the data; give the data that were labelled")
        return sample
    variant = str(line.get("variant") or "").strip()
    if not variant:
        raise DataError(f"{where}: neither the video nor its variant is named")
    if variant not in (*VARIANTS, REAL):
        raise DataError(f"{where}: {unknown_name_error('variant', variant, (*VARIANTS, REAL))}")
    return Sample(id=f"row-{number}", task="mime/ff", answers=("",), facets={"variant": variant})


def build_failure_table(title: str, runs: Sequence[ScoredRun]) -> Table:
    """How often each mode occurs in each variant, beside the published counts."""
    counts = _count_modes(runs)
    if not counts:
        raise UsageError(
            "None of these runs holds failure labels; import a file with a column fail_mode (docs/mime.md)"
        )
    several = len({run for run, _ in counts}) > 1
    observed = {mode for group in counts.values() for mode in group}
    modes = [*PUBLISHED, *sorted(observed - set(PUBLISHED))]
    zeros = (0,) * len(PUBLISHED_VARIANTS)
    body: list[tuple[Cell, ...]] = [
        (mode, *(group[mode] for group in counts.values()), *PUBLISHED.get(mode, zeros)) for mode in modes
    ]
    totals = [sum(group.values()) for group in counts.values()]
    body.append(("all", *totals, *(PUBLISHED_TOTAL for _ in PUBLISHED_VARIANTS)))
    columns = [f"{run} {variant}" if several else variant for run, variant in counts]
    return Table(
        title=title,
        columns=("failure mode", *columns, *(f"published {variant}" for variant in PUBLISHED_VARIANTS)),
        body=tuple(body),
        rows=tuple(_iter_rows(runs, counts, modes)),
        notes=(f"Published: {', '.join(PUBLISHED_BY)}, as labelled in the benchmark's repository.",),
        rules=(len(modes),),
    )


def _count_modes(runs: Sequence[ScoredRun]) -> dict[tuple[str, str], Counter[str]]:
    """Modes by run and variant, in the order of the runs and of the variants."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for run in runs:
        by_variant: dict[str, Counter[str]] = {}
        for sample, record, _ in run.rows:
            if record and (mode := record.extra.get("fail_mode")):
                by_variant.setdefault(sample.facets.get("variant", ""), Counter())[_fold_mode(mode)] += 1
        for variant in (*VARIANTS, REAL):
            if variant in by_variant:
                counts[run.run, variant] = by_variant[variant]
    return counts


def _fold_mode(mode: Any) -> str:
    return " ".join(str(mode).lower().split())


def _iter_rows(
    runs: Sequence[ScoredRun], counts: dict[tuple[str, str], Counter[str]], modes: Sequence[str]
) -> Iterator[Row]:
    by_name = {run.run: run for run in runs}
    for (name, variant), group in counts.items():
        run, total = by_name[name], sum(group.values())
        for mode in modes:
            yield Row(
                run=run.run,
                benchmark="mime",
                task="mime/ff",
                group={"variant": variant, "fail_mode": mode},
                metric="count",
                value=float(group[mode]),
                n=total,
                model=run.model,
                style=run.style,
                protocol=run.protocol,
            )
    model, style = PUBLISHED_BY
    for column, variant in enumerate(PUBLISHED_VARIANTS):
        for mode, cells in PUBLISHED.items():
            figure = Published(
                model=model,
                task="mime/ff",
                style=style,
                group={"variant": variant, "fail_mode": mode},
                value=float(cells[column]),
                metric="count",
                source=PUBLISHED_SOURCE,
            )
            yield make_published_row(figure, PUBLISHED_TOTAL)
