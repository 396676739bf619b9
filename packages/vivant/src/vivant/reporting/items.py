"""The items of a benchmark as tables, a figure and JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import numpy as np

from vivant.analysis.items.findings import ItemAnalysis, ItemReport
from vivant.core.files import write_jsonl
from vivant.core.table import Cell, Row, Table
from vivant.reporting.figure_style import COLORS, load_pyplot, save_figure

KINDS = {
    "suspect key": "runs agree on another option than the key",
    "ambiguous": "the better runs, or people, are divided",
    "inverted": "the better a run, the likelier it is wrong",
    "solved blind": "solved without pictures and video",
    "near-duplicate": "nearly the same words and media as another item",
    "given away": "the options alone give the answer away",
}


def build_item_tables(
    analyses: Sequence[ItemAnalysis], kinds: Sequence[str] = (), limit: int = 20
) -> list[Table]:
    """An overview, the items with findings, cues in options, and the ceiling where people answered."""
    tables = [_overview(analyses)]
    tables += [_findings(analysis, kinds, limit) for analysis in analyses if analysis.select(*kinds)]
    if any(analysis.cues for analysis in analyses) and (not kinds or "given away" in kinds):
        tables.append(_cues(analyses))
    if any(analysis.noise for analysis in analyses) and not kinds:
        tables.append(build_ceiling_table(analyses))
    return tables


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _percent(value: float | None) -> float | None:
    return None if value is None else value * 100


def _overview(analyses: Sequence[ItemAnalysis]) -> Table:
    body: list[tuple[Cell, ...]] = []
    rows: list[Row] = []
    notes = [
        "Difficulty: the share of runs that are right. Discrimination: correlation with the score on the rest."
    ]
    columns = ["task", "items", "runs", "difficulty", "all right", "none right", "discrimination"]
    columns += ["without media", "one frame", "shuffled", *KINDS]
    for analysis in analyses:
        items = analysis.items
        counts: Counter[str] = Counter(
            kind for item in items for kind in {finding.kind for finding in item.findings}
        )
        usual = int(analysis.matrix.usual.sum())
        steep = _mean([item.discrimination for item in items])
        hard = _percent(_mean([item.difficulty for item in items]))
        body.append(
            (
                analysis.matrix.task,
                len(items),
                usual,
                hard,
                sum(item.difficulty == 1 for item in items),
                sum(item.difficulty == 0 for item in items),
                None if steep is None else f"{steep:.2f}",
                _percent(_mean([item.without_media for item in items])),
                _percent(_mean([item.one_frame for item in items])),
                _percent(_mean([item.shuffled for item in items])),
                *(counts[kind] for kind in KINDS),
            )
        )
        rows += [
            Row(
                run="",
                benchmark=analysis.matrix.task.partition("/")[0],
                task=analysis.matrix.task,
                group={},
                metric=f"items: {name}",
                value=value,
                n=len(items),
            )
            for name, value in (("difficulty", hard), *((kind, float(counts[kind])) for kind in KINDS))
        ]
        notes += analysis.notes
        if analysis.keys is not None:
            notes.append(
                f"{analysis.matrix.task}: runs that err choose the same wrong option {analysis.keys.shared_errors:.0%} "
                "of the way beyond chance; their answers count less for it."
            )
    notes += [f"{kind.capitalize()}: {text}." for kind, text in KINDS.items()]
    notes.append("Findings are reasons to look, not verdicts: a hard item and a wrong key can look alike.")
    return Table(
        title="Items",
        columns=tuple(columns),
        body=tuple(body),
        rows=tuple(rows),
        notes=tuple(notes),
        optional=("shuffled", "one frame", "without media", "all right", "none right"),
    )


def _findings(analysis: ItemAnalysis, kinds: Sequence[str], limit: int) -> Table:
    chosen = analysis.select(*kinds)
    body: list[tuple[Cell, ...]] = []
    for item in chosen[:limit]:
        for finding in item.findings:
            if not kinds or finding.kind in kinds:
                steep = None if item.discrimination is None else f"{item.discrimination:.2f}"
                body.append((item.id, finding.kind, _percent(item.difficulty), steep, finding.evidence))
    first = chosen[0]
    folder = analysis.matrix.runs[0].path.parent if analysis.matrix.runs else Path()
    notes = (
        [f"{len(chosen) - limit} more items have findings; --jsonl FILE writes all."]
        if len(chosen) > limit
        else []
    )
    notes.append(
        f"To look at one: vivant view {folder}, then open {link_item(analysis, first)} (in --jsonl: link)."
    )
    return Table(
        title=f"Findings, {analysis.matrix.task}",
        columns=("item", "finding", "difficulty", "discrimination", "evidence"),
        body=tuple(body),
        notes=tuple(notes),
        optional=("discrimination", "difficulty"),
    )


def _cues(analyses: Sequence[ItemAnalysis]) -> Table:
    return Table(
        title="Options that stand out",
        columns=("task", "rule", "right %", "95 % interval", "chance %", "applies to"),
        body=tuple(
            (
                analysis.matrix.task,
                f"{cue.name}: {cue.says}",
                100 * cue.share,
                f"{100 * cue.interval.low:.1f} – {100 * cue.interval.high:.1f}",
                100 * cue.chance,
                cue.applies,
            )
            for analysis in analyses
            for cue in analysis.cues
        ),
        notes=("A rule that needs no media gives items away where its interval lies above chance.",),
    )


def build_ceiling_table(analyses: Sequence[ItemAnalysis]) -> Table:
    """What accuracy can be reached given wrong keys, beside people and the best run."""
    body: list[tuple[Cell, ...]] = []
    for analysis in analyses:
        noise = analysis.noise
        if noise is None:
            continue
        means = np.nanmean(analysis.matrix.values[:, analysis.matrix.usual], axis=0)
        best = int(np.argmax(means))
        names = [run.model for run in analysis.matrix.runs if run.control == "none"]
        span = (
            f"{100 * (1 - noise.interval[1]):.1f} – {100 * (1 - noise.interval[0]):.1f}"
            if noise.interval
            else None
        )
        body.append(
            (
                analysis.matrix.task,
                100 * (1 - noise.noise),
                span,
                100 * noise.person,
                100 * noise.majority,
                100 * float(means[best]),
                names[best],
                noise.items,
            )
        )
    return Table(
        title="Ceiling",
        columns=(
            "task",
            "reachable %",
            "95 % interval",
            "one person",
            "most people",
            "best run",
            "model",
            "items",
        ),
        body=tuple(body),
        notes=(
            "Reachable: the accuracy of somebody who always gives the true answer, where some keys are wrong; "
            "estimated from how far people agree with each other and not with the key. Items: "
            "answered by two people or more.",
        ),
    )


def link_item(analysis: ItemAnalysis, item: ItemReport) -> str:
    """The item's page in the viewer, when it is opened on the folder that holds the first run."""
    run = analysis.matrix.runs[0].path.resolve().name
    return f"/run/{quote(run)}/sample?{urlencode({'key': item.key})}"


