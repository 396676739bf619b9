"""How VLMEvalKit reads replies without a judge (`exact_matching`), rule by rule."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vivant.metrics.answers import leave_one_out, measure_anls, measure_relaxed, normalise_vqa
from vivant.metrics.harness_rules import Reading, Rule, RuleItem
from vivant.metrics.lmms_eval_rules import UNSTRIPPED

_FAILED = "Failed to obtain answer via API"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_SEPARATORS = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_STATED = re.compile(r"(?i)(?:correct\s+)?answer\s+is\s+\**([ABCD])\**")
_LAST = 4
_LEADS = (
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    # Two pairs of the original's list run together, so that they never match.
    "The best option isThe correct option is",
    "Best answer:Best option:",
    "Answer:",
    "Option:",
)


def infer(reply: str, options: Mapping[str, str]) -> str:
    """The letter that the reply names by itself or by text; Z for a refusal; empty where a judge would be asked."""
    return _infer_letter(reply, options) or _infer_text(reply, options)


def _infer_letter(reply: str, options: Mapping[str, str]) -> str:
    if _FAILED in reply:
        return ""
    if any(refusal in reply for refusal in _REFUSALS):
        return "Z"
    words = reply.translate(_SEPARATORS).split()
    named = [letter for letter in options if letter in words]
    if len(named) == 1 and words.index(named[0]) >= len(words) - _LAST:
        return named[0]
    if not named and "Z" in words:
        return "Z"
    match = _STATED.search(reply)
    return match[1].upper() if match and match[1].upper() in options else ""


def _infer_text(reply: str, options: Mapping[str, str]) -> str:
    lower = reply.lower()
    if len(lower) > 2 * sum(map(len, options.values())):
        return ""
    hits = [letter for letter, text in options.items() if text.lower() in lower]
    return hits[0] if len(hits) == 1 else ""


def _read_infer(reply: str, item: RuleItem) -> Reading:
    return item.choose(infer(reply, item.options), "inferred")


def _read_mmmu(reply: str, item: RuleItem) -> Reading:
    """An open question becomes a choice between the accepted answer (A) and others (B)."""
    if item.options:
        return _read_infer(reply, item)
    letter = infer(reply, {"A": item.answer, "B": "Other Answers"})
    return Reading(float(letter == "A"), letter, "open-as-choice", status="scored" if letter else "unparsed")


def _first_capital(letters: str) -> Rule:
    def read(reply: str, item: RuleItem) -> Reading:
        text = reply.strip()
        for lead in _LEADS:
            text = text.replace(lead, "")
        match = re.search(f"[{letters}]", text)
        # The original then infers from the options in the question's text, where these data hold none.
        return item.choose(match[0] if match else "", "first-capital")

    return read


def _read_mvbench(reply: str, item: RuleItem) -> Reading:
    """The first word is part of "(x)" or holds it, so that an empty reply is right; else inferred."""
    first = reply.lower().strip().split(" ")[0]
    key = f"({item.gold.lower()})"
    if first.replace(".", "") in key or key in first:
        return Reading(1.0, item.gold, "first-word")
    return _read_infer(reply, item)


def _read_mlvu(reply: str, item: RuleItem) -> Reading:
    """The character before the first closing bracket, else the whole reply; else inferred."""
    index = reply.find(")")
    letter = reply[index - 1 : index] if index >= 0 else reply
    return item.choose(letter, "bracket") if letter == item.gold else _read_infer(reply, item)


def _read_mathvista(reply: str, item: RuleItem) -> Reading:
    """Letters inferred, numbers equal; where the original would ask its judge to extract, the reply is wrong."""
    if item.options:
        return _read_infer(reply, item)
    kind = item.fields.get("answer_type")
    try:
        if kind == "integer":
            return Reading(float(int(reply) == int(item.answer)), reply, "integer")
        if kind == "float":
            return Reading(float(float(reply) == float(item.answer)), reply, "float")
    except ValueError:
        pass
    return Reading(0.0, "", "no number; the original asks a judge", status="unparsed")


def _read_relaxed(reply: str, item: RuleItem) -> Reading:
    return Reading(measure_relaxed(reply, item.answers), reply.strip(), "relaxed")


def _read_anls(reply: str, item: RuleItem) -> Reading:
    return Reading(measure_anls(reply, item.answers), reply, "anls")


def _read_vqa_score(reply: str, item: RuleItem) -> Reading:
    """Leave-one-out accuracy. A question with one answer scores 0 whatever the reply: there are no others."""
    plain = normalise_vqa(reply)
    return Reading(leave_one_out(plain, [normalise_vqa(answer) for answer in item.answers]), plain, "vqa")


def _read_accuracy(reply: str, item: RuleItem) -> Reading:
    plain = reply.strip().lower()
    return Reading(float(any(plain == answer.strip().lower() for answer in item.answers)), plain, "equal")


RULES: Mapping[str, Rule] = {
    "infer": _read_infer,
    "mmmu": _read_mmmu,
    "first-capital-abcd": _first_capital("ABCD"),
    "first-capital-abcde": _first_capital("ABCDE"),
    "mvbench": _read_mvbench,
    "mlvu": _read_mlvu,
    "mathvista": _read_mathvista,
    "relaxed": _read_relaxed,
    "anls": _read_anls,
    "vqa-score": _read_vqa_score,
    "accuracy": _read_accuracy,
    **{name: rule for name, rule in UNSTRIPPED.items() if name.startswith("tempcompass-")},
}
