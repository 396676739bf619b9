"""Labels from people: a table to fill in, and the filled table read back.

Columns: `key` (the reply), `segment` (1, 2, …; `answer` for the kind of the answer), `text` (for the reader),
`label`, `frame`, and `annotator` where several people label. Rows without a label are passed over.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.analysis.reasoning.judge_labels import LabelItem, LabelOptions, select_items
from vivant.analysis.reasoning.kinds import RESTS_ON
from vivant.analysis.reasoning.label_files import PEOPLE, Label, LabelledReply, write_labels
from vivant.benchmarks.base import Protocol
from vivant.core.errors import DataError, UsageError, VivantError, unknown_name_error
from vivant.core.files import write_atomic
from vivant.metrics.agreement import krippendorff_alpha, percent_agreement
from vivant.runs.run import Run, choose_common_protocol

ANSWER = "answer"
COLUMNS = ("key", "segment", "text", "label", "frame", "annotator")


class LabelRow(Struct, frozen=True):
    """One label as a person wrote it."""

    key: str
    segment: str
    label: str
    frame: int = 0
    annotator: str = ""
    text: str | None = None


PlacedRow = tuple[str, LabelRow]
"""A row with its place, for messages."""


def write_template(
    run: Run,
    path: Path,
    protocol: Protocol | None = None,
    options: LabelOptions | None = None,
) -> int:
    """A CSV file with a row per segment and per answer to be sorted, labels left empty.

    Args:
        run: the run.
        path: the file.
        protocol: `paper` or `strict`.
        options: what is labelled.
    """
    options = options or LabelOptions()
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for item in select_items(run, choose_common_protocol([run], protocol), options):
        for segment, text in _texts(item):
            writer.writerow([item.record.key, segment, text, "", "", ""])
            count += 1
    try:
        # With a byte-order mark, so that spreadsheets read it as UTF-8.
        write_atomic(path, buffer.getvalue().encode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error
    return count


def _texts(item: LabelItem) -> Iterator[tuple[str, str]]:
    if item.reasoning is not None:
        for number in range(len(item.reasoning.segments)):
            yield str(number + 1), item.reasoning.piece(number)
    if item.scheme is not None:
        yield ANSWER, f"{item.score.answer or item.record.reply.text[-300:]} [{', '.join(item.scheme.kinds)}]"


def import_labels(
    run: Run, path: Path, protocol: Protocol | None = None, options: LabelOptions | None = None
) -> list[str]:
    """Read a filled table into the run. Returns what there is to say: how many labels, how far people agree."""
    replies, notes = read_people_labels(run, read_label_rows(path), protocol, options)
    write_labels(run.dir.path, PEOPLE, replies)
    return notes


def read_people_labels(
    run: Run,
    rows: Sequence[PlacedRow],
    protocol: Protocol | None = None,
    options: LabelOptions | None = None,
) -> tuple[list[LabelledReply], list[str]]:
    """People's labels, checked against the run, and what there is to say of them."""
    items = {
        item.record.key: item
        for item in select_items(run, choose_common_protocol([run], protocol), options or LabelOptions())
    }
    labels: dict[tuple[str, str], list[LabelRow]] = {}
    for where, line in rows:
        try:
            _check(line, items)
        except VivantError as error:
            raise DataError(f"{where}: {error}") from error
        known = labels.setdefault((line.key, line.segment), [])
        if any(other.annotator == line.annotator for other in known):
            who = f" by {line.annotator}" if line.annotator else ""
            raise DataError(f"{where}: segment {line.segment} of {line.key} is labelled twice{who}")
        known.append(line)
    keys = dict.fromkeys(key for key, _ in labels)
    notes = [f"{len(labels)} labels of {len(keys)} replies", *_agreement(list(labels.values()))]
    return [_build_labels(items[key], labels) for key in keys], notes


def read_label_rows(path: Path) -> list[PlacedRow]:
    """The rows of a filled table that have a label."""
    rows = [(f"{path}, {where}", row) for where, row in _lines(path)]
    if not rows:
        raise DataError(f"{path} holds no label: fill in the column 'label'")
    return rows


