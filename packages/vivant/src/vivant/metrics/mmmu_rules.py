"""MMMU's own rules, which several harnesses share: a letter by tiers, and open answers by phrases and numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vivant.metrics.harness_rules import Reading, Rule, RuleItem

_ENDS = ",.!?;:'"
_INDICATORS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_NUMBERS = tuple(
    map(
        re.compile,
        (
            r"-?\b\d{1,3}(?:,\d{3})+\b",
            r"-?\d+(?:\.\d+)?[eE][+-]?\d+",
            r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])",
        ),
    )
)


def parse_letter(reply: str, item: RuleItem) -> Reading:
    """(A), then A before a space, then A with a full stop, then option texts; of several the last; of none a guess."""
    text = reply
    for mark in _ENDS:
        text = text.strip(mark)
    text = f" {text} "
    for template in ("({})", "{} ", "{}."):
        letters = [letter for letter in item.options if template.format(letter) in text]
        if letters:
            form = template if template == "({})" else " {} "
            return item.choose(max(letters, key=lambda letter: text.rfind(form.format(letter))), "letter")
    lower = text.lower()
    if len(text.split()) > 5:
        letters = [letter for letter, option in item.options.items() if option.lower() in lower]
        if letters:
            return item.choose(
                max(letters, key=lambda letter: lower.rfind(item.options[letter].lower())), "text"
            )
    return item.guess()


def parse_open_reply(reply: str) -> list[str | float]:
    """Phrases that may hold the answer and the numbers in them, normalised, in order."""
    phrases = _key_phrases(reply)
    numbers = [number for phrase in phrases for pattern in _NUMBERS for number in pattern.findall(phrase)]
    return list(dict.fromkeys(value for text in (*phrases, *numbers) for value in _normalise(text)))


def _key_phrases(reply: str) -> list[str]:
    """Of each line the shortest tail after an indicator word; the whole reply where no line has one."""
    lines = reply.strip().strip(".").lower().split("\n")
    phrases: list[str] = []
    for number, line in enumerate(lines, 1):
        # An equation counts in the last line alone.
        indicators = (*_INDICATORS, "=") if number == len(lines) else _INDICATORS
        shortest = ""
        for indicator in indicators:
            if indicator in line:
                tail = line.split(indicator)[-1].strip()
                if not shortest or len(tail) < len(shortest):
                    shortest = tail
        if shortest and shortest not in tuple(":,.!?;'"):
            phrases.append(shortest)
    return phrases or ["\n".join(lines)]


def _normalise(text: str) -> list[str | float]:
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        lower = text.lower()
        return [f" {lower}", f"{lower} "] if len(lower) == 1 else [lower]


def _read_open(reply: str, item: RuleItem) -> Reading:
    """Multiple choice by letter; open items right where an accepted answer is in a phrase, or is one of the numbers."""
    if item.options:
        return parse_letter(reply, item)
    golds = [value for answer in item.answers for value in _normalise(answer)]
    candidates = parse_open_reply(reply)
    for candidate in candidates:
        if isinstance(candidate, float):
            right = candidate in golds
        else:
            right = any(isinstance(gold, str) and gold in candidate for gold in golds)
        if right:
            return Reading(1.0, str(candidate), "open")
    return Reading(0.0, str(candidates[0]) if candidates else "", "open")


RULES: Mapping[str, Rule] = {"official": lambda reply, item: _read_open(reply.strip(), item)}
