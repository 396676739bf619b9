"""Reading an option in a reply: what is read, by which rule, and what must never be read."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivant.core.types import Option
from vivant.metrics.option_extraction import extract_option
from vivant.metrics.text import normalise_text, strip_thinking

OPTIONS = tuple(
    Option(name, text)
    for name, text in zip("ABCD", ("shooting arrow", "bowling", "playing chess", "playing"), strict=True)
)
MANY = tuple(
    Option(name, f"thing number {index}")
    for index, name in enumerate([*string.ascii_uppercase, "AA", "AB", "AC"])
)
NUMBERED = tuple(Option(str(n), text) for n, text in enumerate(("2", "four", "3.5", "35"), start=1))


@pytest.mark.parametrize(
    ("reply", "name", "rule"),
    [
        ("B", "B", "name"),
        ("(B)", "B", "name"),
        ("B.", "B", "name"),
        ("**B**", "B", "name"),
        ("b", "B", "name"),
        (" `B` \n", "B", "name"),
        ("Option B.", "B", "name"),
        ("$\\text{B}$", "B", "name"),
        ("（Ｂ）", "B", "name"),
        ("A", "A", "name"),
        ("<think>A or B? C!</think>B", "B", "name"),
        ("A? no. So C.</think>\n\n**B**", "B", "name"),
        ("The answer is (B).", "B", "statement"),
        ("The answer is B because the arm swings.", "B", "statement"),
        ("The correct answer is clearly **B**!", "B", "statement"),
        ("The answer to this question is B", "B", "statement"),
        ("Answer: B", "B", "statement"),
        ("**Answer:** B", "B", "statement"),
        ("**Answer**: B. bowling", "B", "statement"),
        ("Answer: A man bowls. Final answer: **B**", "B", "statement"),
        ("Final answer: **B**\nI hope that helps.", "B", "statement"),
        ("So \\boxed{B}.", "B", "statement"),
        ("So \\boxed{\\text{B}}.", "B", "statement"),
        ("So \\boxed{bowling}.", "B", "statement"),
        ("I considered (A) at length. [[B]]", "B", "statement"),
        ("The answer is A. No, wait: the answer is B.", "B", "statement"),
        ("I first thought the answer is not B. The answer is B.", "B", "statement"),
        ("I'd go with option b.", "B", "statement"),
        ("The correct option is B, not C.", "B", "statement"),
        ("**B** is the correct answer, as A shows no ball.", "B", "statement"),
        ("答案是B。", "B", "statement"),
        ("The answer is bowling.", "B", "statement"),
        ("The answer is A shooting arrow", "A", "statement"),
        ("The answer is a bowling ball", "B", "statement"),
        ("Answer:\n\nB", "B", "statement"),
        ("B. shooting", "B", "leading"),
        ("B) bowling", "B", "leading"),
        ("(B) bowling", "B", "leading"),
        ("B: he rolls something", "B", "leading"),
        ("**B. bowling**", "B", "leading"),
        ("B, since he rolls something", "B", "leading"),
        ("B\nHe rolls something.", "B", "leading"),
        ("B bowling", "B", "leading"),
        ("He swings one arm low.\n\nB", "B", "last-line"),
        ("He swings one arm low.\n(B) bowling", "B", "last-line"),
        ("A. no arrow\nC. no board\nB", "B", "last-line"),
        ("Bowling", "B", "text"),
        ("“Playing chess.”", "C", "text"),
        ("I see a person.\nHe must be bowling here.", "B", "text-last-line"),
        ("The person is playing chess", "C", "text-last-line"),
        ("He is bowling.\nThat is all.", "B", "text-in-reply"),
        ("He isn't standing still; he is bowling.", "B", "text-last-line"),
    ],
)
def test_reads(reply: str, name: str, rule: str) -> None:
    found = extract_option(reply, OPTIONS)
    assert (found.name, found.rule) == (name, rule)


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("<think>the answer is B", "thinking"),
        ("A <think> B", "thinking"),
        ("<think>the answer is B</think>", "empty"),
        ("A man stands in a room.", "none"),
        ("Answer: A man stands in a room.", "none"),
        ("I think so.", "none"),
        ("the answer is a", "none"),
        ("Plan B failed", "none"),
        ("E", "none"),
        ("ABCD", "none"),
        ("A and B", "none"),
        ("A, B", "none"),
        ("The wrong answer is B.", "none"),
        ("Let us look at each option: (B) first.", "none"),
        ("(B) is wrong.", "none"),
        ("B.Sc. students", "none"),
        ("vitamin A-rich", "none"),
        ("The answer is B or C.", "none"),
        ("The answer is **B** or **C**.", "ambiguous"),
        ("The answer is (B) and (C).", "ambiguous"),
        ("Answer: B, C", "ambiguous"),
        ("\\boxed{B, C}", "ambiguous"),
        ("Answer: B. playing chess", "ambiguous"),
        ("B. C", "ambiguous"),
        ("B. playing chess", "ambiguous"),
        ("A. shooting arrow\nB. bowling", "ambiguous"),
        ("- A. shooting arrow\n- B. bowling", "ambiguous"),
        ("- shooting arrow\n- bowling", "ambiguous"),
        ("Let us weigh each possible answer:\nA. shooting arrow: no\nB. bowling: no", "ambiguous"),
        ("The answer is:\nA. shooting arrow\nB. bowling", "ambiguous"),
        ("It is shooting arrow or bowling.", "ambiguous"),
        ("The answer is B.\n\nC", "ambiguous"),
        ("The answer is not B.", "denied"),
        ("The answer is B. Hm, the answer isn't B.", "denied"),
        ("The answer is none of these.", "denied"),
        ("He is not bowling.", "denied"),
        ("Neither A nor B is the correct answer.", "none"),
    ],
)
def test_never_guesses(reply: str, rule: str) -> None:
    found = extract_option(reply, OPTIONS)
    assert found.name is None
    assert found.rule == rule


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("AB", "AB"),
        ("The answer is AB.", "AB"),
        ("AA) thing number 26", "AA"),
        ("I", "I"),
        ("I think it is hard. Answer: I", "I"),
        ("I, for one, cannot say", None),
        ("I see the answer: I think it is clear", None),
        ("Answer: thing number 2", "C"),
        ("Answer: thing number 28", "AC"),
        ("It shows thing number 29", None),
        ("the answer is ab", None),
        ("(ab)", "AB"),
    ],
)
def test_names_beyond_z(reply: str, name: str | None) -> None:
    assert extract_option(reply, MANY).name == name


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("1", "1"),
        ("Answer: (4)", "4"),
        ("The answer is 4 people", None),  # a number, not the option called 4
        ("2", None),  # the option called 2, or the one that says 2
        ("3.5", "3"),
        ("The answer is 3.5.", "3"),
        ("35", "4"),
        ("It weighs -35 kg", None),
        ("It weighs 35 kg", "4"),
    ],
)
def test_numbers_are_told_from_names(reply: str, name: str | None) -> None:
    assert extract_option(reply, NUMBERED).name == name


def test_options_without_use() -> None:
    assert extract_option("B", ()).name is None
    twins = (Option("A", "bowling"), Option("B", "Bowling."))
    assert extract_option("bowling", twins).name is None
    assert extract_option("B", twins).name == "B"
    empty = (Option("A", ""), Option("B", "…"))
    assert extract_option("It is … nothing", empty).name is None


def test_case_tells_names_apart_where_they_differ_by_it_alone() -> None:
    options = (Option("a", "one"), Option("A", "two"))
    assert extract_option("(a)", options).name == "a"
    assert extract_option("(A)", options).name == "A"
    assert extract_option("(b)", options).name is None


@given(
    st.text(
        alphabet=st.sampled_from("ABCDabcd .,:()[]*\n<think>/answeristhe\\{}\"'bowlingchess"), max_size=80
    )
)
def test_any_reply_gives_a_name_or_a_reason(reply: str) -> None:
    found = extract_option(reply, OPTIONS)
    if found.name is None:
        assert found.rule in {"empty", "thinking", "ambiguous", "denied", "none"}
    else:
        assert found.name in {option.name for option in OPTIONS}
        assert found.rule in {
            "name", "statement", "leading", "last-line", "text", "text-last-line", "text-in-reply",
        }  # fmt: skip


_FILLER = st.text(alphabet=st.sampled_from("xyz ,;\n"), max_size=60)


@given(
    st.sampled_from([option.name for option in MANY]),
    st.sampled_from(
        ["{}", "({})", "**{}**", "The answer is ({}).", "[[{}]]", "\\boxed{{{}}}", "Final answer: {}"]
    ),
    _FILLER,
)
def test_a_well_formed_answer_is_read_after_any_thinking(name: str, form: str, filler: str) -> None:
    reply = f"<think>{filler} The answer is (A). </think>{form.format(name)}"
    assert extract_option(reply, MANY).name == name


@given(_FILLER, st.sampled_from("BCD"), _FILLER, st.sampled_from("ABCD"), _FILLER)
def test_the_last_statement_counts(a: str, first: str, b: str, second: str, c: str) -> None:
    reply = f"{a} the answer is ({first}). {b} the answer is ({second}). {c}"
    assert extract_option(reply, OPTIONS).name == second


@given(st.permutations(OPTIONS), st.sampled_from(["bowling", "playing chess", "shooting arrow"]))
def test_order_of_options_is_irrelevant(options: list[Option], text: str) -> None:
    name = next(option.name for option in options if option.text == text)
    assert extract_option(f"He is {text} there.", options).name == name


@pytest.mark.parametrize(
    "unit",
    [
        "*",
        " ",
        "_",
        "answer ",
        "answer is ",
        "(",
        "\\boxed{",
        "A. ",
        "A is ",
        "\n",
        "[[",
        "答案是",
        "<think>",
    ],
)
def test_long_replies_take_no_quadratic_time(unit: str) -> None:
    # A quadratic reading of these would run into the tests' time limit.
    extract_option(unit * (150_000 // len(unit)) + "x", OPTIONS)


def test_thinking() -> None:
    assert strip_thinking("<think>x</think> y") == "y"
    assert strip_thinking("<THINK>x\n</THINK><think>z</think>y") == "y"
    assert strip_thinking("x</think>y") == "y"
    assert strip_thinking("<think>x") is None
    assert strip_thinking("plain") == "plain"
    assert strip_thinking("a<think><thinking>x</think>b</thinking>c<reasoning>y</Reasoning>d") == "cd"
    assert strip_thinking("a<thinking>x<think>y</think>b") is None
    assert strip_thinking("<think>" * 150_000) is None


def test_plain_form() -> None:
    assert normalise_text("  The “Man’s” best-friend… ") == "man s best friend"
    assert normalise_text("3.5 %") == "3.5 %"
    assert normalise_text("-3") != normalise_text("3")
    assert normalise_text("A") == "a"
    assert normalise_text("ﬁne") == "fine"