def write_items(analyses: Sequence[ItemAnalysis], path: Path) -> int:
    """One JSON line an item, with figures, findings, the answers of every run and a link into the viewer."""
    lines = list(_iter_lines(analyses))
    write_jsonl(path, lines)
    return len(lines)


def _iter_lines(analyses: Sequence[ItemAnalysis]) -> Iterator[dict[str, Any]]:
    for analysis in analyses:
        matrix = analysis.matrix
        for index, item in enumerate(analysis.items):
            answers = {
                run.name: matrix.options[index][code]
                for run, code in zip(matrix.runs, matrix.codes[index].tolist(), strict=True)
                if code >= 0
            }
            wrong = None if analysis.noise is None else round(float(analysis.noise.wrong[index]), 4)
            yield {
                **msgspec.to_builtins(item),
                "key_wrong_by_people": wrong,
                "answers": answers,
                "link": link_item(analysis, item),
            }


def draw_items(analyses: Sequence[ItemAnalysis], path: Path) -> None:
    """Difficulty against discrimination, a point an item; suspects stand out."""
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(1, len(analyses), figsize=(4.6 * len(analyses), 3.4), squeeze=False)
    rng = np.random.default_rng(0)
    for axis, analysis in zip(axes[0], analyses, strict=True):
        items = [item for item in analysis.items if item.discrimination is not None]
        marked = ("suspect key", "ambiguous", "given away")
        groups: dict[str, list[ItemReport]] = {"others": [], **{kind: [] for kind in marked}}
        for item in items:
            kinds = [finding.kind for finding in item.findings if finding.kind in marked]
            groups[kinds[0] if kinds else "others"].append(item)
        for number, (name, members) in enumerate(groups.items()):
            if not members:
                continue
            x = [100 * (item.difficulty or 0) for item in members]
            y = [item.discrimination for item in members]
            jitter = rng.normal(0, 0.8, len(x))
            colour = "#a0aec0" if name == "others" else COLORS[number % len(COLORS)]
            size = 8 if name == "others" else 22
            axis.scatter(np.array(x) + jitter, y, s=size, color=colour, label=f"{name} ({len(x)})", alpha=0.8)
        axis.axhline(0, color="#718096", linewidth=0.7)
        axis.set_xlabel("runs that are right, %")
        axis.set_ylabel("discrimination")
        axis.set_title(analysis.matrix.task, fontsize=9, loc="left")
        if items:
            axis.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=4)
        else:
            text = "Discrimination needs three runs without a control\nthat do not all answer alike."
            axis.text(0.5, 0.5, text, ha="center", va="center", transform=axis.transAxes)
    save_figure(pyplot, figure, path)
