"""The site of a leaderboard: a page over all entries, one per model, JSON and CSV, a folder per submission."""

from __future__ import annotations

import base64
import hashlib
import shutil
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.core.files import write_atomic
from vivant.reporting.board.entries import (
    DATA,
    BoardConfig,
    BoardEntry,
    BoardSource,
    comparison_key,
    list_entries,
)
from vivant.reporting.board.folder import check_folder, prepare_folder
from vivant.reporting.board.submission import FILE, SCORES, clean_manifest, slugify, write_json
from vivant.reporting.html.blocks import page_environment
from vivant.reporting.html.drawing import to_csv
from vivant.reporting.score_matrix import MatrixBenchmark, RunRows, build_matrix


class BoardTask(Struct, frozen=True, kw_only=True):
    """Entries that are compared with each other."""

    task: str
    title: str
    metric: str
    edition: str
    protocol: str
    chance: float | None
    entries: tuple[BoardEntry, ...]
    anchor: str
    """Its place on the page; no other table has it."""
    scale: float = 100.0

    def to_percent(self, value: float | None) -> float:
        """A value as a share of the scale, in percent, for drawing."""
        return 0.0 if value is None else min(max(value / self.scale * 100, 0.0), 100.0)


class BoardSection(Struct, frozen=True, kw_only=True):
    """One benchmark in one edition under one protocol."""

    name: str
    title: str
    edition: str
    protocol: str
    anchor: str
    """Its place on the page; nothing else has it."""
    tasks: tuple[BoardTask, ...]

    @property
    def lines(self) -> list[tuple[BoardEntry, list[BoardEntry | None]]]:
        """One line per submission: an entry that speaks for it, and its entry on each task."""
        by_submission: dict[str, dict[str, BoardEntry]] = {}
        for task in self.tasks:
            for entry in task.entries:
                by_submission.setdefault(entry.submission, {})[task.anchor] = entry
        lines = [
            (
                next((entry for entry in own.values() if entry.rank), next(iter(own.values()))),
                [own.get(task.anchor) for task in self.tasks],
            )
            for own in by_submission.values()
        ]
        return sorted(lines, key=lambda line: (not line[0].is_contestant, _mean_rank(line[1]), line[0].model))


def _mean_rank(entries: Sequence[BoardEntry | None]) -> float:
    """The middle of the rank ranges, over the tasks that have one."""
    ends = [
        [int(end) for end in entry.rank.split("–")] for entry in entries if entry and entry.rank.strip("–")
    ]
    return sum((end[0] + end[-1]) / 2 for end in ends) / len(ends) if ends else float("inf")


def write_board(
    sources: Sequence[BoardSource],
    out: Path,
    config: BoardConfig | None = None,
    *,
    include_logs: bool = False,
    refused: Sequence[str] = (),
) -> Path:
    """Write the site and return its first page.

    Args:
        sources: What is on the board.
        out: The folder of the site: new, empty, or an earlier board's, of which only the board's own files are
            replaced. It may not hold a source.
        config: Title, description and known editions.
        include_logs: Whether each submission's questions and replies are copied too.
        refused: Why other submissions are not on it; the first page says so.
    """
    config = config or BoardConfig()
    entries = list_entries(sources, config)
    sections = build_sections(sources, entries)
    models: dict[str, str] = {}
    for entry in entries:
        models.setdefault(entry.model, slugify(entry.model, taken=models.values()))
    names = ["index.html", "board.csv", DATA, *(f"models/{slug}.html" for slug in models.values())]
    for source in sources:
        names += [f"submissions/{source.slug}/{name}" for name in _list_files(source, include_logs)]
    try:
        check_folder(out, [source.path for source in sources])
        prepare_folder(out, names)
        for source in sources:
            _write_submission(source, out / "submissions" / source.slug, include_logs)
        shared: dict[str, Any] = {
            "config": config,
            "models": models,
            "date": _today(),
            "version": version("vivant"),
        }
        for model, slug in models.items():
            own = [entry for entry in entries if entry.model == model]
            page = _render("board_model.html", model=model, entries=own, sections=sections, **shared)
            write_atomic(out / "models" / f"{slug}.html", page, durable=False)
        write_atomic(out / "board.csv", _to_csv(entries), durable=False)
        index = _render("board.html", entries=entries, sections=sections, refused=refused, **shared)
        write_atomic(out / "index.html", index, durable=False)
        write_atomic(out / DATA, _to_json(config, entries), durable=False)
    except OSError as error:
        raise UsageError(f"Cannot write {error.filename or out}: {error.strerror}") from error
    return out / "index.html"


