"""The benchmark's own tables, from any mix of runs, with the published rows beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun
from vivant.benchmarks.mmrv import names, published
from vivant.benchmarks.mmrv.score import NO_KEY, STEPS
from vivant.benchmarks.summary import make_published_row, summarise
from vivant.benchmarks.table_parts import count_cells, format_interval
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score
from vivant.core.table import Cell, Row, Table
from vivant.core.types import Sample

LAYOUTS: Mapping[str, str] = {
    "main": "Overall, implicit and explicit, six video types, beside the paper",
    "abilities": "The ten level-2 abilities",
    "l3": "All level-3 abilities",
    "extraction": "How many answers each step of the extraction decided",
    "frames": "Score against the number of frames, beside the paper's curve",
}
FULL_SIZE = 1257
_TAIL = ("n", "errors", "unparsed")


def _format_title(name: str, protocol: Protocol) -> str:
    return f"MMR-V {name}: {LAYOUTS[name]} (protocol {protocol})"


def _build_notes(runs: Sequence[ScoredRun], *, beside_paper: bool = False) -> list[str]:
    """What a reader must know to judge the figures."""
    notes: list[str] = []
    scores = [score for run in runs for _, _, score in run.rows]
    if any(score.status == "missing" for score in scores):
        notes.append("Errors are questions without a reply to score: no part of n, and not wrong answers.")
    if any(score.status == "unparsed" for score in scores):
        notes.append("Unparsed replies hold no answer that the protocol can read; they count as wrong.")
    for run in runs:
        keyless = sorted({sample.id for sample, _, score in run.rows if score.rule == NO_KEY})
        if keyless:
            notes.append(
                f"{run.run}: {len(keyless)} question(s) left out, because the key is no "
                f"option: {', '.join(keyless[:5])}."
            )
    if beside_paper:
        notes.append("Published figures (percent): the MMR-V paper; 1,257 questions, people 200 of them.")
        sizes = sorted({len({sample.id for sample, _, _ in run.rows}) for run in runs} - {FULL_SIZE})
        if sizes:
            counts = " and ".join(f"{size:,}" for size in sizes)
            notes.append(
                f"Runs here hold {counts} questions: their figures are not comparable with the paper's."
            )
    return notes


# ── Overall, sides, types ────────────────────────────────────────────────────────────────────────


def build_main_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """The published table with our runs on top."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for run in runs:
        total = summarise(run, benchmark)[0]
        sides = {row.group["l1"]: row for row in summarise(run, benchmark, ["l1"])}
        types = {row.group["type"]: row for row in summarise(run, benchmark, ["type"])}
        columns = [sides.get(side) for side in ("implicit", "explicit")]
        columns += [types.get(kind) for kind in names.VIDEO_TYPES]
        rows += [total, *sides.values(), *types.values()]
        body.append(
            (
                run.model,
                run.style,
                total.value,
                format_interval(total) or "–",
                *(row.value if row else None for row in columns),
                *count_cells(total),
            )
        )
    rules: list[int] = []
    for style in ("zero-shot", "cot", "human"):
        lines = _list_published_lines(style, benchmark)
        rules += [len(body)] * bool(lines)
        body += lines
        rows += _list_published_rows(style, benchmark)
    notes = _build_notes(runs, beside_paper=bool(rules))
    if rules:
        notes.append("The paper gives video types for direct answers alone.")
    unknown_types = {row.group["type"] for row in rows if "type" in row.group} - set(names.VIDEO_TYPES)
    if unknown_types:
        notes.append(
            f"Types outside the six count in the first columns alone: {', '.join(sorted(unknown_types))}."
        )
    kinds = ("art", "life", "TV", "film", "animation", "philosophy")
    return Table(
        title=_format_title("main", protocol),
        columns=("model", "style", "overall", "95 % interval", "implicit", "explicit", *kinds, *_TAIL),
        body=tuple(body),
        rows=tuple(rows),
        rules=tuple(rules),
        notes=tuple(notes),
    )


def _list_published_rows(style: str, benchmark: Benchmark) -> list[Row]:
    size = 200 if style == "human" else FULL_SIZE
    return [
        make_published_row(figure, size) for figure in benchmark.published.rows() if figure.style == style
    ]


def _list_published_lines(style: str, benchmark: Benchmark) -> list[tuple[Cell, ...]]:
    lines: dict[str, list[float]] = {}
    for figure in benchmark.published.rows():
        if figure.style == style:
            lines.setdefault(figure.model, []).append(figure.value)
    size = 200 if style == "human" else FULL_SIZE
    label = "people" if style == "human" else style
    table_lines: list[tuple[Cell, ...]] = []
    for model, values in lines.items():
        rest: list[Cell] = [*values[1:], *([None] * (len(published.GROUPS) - len(values)))]
        table_lines.append((model, label, values[0], "published", *rest, size, None, None))
    return table_lines


# ── Abilities ────────────────────────────────────────────────────────────────────────────────────


