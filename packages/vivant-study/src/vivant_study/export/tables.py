"""Everything that was collected, one line a judgement, as JSON lines, CSV and Parquet; and the people."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import unknown_name_error
from vivant.core.files import atomic_file, write_atomic, write_jsonl
from vivant.core.optional_packages import require_package
from vivant_study.design import Study
from vivant_study.judgement import StudyJudgement, StudyPerson

JUDGEMENTS, PEOPLE = "judgements", "people"
_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is a formula to a spreadsheet."""


Values = Iterable[StudyJudgement] | Iterable[StudyPerson]


def write_json_lines(path: Path, values: Values, study: Study) -> None:  # noqa: ARG001
    """The judgements or people as they are."""
    write_jsonl(path, values)


def write_csv(path: Path, values: Values, study: Study) -> None:
    """Flat rows. Texts that a spreadsheet would take for a formula get an apostrophe before them."""
    rows = [_flatten(value, study) for value in values]
    columns = _list_columns(rows, study)
    write_csv_rows(path, columns, ([_format_cell(row.get(name)) for name in columns] for row in rows))


def write_csv_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a header and rows; None is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, buffer.getvalue())


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        # No is an empty cell, because to many readers every text is a yes.
        return "true" if value else ""
    if isinstance(value, list):
        return " ".join(map(str, value))
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_SPREADSHEET) else text


def write_parquet(path: Path, values: Values, study: Study) -> None:
    """Flat rows with types, texts exact."""
    require_package("polars", "parquet", f"Writing {path}")
    import polars

    rows = [_flatten(value, study) for value in values]
    columns = _list_columns(rows, study)
    kinds: dict[str, Any] = {
        "choice": polars.Int64,
        "best": polars.Int64,
        "worst": polars.Int64,
        "weight": polars.Float64,
        "failures": polars.Int64,
        "position": polars.Int64,
        "revised": polars.Int64,
        "plays": polars.Int64,
        "leaves": polars.Int64,
        "seconds": polars.Float64,
        "played": polars.Float64,
        "away": polars.Float64,
        "complete": polars.Boolean,
        "check": polars.Boolean,
        "late": polars.Boolean,
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
    judgements: Sequence[StudyJudgement],
    people: Sequence[StudyPerson],
    forms: Sequence[str],
) -> list[Path]:
    """Judgements and people in each form asked for; the files written."""
    written: list[Path] = []
    for form in dict.fromkeys(forms):
        if form not in WRITERS:
            raise unknown_name_error("format", form, (*WRITERS, "label-studio", "jspsych"))
        for name, values in ((JUDGEMENTS, judgements), (PEOPLE, people)):
            path = folder / f"{name}.{form}"
            WRITERS[form](path, values, study)
            written.append(path)
    return written


def _flatten(value: StudyJudgement | StudyPerson, study: Study) -> dict[str, Any]:
    """A row: the fields, and the answer taken apart into columns of its own."""
    row: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(value, name)) for name in value.__struct_fields__
    }
    if isinstance(value, StudyPerson):
        answers = row.pop("answers")
        return {**row, **{f"answer_{name}": _format_plain(value) for name, value in answers.items()}}
    answer = row["answer"]
    row["answer"] = _format_plain(answer)
    row["shown"] = list(row["shown"])
    page = value.page
    if page == "choose":
        row["choice"] = answer
    elif page == "free":
        row["text"] = answer
    elif page == "pair":
        row["preference"] = answer
    elif page == "best-worst" and isinstance(answer, dict):
        row.update(best=answer.get("best"), worst=answer.get("worst"))
    elif isinstance(answer, dict):
        row["text" if page == "follow" else "verdict"] = answer.get("text" if page == "follow" else "verdict")
        row.update({f"score_{criterion.name}": answer.get(criterion.name) for criterion in study.criteria})
    return row


def _format_plain(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _list_columns(rows: Sequence[Mapping[str, Any]], study: Study) -> list[str]:
    """All columns that any row has, the fields first; those of an empty export too."""
    if not rows:
        return list(StudyJudgement.__struct_fields__)
    names = dict.fromkeys(name for row in rows for name in row)
    answers = [f"answer_{question.name}" for question in study.questions]
    return [*(name for name in names if name not in answers), *(name for name in answers if name in names)]
