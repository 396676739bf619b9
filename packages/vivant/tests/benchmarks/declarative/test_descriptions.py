"""A benchmark of one's own in a YAML file: every form of data, and one line for each mistake."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars
import pytest

from tests.support.data_files import base64_image, write_zip
from tests.support.helpers import picture, vivant
from tests.support.media_kit import make_video
from vivant.benchmarks import registry
from vivant.benchmarks.base import PromptContext
from vivant.benchmarks.validation import load_samples
from vivant.core.errors import VivantError
from vivant.core.types import Image, Sample, Text, Video
from vivant.engine.evaluation import evaluate

MINE = """
name: mine
title: My benchmark
source:
  files: questions.*
media: clips
columns:
  id: qid
  question: question
  options: choices
  key: answer
  video: video
  start: begin
  end: stop
  subtitles: words
  facets: [kind]
  cluster: video
styles:
  zero-shot: "Name the letter alone."
  talk: "See the subtitles: {subtitles}\\n{question}\\n{options}\\nReason, then end with the letter."
published:
  - {source: our paper, values: {Human: 91.5}}
size: 2
"""
ROWS: list[dict[str, Any]] = [
    {
        "qid": "a",
        "question": "What is first?",
        "choices": ["left", "right", "up"],
        "answer": "B",
        "video": "v.mp4",
        "begin": 0.5,
        "stop": 1.5,
        "words": "v.srt",
        "kind": "order",
    },
    {
        "qid": "b",
        "question": "And then?",
        "choices": ["one", "two"],
        "answer": "two",
        "video": "v.mp4",
        "begin": None,
        "stop": None,
        "words": None,
        "kind": "count",
    },
]
SRT = "\n\n".join(
    f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{text}" for n, text in enumerate(("before", "inside", "after"))
)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return make_video(tmp_path_factory.mktemp("video") / "v.mp4", 60).read_bytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, video: bytes) -> Path:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "v.mp4").write_bytes(video)
    (tmp_path / "clips" / "v.srt").write_text(SRT.replace("00:00:02,000", "00:00:01,950"))
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path


def write_rows(folder: Path, ending: str, rows: list[dict[str, Any]]) -> Path:
    """The same rows in one of the forms that are read."""
    path = folder / f"questions.{ending}"
    if ending == "parquet":
        polars.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    elif ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif ending == "json":
        path.write_text(json.dumps(rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if ending == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def write_model(folder: Path, reply: str) -> str:
    """A model that looks at its media and always says the same."""
    file = folder / "fixed.py"
    file.write_text(f"class Fixed:\n    async def generate(self, request):\n        return {reply!r}\n")
    return f"{file}:Fixed"


def load(folder: Path, task: str = "all") -> list[Sample]:
    benchmark = registry.get(str(folder / "mine.yaml"))
    return list(load_samples(benchmark, folder, f"mine/{task}"))


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "json", "csv", "tsv"])
def test_every_form_of_table_gives_the_same_samples(folder: Path, ending: str) -> None:
    write_rows(folder, ending, ROWS)
    first, second = load(folder)
    assert first.question == (Video("clips/v.mp4", 0.5, 1.5), Text("What is first?"))
    assert second.question == (Video("clips/v.mp4"), Text("And then?"))
    assert (first.key, second.key) == (1, 1)
    assert [option.text for option in first.options] == ["left", "right", "up"]
    assert first.facets == {"kind": "order"}
    assert first.cluster == "v.mp4"


def test_a_description_fits_in_forty_lines() -> None:
    assert len(MINE.strip().splitlines()) <= 40


def test_clip_and_subtitles_reach_frames_and_prompt(folder: Path) -> None:
    write_rows(folder, "jsonl", ROWS)
    model = write_model(folder, "A")
    run = evaluate(str(folder / "mine.yaml"), model, style="talk", frames=3, out=str(folder / "run"))
    records = {record.id: record for record in run.records().values()}
    assert records["a"].media[0].times[0] >= 0.5
    assert records["a"].media[0].times[-1] < 1.5
    assert records["b"].media[0].times[0] == 0.0
    text = str(records["a"].messages)
    assert "inside" in text
    assert "before" in text  # it ends within the clip
    assert "after" not in text
    assert "no subtitles" in str(records["b"].messages)


def test_commands_know_the_description_by_name(folder: Path) -> None:
    write_rows(folder, "jsonl", ROWS)
    done = vivant("run", "./mine.yaml", "--model", "random", "--frames", "2", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "all 2 samples of the published edition" in done.stderr
    table = vivant("table", "run", "--by", "kind", "--published", cwd=folder)
    assert table.returncode == 0, table.stderr
    assert "order" in table.stdout
    assert "91.5" in vivant("table", "run", "--published", cwd=folder).stdout
    blind = vivant(
        *("run", "./mine.yaml/all", "--model", "random", "--control", "blind", "--where", "kind=order"),
        *("--out", "blind"),
        cwd=folder,
    )
    assert blind.returncode == 0, blind.stderr
    listed = vivant("benchmarks", cwd=folder)
    assert "My benchmark" in listed.stdout
    assert vivant("compare", "run", "blind", cwd=folder).returncode == 0


def test_the_check_shows_questions_with_their_key(folder: Path) -> None:
    write_rows(folder, "jsonl", ROWS)
    done = vivant("benchmarks", "check", "./mine.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "mine/all: 2 questions" in done.stdout
    assert "[video] clips/v.mp4 from 0.5 s to 1.5 s" in done.stdout
    assert "* B. right" in done.stdout
    assert "  A. left" in done.stdout
    assert "mine.yaml is fine" in done.stderr


def test_the_check_lists_every_mistake_in_the_file(folder: Path) -> None:
    text = (
        MINE.strip()
        .replace("title:", "titel:")
        .replace("  key: answer", "  keey: answer")
        .replace("size: 2", "size: x")
    )
    (folder / "mine.yaml").write_text(text)
    done = vivant("benchmarks", "check", "./mine.yaml", cwd=folder)
    assert done.returncode == 1
    lines = (done.stdout + done.stderr).strip().splitlines()
    assert len(lines) == 3
    assert sorted(line.partition("line ")[2].partition(":")[0].split()[0] for line in lines) == [
        "10",
        "2",
        "22",
    ]


CHANGES: list[tuple[str, str, dict[str, Any], str]] = [
    ("key: answer", "key: anwser", {}, "mine.yaml, line 11: Unknown column 'anwser'; did you mean 'answer'?"),
    ("[kind]", "[kinds]", {}, "mine.yaml, line 16: Unknown column 'kinds'; did you mean 'kind'?"),
    ("media: clips", "media: elsewhere", {"video": "w.mp4"}, "elsewhere/w.mp4 is missing"),
    ("", "", {"video": "gone.mp4"}, "id a: the media file clips/gone.mp4 is missing"),
    ("", "", {"answer": "D"}, "id a: the key 'D' is outside of the 3 options (A to C)"),
    ("", "", {"answer": "sideways"}, "id a: the key 'sideways' is outside of the 3 options"),
    ("", "", {"answer": "2"}, "for numbers write `key_form: index`"),
    (
        "",
        "",
        {"choices": ["B", "A"], "answer": "A"},
        "is a letter and the text of option B; write `key_form`",
    ),
    ("", "", {"begin": 9, "stop": 2}, "the clip ends at 2 s, before it begins at 9 s"),
    ("", "", {"begin": "soon"}, "no number of seconds"),
    ("", "", {"question": ""}, "id a: the question is empty; a question mark after the column allows that"),
    ("", "", {"choices": []}, "id a has no options; name a `scorer`"),
    ("", "", {"qid": "b"}, "two samples of mine/all have the id 'b'"),
    ("", "", {"video": "../../secret.mp4"}, "clips/../../secret.mp4 leads out of the data folder"),
    ("", "", {"video": "/etc/secret.mp4"}, "/etc/secret.mp4 is an absolute path"),
    ("columns:", "columms:", {}, "mine.yaml, line 7: Unknown field 'columms'; did you mean 'columns'?"),
    (
        "  options: choices",
        "  optoins: choices",
        {},
        "mine.yaml, line 10 at columns: Unknown field 'optoins'",
    ),
    ("size: 2", "size: many", {}, "mine.yaml, line 23: Expected `int | object`"),
    ("size: 2", "scorer: chioce", {}, "mine.yaml, line 23: Unknown scorer 'chioce'; did you mean 'choice'?"),
    (
        "size: 2",
        "rules: [lmms-eval/priorty]",
        {},
        "line 23: Unknown scoring rule of lmms-eval 'priorty'; did you",
    ),
    (
        '"Name the letter alone."',
        '"{quesion}?"',
        {},
        "line 19: Unknown placeholder {quesion}; did you mean {question}",
    ),
    ("\\n{options}", "\\n{option}", {}, "line 20: Unknown placeholder {option}; did you mean {options}?"),
    ("size: 2", "size: {al: 2}", {}, "line 23: Unknown task 'al'; did you mean 'all'?"),
    ("size: 2", "macro: knd", {}, "line 23: Unknown facet 'knd'; did you mean 'kind'?"),
    ("size: 2", "name: other", {}, "line 23: 'name' is already set in line 2"),
    ("name: mine", "name: My Bench", {}, "use small letters"),
    ("name: mine", "name: mime", {}, "the name 'mime' is taken"),
    ("files: questions.*", "files: '*.parquet'", {}, "holds no file *.parquet"),
    ("files: questions.*", "where: {split: test}", {}, "`source.where`: Unknown column 'split'"),
    (
        "title: My benchmark",
        "title: [",
        {},
        "line 5: this is not YAML: while parsing a flow sequence of line 3",
    ),
    ("key: answer", "key: answer\n  key_form: leter", {}, "known: auto, index, letter, number, text"),
]


@pytest.mark.parametrize(("old", "new", "change", "reason"), CHANGES)
def test_a_mistake_is_one_line_before_anything_is_sent(
    folder: Path, old: str, new: str, change: dict[str, Any], reason: str
) -> None:
    (folder / "mine.yaml").write_text(MINE.strip().replace(old, new, 1) if old else MINE.strip())
    (folder / "mine.yaml").write_text("\n" + (folder / "mine.yaml").read_text())
    write_rows(folder, "jsonl", [{**ROWS[0], **change}, ROWS[1]])
    with pytest.raises(VivantError) as caught:
        evaluate(str(folder / "mine.yaml"), "random", data=(str(folder),), out=str(folder / "run"))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (folder / "run").exists()


def test_a_mistake_ends_the_command_with_one_line(folder: Path) -> None:
    write_rows(folder, "jsonl", [{**ROWS[0], "answer": "Z"}, ROWS[1]])
    done = vivant("run", "./mine.yaml", "--model", "random", cwd=folder)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "questions.jsonl, line 1: id a: the key 'Z' is outside" in done.stderr


def test_missing_media_can_be_skipped_or_kept(folder: Path) -> None:
    write_rows(folder, "jsonl", [{**ROWS[0], "video": "gone.mp4"}, ROWS[1]])
    run = evaluate(
        str(folder / "mine.yaml"), "random", task_options={"missing": "skip"}, frames=2, out=str(folder / "a")
    )
    assert [sample.id for sample in run.dir.samples()] == ["b"]
    kept = evaluate(
        str(folder / "mine.yaml"),
        "random",
        task_options={"missing": "keep"},
        control="blind",
        out=str(folder / "b"),
    )
    assert len(kept.dir.samples()) == 2


def test_pictures_come_as_path_bytes_base64_struct_and_list(folder: Path) -> None:
    data = picture(folder / "p.png")
    description = (
        "name: mine\nsource: {files: p.parquet}\n"
        "columns: {question: q, answers: a, image: image}\nscorer: exact\n"
    )
    cells: list[Any] = ["p.png", data, {"bytes": data, "path": "x.png"}, [{"bytes": data, "path": None}] * 2]
    paths = []
    for cell in cells:
        (folder / "mine.yaml").write_text(description)
        polars.DataFrame([{"q": "What?", "a": "x", "image": cell}]).write_parquet(folder / "p.parquet")
        (sample,) = load(folder)
        paths.append([part.path for part in sample.question if isinstance(part, Image)])
    stored = paths[1][0]
    assert paths == [["p.png"], [stored], [stored], [stored, stored]]
    assert (folder / stored).read_bytes() == data
    assert stored.startswith(".vivant-media/")
    (folder / "mine.yaml").write_text(description.replace("p.parquet", "p.csv"))
    (folder / "p.csv").write_text(f"q,a,image\nWhat?,x,{base64_image(7)}\n")
    (sample,) = load(folder)
    assert (folder / sample.question[0].path).read_bytes()[:4] == b"\x89PNG"  # type: ignore[union-attr]


def test_media_in_an_archive_are_unpacked_when_the_data_are_checked(folder: Path) -> None:
    write_zip(folder / "more.zip", ["clips/w.mp4"])
    (folder / "mine.yaml").write_text(MINE.replace("questions.*", "questions.*\n  archives: ['*.zip']"))
    write_rows(folder, "jsonl", [{**ROWS[0], "video": "w.mp4"}, ROWS[1]])
    with pytest.raises(VivantError, match=r"Unpack more.zip first: vivant data check mine"):
        load(folder)
    done = vivant("data", "check", "mine", cwd=folder)  # known by name, with its data beside the file
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(load(folder)) == 2


def test_a_folder_of_media_is_a_source(folder: Path) -> None:
    for label in ("cat", "dog"):
        (folder / "photos" / label).mkdir(parents=True)
        picture(folder / "photos" / label / f"{label}1.png")
    (folder / "mine.yaml").write_text(
        "name: mine\nsource: {files: photos/*/*.png}\nscorer: normalised\n"
        "columns: {id: path, image: path, answers: folder}\n"
        'styles: {zero-shot: "{question}Which animal is it? One word."}\n'
    )
    samples = load(folder)
    assert [(sample.id, sample.answers) for sample in samples] == [
        ("photos/cat/cat1.png", ("cat",)),
        ("photos/dog/dog1.png", ("dog",)),
    ]
    benchmark = registry.get(str(folder / "mine.yaml"))
    parts = benchmark.prompt(samples[0], PromptContext(style="zero-shot")).messages[0].parts
    assert parts == (Image("photos/cat/cat1.png"), Text("Which animal is it? One word."))


def test_options_as_people_write_them(folder: Path) -> None:
    cells = [["A. left", "B. None"], "['left', 'None']", '["left", "None"]', ["(A) left", "(B) None"]]
    for cell in cells:
        for answer in ("B", "B. None", "(B)", "None"):
            write_rows(folder, "jsonl", [{**ROWS[0], "choices": cell, "answer": answer}])
            (sample,) = load(folder)
            assert [option.text for option in sample.options] == ["left", "None"]
            assert sample.key == 1
    (folder / "mine.yaml").write_text(MINE.replace("key: answer", "key: answer\n  key_form: text"))
    write_rows(folder, "jsonl", [{**ROWS[0], "choices": ["A. left", "B. right"], "answer": "B. right"}])
    assert load(folder)[0].key == 1


@pytest.mark.parametrize(
    ("choices", "answer", "right"),
    [
        ({str(n): f"text {n}" for n in range(12)}, 2, "text 2"),
        ({f"option_{n}": f"text {n}" for n in range(12)}, 11, "text 11"),
        ({"A": "red", "B": None, "C": "green", "D": "blue"}, "C", "green"),
        ({"A": "red", "C": "green", "D": "blue"}, "C", "green"),
        ({"A": "red", "B": "", "C": "green", "D": "blue"}, "D", "blue"),
        ({"A": "red", "B": "", "C": "green", "D": "blue"}, "green", "green"),
        ({"0": "red", "1": "", "2": "green"}, 2, "green"),
    ],
)
def test_a_key_counts_options_as_the_data_name_them(
    folder: Path, choices: dict[str, str | None], answer: Any, right: str
) -> None:
    write_rows(folder, "jsonl", [{**ROWS[0], "choices": choices, "answer": answer}])
    (sample,) = load(folder)
    assert sample.key is not None and sample.options[sample.key].text == right
    assert [option.text for option in sample.options] == [text for text in choices.values() if text]


def test_an_empty_column_of_options_keeps_its_letter(folder: Path) -> None:
    (folder / "mine.yaml").write_text(MINE.replace("options: choices", "options: [A, B, C, D]"))
    row = {**ROWS[0], "A": "red", "B": "", "C": "green", "D": "blue"}
    write_rows(folder, "csv", [{**row, "answer": "C"}, {**row, "qid": "b", "answer": "D"}])
    assert [s.options[s.key].text for s in load(folder) if s.key is not None] == ["green", "blue"]
    write_rows(folder, "csv", [{**row, "answer": "B"}])
    with pytest.raises(VivantError, match="id a: the key 'B' is an option without a text"):
        load(folder)


def test_tasks_differ_where_the_file_says_so(folder: Path) -> None:
    (folder / "mine.yaml").write_text(
        "name: mine\nsource: {files: '{task}.jsonl'}\ncolumns: {question: q, answers: a}\nscorer: exact\n"
        "tasks:\n  one: {}\n  two: {scorer: {name: judge, rubric: {role: You judge.}}, columns: {answers: b}}\n"
    )
    (folder / "one.jsonl").write_text('{"q": "x", "a": "1"}')
    (folder / "two.jsonl").write_text('{"q": "x", "b": ["1", "2"]}')
    benchmark = registry.get(str(folder / "mine.yaml"))
    assert [(task.name, task.judged) for task in benchmark.tasks] == [("one", False), ("two", True)]
    assert load(folder, "two")[0].answers == ("1", "2")


def test_a_description_without_a_question_is_refused(folder: Path) -> None:
    columns = "columns: {image: p, options: o, key: a}\n"
    (folder / "mine.yaml").write_text(f"name: mine\nsource: {{files: q.jsonl}}\n{columns}")
    with pytest.raises(VivantError, match=r"mine.yaml, line 3: name the column of the `question`"):
        registry.get(str(folder / "mine.yaml"))
