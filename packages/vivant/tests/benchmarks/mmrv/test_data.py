"""MMR-V's files: three formats, odd spellings met as they are, faults named by file and item."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mmrv_kit import make_item, make_sample, write_items
from vivant.benchmarks.mmrv import MMRV, names
from vivant.benchmarks.mmrv.options import find_skipped_letters, parse_key, parse_options, split_options
from vivant.core.errors import DataError
from vivant.core.types import Sample, Video

ITEMS = [make_item(n) for n in range(5)]


def load(root: Path) -> list[Sample]:
    return MMRV().load(root, "mmrv/mcq")


def test_the_200_questions_have_the_published_make_up(parity: Path) -> None:
    samples = load(parity / "mmrv" / "questions_200.json")
    assert Counter(s.facets["l1"] for s in samples) == {"implicit": 98, "explicit": 102}
    assert Counter(s.facets["type"] for s in samples) == {
        "Art": 26,
        "Life": 39,
        "TV": 32,
        "Film": 39,
        "Animation": 54,
        "Philosophy": 10,
    }
    assert all(s.key is not None for s in samples)
    assert [find_skipped_letters(s.options) for s in samples if find_skipped_letters(s.options)] == ["J", "G"]
    assert {s.facets["ability"] for s in samples} == set(names.ABILITIES)
    assert all(names.is_known_l3(s.facets["l3"]) for s in samples)


def test_json_lines_and_parquet_say_the_same(tmp_path: Path) -> None:
    write_items(tmp_path / "a" / "MMR-V.json", ITEMS)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "test.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, ITEMS)) + b"\n\n")
    (tmp_path / "c" / "data").mkdir(parents=True)
    frame = polars.DataFrame(ITEMS)
    frame[:3].write_parquet(tmp_path / "c" / "data" / "test-00000-of-00002.parquet")
    frame[3:].write_parquet(tmp_path / "c" / "data" / "test-00001-of-00002.parquet")
    expected = load(tmp_path / "a")
    assert [s.id for s in expected] == ["0", "1", "2", "3", "4"]
    assert load(tmp_path / "b") == expected
    assert load(tmp_path / "c") == expected
    assert load(tmp_path / "a" / "MMR-V.json") == expected


def test_videos_that_list_their_questions(tmp_path: Path) -> None:
    outer = {key: ITEMS[0][key] for key in ("video", "videoType")}
    inner = [{k: v for k, v in it.items() if k not in outer} for it in (ITEMS[0], ITEMS[3])]
    write_items(tmp_path / "x.json", [{**outer, "questions": inner}])
    assert [s.id for s in load(tmp_path)] == ["0", "3"]


def test_a_sample_says_what_the_item_says() -> None:
    sample = make_sample(
        7, videoType=" life", abilityType_L2="causal reasoning", abilityType_L3="Backward  reasoning"
    )
    assert sample.id == "7"
    assert sample.cluster == sample.facets["video"] == "video 1.mp4"
    assert sample.options[2].name == "C"
    assert sample.options[2].text == "choice c"
    assert sample.key == 2
    facets = {k: sample.facets[k] for k in ("type", "l1", "l2", "ability", "l3", "n_options")}
    assert facets == {
        "type": "Life",
        "l1": "explicit",
        "l2": "Causal Reasoning",
        "ability": "CAR",
        "l3": "Backward Reasoning",
        "n_options": "10",
    }
    assert set(MMRV.facets) == set(sample.facets)


def test_unknown_names_are_kept() -> None:
    sample = make_sample(abilityType_L2="Smell Reasoning", abilityType_L3="Roses", videoType="radio")
    assert (sample.facets["l2"], sample.facets["ability"], sample.facets["l1"]) == (
        "Smell Reasoning",
        "other",
        "unknown",
    )
    assert (sample.facets["l3"], sample.facets["type"]) == ("Roses", "radio")


@pytest.mark.parametrize("spelling", ["movie", "Movie", "FILM", " film "])
def test_video_types_fold(spelling: str) -> None:
    assert names.normalise_video_type(spelling) == "Film"


@pytest.mark.parametrize(
    ("raw", "letters", "texts"),
    [
        (["(A) x", "(B) y", "(C) z"], "ABC", ["x", "y", "z"]),
        (["A. x", "B. y"], "AB", ["x", "y"]),
        (["A) x", "B) y"], "AB", ["x", "y"]),
        (["x", "y", "z"], "ABC", ["x", "y", "z"]),
        (["(A) x", "(C) z", "(D) w"], "ACD", ["x", "z", "w"]),
        (["(A) x", "y", "(C) z"], "ABC", ["x", "y", "z"]),
        ("(A) x\n(B) y\n   more\n\n(C) z", "ABC", ["x", "y more", "z"]),
        ("x\ny", "AB", ["x", "y"]),
        ('["(A) x", "(B) y"]', "AB", ["x", "y"]),
        ({"A": "x", "B": "y"}, "AB", ["x", "y"]),
        (["A. Lincoln", "the moon", "B. Brecht"], "ABC", ["A. Lincoln", "the moon", "B. Brecht"]),
        (["U. S. Grant", "J. S. Bach"], "AB", ["U. S. Grant", "J. S. Bach"]),
        (["(A) (B) is wrong", "(B) y"], "AB", ["(B) is wrong", "y"]),
        (["(A) x", "(A) y"], "AB", ["(A) x", "(A) y"]),
    ],
)
def test_options_with_and_without_letters(raw: Any, letters: str, texts: list[str]) -> None:
    options = parse_options(split_options(raw))
    assert "".join(option.name for option in options) == letters
    assert [option.text for option in options] == texts


@given(
    st.lists(st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1), min_size=2, max_size=12)
)
def test_letters_put_before_texts_are_read_back(texts: list[str]) -> None:
    texts = [" ".join(("t", text)).strip() for text in texts]
    letters = "ABCDEFGHIJKL"[: len(texts)]
    lettered = [f"({letter}) {text}" for letter, text in zip(letters, texts, strict=True)]
    for raw in (lettered, texts):
        options = parse_options(split_options(raw))
        assert [option.text for option in options] == texts
        assert [option.name for option in options] == list(letters)


@pytest.mark.parametrize(
    ("key", "letter"),
    [
        ("(K)", "K"),
        ("(B) ", "B"),
        ("k", "K"),
        ("C. choice c", "C"),
        ("choice c", "C"),
        ("(D) choice", "D"),
        ("?", ""),
    ],
)
def test_keys_in_several_forms(key: str, letter: str) -> None:
    assert parse_key(key, make_sample().options) == letter


def test_a_key_that_is_no_option_is_kept_and_said() -> None:
    sample = make_sample(268, correctAnswer="(K)")
    assert sample.key is None
    assert sample.extra["bad_key"] == "(K)"


def test_videos_are_found_whatever_normal_form_the_disk_uses(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFC", "café é.mp4")
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / unicodedata.normalize("NFD", name)).write_bytes(b"x")
    write_items(tmp_path / "q.json", [make_item(0, video=name), make_item(1, video="gone.mp4")])
    result, gone = load(tmp_path)
    video = result.question[1]
    assert isinstance(video, Video)
    assert (tmp_path / video.path).is_file()
    assert gone.question[1] == Video("videos/gone.mp4")


def refuse(root: Path, *words: str) -> None:
    with pytest.raises(DataError) as caught:
        load(root)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line


def test_faults_are_one_line_with_file_and_item(tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    refuse(tmp_path, "no file with MMR-V questions")
    refuse(tmp_path / "none", "no such folder")
    write_items(file, [make_item(0), {**make_item(1), "options": None}])
    refuse(tmp_path, "q.json, item 1", "question_idx 1", "`options` is missing")
    write_items(file, [make_item(0), make_item(1, options=["(A) only"])])
    refuse(tmp_path, "question_idx 1", "1 option(s)")
    write_items(file, [make_item(0), make_item(1, options=[1, 2])])
    refuse(tmp_path, "question_idx 1", "not a text")
    write_items(file, [make_item(0), make_item(1, question=5)])
    refuse(tmp_path, "question_idx 1", "`question` is int")
    write_items(file, [make_item(0), make_item(4), make_item(0)])
    refuse(tmp_path, "item 2", "question_idx 0 stands already", "item 0")
    write_items(file, [make_item(0), {k: v for k, v in make_item(1).items() if k != "question_idx"}])
    refuse(tmp_path, "item 1", "no question_idx")
    write_items(file, [make_item(0), 3])
    refuse(tmp_path, "item 1", "int where an object")
    file.write_bytes(msgspec.json.encode([make_item(0), make_item(1)])[:-20])
    refuse(tmp_path, "q.json", "not valid JSON")
    (tmp_path / "q.jsonl").write_bytes(msgspec.json.encode(make_item(0)) + b"\n{torn\n")
    file.unlink()
    refuse(tmp_path, "q.jsonl, line 2", "not valid JSON")
    (tmp_path / "q.jsonl").unlink()
    (tmp_path / "q.parquet").write_bytes(b"<html>404")
    refuse(tmp_path, "q.parquet", "not a readable Parquet file")


def test_two_question_files_are_a_choice_but_results_are_not(tmp_path: Path) -> None:
    write_items(tmp_path / "MMR-V.json", ITEMS)
    write_items(tmp_path / "m_on_MMR_V.json", [{**it, "m_raw_response": "[[A]]"} for it in ITEMS])
    write_items(tmp_path / "notes.json", {"a": 1})
    assert len(load(tmp_path)) == 5
    write_items(tmp_path / "other.json", ITEMS[:4])
    refuse(tmp_path, "MMR-V.json and other.json both hold", "5 and 4 questions, question_idx 4 in one alone")


def test_the_release_in_two_forms_is_one_set_where_they_agree(tmp_path: Path) -> None:
    write_items(tmp_path / "MMR-V.json", ITEMS)
    (tmp_path / "data").mkdir()
    shard = tmp_path / "data" / "test-00000-of-00001.parquet"
    polars.DataFrame([{**item, "question_idx": float(n)} for n, item in enumerate(ITEMS)]).write_parquet(
        shard
    )
    assert [sample.id for sample in load(tmp_path)] == ["0", "1", "2", "3", "4"]
    changed = [*ITEMS[:3], {**ITEMS[3], "correctAnswer": "(D)"}, ITEMS[4]]
    polars.DataFrame(changed).write_parquet(shard)
    refuse(tmp_path, "do not agree: question_idx 3 has other key", "give one with --data")


def test_ids_are_numbers_or_texts_alike(tmp_path: Path) -> None:
    write_items(tmp_path / "q.json", [make_item(0, question_idx=20.0), make_item(1, question_idx="x7")])
    assert [s.id for s in load(tmp_path)] == ["20", "x7"]