def build_sections(sources: Sequence[BoardSource], entries: Sequence[BoardEntry]) -> list[BoardSection]:
    """The entries as the page shows them: by benchmark, edition and protocol, tasks in the benchmark's order."""
    groups: dict[tuple[str, str, str], dict[tuple[str, ...], list[BoardEntry]]] = {}
    for entry in entries:
        group = groups.setdefault((entry.benchmark, _whole(entry), entry.protocol), {})
        group.setdefault(comparison_key(entry), []).append(entry)
    columns = _lay_out(sources)
    sections = []
    anchors: set[str] = set()

    def name_anchor(*words: str) -> str:
        # Names may differ in letters that an address has not, and parts of an edition in nothing but their questions.
        anchor = slugify(*words, taken=anchors)
        anchors.add(anchor)
        return anchor

    for (name, edition, protocol), tasks in groups.items():
        benchmark = columns[name]
        order = {column.task: column for column in benchmark.tasks}
        places = list(order)
        sections.append(
            BoardSection(
                name=name,
                title=benchmark.title,
                edition=edition,
                protocol=protocol,
                anchor=name_anchor(name, edition, protocol),
                tasks=tuple(
                    BoardTask(
                        task=own[0].task,
                        title=order[own[0].task].title,
                        metric=own[0].metric,
                        edition=own[0].edition,
                        protocol=protocol,
                        chance=next((entry.chance for entry in own if entry.chance is not None), None),
                        scale=order[own[0].task].scale,
                        entries=tuple(own),
                        anchor=name_anchor(own[0].task, own[0].edition, protocol),
                    )
                    for own in sorted(tasks.values(), key=lambda own: places.index(own[0].task))
                ),
            )
        )
    # Benchmarks with a model on them come before those with references alone.
    return sorted(
        sections, key=lambda section: not any(e.is_contestant for t in section.tasks for e in t.entries)
    )


def _lay_out(sources: Sequence[BoardSource]) -> dict[str, MatrixBenchmark]:
    rows = [RunRows(manifest=source.manifest, rows=source.rows, key=source.slug) for source in sources]
    return {benchmark.name: benchmark for benchmark in build_matrix(rows).benchmarks}


def _whole(entry: BoardEntry) -> str:
    """The edition's name, without how much of it was asked."""
    return entry.edition.partition(",")[0]


def _list_files(source: BoardSource, include_logs: bool) -> list[str]:
    """The files of one submission's folder: manifest, scores and digests; the evidence itself on demand."""
    evidence = source.submission.digests if include_logs and source.recomputed else ()
    return [FILE, SCORES, "manifest.json", *evidence]


def _write_submission(source: BoardSource, folder: Path, include_logs: bool) -> None:
    write_json(folder / FILE, source.submission)
    write_json(folder / SCORES, source.rows)
    write_json(folder / "manifest.json", clean_manifest(source.manifest))
    for name in _list_files(source, include_logs)[3:]:
        shutil.copyfile(source.path / name, folder / name)


def _to_csv(entries: Sequence[BoardEntry]) -> str:
    names = BoardEntry.__struct_fields__
    return to_csv(names, [[getattr(entry, name) for name in names] for entry in entries])


def _to_json(config: BoardConfig, entries: Sequence[BoardEntry]) -> bytes:
    content = {"title": config.title, "made": _today(), "version": version("vivant"), "entries": entries}
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def _render(template: str, **values: Any) -> str:
    script = files("vivant.reporting").joinpath("templates", "board.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The page allows this script alone, by its digest: nothing that a submission holds can run.
    return (
        page_environment()
        .get_template(template)
        .render(script=Markup(script), script_digest=digest, **values)
    )
