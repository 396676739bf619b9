"""MMIE's files: both formats, odd and broken ones; the archive of pictures; nothing lost, everything named."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import picture
from tests.support.mmie_kit import make_entry, make_part, run_vivant, write_answers, write_three_answers
from vivant.benchmarks.mmie import MMIE
from vivant.benchmarks.mmie.data import has_choices, read_answers
from vivant.benchmarks.mmie.items import RawPart, read_items
from vivant.core.errors import DataError
from vivant.core.types import Image, Text


def write_released(folder: Path, items: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mmie.json").write_bytes(msgspec.json.encode(items))
    return folder


def make_conversation(name: str, *turns: tuple[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "conversations": [{"from": speaker, "content": content} for speaker, content in turns],
        **more,
    }


def test_released_conversations(tmp_path: Path) -> None:
    items = [
        make_conversation(
            "PBL-7",
            ("human", [make_part("How?", "./images/1.png")]),
            ("gpt", [make_part("First", "images/2.png"), make_part("Then")]),
            catagory="project-based learning",
            field="Art",
            subfield="Paper",
        ),
        make_conversation(
            "x1", ("human", [make_part("And?")]), ("gpt", [make_part("So.")]), catagory="Multi-step Reasoning"
        ),
        make_conversation(
            "x2", ("human", [make_part("Hm?")]), ("gpt", [make_part("Ah.")]), catagory="nonsense"
        ),
    ]
    root = write_released(tmp_path, items)
    benchmark = MMIE()
    assert benchmark.data.available(benchmark, root, ("sa", "pbl", "msr")) == ("pbl", "msr", "other")
    (sample,) = benchmark.load(root, "mmie/pbl")
    assert sample.question == (Text("How?"), Image("images/1.png"))
    assert sample.reference == (Text("First"), Image("images/2.png"), Text("Then"))
    assert sample.facets == {
        "category": "PBL",
        "field": "Art",
        "subfield": "Paper",
        "form": "open",
        "pictures": "1",
    }
    assert [s.id for s in benchmark.load(root, "mmie/msr")] == ["x1"]
    assert [s.id for s in benchmark.load(root, "mmie/other")] == ["x2"]


def test_several_turns_are_one_question_and_the_last_reply_is_the_reference(tmp_path: Path) -> None:
    turns = [
        ("human", [make_part("One")]),
        ("gpt", [make_part("Two")]),
        ("human", [make_part("Three")]),
        ("gpt", [make_part("Four")]),
    ]
    (sample,) = MMIE().load(write_released(tmp_path, [make_conversation("SA-1", *turns)]), "mmie/sa")
    assert [p.text for p in sample.question if isinstance(p, Text)] == ["One", "Two", "Three"]
    assert sample.reference == (Text("Four"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which?\n(A) one\n(B) two", True),
        ("Which? A. one B. two", True),
        ("Which?\nA: one\nB: two\nC: three", True),
        ("A cat. B-52s.", False),
        ("Go on with the story.", False),
        ("Plan A. Only one.", False),
    ],
)
def test_multiple_choice_is_told_from_open(text: str, expected: bool) -> None:
    assert has_choices([RawPart(text)]) is expected


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "is not valid JSON"),
        (b"[{", "is not valid JSON"),
        (b"{}", "should hold a list of items"),
        (b"[]", "holds no items"),
        (b"[3]", "item 1: should be an object"),
        (b'[{"id": "SA-1"}]', r"item 1 \('SA-1'\): there is neither"),
        (b'[{"id": "SA-1", "question": 3}]', "item 1 .'SA-1'.: Expected"),
        (b'[{"question": []}]', "item 1: Object missing required field `id`"),
        (b'[{"id": 1, "question": [{"text": 4}]}]', "item 1 .'1'."),
        (b'[{"id": 1, "conversations": []}]', "asks nothing"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: bytes, line: str) -> None:
    file = tmp_path / "data.json"
    file.write_bytes(content)
    with pytest.raises(DataError, match=line) as caught:
        read_items(file)
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)


def test_json_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes(
        b"\xef\xbb\xbf"
        + msgspec.json.encode(make_entry("SA-1"))
        + b"\n\n"
        + msgspec.json.encode(make_entry("SA-2"))
    )
    assert [item.id for item in read_items(file)] == ["SA-1", "SA-2"]
    assert len(MMIE().load(tmp_path, "mmie/sa")) == 2  # the only file that it can be
    (tmp_path / "other.json").write_bytes(msgspec.json.encode([make_entry("SA-2"), make_entry("SA-3")]))
    with pytest.raises(DataError, match=r"several data files.*--task-option file=NAME"):
        MMIE().load(tmp_path, "mmie/sa")
    assert len(MMIE(file="mine.jsonl").load(tmp_path, "mmie/sa")) == 2


def test_answers_by_several_models_repeated_ids_and_no_answer(tmp_path: Path) -> None:
    items = [
        make_entry("SA-1"),
        make_entry("SA-1", "Another."),
        make_entry("SA-1", model="second"),
        make_entry("PBL-1", None),
        make_entry("odd-1"),
    ]
    result = read_answers(write_answers(tmp_path, items))
    assert list(result) == ["writer", "second"]
    by_task = {imported.task: imported for imported in result["writer"]}
    assert [record.id for record in by_task["mmie/sa"].records] == ["SA-1", "SA-1 (2)"]
    assert "stands 2 times" in by_task["mmie/sa"].notes[0]
    assert by_task["mmie/pbl"].records[0].reply.status == "error"
    assert "have no answer" in by_task["mmie/pbl"].notes[0]
    assert "none of SA, PBL and MSR" in by_task["mmie/other"].notes[0]


def test_questions_without_answers_are_refused(tmp_path: Path) -> None:
    folder = write_released(
        tmp_path, [make_conversation("SA-1", ("human", [make_part("?")]), ("gpt", [make_part("!")]))]
    )
    with pytest.raises(DataError, match="questions but no answers"):
        read_answers(folder)


def pack_images(folder: Path, extra: dict[str, bytes] | None = None) -> None:
    data = picture(folder / "0.png")
    (folder / "0.png").unlink()
    with tarfile.open(folder / "images.tar.gz", "w:gz") as archive:
        for name, content in {"images/0.png": data, **(extra or {})}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_the_archive_is_unpacked_safely(tmp_path: Path) -> None:
    root = write_released(
        tmp_path / "data", [make_conversation("SA-1", ("human", [make_part("?", "images/0.png")]))]
    )
    pack_images(root, {"../outside.png": b"x", "images/bad.png": b"not a picture"})
    with pytest.raises(DataError, match=r"not unpacked yet; `vivant data check mmie"):
        MMIE().load(root, "mmie/sa")
    report = MMIE().data.check(MMIE(), root)
    assert (root / "images" / "0.png").is_file()
    assert not (tmp_path / "outside.png").exists()
    assert any("'../outside.png' refused" in line for line in report.problems)
    assert any("extracted" in line for line in report.contents)
    assert len(MMIE().load(root, "mmie/sa")) == 1


def test_check_lists_everything_at_once(tmp_path: Path) -> None:
    items = [
        make_entry("SA-1", [make_part("a", "images/none.png")]),
        make_entry("SA-1"),
        make_entry("?", [make_part("a", "images/text.png")]),
    ]
    folder = write_answers(tmp_path, items)
    (folder / "images" / "text.png").write_text("not a picture")
    report = MMIE().data.check(MMIE(), folder)
    text = "\n".join(report.problems)
    assert "'SA-1' stands 2 times" in text
    assert "'?': the category is none of" in text
    assert "none.png" in text
    assert "text.png (id '?')" in text
    assert len(report.problems) == 4


def test_missing_data_and_folders_are_one_line(tmp_path: Path) -> None:
    for arguments, line in [
        (("run", "mmie", "--answers", "nowhere", "--judge", "heuristic"), "No such folder: nowhere"),
        (("run", "mmie", "--data", "nowhere", "--model", "random"), "nowhere does not exist"),
        (
            ("run", "mmie", "--answers", ".", "--judge", "heuristic"),
            "holds no file of items",
        ),
        (("run", "mmie/sb", "--data", "mini", "--model", "random"), "did you mean 'sa'"),
    ]:
        result = run_vivant(*arguments, cwd=tmp_path)
        assert result.returncode == 1
        assert line in result.stderr, result.stderr
        assert "Traceback" not in result.stderr


def test_fields_come_from_the_released_set_by_id(tmp_path: Path) -> None:
    from vivant.runs.importing import import_answers

    turns = (("human", [make_part("?")]), ("gpt", [make_part("!")]))
    data = write_released(tmp_path / "data", [make_conversation("SA-1", *turns, field="Literature")])
    (run,) = import_answers(
        ["mmie/sa"], write_three_answers(tmp_path / "in"), str(tmp_path / "run"), data=[str(data)]
    )
    assert [(s.id, s.facets["field"]) for s in run.dir.samples()] == [("SA-1", "Literature")]
