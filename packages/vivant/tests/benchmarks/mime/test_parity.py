"""MIME's published decisions and table cells, reproduced from the published outputs."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest

from tests.support.mime_kit import MIME, read_import, score_import
from tests.support.parity import PARITY
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.benchmarks.mime.published import MODELS
from vivant.core.table import Table, format_cell
from vivant.core.types import Sample

ROOT = PARITY / "mime"
RAW = sorted(ROOT.glob("results/**/raw_*.json"))
SCORES = sorted(ROOT.glob("results/**/score_*.csv"))
TASKS = ("mime/mcq", "mime/ff")
NAMES = {
    "Qwen/Qwen2.5-VL-7B-Instruct": "Q7B",
    "microsoft/Phi-3.5-vision-instruct": "Phi",
    "gemini-1.5-flash": "Gem",
    "human": "Human",
}

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="no parity data here")


@cache
def load_data(task: str) -> tuple[Sample, ...]:
    return tuple(MIME.load(ROOT, task))


def find_task(file: Path) -> str:
    return "mime/mcq" if "_mcq_" in file.name else "mime/ff"


def read_published_scores(file: Path) -> list[dict[str, str]]:
    path = file.with_name(file.name.replace("raw_", "score_").replace(".json", ".csv"))
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def is_partial(file: Path) -> bool:
    """Gemini's raw free-form files on MIME hold another, incomplete run; its score files are complete."""
    return "gemini" in file.name and "_ff_" in file.name and "mime-cropped" in str(file)


@cache
def import_run(file: Path, protocol: Protocol = "paper") -> ScoredRun:
    return score_import(
        read_import(file, load_data(find_task(file)), find_task(file)),
        protocol,
        run=str(file.relative_to(ROOT)),
    )


@cache
def import_people(protocol: Protocol) -> tuple[ScoredRun, ...]:
    results = [MIME.native.read_human(MIME, ROOT, task) for task in TASKS]
    return tuple(score_import(part, protocol, run="human") for part in results if part is not None)


@cache
def import_all_runs() -> tuple[ScoredRun, ...]:
    files = [file for file in RAW if not is_partial(file)]
    files += sorted(ROOT.glob("results/mime-cropped/**/score_ff_gemini*.csv"))
    return (*(import_run(file) for file in files), *import_people("paper"))


def test_the_files_are_there() -> None:
    assert len(RAW) == 18
    assert sum(map(is_partial, RAW)) == 2


@pytest.mark.parametrize("file", RAW, ids=lambda file: str(file.relative_to(ROOT / "results")))
def test_raw_files_give_the_published_decisions(file: Path) -> None:
    run = import_run(file)
    if is_partial(file):
        assert len(run.rows) == (5 if "zero-shot" in file.parts else 258)
        assert all(score.status == "scored" for *_, score in run.rows)
        return
    expected = read_published_scores(file)
    assert len(run.rows) == len(expected) == (46 if "mime-real-resized" in file.parts else 860)
    for (_, _, score), line in zip(run.rows, expected, strict=True):
        if run.task == "mime/mcq":
            assert score.value == float(line["is_correct"])
        else:
            assert score.detail["similarity"] == pytest.approx(float(line["similarity_score"]), abs=1e-5)
            assert score.value == float(line["correct"] == "True")


@pytest.mark.parametrize(
    "file",
    # Free-form answers on MIME are the raw files' own, but for Gemini: once is enough.
    [f for f in SCORES if "_mcq_" in f.name or "gemini" in f.name or "mime-real-resized" in f.parts],
    ids=lambda file: str(file.relative_to(ROOT / "results")),
)
def test_score_files_give_the_published_decisions(file: Path) -> None:
    run = import_run(file)
    expected = read_published_scores(file)
    by_key = {score.id: score for *_, score in run.rows}
    assert len(by_key) == len(expected)
    for (_, _, score), line in zip(run.rows, expected, strict=True):
        correct = line.get("is_correct", "") == "1" or line.get("correct") == "True"
        assert score.value == float(correct)
    raw = file.with_name(file.name.replace("score_", "raw_").replace(".csv", ".json"))
    if not is_partial(raw):
        by_name = {score.id: score.value for *_, score in import_run(raw).rows}
        assert {name: score.value for name, score in by_key.items()} == by_name


