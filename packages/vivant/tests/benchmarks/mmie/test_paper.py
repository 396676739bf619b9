"""The published protocol to the letter: what the judge is shown, how its score is read, how scores are averaged."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mmie_kit import compute_averages, list_judge_inputs, make_entry, make_part, write_answers
from vivant.benchmarks.mmie.data import flatten_parts, get_answer_parts, group_parts, to_sample
from vivant.benchmarks.mmie.items import MmieItem, RawPart, find_category
from vivant.benchmarks.mmie.paper import (
    build_judge_view,
    find_score,
    is_on_scale,
)
from vivant.core.records import Record
from vivant.core.types import Reply


def test_parity_of_judge_inputs(parity: Path) -> None:
    folder = parity / "mmie"
    expected = json.loads((folder / "expected_judge_inputs.json").read_text())
    result = [json.loads(msgspec.json.encode(item)) for item in list_judge_inputs(folder)]
    assert len(result) == len(expected) > 0
    for mine, reference in zip(result, expected, strict=True):
        assert mine == reference


def test_parity_of_scores(parity: Path) -> None:
    expected = json.loads((parity / "mmie" / "expected_scores.json").read_text())
    result = [(entry["id"], find_score(entry["feedback"])) for entry in expected["feedback"]]
    assert [score for _, score in result] == [entry["score"] for entry in expected["feedback"]]
    assert compute_averages(result) == expected["aggregate"]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("### Score\n2.5", 2),
        ("### Score\n3.5", 4),
        ("### Score 0.5", 0),
        ("### Score: -0.4", 0),
        ("### Score\n-2", -2),
        ("#### Score\n4", 4),
        ("###Score\n4", None),
        ("### score\n4", None),
        ("### Score\nnone\n### Score\n5", 5),
        ("3 ### Score\n\n\nwell, 5 of 6", 5),
        ("### Scores for text: 1, for pictures: 6", 1),
        ("### Score\n1e9", 1),
        ("### Score\n٣", 3),
        ("### Score\n" + "9" * 400, None),
        ("### Score\n.5", 5),
        ("Score 5", None),
        ("", None),
    ],
)
def test_scores_in_odd_texts(text: str, score: int | None) -> None:
    assert find_score(text) == score


def test_off_the_scale_is_read_but_not_kept() -> None:
    assert [is_on_scale(score) for score in (-1, 0, 6, 7, None)] == [False, True, True, False, False]
    assert compute_averages([("SA-1", 7), ("SA-2", 6), ("PBL-1", None), ("x", 0)]) == {
        "SA": 6.0,
        "PBL": None,
        "MSR": None,
        "AVG": 3.0,
        "n": 2,
    }


def test_means_round_as_numpy_does() -> None:
    import numpy as np

    for total in range(0, 1200, 7):
        scores = [("SA", 6)] * (total // 6) + [("SA", total % 6)] + [("SA", 0)] * (199 - total // 6)
        exact = float(round(np.mean([score for _, score in scores]), 3))
        assert compute_averages(scores)["AVG"] == exact


def test_categories_by_the_first_name_found_anywhere() -> None:
    names = {"SA-1": "SA", "x_PBL_2": "PBL", "MSR9": "MSR", "MSR-USA": "SA", "sa-1": "other", "": "other"}
    assert {name: find_category(name) for name in names} == names


# ── what is shown ──

_parts = st.lists(
    st.builds(
        RawPart, st.none() | st.text("ab\n", max_size=3), st.none() | st.sampled_from(["0", "1", "gone"])
    ),
    max_size=5,
)


def restate_view(question: list[RawPart], answer: list[RawPart]) -> tuple[str, str, list[str]]:
    """The rules in words, as slices: the answer up to its stop, then both texts in one go."""
    there = {"0", "1"}
    used = [p.image for p in question if p.image in there]
    end, last_image = len(answer), True
    count = len(used)
    for index, item in enumerate(answer):
        if count >= 3:
            end, last_image = index + 1, False
            break
        count += item.image in there
        if count >= 3:
            end = index + 1
            break
    view = [*answer[:end]]
    if view and not last_image:
        view[-1] = RawPart(view[-1].text)
    texts = []
    number = 0
    images: list[str] = []
    for side in (question, view):
        text = ""
        for item in side:
            text += "" if item.text is None else item.text + "\n"
            if item.image in there:
                text += f"Image-{number}: <image>\n"
                number += 1
                images.append(str(item.image))
        texts.append(text)
    return texts[0], texts[1], images


@given(_parts, _parts)
def test_the_walk_follows_the_rules_in_words(question: list[RawPart], answer: list[RawPart]) -> None:
    view = build_judge_view(question, answer, lambda path: path in ("0", "1"))
    assert (view.question_text, view.answer_text, list(view.images)) == restate_view(question, answer)
    assert view.left_out == (len(view.images) > 4)


@given(_parts, _parts)
def test_samples_and_records_keep_what_the_walk_needs(question: list[RawPart], answer: list[RawPart]) -> None:
    def exists(path: str) -> bool:
        return path in ("0", "1")

    item = MmieItem(id="SA-1", question=tuple(question), answer=tuple(answer))
    record = Record(key="k", task="t", id="SA-1", reply=Reply(), extra={"parts": msgspec.to_builtins(answer)})
    again = build_judge_view(group_parts(to_sample(item).question), get_answer_parts(record), exists)
    direct = build_judge_view(question, answer, exists)
    assert (again.question_text, again.answer_text, again.images) == (
        direct.question_text,
        direct.answer_text,
        direct.images,
    )


def test_a_text_and_its_picture_are_one_part_again() -> None:
    parts = (RawPart("a", "1"), RawPart(None, "2"), RawPart("b"), RawPart("c", "3"))
    assert group_parts(flatten_parts(parts)) == parts


def test_more_than_four_pictures_leave_an_item_out_and_missing_ones_do_not_count(tmp_path: Path) -> None:
    five = [make_part("q", f"images/{n}.png") for n in range(5)]
    four = [*five[:4], make_part("q", "images/gone.png")]
    folder = write_answers(
        tmp_path,
        [
            make_entry("SA-5", [make_part("a", "images/5.png"), make_part("b")], question=five),
            make_entry("SA-4", [make_part("a", "images/5.png"), make_part("b")], question=four),
        ],
    )
    (only,) = list_judge_inputs(folder)
    assert only.id == "SA-4"
    assert len(only.images) == 4
    assert only.answer == "a\n"  # the first part's text, before its picture, and nothing after


def test_a_path_that_leaves_the_folder_is_missing(tmp_path: Path) -> None:
    folder = write_answers(
        tmp_path / "in",
        [make_entry("SA-1", [make_part("a", "../secret.png"), make_part("b", "/etc/hostname")])],
    )
    (tmp_path / "secret.png").write_bytes((folder / "images" / "0.png").read_bytes())
    (only,) = list_judge_inputs(folder)
    assert only.images == ("images/0.png",)
    assert only.answer == "a\nb\n"


def test_texts_that_look_like_marks_stay_texts() -> None:
    view = build_judge_view([RawPart("Image-0: <image>", "0")], [RawPart("<image>")], lambda _: True)
    assert view.question_text == "Image-0: <image>\nImage-0: <image>\n"
    assert sum(type(item).__name__ == "Image" for item in (*view.question, *view.answer)) == 1
