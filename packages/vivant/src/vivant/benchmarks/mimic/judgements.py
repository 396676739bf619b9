"""Judgements of a pack: read from CSV or JSON lines, checked against the pack, kept as JSON lines.

People's judgements and a judge model's never share a file: the header says whose they are, and no figure is
computed over both. A row that cannot be used is not dropped: it goes into a file beside, with the reason.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.benchmarks.data_files import decode_json, iter_lines, open_csv
from vivant.benchmarks.mimic.packs import Pack
from vivant.core.errors import DataError, UsageError
from vivant.core.files import write_jsonl

FORMAT = 1
COLUMNS = ("annotator", "item", "verdict", "realism")
MAX_REALISM = 5.0


class CommentJudgement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one annotator said of one comment."""

    annotator: str
    item: str
    verdict: Literal["human", "ai"]
    realism: float | None = None
    """0 to 5; None where only the verdict was given."""
    time: str = ""


class Judges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """First line of a file of judgements: whose they are, and of which pack."""

    format: int = FORMAT
    pack: str
    """The pack's hash."""
    kind: Literal["people", "model"]
    name: str
    """`people`, or the judge model's name."""
    settings: dict[str, Any] = {}
    """A judge model's settings: rubric, decoding."""
    unparsed: int = 0
    """Verdicts of a judge model that could not be read."""
    failed: int = 0
    """Verdicts that it did not give: errors."""
    caveat: str = ""
    """What must be said beside every figure that rests on it."""


class RejectedRow(Struct, frozen=True, kw_only=True):
    """A row that was not taken."""

    file: str
    line: int
    reason: str
    row: Any


class JudgementImport(Struct, frozen=True, kw_only=True):
    """What a file of judgements held."""

    judgements: tuple[CommentJudgement, ...]
    rejected: tuple[RejectedRow, ...]
    repeated: int
    """Rows that said the same again."""


def import_judgements(
    files: Sequence[Path], pack: Pack, out: Path, *, judge_model: str | None = None
) -> tuple[JudgementImport, Path | None]:
    """Check rows and write those that hold; returns what was read, and the file of rejected rows if any."""
    if out.exists():
        raise UsageError(f"{out} exists already; choose another --out")
    result = read_rows(files, pack)
    judges = Judges(
        pack=pack.header.pack, kind="model" if judge_model else "people", name=judge_model or "people"
    )
    try:
        write_judgements(out, judges, result.judgements)
        if not result.rejected:
            return result, None
        beside = out.with_name(f"{out.name}.rejected.jsonl")
        write_jsonl(beside, result.rejected)
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}") from error
    return result, beside


def read_rows(files: Sequence[Path], pack: Pack) -> JudgementImport:
    """All rows of all files. The later of two rows by the same annotator on the same item stands."""
    known_items = {item.item for item in pack.items()}
    accepted: dict[tuple[str, str], tuple[CommentJudgement, Path, int, Any]] = {}
    rejected: list[RejectedRow] = []
    rows = unmatched = repeated = 0
    for file in files:
        for number, row in _iter_rows(file):
            rows += 1
            judged = _parse_judgement(row, known_items)
            if isinstance(judged, str):
                unmatched += judged.startswith(_NO_ITEM)
                rejected.append(RejectedRow(file=str(file), line=number, reason=judged, row=row))
                continue
            before = accepted.get((judged.annotator, judged.item))
            if before is not None and before[0] == judged:
                repeated += 1
                continue
            if before is not None:
                reason = f"replaced by {file}, line {number}"
                rejected.append(
                    RejectedRow(file=str(before[1]), line=before[2], reason=reason, row=before[3])
                )
            accepted[judged.annotator, judged.item] = (judged, file, number, row)
    if not rows:
        raise DataError(f"{', '.join(map(str, files))}: no judgements")
    if unmatched * 2 > rows:
        raise DataError(
            f"{unmatched} of {rows} judgements name items that are not in {pack.path}: "
            "they were made for another pack"
        )
    if not accepted:
        first = rejected[0]
        raise DataError(f"{first.file}, line {first.line}: {first.reason}; no row could be used")
    judgements = tuple(entry[0] for entry in accepted.values())
    return JudgementImport(judgements=judgements, rejected=tuple(rejected), repeated=repeated)