def test_a_score_file_alone_joins_by_the_released_order(tmp_path: Path) -> None:
    source = ROOT / "results/mime-cropped/cot/all/score_mcq_gemini_gemini-1.5-flash.csv"
    alone = tmp_path / source.name
    alone.write_bytes(source.read_bytes())
    shuffled = sorted(load_data("mime/mcq"), key=lambda sample: sample.id)
    results = {
        score.id: score.value for *_, score in score_import(read_import(alone, shuffled, "mime/mcq")).rows
    }
    assert results == {score.id: score.value for *_, score in import_run(source).rows}
    alone.write_bytes((ROOT / "results/mime-real-resized/zero-shot/none" / source.name).read_bytes())
    from vivant.core.errors import DataError

    with pytest.raises(DataError, match="not in the data's order"):
        MIME.native.read_predictions(alone, shuffled, "mime/mcq")


# ── tables ──


def list_cells(table: Table) -> dict[tuple[str, ...], list[str]]:
    """Cells of each line by the published short name of its model and the other texts of the line."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for row in table.body:
        names = [str(cell) for cell in row[1:] if isinstance(cell, str)]
        lines[NAMES[str(row[0])], *names] = [format_cell(c) for c in row[1:] if not isinstance(c, str | None)]
    return lines


def split_cells(text: str) -> list[str]:
    return text.replace("/", " ").split()


def test_table_1() -> None:
    assert list_cells(MIME.tables.build(MIME, "1", import_all_runs(), "paper")) == {
        ("Q7B",): split_cells("39.5/5.8 100.0/84.8"),
        ("Phi",): split_cells("29.1/2.3 93.5/67.4"),
        ("Gem",): split_cells("52.3/19.8 100.0/95.7"),
        ("Human",): split_cells("99.6/89.5 100.0/77.2"),
    }


SCENES = {
    ("Q7B", "zero-shot"): "39.5/5.8 68.6/38.4 32.6/1.2 34.9/0.0 64.0/30.2 30.2/0.0",
    ("Q7B", "cot"): "41.9/8.1 62.8/37.2 31.4/3.5 27.9/0.0 61.6/17.4 26.7/1.2",
    ("Phi", "zero-shot"): "29.1/2.3 73.3/27.9 31.4/8.1 44.2/0.0 72.1/27.9 36.0/5.8",
    ("Phi", "cot"): "41.9/4.7 64.0/30.2 24.4/1.2 31.4/1.2 59.3/30.2 33.7/2.3",
    ("Gem", "zero-shot"): "52.3/19.8 68.6/51.2 37.2/12.8 44.2/8.1 75.6/46.5 36.0/3.5",
    ("Gem", "cot"): "54.6/22.1 69.8/48.8 40.7/11.6 48.8/9.3 74.4/51.2 41.9/7.0",
    ("Human",): "99.6/89.5 98.5/89.2 99.2/93.4 98.5/93.8 99.2/94.1 99.2/95.0",
}


def test_tables_2_and_5() -> None:
    expected = {label: split_cells(cells) for label, cells in SCENES.items()}
    assert list_cells(MIME.tables.build(MIME, "5", import_all_runs(), "paper")) == expected
    zero_shot = {label[:1]: cells for label, cells in expected.items() if label[1:] != ("cot",)}
    assert list_cells(MIME.tables.build(MIME, "2", import_all_runs(), "paper")) == zero_shot


def test_table_3() -> None:
    assert list_cells(MIME.tables.build(MIME, "3", import_all_runs(), "paper")) == {
        ("Q7B", "zero-shot"): split_cells("41.9/9.3"),
        ("Phi", "zero-shot"): split_cells("34.9/2.3"),
        ("Gem", "zero-shot"): split_cells("47.7/20.9"),
        ("Q7B", "cot"): split_cells("46.5/10.5"),
        ("Phi", "cot"): split_cells("33.7/2.3"),
        ("Gem", "cot"): split_cells("52.3/19.8"),
        ("Human",): split_cells("98.5/90.3"),
    }


def test_table_4() -> None:
    assert list_cells(MIME.tables.build(MIME, "4", import_all_runs(), "paper")) == {
        ("Q7B", "MC"): split_cells("39.5 39.5 50.0 43.0 43.0 4.3"),
        ("Phi", "MC"): split_cells("29.1 31.4 33.7 33.7 32.0 1.9"),
        ("Gem", "MC"): split_cells("52.3 47.7 52.3 53.5 51.5 2.2"),
        ("Human", "MC"): split_cells("99.6 98.8 98.8 98.7 99.0 0.4"),
        ("Q7B", "FF"): split_cells("5.8 7.0 3.5 8.1 6.1 1.7"),
        ("Phi", "FF"): split_cells("2.3 5.8 3.5 3.5 3.8 1.3"),
        ("Gem", "FF"): split_cells("19.8 18.6 17.4 23.3 19.8 2.2"),
        ("Human", "FF"): split_cells("89.5 95.0 90.7 85.1 90.1 3.5"),
    }


def test_table_6() -> None:
    table = MIME.tables.build(MIME, "6", import_people("paper"), "paper")
    assert [[format_cell(cell) for cell in row[2:]] for row in table.body] == [
        ["n", "1003", "991", "98.8", "1003", "905", "90.2"],
        ["j", "1536", "1520", "99.0", "1536", "1423", "92.6"],
        ["n − j", "–", "–", "t -0.3650, p 0.71514", "–", "–", "t -2.1561, p 0.03117"],
    ]


def test_people_first_videos_and_plain_accuracy() -> None:
    by_name = {
        row[0]: row[1:] for row in MIME.tables.build(MIME, "annotators", import_people("paper"), "paper").body
    }
    assert [format_cell(cell) for cell in by_name["first videos, MIME"]] == ["60", "95.0", "88.3"]
    assert [format_cell(cell) for cell in by_name["all, MIME"]] == ["2539", "98.9", "91.7"]
    strict = {
        row[0]: row[1:]
        for row in MIME.tables.build(MIME, "annotators", import_people("strict"), "strict").body
    }
    assert format_cell(strict["first videos, MIME"][2]) == "70.0"
    assert format_cell(strict["all, MIME"][2]) == "83.3"
    # 59 people judged MIME and 4 REAL, two of them both.
    assert len(strict) == 61 + 4
    scenes = list_cells(MIME.tables.build(MIME, "2", import_people("strict"), "strict"))["Human",]
    assert scenes[1::2] == split_cells("85.7 81.0 89.5 83.3 83.8 82.6")
    assert list_cells(MIME.tables.build(MIME, "1", import_people("strict"), "strict"))["Human",][3] == "97.8"


def test_the_failure_labels() -> None:
    file = next(file for file in RAW if is_partial(file) and "cot" in file.parts)
    table = MIME.tables.build(MIME, "failures", [import_run(file)], "paper")
    assert all(row[1:4] == row[4:] for row in table.body)
    assert table.columns[1:4] == ("base+blank@0", "base+aligned@0", "base+misaligned@0")


def test_published_rows_are_what_the_files_give() -> None:
    """The figures carried as data, for the models whose files are here."""
    from vivant.benchmarks.summary import summarise

    measured = {
        (
            NAMES[row.model],
            "" if row.model == "human" else row.style,
            row.task,
            row.group["variant"],
        ): row.value
        for run in import_all_runs()
        for row in summarise(run, MIME, ("variant",))
    }
    short = {name: key for key, name in MODELS.items()}
    compared = 0
    for figure in MIME.published.rows():
        value = measured.get((short[figure.model], figure.style, figure.task, figure.group["variant"]))
        if value is not None:
            assert float(f"{round(value, 2):.1f}") == figure.value, figure
            compared += 1
    assert compared == 2 * (7 * 6 + 7 + 4 * 3 + 4)


def test_the_other_threshold_of_the_original_command() -> None:
    file = ROOT / "results/mime-cropped/zero-shot/all/score_ff_gemini_gemini-1.5-flash.csv"
    run = score_import(read_import(file, load_data("mime/ff"), "mime/ff"), threshold=0.75)
    base = [score.value or 0.0 for sample, _, score in run.rows if sample.facets["variant"] == "base+blank@0"]
    assert f"{sum(base) / len(base) * 100:.1f}" == "9.3"
