"""MIME's scoring: the paper's rules to the letter, the strict ones to the point."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mime_kit import MIME, load_samples, make_row
from vivant.benchmarks.base import Protocol, ScoreSettings
from vivant.benchmarks.mime.score import read_choice_paper
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score
from vivant.core.types import Option, Reply, Sample

NAMES = ("A", "B", "C", "D")
OPTIONS = tuple(map(Option, NAMES, ("arm curls", "shooting arrow", "bowling", "fishing")))


def make_choice(
    text: str, order: tuple[int, ...] = (0, 1, 2, 3), key: int = 1, **extra: Any
) -> tuple[Sample, Record]:
    sample = Sample(id="x", task="mime/mcq", options=OPTIONS, key=key)
    options = tuple(Option(name, OPTIONS[index].text) for name, index in zip(NAMES, order, strict=True))
    return sample, Record(
        key="mime/mcq/x",
        task="mime/mcq",
        id="x",
        options=options,
        order=order,
        reply=Reply(text=text),
        extra=extra,
    )


def make_free(text: str, *labels: str, **extra: Any) -> tuple[Sample, Record]:
    sample = Sample(id="x", task="mime/ff", answers=labels or ("shooting arrow",))
    return sample, Record(key="mime/ff/x", task="mime/ff", id="x", reply=Reply(text=text), extra=extra)


def score_one(
    item: tuple[Sample, Record], protocol: Protocol = "paper", style: str = "zero-shot", **values: Any
) -> Score:
    (score,) = MIME.score([item], ScoreSettings(protocol=protocol, style=style, values=values))
    return score


# ── multiple choice ──


@pytest.mark.parametrize(
    ("text", "style", "answer", "rule"),
    [
        ("B", "zero-shot", "B", "exact"),
        (" b.\n", "zero-shot", "B", "exact"),
        (". .B. .", "few-shot", "B", "exact"),
        ("B. shooting arrow", "zero-shot", "B", "first-character"),
        ("The letter is B.", "zero-shot", "B", "last-character"),
        ("Answer: B", "zero-shot", "A", "first-character"),
        ("It shows archery", "zero-shot", "", "no-letter"),
        ("E", "zero-shot", "", "no-letter"),
        ("", "zero-shot", "", "empty"),
        (" . ", "zero-shot", "", "empty"),
        ("Thinking…\nA is out\n\nB.\n\n", "cot", "B", "exact"),
        ("Thinking…\\nSo it is\\nB", "cot", "B", "exact"),
        ("A bow is drawn.\nIt is", "cot", "", "no-letter"),
        ("A bow is drawn.\nB", "zero-shot", "A", "first-character"),
        ("\n\n", "cot", "", "empty"),
    ],
)
def test_the_papers_reading_of_a_choice(text: str, style: str, answer: str, rule: str) -> None:
    score = score_one(make_choice(text), style=style)
    assert (score.answer, score.rule) == (answer, rule)
    assert score.status == ("scored" if answer else "unparsed")
    assert score.value == ((1.0 if answer == "B" else 0.0) if answer else None)


@given(st.text(), st.sampled_from(MIME.styles))
def test_any_reply_is_a_letter_or_unparsed(text: str, style: str) -> None:
    reading = read_choice_paper(text, NAMES, style)
    assert reading.answer in (*NAMES, "")
    assert (reading.answer == "") == (reading.rule in ("no-letter", "empty"))


@pytest.mark.parametrize("protocol", ["paper", "strict"])
@pytest.mark.parametrize("order", [(1, 0, 2, 3), (3, 2, 1, 0), (2, 3, 0, 1)])
def test_the_key_follows_the_order_shown(order: tuple[int, ...], protocol: Protocol) -> None:
    values = [score_one(make_choice(name, order), protocol).value for name in NAMES]
    assert values == [float(index == 1) for index in order]


def test_strict_reads_what_the_paper_misreads() -> None:
    assert score_one(make_choice("Answer: B"), "strict").value == 1.0
    assert score_one(make_choice("A bow is drawn, so it must be shooting arrow."), "strict").value == 1.0
    assert score_one(make_choice("A or B"), "strict").status == "unparsed"


# ── free form ──


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("Shooting an arrow", "Shooting an arrow", "last-line"),
        ("They draw a bow.\n\nAnswer: Archery\n\n  \n", "Archery", "answer-mark-removed"),
        ("Answer:", "", "empty"),
        ("answer: Archery", "answer: Archery", "last-line"),
        ("They draw a bow.\\nArchery", "They draw a bow.\\nArchery", "last-line"),
        ("\n \n", "", "empty"),
    ],
)
def test_the_papers_reading_of_free_text(text: str, answer: str, rule: str) -> None:
    score = score_one(make_free(text))
    assert (score.answer, score.rule) == (answer, rule)
    assert (score.status == "unparsed") == (answer == "")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("**Final answer:** *Archery*.", "Archery"),
        ("They draw a bow.\\nThe answer is: Archery", "Archery"),
        ('<think>fishing\n</think>\n"Archery"', "Archery"),
        ("Archery\n---\n", "Archery"),
        ("Answering the phone", "Answering the phone"),
        ("<think>it never ends", ""),
        ("Answer:\n***", ""),
    ],
)
def test_the_strict_reading_of_free_text(text: str, answer: str) -> None:
    assert score_one(make_free(text), "strict").answer == answer


def test_a_files_answer_stands_as_the_file_has_it() -> None:
    """Half of a published few-shot file keeps "Answer:", and was embedded so."""
    filed, text = score_one(make_free("Answer: Archery", filed=True)), score_one(make_free("Answer: Archery"))
    assert (filed.answer, filed.rule) == ("Answer: Archery", "as-filed")
    assert filed.detail["similarity"] != text.detail["similarity"]
    assert score_one(make_free("Answer: Archery", filed=True), "strict").answer == "Archery"


def test_an_empty_answer_in_a_file_has_a_similarity_but_no_value() -> None:
    score = score_one(make_free("", filed=True))
    assert score.status == "unparsed" and score.value is None
    assert score.detail["similarity"] < 0.5


def test_similarities_are_the_published_ones() -> None:
    assert score_one(make_free("swinging an imaginary object")).detail["similarity"] == pytest.approx(
        0.20003661513, abs=1e-6
    )
    assert score_one(make_free("aiming a weapon")).detail["similarity"] == pytest.approx(
        0.58306604623, abs=1e-6
    )


def test_every_label_counts_and_the_best_is_named() -> None:
    score = score_one(make_free("television", "controlling remote", "watching tv", "bowling"))
    assert score.detail["label"] == "watching tv"
    alone = [
        score_one(make_free("television", label)).detail["similarity"]
        for label in ("controlling remote", "watching tv")
    ]
    assert score.detail["similarity"] == pytest.approx(max(alone), abs=1e-6)


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_the_threshold_is_a_setting(protocol: Protocol) -> None:
    similarity = score_one(make_free("aiming a weapon")).detail["similarity"]
    assert [
        score_one(make_free("aiming a weapon"), protocol, threshold=t).value for t in (0.5, similarity, 0.75)
    ] == [
        1.0,
        1.0,
        0.0,
    ]


@pytest.mark.parametrize("value", ["high", 1.5, -0.1, True, None, math.nan])
def test_a_bad_threshold_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"threshold is .* must be a number from 0 to 1"):
        score_one(make_free("x"), threshold=value)


def test_batches_and_single_replies_agree() -> None:
    texts = ["Archery", "Answer: fishing\n", "", "bowling", "Archery"]
    batch = MIME.score([make_free(text) for text in texts], ScoreSettings())
    alone = [score_one(make_free(text)) for text in texts]
    for many, single in zip(batch, alone, strict=True):
        assert msgspec.structs.replace(many, detail={}) == msgspec.structs.replace(single, detail={})
        assert many.detail.get("similarity") == pytest.approx(single.detail.get("similarity"), abs=1e-6)
    assert MIME.score([], ScoreSettings()) == []


# ── people ──


def make_person(text: str, file: str = "a/human_eval.jsonl") -> tuple[Sample, Record]:
    return make_free(text, human={"file": file, "place": 1, "key": 2, "labels": ["fishing"]})


def test_peoples_free_text_under_both_protocols() -> None:
    texts = ["fishing", "fishing rod", "angling", "casting a line", "bowling", "reading", "sleeping", "fish"]
    items = [make_person(text) for text in texts] + [make_person("fishing", "b/human_eval.jsonl")]
    strict = MIME.score(items, ScoreSettings(protocol="strict"))
    paper = MIME.score(items, ScoreSettings(protocol="paper"))
    similarity = [score.detail["similarity"] for score in strict]
    quartile = np.percentile(similarity[:-1], 25)
    assert [score.value for score in strict] == [float(value >= 0.5) for value in similarity]
    expected = [float((value >= 0.5) == (value > quartile)) for value in similarity[:-1]]
    assert [score.value for score in paper[:-1]] == expected
    assert 0.0 in expected and 1.0 in expected
    # Alone in its file, an answer equals its own quartile and is not above it.
    assert paper[-1].value == 0.0


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_peoples_choices_are_held_against_their_own_question(protocol: Protocol) -> None:
    human = {"file": "f", "place": 0, "key": 2, "labels": ["x"]}
    values = [score_one(make_choice(name, human=human), protocol).value for name in NAMES]
    assert values == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_a_bare_verdict_counts_as_it_is(protocol: Protocol) -> None:
    for verdict in (True, False):
        score = score_one(make_choice("", is_correct=verdict), protocol)
        assert (score.value, score.rule) == (float(verdict), "verdict-as-filed")


def test_prompts_and_scores_meet(tmp_path: Path) -> None:
    """A model that always finds the label is right on every sample, in whatever order it sees the options."""
    from vivant.benchmarks.base import PromptContext

    pool = load_samples(
        tmp_path, "mime/mcq", [make_row("Archery001"), make_row("Fishing001"), make_row("WatchingTV01")]
    )
    items = []
    for sample in pool:
        prompt = MIME.prompt(sample, PromptContext(style="zero-shot", pool=tuple(pool)))
        correct = next(o.name for o in prompt.options if o.text in sample.answers)
        items.append(
            (
                sample,
                Record(
                    key=f"mime/mcq/{sample.id}",
                    task="mime/mcq",
                    id=sample.id,
                    options=prompt.options,
                    order=prompt.order,
                    reply=Reply(text=correct),
                ),
            )
        )
    assert [s.value for s in MIME.score(items, ScoreSettings(style="zero-shot"))] == [1.0, 1.0, 1.0]
