"""MMR-V: the published extraction chain to the letter, its sound part, and what a letter is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mmrv_kit import make_record, make_sample
from vivant.benchmarks.base import ScoreSettings
from vivant.benchmarks.mmrv import MMRV
from vivant.benchmarks.mmrv.score import (
    BOXED,
    BRACKETS,
    EMPTY,
    LAST,
    NO_KEY,
    NONE,
    STORED,
    extract_letter,
    score_record,
)
from vivant.core.errors import UsageError

OPTIONS = "ABCDEFGHIJ"


def test_every_published_reply_gives_the_published_letter(parity: Path) -> None:
    files = sorted((parity / "mmrv").glob("mmrv_*.json"))
    assert files
    for file in files:
        for entry in json.loads(file.read_text()):
            result = extract_letter(entry["response"]).letter
            assert result == entry["answer"], (file.name, entry["idx"])


@pytest.mark.parametrize(
    ("text", "letter", "rule"),
    [
        ("[[B]]", "B", BRACKETS),
        ("[[A]] or [[B]], so [[D]]", "A", BRACKETS),
        ("\\boxed{D} but [[B]]", "B", BRACKETS),
        ("so \\boxed{C}, not \\boxed{D}", "C", BOXED),
        ("\\boxed{C} A", "C", BOXED),
        ("[[ B ]] is it", "B", LAST),
        ("[[(G)]]", "G", LAST),
        ("[[b]]", "B", LAST),
        ("\\boxed{ C }", "C", LAST),
        ("\\boxed{\\text{C}}", "C", LAST),
        ("[[AB]]", None, NONE),
        ("[[M]]", None, NONE),
        ("[[L]]", "L", BRACKETS),
        ("It is a cat", "A", LAST),
        ("I think it is K, not M", "K", LAST),
        ("Option D. I", "I", LAST),
        ("don't know: c", "C", LAST),
        ("B_2 or x", None, NONE),
        ("the letter é and B选", None, NONE),
        ("[[Magic]]", None, NONE),
        ("", None, EMPTY),
        (" \n", None, EMPTY),
    ],
)
def test_the_chain(text: str, letter: str | None, rule: str) -> None:
    result = extract_letter(text)
    assert (result.letter, result.rule) == (letter, rule)


def extract_plainly(text: str) -> str | None:
    """The rule of the paper without regular expressions."""
    for before, after in (("[[", "]]"), ("\\boxed{", "}")):
        for start in range(len(text)):
            rest = text[start:]
            if rest.startswith(before):
                inner = rest[len(before) :]
                if inner[:1] and inner[:1] in "ABCDEFGHIJKL" and inner[1:].startswith(after):
                    return inner[0]
    upper = text.upper()

    def word(at: int) -> bool:
        return 0 <= at < len(upper) and (upper[at].isalnum() or upper[at] == "_")

    for at in reversed(range(len(upper))):
        if upper[at] in "ABCDEFGHIJKL" and not word(at - 1) and not word(at + 1):
            return upper[at]
    return None


@given(
    st.lists(
        st.sampled_from(
            ["[[", "]]", "[", "]", "\\boxed{", "}", "A", "b", "K", "L", "M", " ", "\n", "x", "(", "é", "_"]
        )
    ).map("".join)
)
def test_the_chain_agrees_with_a_plain_retelling(text: str) -> None:
    assert extract_letter(text).letter == extract_plainly(text)


@given(st.text())
def test_any_text_gives_a_letter_or_none(text: str) -> None:
    result = extract_letter(text)
    assert (result.letter is None) == (result.rule in (NONE, EMPTY))


def test_right_wrong_and_a_letter_that_is_no_option() -> None:
    sample = make_sample()
    correct = score_record(sample, make_record(sample, "[[C]]"), "paper")
    assert (correct.value, correct.answer, correct.rule, correct.detail) == (1.0, "C", BRACKETS, {})
    incorrect = score_record(sample, make_record(sample, "[[D]]"), "paper")
    assert (incorrect.status, incorrect.value) == ("scored", 0.0)
    outside = score_record(sample, make_record(sample, "[[L]]"), "paper")
    assert (outside.status, outside.value, outside.detail) == ("scored", 0.0, {"not_an_option": True})
    none = score_record(sample, make_record(sample, "no idea"), "paper")
    assert (none.status, none.value) == ("unparsed", None)


def test_strict_takes_options_alone_and_no_bare_letter() -> None:
    sample = make_sample()
    assert score_record(sample, make_record(sample, "[[L]] or rather [[C]]"), "strict").answer == "C"
    assert score_record(sample, make_record(sample, "It is C."), "strict").status == "unparsed"
    assert score_record(sample, make_record(sample, "[[L]]"), "strict").status == "unparsed"
    assert score_record(sample, make_record(sample, "[[L]] \\boxed{C}"), "strict").rule == BOXED
    assert score_record(sample, make_record(sample, "<think>[[A]]?</think>[[C]]"), "strict").value == 1.0
    assert score_record(sample, make_record(sample, "<think>[[C]]"), "strict").status == "unparsed"
    thirteen = make_sample(options=[f"({x}) {x}" for x in "ABCDEFGHIJKLM"], correctAnswer="(M)")
    assert score_record(thirteen, make_record(thirteen, "[[M]]"), "strict").value == 1.0
    assert score_record(thirteen, make_record(thirteen, "[[M]]"), "paper").status == "unparsed"


def test_a_skipped_letter_is_no_place() -> None:
    sample = make_sample(options=[f"({x}) {x}" for x in "ABCDEFHIJ"], correctAnswer="(H)")
    assert sample.key == 6
    assert score_record(sample, make_record(sample, "[[H]]"), "paper").value == 1.0
    assert score_record(sample, make_record(sample, "[[G]]"), "paper").value == 0.0


def test_a_key_that_is_no_option() -> None:
    sample = make_sample(correctAnswer="(K)")
    assert sample.key is None
    assert score_record(sample, make_record(sample, "[[C]]"), "paper").value == 0.0
    assert score_record(sample, make_record(sample, "[[K]]"), "paper").value == 1.0
    strict = score_record(sample, make_record(sample, "[[C]]"), "strict")
    assert (strict.status, strict.rule) == ("excluded", NO_KEY)


def test_options_shown_in_another_order_are_followed() -> None:
    sample = make_sample()
    order = (2, 0, 1, *range(3, 10))
    options = tuple(type(sample.options[0])(OPTIONS[i], sample.options[k].text) for i, k in enumerate(order))
    assert (
        score_record(sample, make_record(sample, "[[A]]", options=options, order=order), "paper").value == 1.0
    )
    assert (
        score_record(sample, make_record(sample, "[[C]]", options=options, order=order), "paper").value == 0.0
    )


def test_a_stored_answer_stands_in_paper_alone() -> None:
    sample = make_sample()
    stored = make_record(sample, "[[A]] … [[C]]", extra={"final_answer": "C"})
    assert score_record(sample, stored, "paper").rule == STORED
    assert score_record(sample, stored, "paper").value == 1.0
    assert score_record(sample, stored, "strict").answer == "A"
    agreeing = make_record(sample, "[[C]]", extra={"final_answer": "C"})
    assert score_record(sample, agreeing, "paper").rule == BRACKETS
    empty = make_record(sample, "[[C]]", extra={"final_answer": ""})
    assert score_record(sample, empty, "paper").answer == "C"


@pytest.mark.parametrize(
    ("extraction", "fallback", "text", "letter"),
    [
        ("chain", "none", "[[A]] then [[B]]", "A"),
        ("last", "none", "[[A]] then [[B]]", "B"),
        ("brackets", "none", "\\boxed{C}", ""),
        ("boxed", "none", "\\boxed{C}", "C"),
        ("boxed", "none", "It is D", ""),
        ("last-chain", "none", "It is D", "D"),
        ("brackets", "anywhere", "perhaps (b), or (c) x", "C"),
        ("brackets", "anywhere", "I cannot say", "A"),
        ("brackets", "anywhere", "??", ""),
    ],
)
def test_the_rules_of_the_scripts_and_of_the_accuracy_script(
    extraction: str, fallback: str, text: str, letter: str
) -> None:
    sample = make_sample()
    settings = ScoreSettings(protocol="paper", values={"extraction": extraction, "fallback": fallback})
    (score,) = MMRV().score([(sample, make_record(sample, text))], settings)
    assert score.answer == letter
    assert (score.status == "unparsed") == (not letter)


def test_an_unknown_rule_is_an_error() -> None:
    sample = make_sample()
    settings = ScoreSettings(protocol="paper", values={"extraction": "lst"})
    with pytest.raises(UsageError, match="did you mean 'last'"):
        MMRV().score([(sample, make_record(sample, "x"))], settings)