def build_abilities_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run and level-2 ability, implicit ones first."""
    order = {code: number for number, code in enumerate(names.ABILITIES)}
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    rules: list[int] = []
    for run in runs:
        rules.append(len(body))
        ability_rows = summarise(run, benchmark, ["l1", "ability", "l2"])
        for row in sorted(ability_rows, key=lambda row: order.get(row.group["ability"], len(order))):
            rows.append(row)
            group = row.group
            body.append(
                (run.model, run.style, group["l1"], group["ability"], group["l2"], *_format_figures(row))
            )
    columns = ("model", "style", "side", "code", "ability", "score", "95 % interval", *_TAIL)
    return Table(
        title=_format_title("abilities", protocol),
        columns=columns,
        body=tuple(body),
        rows=tuple(rows),
        rules=tuple(rules[1:]),
        notes=tuple(_build_notes(runs)),
    )


def build_l3_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """One line per run and level-3 ability, below its level 2."""
    order = {code: number for number, code in enumerate(names.ABILITIES)}
    inner = {name: number for number, name in enumerate(n for group in names.L3.values() for n in group)}
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    rules: list[int] = []

    def sort_key(row: Row) -> tuple[int, int]:
        return order.get(row.group["ability"], len(order)), inner.get(row.group["l3"], len(inner))

    for run in runs:
        last = ""
        for row in sorted(summarise(run, benchmark, ["ability", "l3"]), key=sort_key):
            if row.group["ability"] != last:
                rules.append(len(body))
            last = row.group["ability"]
            rows.append(row)
            body.append((run.model, run.style, last, row.group["l3"], *_format_figures(row)))
    return Table(
        title=_format_title("l3", protocol),
        columns=("model", "style", "level 2", "level 3", "score", "95 % interval", *_TAIL),
        body=tuple(body),
        rows=tuple(rows),
        rules=tuple(rules[1:]),
        notes=tuple(_build_notes(runs)),
    )


def _format_figures(row: Row) -> tuple[Cell, ...]:
    return row.value, format_interval(row) or "–", *count_cells(row)


# ── Extraction ───────────────────────────────────────────────────────────────────────────────────


def build_extraction_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    """Per run, how many answers each step read; and how right those answers are, in the rows behind it."""
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for run in runs:
        steps: dict[str, list[tuple[Sample, Record | None, Score]]] = {step: [] for step in STEPS}
        for entry in run.rows:
            if entry[2].status not in ("truncated", "missing", "excluded"):
                steps.setdefault(entry[2].rule, []).append(entry)
        missing = sum(score.status == "missing" for _, _, score in run.rows)
        not_options = sum(bool(score.detail.get("not_an_option")) for _, _, score in run.rows)
        several = sum(bool(score.detail.get("several")) for _, _, score in run.rows)
        counts = [len(steps[step]) for step in STEPS]
        counted = sum(map(len, steps.values()))
        body.append((run.model, run.style, *counts, counted, missing, not_options, several))
        for step, entries in steps.items():
            if entries:
                part = msgspec.structs.replace(run, rows=tuple(entries))
                rows.append(msgspec.structs.replace(summarise(part, benchmark)[0], group={"step": step}))
    notes = [
        "“stored”: the result file keeps an answer that the chain would not have read; it stands.",
        "“no option”: the letter read is none of the question's options. “several”: the "
        "deciding form occurs more than once, with different letters; the first counts.",
    ]
    return Table(
        title=_format_title("extraction", protocol),
        columns=("model", "style", *STEPS, "n", "errors", "no option", "several"),
        body=tuple(body),
        rows=tuple(rows),
        notes=(*_build_notes(runs), *notes),
    )


# ── Frames ───────────────────────────────────────────────────────────────────────────────────────


def build_frame_points_table(
    points: Iterable[tuple[int, ScoredRun]], protocol: Protocol, benchmark: Benchmark
) -> Table:
    """Overall, implicit and explicit for each number of frames, with the paper's curve below."""
    points = sorted(points, key=lambda point: (point[1].model, point[1].style, point[0]))
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    for count, run in points:
        total = summarise(run, benchmark)[0]
        sides = {row.group["l1"]: row for row in summarise(run, benchmark, ["l1"])}
        both = [sides.get(side) for side in ("implicit", "explicit")]
        rows += [
            msgspec.structs.replace(row, group={**row.group, "frames": str(count)})
            for row in (total, *both)
            if row is not None
        ]
        values = (row.value if row else None for row in both)
        interval = format_interval(total) or "–"
        body.append((run.model, run.style, count, total.value, interval, *values, *count_cells(total)))
    rule = len(body)
    for count, (overall, implicit, explicit) in published.FRAMES.items():
        if not benchmark.published.shows(published.FRAMES_MODEL, f"zero-shot, {count} frames"):
            continue
        line = (published.FRAMES_MODEL, "zero-shot", count, overall, "published", implicit, explicit)
        body.append((*line, FULL_SIZE, None, None))
    return Table(
        title=_format_title("frames", protocol),
        columns=("model", "style", "frames", "overall", "95 % interval", "implicit", "explicit", *_TAIL),
        body=tuple(body),
        rows=tuple(rows),
        rules=(rule,) if len(body) > rule else (),
        notes=(
            *_build_notes([run for _, run in points], beside_paper=len(body) > rule),
            *(
                ["The published curve is read off a plot; its ends are those of the main table."]
                if len(body) > rule
                else []
            ),
        ),
    )


def list_frame_curves() -> dict[str, list[tuple[float, float]]]:
    """The paper's frame curve, for figures."""
    return {published.FRAMES_MODEL: [(float(count), value[0]) for count, value in published.FRAMES.items()]}


def count_frames(run: ScoredRun) -> int | None:
    """How many frames of each video the run showed: the most frequent number in its log."""
    counts = Counter(
        len(use.times)
        for _, record, _ in run.rows
        if record is not None
        for use in record.media
        if use.kind == "video" and use.times
    )
    return counts.most_common(1)[0][0] if counts else None


def build_frames_table(runs: Sequence[ScoredRun], protocol: Protocol, benchmark: Benchmark) -> Table:
    points = [(count, run) for run in runs if (count := count_frames(run)) is not None]
    if not points:
        raise UsageError(
            "The log of none of these runs says how many frames were shown; imported runs never do"
        )
    table = build_frame_points_table(points, protocol, benchmark)
    if len(points) < len(runs):
        note = f"{len(runs) - len(points)} run(s) whose log names no frames are left out."
        table = msgspec.structs.replace(table, notes=(*table.notes, note))
    return table
