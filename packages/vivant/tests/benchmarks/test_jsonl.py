"""A user's own questions: what is read, what is refused, how replies are scored."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivant.benchmarks.base import PromptContext
from vivant.benchmarks.jsonl import Jsonl
from vivant.benchmarks.multiple_choice import option_name
from vivant.core.errors import DataError
from vivant.core.types import Image, Text, Video
from vivant.engine.evaluation import evaluate
from vivant.runs.importing import import_predictions


def load(tmp_path: Path, *lines: object) -> list[object]:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(
        b"\n".join(line if isinstance(line, bytes) else msgspec.json.encode(line) for line in lines)
    )
    return list(Jsonl().load(path, "jsonl/mine"))


def test_all_documented_fields_are_read(tmp_path: Path) -> None:
    first, second, third = Jsonl().load(
        _write(
            tmp_path,
            {
                "id": 7,
                "images": ["a.png", "b.png"],
                "question": "Which?",
                "choices": ["x", "y", "z"],
                "answer": "B",
                "facets": {"kind": "k", "hard": True, "year": 2020},
                "cluster": "c",
            },
            {"video": "v.mp4", "question": "What?", "answers": ["throwing", "a throw"]},
            {"question": ["See ", {"image": "a.png"}, {"text": "?"}], "choices": ["x", "y"], "answer": 1},
        ),
        "jsonl/mine",
    )
    assert first.id == "7"
    assert first.question == (Image("a.png"), Image("b.png"), Text("Which?"))
    assert first.key == 1
    assert first.facets == {"kind": "k", "hard": "true", "year": "2020"}
    assert first.cluster == "c"
    assert second.id == "2"
    assert second.question == (Video("v.mp4"), Text("What?"))
    assert second.answers == ("throwing", "a throw")
    assert second.cluster == "v.mp4"
    assert third.question == (Text("See "), Image("a.png"), Text("?"))
    assert third.key == 1


def _write(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    return path


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{not json", "JSON"),
        (b"[1, 2]", "object"),
        ({"question": "x", "choices": ["a", "b"]}, "no `answer`"),
        (
            {"question": "x", "choices": ["a", "b"], "answer": "c"},
            "'c' is none of the 2 `choices`; write one of them, A to B",
        ),
        ({"question": "x", "choices": ["a", "b"], "answer": 2}, "no place in `choices`"),
        ({"question": "x", "choices": ["a", "a"], "answer": 0}, "the same"),
        ({"question": "x", "choices": ["a"], "answer": 0}, "only one"),
        ({"question": "x"}, "neither `choices` nor an `answer`"),
        ({"answer": "x"}, "no `question`"),
        ({"question": "x", "answr": "y"}, "`answr` is unknown; did you mean `answer`?"),
        (
            {"question": "x", "options": ["a", "b"], "answer": "B"},
            "`options` is unknown; did you mean `choices`?",
        ),
        ({"question": [{"picture": "a.png"}], "answer": "y"}, "part 0 of `question` is 'picture'"),
        ({"id": "one", "question": "x", "answer": "y"}, "already used in line 1"),
        (b'{"question": "\xff", "answer": "y"}', ""),
    ],
)
def test_a_bad_line_is_refused_by_number_with_the_reason(tmp_path: Path, line: object, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, {"id": "one", "question": "fine", "answer": "y"}, line)
    assert "mine.jsonl, line 2: " in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "mine.jsonl"
    path.write_bytes(data)
    try:
        Jsonl().load(path, "jsonl/mine")
    except DataError as error:
        assert str(path) in str(error)


def test_names_of_options_go_on_past_z() -> None:
    names = [option_name(i) for i in range(80)]
    assert names[:3] == ["A", "B", "C"]
    assert names[25:28] == ["Z", "AA", "AB"]
    assert names[52] == "BA"
    assert len(set(names)) == 80


def test_free_answers_are_compared_without_case_and_final_stop(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        {"id": "a", "question": "?", "answers": ["Throwing a ball"]},
        {"id": "b", "question": "?", "answers": ["a cat"]},
        {"id": "c", "question": "?", "answers": ["aiming a weapon"]},
    )
    (tmp_path / "p.jsonl").write_text(
        '{"id": "a", "response": "Let me see.\\n\\n**throwing  a ball.**"}\n'
        '{"id": "b", "response": "a cathedral"}\n'
        '{"id": "c", "response": "shooting arrow"}\n'
    )
    run = import_predictions(str(path), tmp_path / "p.jsonl", tmp_path / "run")
    assert {s.id: score.value for s, _, score in run.scores()[0].rows} == {"a": 1.0, "b": 0.0, "c": 0.0}
    nearer = run.scores("paper", {"threshold": "0.5"})[0].rows
    assert {s.id: score.value for s, _, score in nearer} == {"a": 1.0, "b": 0.0, "c": 1.0}


def test_predictions_may_bring_the_order_of_their_options(tmp_path: Path) -> None:
    path = _write(tmp_path, {"id": "a", "question": "?", "choices": ["x", "y", "z"], "answer": "y"})
    (tmp_path / "p.jsonl").write_text('{"id": "a", "response": "C", "options": ["z", "x", "y"]}\n')
    run = import_predictions(str(path), tmp_path / "p.jsonl", tmp_path / "run")
    assert run.scores()[0].rows[0][2].value == 1.0


def test_plain_predictions_count_in_the_order_that_a_run_shows(tmp_path: Path) -> None:
    lines = [{"id": str(i), "question": "?", "choices": ["x", "y", "z"], "answer": "y"} for i in range(20)]
    path = _write(tmp_path, *lines)
    shown = evaluate(str(path), "first", out=str(tmp_path / "first"))
    letters = {
        record.id: next(option.name for option in record.options if option.text == "y")
        for record in shown.records().values()
    }
    (tmp_path / "p.jsonl").write_bytes(
        b"\n".join(msgspec.json.encode({"id": i, "response": letter}) for i, letter in letters.items())
    )
    run = import_predictions(str(path), tmp_path / "p.jsonl", tmp_path / "run")
    assert {score.value for _, _, score in run.scores()[0].rows} == {1.0}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"id": "zz", "response": "A"}\n', "1 of 1 ids are no samples of jsonl/mine, the first is 'zz'"),
        (
            '{"id": "a", "response": "A"}\n{"id": "a", "response": "B"}\n',
            "line 2: the id 'a' is repeated; ids must be unique",
        ),
        ('{"id": "a"}\n', "line 1"),
        ('{"id": "a", "response": "A", "options": ["x", "q"]}\n', "id 'a': its `options` are not those"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = _write(tmp_path, {"id": "a", "question": "?", "choices": ["x", "y"], "answer": "y"})
    (tmp_path / "p.jsonl").write_text(content)
    with pytest.raises(DataError) as caught:
        import_predictions(str(path), tmp_path / "p.jsonl", tmp_path / "run")
    assert reason in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_clips_subtitles_and_unknown_fields(tmp_path: Path) -> None:
    (tmp_path / "v.srt").write_text(
        "1\n00:00:01,000 --> 00:00:02,000\nearly\n\n2\n00:00:05,000 --> 00:00:06,000\nlate\n"
    )
    path = _write(
        tmp_path,
        {
            "video": "v.mp4",
            "start": "0:04",
            "end": 9.5,
            "subtitles": "v.srt",
            "question": "What is said?",
            "choices": ["x", "y"],
            "answer": "x",
            "level": "hard",
            "year": 2024,
            "checked": True,
            "authors": ["a", "b"],
            "note": None,
        },
        {
            "question": ["First ", {"video": "v.mp4", "start": 1, "end": 2}, " then?"],
            "subtitles": "spoken words",
            "answer": "y",
        },
    )
    first, second = Jsonl().load(path, "jsonl/mine")
    assert first.question == (Video("v.mp4", 4.0, 9.5), Text("What is said?"))
    assert first.facets == {"level": "hard", "year": "2024", "checked": "true"}
    assert first.extra == {"subtitles": "v.srt", "authors": ["a", "b"]}
    assert second.question[1] == Video("v.mp4", 1.0, 2.0)
    shown = Jsonl().prompt(first, PromptContext(style="zero-shot", root=path)).messages[0].parts
    assert isinstance(shown[0], Video)
    assert "late" in str(shown[1])
    assert "early" not in str(shown)
    assert "What is said?" in str(shown[2])
    free = Jsonl().prompt(second, PromptContext(style="bare", root=path, pool=[first, second]))
    assert "spoken words" in str(free.messages)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"video": "v.mp4", "start": 5, "end": 4}, "the clip ends at 4 s, before it begins at 5 s"),
        ({"video": "v.mp4", "start": "soon"}, "seconds or h:m:s"),
        ({"start": 5}, "`start` and `end` go with `video`"),
        ({"subtitles": "gone.srt"}, "gone.srt is missing"),
        ({"subtitles": "../x.srt"}, "leads out of the data folder"),
        ({"vidoe": "v.mp4"}, "did you mean `video`?"),
    ],
)
def test_a_wrong_clip_or_subtitle_is_refused(tmp_path: Path, line: dict[str, object], reason: str) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, {"question": "x", "answer": "y", **line})
    assert f"mine.jsonl, line 1: {reason}" in str(caught.value) or reason in str(caught.value)
