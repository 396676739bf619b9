"""Free-form answers against accepted texts: equality, numbers with tolerance, ANLS, VQA accuracy, relaxed accuracy.

Each function takes a reply and the accepted answers and returns a value between 0 and 1: the best over the answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from vivant.metrics.text import normalise_text

_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?\s?%?")
_DIGIT_COMMA = re.compile(r"\d,\d")
_STOP = re.compile(r"(?<!\d)\.(?!\d)")
_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_DIGITS = {
    "none": "0",
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
}
_ARTICLES = frozenset(("a", "an", "the"))
_CONTRACTED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've he's
how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've needn't not've o'clock
oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's someone'd
someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've there're there's
they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's what've when's
where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've wouldn't wouldn't've
y'all y'all'll y'all'd've you'd you'd've you'll you're you've
"""


def match_exact(reply: str, answers: Sequence[str]) -> float:
    """1 where the reply is an accepted text, white space at its ends aside."""
    return float(reply.strip() in {answer.strip() for answer in answers})


def match_normalised(reply: str, answers: Sequence[str]) -> float:
    """1 where reply and answer are equal but for case, punctuation, spaces and a leading article."""
    return float(normalise_text(reply) in {normalise_text(answer) for answer in answers})


def parse_number(text: str) -> float | None:
    """A text that is one number: `1,200`, `-3.5`, `12 %` (0.12). None for anything else."""
    stripped = text.strip().rstrip(".")
    if not stripped or not _NUMBER.fullmatch(stripped) or not any(map(str.isdigit, stripped)):
        return None
    value = float(stripped.replace(",", "").replace("−", "-").rstrip("% "))
    return value / 100 if stripped.endswith("%") else value


def match_number(reply: str, answers: Sequence[str], tolerance: float = 0.0) -> float:
    """1 where the last number of the reply is within a relative tolerance of an accepted one.

    Args:
        reply: What the model answered.
        answers: Accepted texts. One that is no number must be equal, as `match_normalised` compares.
        tolerance: The part of the accepted number by which the reply may be off; 0.05 is five percent.
    """
    numbers = [number for text in _NUMBER.findall(reply) if (number := parse_number(text)) is not None]
    for answer in answers:
        target = parse_number(answer)
        if target is None:
            if match_normalised(reply, (answer,)):
                return 1.0
        elif numbers and abs(numbers[-1] - target) <= tolerance * abs(target) + 1e-9:
            return 1.0
    return 0.0


def measure_anls(reply: str, answers: Sequence[str], threshold: float = 0.5) -> float:
    """Average normalised Levenshtein similarity of one reply: 1 − distance ÷ length, 0 below the threshold.

    The distance is between texts in lower case with single spaces, the length that of the longer raw text: so the
    harnesses compute it.
    """
    ours = " ".join(reply.lower().split())
    best = 0.0
    for answer in answers:
        length = max(len(answer.upper()), len(reply.upper()))
        distance = edit_distance(" ".join(answer.lower().split()), ours)
        best = max(best, 1.0 - distance / length if length else 1.0)
    return best if best >= threshold else 0.0


def edit_distance(first: str, second: str) -> int:
    """Insertions, deletions and replacements that turn one text into the other."""
    if len(first) < len(second):
        first, second = second, first
    row = list(range(len(second) + 1))
    for index, letter in enumerate(first, 1):
        previous, row[0] = row[0], index
        for column, other in enumerate(second, 1):
            cost = min(row[column] + 1, row[column - 1] + 1, previous + (letter != other))
            previous, row[column] = row[column], cost
    return row[-1]


def relaxed_match(reply: str, answer: str, tolerance: float = 0.05) -> bool:
    """ChartQA's relaxed accuracy: numbers within five percent, other texts equal in lower case.

    A number with a percent sign is a hundredth of it; commas and units are not removed; a target of 0 needs
    equality of texts.
    """
    ours, target = _read_float(reply), _read_float(answer)
    if ours is not None and target:
        return abs(ours - target) / abs(target) <= tolerance
    return reply.lower() == answer.lower()


def _read_float(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        return None


def measure_relaxed(reply: str, answers: Sequence[str], tolerance: float = 0.05) -> float:
    """Relaxed accuracy, the best over the answers."""
    return float(any(relaxed_match(reply.strip(), answer, tolerance) for answer in answers))


def measure_vqa(reply: str, answers: Sequence[str]) -> float:
    """VQA accuracy: an answer counts in full where three annotators gave it, averaged over subsets without one.

    With fewer than four answers there is no such count: the reply must equal one of them.
    """
    ours = normalise_vqa(reply)
    golds = [normalise_vqa(answer) for answer in answers]
    if len(golds) < 4:
        return float(ours in golds)
    return leave_one_out(ours, golds)


def leave_one_out(reply: str, answers: Sequence[str]) -> float:
    """The mean over annotators of min(1, equal answers of the others ÷ 3). One answer alone has no others: 0."""
    hits = answers.count(reply)
    values = [min(1.0, (hits - (answer == reply)) / 3) for answer in answers]
    return sum(values) / len(values) if values else 0.0


def normalise_vqa(text: str) -> str:
    """The VQA normalisation: punctuation, number words, articles and contractions."""
    line = drop_punctuation(text.replace("\n", " ").replace("\t", " ").strip(), _STOP)
    words = [_DIGITS.get(word, word) for word in line.lower().split()]
    return " ".join(_contractions().get(word, word) for word in words if word not in _ARTICLES)


def drop_punctuation(text: str, stop: re.Pattern[str]) -> str:
    """Marks that stand beside a space (or all, where a comma stands between digits) go; others become spaces.

    Args:
        text: The text.
        stop: Full stops that go; at most 32 of them, as the original's call has it.
    """
    joined = _DIGIT_COMMA.search(text) is not None
    result = text
    for mark in _PUNCTUATION:
        apart = joined or f"{mark} " in text or f" {mark}" in text
        result = result.replace(mark, "" if apart else " ")
    return stop.sub("", result, count=32)


@cache
def _contractions() -> dict[str, str]:
    """Contractions by their spelling without one of their apostrophes; one entry of the original is reversed."""
    table = {"somebody'd": "somebodyd"}
    for word in _CONTRACTED.split():
        for index, letter in enumerate(word):
            if letter == "'":
                table[word[:index] + word[index + 1 :]] = word
    return table