def count_reasons(rejected: Iterable[RejectedRow]) -> list[str]:
    """How often each reason occurred, with the first place."""
    counts: Counter[str] = Counter()
    first: dict[str, RejectedRow] = {}
    for row in rejected:
        kind = (
            "replaced by a later row" if row.reason.startswith("replaced") else row.reason.partition(":")[0]
        )
        counts[kind] += 1
        first.setdefault(kind, row)
    return [
        f"{count} × {kind} (first: {first[kind].file}, line {first[kind].line})"
        for kind, count in counts.most_common()
    ]


def write_judgements(out: Path, judges: Judges, judgements: Iterable[CommentJudgement]) -> None:
    """The header, then a line a judgement."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_jsonl(out, chain((judges,), judgements))


def read_judges(path: Path) -> Judges:
    """Whose judgements a file holds."""
    first = next(iter_lines(path), None)
    try:
        return msgspec.json.decode(first[1] if first else b"", type=Judges)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is no file of judgements ({error}); make one with `vivant mimic import`"
        ) from error


def read_judgements(path: Path, pack: Pack) -> tuple[Judges, list[CommentJudgement]]:
    """A file that `vivant mimic import` or a judge wrote, for this pack and no other."""
    lines = iter_lines(path)
    judges = read_judges(path)
    next(lines)
    if judges.pack != pack.header.pack:
        raise DataError(
            f"{path} judges another pack: {judges.pack[:12]}, and {pack.path} is {pack.header.pack[:12]}"
        )
    decoder = msgspec.json.Decoder(CommentJudgement)
    return judges, [decode_json(line, f"{path}, line {number}", decoder) for number, line in lines]


_NO_ITEM = "no such item in the pack"


def _parse_judgement(row: Any, known_items: set[str]) -> CommentJudgement | str:
    """A judgement, or why the row is none."""
    if not isinstance(row, dict):
        return row if isinstance(row, str) else "not an object with fields"
    values = {name: "" if row.get(name) is None else str(row[name]).strip() for name in (*COLUMNS, "time")}
    if not values["annotator"]:
        return "no annotator"
    if values["item"] not in known_items:
        return f"{_NO_ITEM}: {values['item'] or 'empty'}"
    verdict = values["verdict"].casefold()
    if verdict not in ("human", "ai"):
        return f"the verdict is neither human nor ai: {values['verdict'] or 'empty'}"
    realism = None
    if values["realism"]:
        try:
            realism = float(values["realism"])
        except ValueError:
            return f"realism is not a number: {values['realism']}"
        if not (math.isfinite(realism) and 0 <= realism <= MAX_REALISM):
            return f"realism is not between 0 and 5: {values['realism']}"
    return CommentJudgement(
        annotator=values["annotator"],
        item=values["item"],
        verdict="human" if verdict == "human" else "ai",
        realism=realism,
        time=values["time"],
    )


def _iter_rows(file: Path) -> Iterator[tuple[int, Any]]:
    if file.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        for number, line in iter_lines(file):
            try:
                yield number, msgspec.json.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                yield number, f"not JSON: {error}"
        return
    with open_csv(file) as text:
        yield from _iter_csv_rows(file, text)


def _iter_csv_rows(file: Path, text: Iterable[str]) -> Iterator[tuple[int, Any]]:
    lines = iter(text)
    head = next(lines, "")
    separator = max(",;\t", key=head.count)
    columns = [name.strip().casefold() for name in next(csv.reader([head], delimiter=separator), [])]
    missing = [name for name in COLUMNS[:3] if name not in columns]
    if missing:
        raise DataError(
            f"{file}: there is no column {', '.join(missing)}, but {', '.join(columns) or 'none'}; "
            f"needed are {', '.join(COLUMNS)}"
        )
    reader = csv.reader(lines, delimiter=separator)
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield reader.line_num + 1, dict(zip(columns, cells, strict=False))
