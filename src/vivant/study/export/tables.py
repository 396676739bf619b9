"""Everything that was collected, one line a judgement, as JSON lines, CSV and Parquet; and the people."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import unknown_name_error
from vivant.core.files import atomic_file, write_jsonl
from vivant.study.design import Study
from vivant.study.judgement import Judgement, Person

JUDGEMENTS, PEOPLE = "judgements", "people"
_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is a formula to a spreadsheet."""


def write_json_lines(path: Path, values: Iterable[Judgement] | Iterable[Person], study: Study) -> None:  # noqa: ARG001
    """The judgements or people as they are."""
    write_jsonl(path, values)


def write_csv(path: Path, values: Iterable[Judgement] | Iterable[Person], study: Study) -> None:
    """Flat rows. Texts that a spreadsheet would take for a formula get an apostrophe before them."""
    rows = [_flat(value, study) for value in values]
    with atomic_file(path) as raw:
        lines: list[str] = []
        sink = _Lines(lines)
        writer = csv.writer(sink, lineterminator="\n")
        columns = _columns(rows, study)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_cell(row.get(name)) for name in columns])
        raw.write("".join(lines).encode())


class _Lines:
    """What `csv.writer` writes to."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def write(self, text: str) -> None:
        self._lines.append(text)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        # No is an empty cell, because to many readers every text is a yes.
        return "true" if value else ""
    if isinstance(value, list):
        return " ".join(map(str, value))
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_SPREADSHEET) else text


def write_parquet(path: Path, values: Iterable[Judgement] | Iterable[Person], study: Study) -> None:
    """Flat rows with types, texts exact."""
    import polars

    rows = [_flat(value, study) for value in values]
    columns = _columns(rows, study)
    kinds: dict[str, Any] = {
        "choice": polars.Int64,
        "position": polars.Int64,
        "revised": polars.Int64,
        "seconds": polars.Float64,
        "complete": polars.Boolean,
        "check": polars.Boolean,
        "shown": polars.List(polars.Int64),
    }
    scores = {f"score_{criterion.name}" for criterion in study.criteria}
    schema = {name: polars.Float64 if name in scores else kinds.get(name, polars.String) for name in columns}
    frame = polars.DataFrame(
        [{name: row.get(name) for name in columns} for row in rows], schema=schema, strict=False
    )
    with atomic_file(path) as file:
        frame.write_parquet(file)


Writer = Callable[[Path, Any, Study], None]
WRITERS: Mapping[str, Writer] = {"jsonl": write_json_lines, "csv": write_csv, "parquet": write_parquet}


def write_tables(
    folder: Path,
    study: Study,
    judgements: Sequence[Judgement],
    people: Sequence[Person],
    forms: Sequence[str],
) -> list[Path]:
    """Judgements and people in each form asked for; the files written."""
    written: list[Path] = []
    for form in dict.fromkeys(forms):
        if form not in WRITERS:
            raise unknown_name_error("format", form, WRITERS)
        for name, values in ((JUDGEMENTS, judgements), (PEOPLE, people)):
            path = folder / f"{name}.{form}"
            WRITERS[form](path, values, study)
            written.append(path)
    return written


def _flat(value: Judgement | Person, study: Study) -> dict[str, Any]:
    """A row: the fields, and the answer taken apart into columns of its own."""
    row: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(value, name)) for name in value.__struct_fields__
    }
    if isinstance(value, Person):
        answers = row.pop("answers")
        return {**row, **{f"answer_{name}": _plain(given) for name, given in answers.items()}}
    answer = row["answer"]
    row["answer"] = _plain(answer)
    row["shown"] = list(row["shown"])
    page = value.page
    if page == "choose":
        row["choice"] = answer
    elif page == "free":
        row["text"] = answer
    elif page == "pair":
        row["preference"] = answer
    elif isinstance(answer, dict):
        row["verdict"] = answer.get("verdict")
        row.update({f"score_{criterion.name}": answer.get(criterion.name) for criterion in study.criteria})
    return row


def _plain(given: Any) -> str:
    """A text as it is, anything else as JSON."""
    return given if isinstance(given, str) else msgspec.json.encode(given).decode()


def _columns(rows: Sequence[Mapping[str, Any]], study: Study) -> list[str]:
    """All columns that any row has, the fields first; those of an empty export too."""
    if not rows:
        return list(Judgement.__struct_fields__)
    names = dict.fromkeys(name for row in rows for name in row)
    answers = [f"answer_{question.name}" for question in study.questions]
    return [*(name for name in names if name not in answers), *(name for name in answers if name in names)]