def _lines(path: Path) -> Iterator[PlacedRow]:
    try:
        data = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error.reason}") from error
    if path.suffix == ".jsonl":
        for number, text in enumerate(data.splitlines(), 1):
            if text.strip():
                try:
                    line = msgspec.json.decode(text, type=LabelRow)
                except msgspec.MsgspecError as error:
                    raise DataError(f"{path}, line {number}: {error}") from error
                if line.label.strip():
                    yield f"line {number}", line
        return
    reader = csv.DictReader(io.StringIO(data))
    missing = [name for name in ("key", "segment", "label") if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path} has no column '{missing[0]}'; `--template FILE` writes a table to fill in")
    for number, row in enumerate(reader, 2):
        label = (row.get("label") or "").strip()
        if not label:
            continue
        frame = (row.get("frame") or "").strip()
        if frame and not frame.isdecimal():
            raise DataError(f"{path}, row {number}: frame '{frame}' is no number")
        yield (
            f"row {number}",
            LabelRow(
                key=(row.get("key") or "").strip(),
                segment=(row.get("segment") or "").strip(),
                label=label,
                frame=int(frame or 0),
                annotator=(row.get("annotator") or "").strip(),
                text=row.get("text"),
            ),
        )


def _check(line: LabelRow, items: dict[str, LabelItem]) -> None:
    item = items.get(line.key)
    if item is None:
        raise unknown_name_error("reply", line.key, list(items)[:2000])
    if line.segment == ANSWER:
        if item.scheme is None:
            raise DataError(f"the answer of {line.key} is not to be sorted: it is right")
        if line.label not in item.scheme.kinds:
            raise unknown_name_error("kind", line.label, item.scheme.kinds)
        return
    count = len(item.reasoning.segments) if item.reasoning is not None else 0
    if not line.segment.isdecimal() or not 1 <= int(line.segment) <= count:
        raise DataError(f"segment '{line.segment}' is none of the {count} of {line.key}, nor '{ANSWER}'")
    if line.label not in RESTS_ON:
        raise unknown_name_error("label", line.label, RESTS_ON)
    text = item.reasoning.piece(int(line.segment) - 1) if item.reasoning is not None else ""
    if line.text and " ".join(line.text.split()) != " ".join(text.split()):
        raise DataError(
            f"segment {line.segment} of {line.key} reads otherwise in the run; it was written for another run, "
            "or with another --segments"
        )


def _build_labels(item: LabelItem, rows: dict[tuple[str, str], list[LabelRow]]) -> LabelledReply:
    record, reasoning = item.record, item.reasoning
    labels: list[Label] = []
    for number, segment in enumerate(reasoning.segments if reasoning is not None else (), 1):
        lines = rows.get((record.key, str(number)), [])
        label = _most([line.label for line in lines])
        frame = next((line.frame for line in lines if line.label == label), 0)
        labels.append(Label(start=segment.start, end=segment.end, rests_on=label, frame=frame))
    kind = _most([line.label for line in rows.get((record.key, ANSWER), [])])
    return item.add_labels(PEOPLE, tuple(labels), kind)


def _most(labels: Sequence[str]) -> str:
    """What most people said; the first of equals."""
    return Counter(labels).most_common(1)[0][0] if labels else ""


def _agreement(groups: Sequence[Sequence[LabelRow]]) -> list[str]:
    """How far people agree, where several labelled the same."""
    if max(map(len, groups)) < 2:
        return []
    codes: dict[str, int] = {}
    items = [number for number, lines in enumerate(groups) for _ in lines]
    values = [codes.setdefault(line.label, len(codes)) for lines in groups for line in lines]
    same, alpha = percent_agreement(items, values), krippendorff_alpha(items, values)
    return [f"people agree on {same:.0%} of pairs (Krippendorff's alpha {alpha:.2f}); what most say counts"]
