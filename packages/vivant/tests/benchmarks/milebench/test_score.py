"""Normalisation and the two protocols: worked cases, and a plain re-telling of the rules to compare with."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.milebench_kit import make_reply
from vivant.benchmarks.base import Protocol, ScoreSettings
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.normalisation import SIGNS, normalise
from vivant.benchmarks.milebench.paper import option_name, read_choice
from vivant.core.records import Record, Score
from vivant.core.types import Option, Reply, Sample

ODD = st.text(alphabet="abAB cdXZ.,?!'\"()-/\\[]{}=+_><@`;:\n\t 01459ßİ|$^*", max_size=40)


def normalise_plainly(text: str) -> str:
    """The rules as the facts tell them, one after the other."""
    text = text.replace("\n", " ").replace("\t", " ").strip()
    out = text
    for sign in SIGNS:
        beside_space = sign + " " in text or " " + sign in text
        if beside_space or re.search(r"\d,\d", text):
            out = out.replace(sign, "")
        else:
            out = out.replace(sign, " ")
    out = re.sub(r"\.(?!\d)", "", out, count=32)
    return out.strip("'").strip('"').strip().lower()


def choose_plainly(text: str, choices: list[str]) -> str:
    """The rules of multiple choice with regular expressions, as the published scorer applies them."""
    if not text:
        return "C"
    names = [option_name(i) for i in range(len(choices))]

    def escaped(option: str) -> str:
        return re.sub(r"[\\.^$*+?{}\[\]|()]", r"\\\g<0>", normalise_plainly(option))

    patterns = [escaped(f"{name} {choice}") for name, choice in zip(names, choices, strict=True)]
    result = re.search("(" + "|".join(patterns) + ")", text, re.DOTALL)
    if result:
        return result[0][0].upper()
    bare = [escaped(choice).replace(" ", "") for choice in choices]
    result = re.search("(" + "|".join(bare) + ")", text.replace(" ", ""), re.DOTALL)
    if result:
        for name, choice in zip(names, bare, strict=True):
            if result[0].strip() == choice:
                return name
    if len(text) in (1, 2) and text.upper() in names:
        return text.upper()
    return "".join(sign.upper() for sign in text if sign.upper() in names)


@given(ODD)
def test_normalising_follows_the_rules(text: str) -> None:
    assert normalise(text) == normalise_plainly(text)


@given(ODD, st.lists(ODD, min_size=1, max_size=6), st.booleans())
def test_reading_a_choice_follows_the_rules(text: str, choices: list[str], quote: bool) -> None:
    choices = [normalise(choice) for choice in choices]
    if quote:
        text = f"{text} {choices[-1]}"
    text = normalise(text)
    assert read_choice(text, choices).name == choose_plainly(text, choices)


@given(
    st.lists(st.sampled_from(["red cup", "red", "4.5", "a", "cup", "b red"]), min_size=27, max_size=60), ODD
)
def test_many_options_follow_the_rules(choices: list[str], text: str) -> None:
    for reply_text in (
        normalise(text),
        option_name(len(choices) - 1).lower(),
        f"ab {choices[27 % len(choices)]}",
    ):
        assert read_choice(reply_text, choices).name == choose_plainly(reply_text, choices)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("U.S.A", "usa"),
        ("costs 4.5 in 1,000 (or so)", "costs 4.5 in 1000 or so"),
        ("mother-in-law", "mother in law"),
        ("well - mother-in-law", "well  motherinlaw"),
        ("'quoted'", "quoted"),
        ("." * 40, "." * 8),
        ("a\nb\tc", "a b c"),
        ("\r odd", "odd"),
    ],
)
def test_normalising_worked_cases(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_all_full_stops_go_in_the_strict_protocol() -> None:
    assert normalise("." * 40, stops=0) == ""


def make_choice_sample(choices: list[str], key: int) -> Sample:
    return Sample(
        id="1",
        task="milebench/TQA",
        options=tuple(Option(option_name(i), text) for i, text in enumerate(choices)),
        key=key,
        answers=(choices[key],),
        facets={"dataset": "TQA", "level": "Few", "n_images": "2"},
        extra={"match": "choice"},
    )


def make_open_sample(answer: str, match: str) -> Sample:
    return Sample(
        id="1",
        task="milebench/MMCoQA",
        answers=(answer,),
        facets={"dataset": "MMCoQA", "level": "Few", "n_images": "2"},
        extra={"match": match},
    )


def score_reply(sample: Sample, text: str, protocol: Protocol) -> Score:
    return MileBench().score([(sample, make_reply(sample, text))], ScoreSettings(protocol=protocol))[0]


def test_an_empty_choice_is_a_marked_guess_in_paper_and_unparsed_in_strict() -> None:
    sample = make_choice_sample(["red", "blue", "green"], 2)
    paper, strict = score_reply(sample, " ", "paper"), score_reply(sample, " ", "strict")
    assert (paper.value, paper.answer, paper.guessed, paper.status) == (1.0, "C", True, "scored")
    assert (strict.value, strict.status, strict.guessed) == (None, "unparsed", False)


def test_an_empty_choice_with_two_options_names_none() -> None:
    paper = score_reply(make_choice_sample(["yes", "no"], 0), "", "paper")
    assert (paper.status, paper.answer, paper.guessed) == ("unparsed", "C", True)


def test_options_past_z_lose_a_letter_in_paper_and_keep_it_in_strict() -> None:
    choices = [f"thing number {i}x" for i in range(30)]
    sample = make_choice_sample(choices, 27)
    assert option_name(27) == "AB"
    text = "AB. thing number 27x"
    assert score_reply(sample, text, "paper").answer == "A"
    assert score_reply(sample, text, "paper").value == 0.0
    assert score_reply(sample, text, "strict").answer == "AB"
    assert score_reply(sample, text, "strict").value == 1.0
    assert score_reply(sample, "AB", "paper").value == 1.0


def test_a_choice_with_a_decimal_point_is_not_recognised_in_paper() -> None:
    sample = make_choice_sample(["4.5", "7"], 0)
    assert score_reply(sample, "It is 4.5", "paper").status == "unparsed"
    assert score_reply(sample, "It is 4.5", "strict").value == 1.0


def test_letters_fished_out_of_a_sentence_are_no_answer_in_strict() -> None:
    sample = make_choice_sample(["north", "south", "east", "west"], 3)
    paper = score_reply(sample, "I cannot tell", "paper")
    assert (paper.rule, paper.answer, paper.status) == ("letters", "CA", "unparsed")
    assert score_reply(sample, "I cannot tell", "strict").status == "unparsed"
    assert score_reply(sample, "Indeed", "paper").answer == "DD"


def test_the_first_of_equal_choices_is_the_key() -> None:
    sample = make_choice_sample(["Red.", "red", "blue"], 1)
    assert score_reply(sample, "A", "paper").value == 1.0
    assert score_reply(sample, "B", "paper").value == 0.0


def test_options_in_another_order_are_read_as_shown() -> None:
    sample = make_choice_sample(["red", "blue", "green"], 0)
    record = Record(key="k", task=sample.task, id="1", reply=Reply(text="C"), order=(2, 1, 0))
    for protocol in ("paper", "strict"):
        settings = ScoreSettings(protocol=protocol)
        assert MileBench().score([(sample, record)], settings)[0].value == 1.0


@pytest.mark.parametrize(
    ("match", "key", "text", "paper", "strict"),
    [
        ("word", "9726", "The number is 9726.", 1.0, 1.0),
        ("word", "9726", "The number is 97261", 0.0, 0.0),
        ("word", "mountain bike", "a mountain bike", 0.0, 1.0),
        ("substring", "Albert", "Alberta", 1.0, 0.0),
        ("substring", "40 cents", "It is 40 cents!", 1.0, 1.0),
    ],
)
def test_needles_and_substrings(match: str, key: str, text: str, paper: float, strict: float) -> None:
    sample = make_open_sample(key, match)
    assert score_reply(sample, text, "paper").value == paper
    assert score_reply(sample, text, "strict").value == strict


@pytest.mark.parametrize("match", ["word", "substring", "rouge"])
@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_an_empty_open_answer_is_unparsed_and_counts_nothing(match: str, protocol: Protocol) -> None:
    result = score_reply(make_open_sample("cup", match), "?!", protocol)
    assert (result.status, result.value) == ("unparsed", None)
    assert MileBench().unparsed_value == 0.0


def test_rouge_of_equal_and_unequal_texts() -> None:
    sample = make_open_sample("The car is gone.", "rouge")
    assert score_reply(sample, "the car is gone", "paper").value == pytest.approx(1.0)
    assert score_reply(sample, "nothing here", "paper").value == 0.0
    assert 0.4 < (score_reply(sample, "The boat is gone", "paper").value or 0) < 0.9


def test_endless_thinking_is_unparsed_in_strict() -> None:
    result = score_reply(make_open_sample("cup", "word"), "<think>a cup, or", "strict")
    assert (result.status, result.rule) == ("unparsed", "thinking")


def test_a_sample_whose_key_is_no_choice_is_missing_not_wrong() -> None:
    sample = Sample(
        id="1",
        task="milebench/TQA",
        options=(Option("A", "red"), Option("B", "blue")),
        answers=("green",),
        extra={"match": "choice"},
    )
    for protocol in ("paper", "strict"):
        result = score_reply(sample, "A", protocol)
        assert (result.status, result.value) == ("missing", None)
