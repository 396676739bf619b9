"""How lmms-eval 0.7 reads replies, rule by rule. It strips every reply before a rule sees it."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping

from vivant.metrics.answers import drop_punctuation, edit_distance, measure_anls, relaxed_match
from vivant.metrics.harness_rules import Reading, Rule, RuleItem
from vivant.metrics.mmmu_rules import parse_letter, parse_open_reply

_ENDS = ",.!?;:'"
_LEADS = (
    *(f"{the}{what} is" for what in ("answer", "correct answer", "best answer") for the in ("the ", "")),
    *(f"{the}{what} option is" for what in ("correct", "best") for the in ("the ", "")),
    *(f"{the}{what}choice is" for what in ("", "correct ") for the in ("the ", "")),
    *("i choose", "i select", "i pick", "my answer is", "my choice is"),
    *("옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは"),
)
_LONGVIDEOBENCH_LEADS = (
    *(f"The {what} is" for what in ("best answer", "correct answer", "answer")),
    *("The answer", "The best option is", "The correct option is", "Best answer:", "Best option:"),
)
_LETTER_DOT = re.compile(r"\s*([A-Z])\.")
_MVBENCH_OPTION = re.compile(r"([A-E])\.\s*.+", re.IGNORECASE)
_MVBENCH_LETTER = re.compile(r"\b([A-E])\b", re.IGNORECASE)
_MVBENCH_STOP = re.compile(r"\.(?!\d)")
_BLINK = re.compile(r"[(\s]*([A-Z])", re.IGNORECASE)
_AFFIXES = (
    *(("", end) for end in (".", ",", ":", ")", ").")),
    *(("(", end) for end in (")", ").")),
    *((":", end) for end in ("", ",", ".", ")", ").")),
)
_UNPUNCTUATED = str.maketrans("", "", string.punctuation)


def trim_ends(text: str, marks: str) -> str:
    """Each mark in turn taken off both ends, as often as it stands there."""
    for mark in marks:
        text = text.strip(mark)
    return text


def extract_by_priority(reply: str, letters: Iterable[str]) -> tuple[str, str]:
    """The letter that stands in the form of the highest rank, the later one among equals; and the form."""
    if not reply.strip():
        return "", "empty"
    bare = trim_ends(reply.strip(), _ENDS + '"')
    text = f" {bare} "
    inner, lower = text.strip(), text.lower()
    starts = [index + len(lead) for lead in _LEADS if (index := lower.find(lead)) >= 0]
    candidates: list[tuple[int, int, str, str]] = []
    for letter in letters:
        for rank, form, pattern in (
            (6, "parentheses", f"({letter})"),
            (5, "period", f"{letter}."),
            (4, "colon", f"{letter}:"),
            (3, "right-parenthesis", f"{letter})"),
            (2, "space", f"{letter} "),
        ):
            candidates.append((rank, text.rfind(pattern), letter, form))
        candidates += [(7, text.find(letter, start), letter, "phrase") for start in starts]
        if inner.startswith(letter) and not inner[1:2].isalpha():
            candidates.append((10, 0, letter, "start"))
        if inner.endswith(letter) and not inner[:-1][-1:].isalpha():
            candidates.append((9, len(text) - 1, letter, "end"))
    candidates = [candidate for candidate in candidates if candidate[1] >= 0]
    if not candidates:
        candidates = [(0, text.rfind(letter), letter, "anywhere") for letter in letters if letter in text]
    if not candidates:
        return "", "none"
    # The first of those that are best: the original sorts stably from the highest down.
    best = max(candidates, key=lambda candidate: candidate[:2])
    return best[2], best[3]


def _read_priority(reply: str, item: RuleItem) -> Reading:
    """Video-MME, MLVU, MMStar: letters A to D, whatever the options are."""
    return item.choose(*extract_by_priority(reply, "ABCD"))


def _read_realworldqa(reply: str, item: RuleItem) -> Reading:
    if item.gold in tuple("ABCD"):
        return item.choose(*extract_by_priority(reply, "ABCD"))
    plain = reply.lower().strip().rstrip(".")
    return Reading(float(plain == item.answer.strip().lower()), plain, "equal")


def _read_mmmu(reply: str, item: RuleItem) -> Reading:
    """Open items: the list of parsed answers is cut to its first, which is then compared letter by letter, so
    that no answer of two letters or more is ever right."""
    if item.options:
        return parse_letter(reply, item)
    candidates = parse_open_reply(reply)
    return Reading(0.0, str(candidates[0]) if candidates else "", "open-by-letter")


def _read_egoschema(reply: str, item: RuleItem) -> Reading:
    """Forms are pooled; of several, the one whose last place comes first."""
    text = f" {trim_ends(reply, _ENDS)} "
    forms = [
        (text.rfind(pattern), letter)
        for template in ("({})", "{} ", "{}.")
        for letter in item.options
        if (pattern := template.format(letter)) in text
    ]
    rule = "letter"
    if not forms and len(text.split()) > 5:
        lower, rule = text.lower(), "text"
        forms = [
            (lower.rfind(option.lower()), letter)
            for letter, option in item.options.items()
            if option.lower() in lower
        ]
    return item.choose(min(forms, key=lambda form: form[0])[1], rule) if forms else item.guess()


def _read_longvideobench(reply: str, item: RuleItem) -> Reading:
    """The first capital from A to E, even inside a word; without one, a guess."""
    text = reply.strip()
    for lead in _LONGVIDEOBENCH_LEADS:
        text = text.replace(lead, "")
    match = re.search("[A-E]", text)
    return item.choose(match[0], "first-capital") if match else item.guess()


def _read_mvbench(reply: str, item: RuleItem) -> Reading:
    """The first letter that stands alone in any case: the article "a" is A. Empty replies are left out."""
    if not reply:
        return Reading(0.0, "", "empty replies are left out", status="excluded")
    return item.choose(_mvbench_answer(reply), "first-letter")


def _mvbench_answer(text: str) -> str:
    match = _MVBENCH_OPTION.fullmatch(text.strip())
    if match:
        return match[1].upper()
    plain = drop_punctuation(text.replace("\n", " ").replace("\t", " ").strip(), _MVBENCH_STOP)
    plain = plain.strip("'").strip('"').strip(")").strip("(").strip().lower()
    letter = _MVBENCH_LETTER.search(plain)
    return letter[1].upper() if letter else plain


def _read_tempcompass_choice(reply: str, item: RuleItem) -> Reading:
    gold = item.answer or f"{item.gold}. {item.options.get(item.gold, '')}"
    if reply == gold:
        return Reading(1.0, gold[:1], "equal")
    for mark in ("", ".", ")"):
        if reply[:1] in tuple("ABCD") and (reply[1:] == "" if not mark else reply[1:2] == mark):
            return Reading(float(reply[0] == gold[:1]), reply[0], "letter")
    return _UNMATCHED


def _read_tempcompass_yes_no(reply: str, item: RuleItem) -> Reading:
    for word in ("yes", "no"):
        if reply.lower().startswith(word):
            return Reading(float(word == item.answer), word, "begins")
    return _UNMATCHED


def _read_tempcompass_caption(reply: str, item: RuleItem) -> Reading:
    """The reply is an option in full, its sentence, or its label with or without the word before it."""
    lines = item.question.split("\n")[1:]
    pairs = [line.split(": ") for line in lines]
    after = reply.split(") ")[1] if ") " in reply else None
    chosen = ""
    for line in lines:
        chosen = line if line == reply else chosen
    for pair in pairs:
        chosen = pair[1] if pair[1] in (reply, after) else chosen
    labels = [pair[0] for pair in pairs]
    labels += [
        re.sub("Caption ", "", re.sub("Option ", "", label.replace("Sentence ", ""))) for label in labels
    ]
    for label in labels:
        chosen = label if label in (reply, reply.replace(".", "")) else chosen
    if not chosen:
        return _UNMATCHED
    gold = item.answer
    label, sentence = gold.split(": ")[:2]
    right = chosen in (gold, gold.split(":")[0], sentence, label.split()[1])
    return Reading(float(right), chosen, "option")


_UNMATCHED = Reading(0.0, "", "no rule fits; the original asks a judge", status="unparsed")


def infer_option(reply: str, letters: str) -> str:
    """The one letter that stands alone, or in one of twelve forms; empty where none or several do."""
    words = reply.split()
    if sum(letter in words for letter in letters) == 1 and not ("A" in words and len(words) > 3):
        return next(letter for letter in letters if letter in words)
    for before, after in _AFFIXES:
        hits = [letter for letter in letters if f"{before}{letter}{after}" in words]
        if len(hits) == 1:
            return hits[0]
    return ""


def infer_text(reply: str, options: Mapping[str, str]) -> str:
    """The one option whose text occurs in the reply."""
    lower = reply.lower()
    hits = [letter for letter, text in options.items() if text.lower() in lower]
    return hits[0] if len(hits) == 1 else ""


def _read_mmbench(reply: str, item: RuleItem) -> Reading:
    """The static variant: letters alone, option texts, then the priority of forms. Letters go to E whatever the
    options are."""
    letter = infer_option(reply, "ABCDE") or infer_text(reply, item.options)
    if letter:
        return item.choose(letter, "inferred")
    return item.choose(*extract_by_priority(reply, sorted(item.options)))


def _read_mathvista(reply: str, item: RuleItem) -> Reading:
    """A reply that is an option or a number stands for itself; for others the original asks a judge to extract, and
    without one goes on with an empty text, which for a choice is nearest to the shortest option."""
    kind, fields = item.fields.get("answer_type", ""), item.fields
    texts = list(item.options.values())
    extraction = _extract_mathvista(reply, str(kind), texts)
    rule = "itself" if extraction else "nothing extracted"
    if item.options:
        letter = re.findall(r"\(([a-zA-Z])\)", extraction)
        extraction = letter[0].upper() if letter else extraction
        if extraction in item.options:
            result: str | None = item.options[extraction]
        else:
            result = min(texts, key=lambda text: edit_distance(extraction, text))
            rule += ", nearest option"
    else:
        result = _convert_mathvista(extraction, str(kind), fields.get("precision"))
    answer = item.options.get(item.gold, item.answer)
    right = str(result).strip() == answer.strip()
    return Reading(float(right), "" if result is None else result, rule)


def _extract_mathvista(reply: str, kind: str, options: list[str]) -> str:
    if options and reply in options:
        return reply
    converters: dict[str, Callable[[str], int | float]] = {"integer": int, "float": float}
    if kind in converters:
        try:
            return str(converters[kind](reply))
        except ValueError:
            return ""
    return ""


def _convert_mathvista(extraction: str, kind: str, precision: object) -> str | None:
    if kind == "list":
        return extraction
    try:
        if kind == "integer":
            return str(int(float(extraction)))
        if kind == "float":
            # A precision that the data hold as a float makes Python's round fail, so that the item is wrong.
            return str(round(float(extraction), precision))  # type: ignore[call-overload]
    except (ValueError, TypeError, OverflowError):
        return None
    return extraction


def _read_ai2d(reply: str, item: RuleItem) -> Reading:
    """A letter with a full stop at the start, else the whole reply; case and punctuation do not count."""
    match = _LETTER_DOT.match(reply)
    plain = (match[1] if match else reply).lower().translate(_UNPUNCTUATED)
    return Reading(float(plain == item.gold.lower()), plain.upper(), "letter" if match else "whole")


def _read_blink(reply: str, item: RuleItem) -> Reading:
    """The first letter of the reply, whatever word it belongs to."""
    match = _BLINK.match(reply.strip())
    return item.choose(match[1].upper() if match else "", "first-letter")


def _read_muirbench(reply: str, item: RuleItem) -> Reading:
    """A letter with a full stop at the start, else the whole reply in lower case; brackets stay."""
    match = _LETTER_DOT.match(reply)
    plain = match[1] if match else reply
    return Reading(float(plain.lower().strip() == item.gold.lower()), plain, "letter" if match else "whole")


def _read_relaxed(reply: str, item: RuleItem) -> Reading:
    return Reading(float(relaxed_match(reply, item.answer)), reply, "relaxed")


def _read_anls(reply: str, item: RuleItem) -> Reading:
    return Reading(measure_anls(reply, item.answers), reply, "anls")


def _strip_first(rule: Rule) -> Rule:
    return lambda reply, item: rule(reply.strip(), item)


UNSTRIPPED: Mapping[str, Rule] = {
    "priority": _read_priority,
    "realworldqa": _read_realworldqa,
    "mmmu": _read_mmmu,
    "egoschema": _read_egoschema,
    "longvideobench": _read_longvideobench,
    "mvbench": _read_mvbench,
    "tempcompass-choice": _read_tempcompass_choice,
    "tempcompass-yes-no": _read_tempcompass_yes_no,
    "tempcompass-caption": _read_tempcompass_caption,
    "mmbench": _read_mmbench,
    "mathvista": _read_mathvista,
    "ai2d": _read_ai2d,
    "blink": _read_blink,
    "muirbench": _read_muirbench,
    "relaxed": _read_relaxed,
    "anls": _read_anls,
}
"""The rules as other harnesses that share them call them."""

RULES: Mapping[str, Rule] = {name: _strip_first(rule) for name, rule in UNSTRIPPED.items()}
