"""Records → scores, in the published protocol and in the sound one.

`paper`: an empty choice counts as C (marked as guessed), an option past Z loses its second letter, letters
are fished out of sentences, a key inside a longer word counts. `strict`: an empty reply is unparsed, a reply
chooses an option only where it names one and no other, and keys must stand as whole words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vivant.benchmarks.base import Protocol
from vivant.benchmarks.milebench.normalisation import PAPER_STOPS, normalise, normalise_choice
from vivant.benchmarks.milebench.paper import option_name, read_choice
from vivant.core.records import Record, Score, make_score
from vivant.core.types import Option, Sample
from vivant.metrics.option_extraction import extract_option
from vivant.metrics.rouge import rouge_l
from vivant.metrics.text import strip_thinking

ALL_STOPS = 0


def score_records(items: Sequence[tuple[Sample, Record]], protocol: Protocol) -> list[Score]:
    """Score the records of one dataset, in order."""
    choose = _score_choice_paper if protocol == "paper" else _score_choice_strict
    compare = _score_open_paper if protocol == "paper" else _score_open_strict
    return [(choose if s.extra["match"] == "choice" else compare)(s, r) for s, r in items]


def list_shown_options(sample: Sample, record: Record) -> tuple[tuple[Option, ...], int | None]:
    """The options in the order in which the model saw them, and the place of the right one among them."""
    if not record.order or record.order == tuple(range(len(sample.options))):
        return sample.options, sample.key
    texts = [sample.options[index].text for index in record.order]
    options = tuple(Option(option_name(number), text) for number, text in enumerate(texts))
    return options, None if sample.key is None else record.order.index(sample.key)


def _score_choice_paper(sample: Sample, record: Record) -> Score:
    options, key = list_shown_options(sample, record)
    if key is None:
        return _score_no_key(record)
    choices = [normalise_choice(option.text) for option in options]
    reading = read_choice(normalise(record.reply.text), choices)
    # The key is the first of equal choices, as the published scorer takes it.
    correct = reading.name == option_name(choices.index(choices[key]))
    is_option = any(option.name == reading.name for option in options)
    return make_score(
        record,
        status="scored" if is_option else "unparsed",
        value=float(correct) if is_option else None,
        answer=reading.name,
        rule=reading.rule,
        guessed=reading.rule == "empty",
    )


def _score_choice_strict(sample: Sample, record: Record) -> Score:
    options, key = list_shown_options(sample, record)
    if key is None:
        return _score_no_key(record)
    extraction = extract_option(record.reply.text, options)
    if extraction.name is None:
        return _score_unparsed(record, extraction.rule)
    index = [option.name for option in options].index(extraction.name)
    correct = options[index].text == options[key].text
    return make_score(record, value=float(correct), answer=extraction.name, rule=extraction.rule)


def _score_open_paper(sample: Sample, record: Record) -> Score:
    reply = normalise(record.reply.text, PAPER_STOPS)
    key = normalise(sample.answers[0], PAPER_STOPS)
    match = sample.extra["match"]
    if match == "rouge":
        return _score_rouge(record, reply, key)
    if match == "word":
        correct = key in reply.split()
    else:
        correct = key in reply
    return _score_unparsed(record, "empty") if not reply else make_score(record, float(correct), reply, match)


def _score_open_strict(sample: Sample, record: Record) -> Score:
    answer = strip_thinking(record.reply.text)
    if answer is None:
        return _score_unparsed(record, "thinking")
    reply, key = normalise(answer, ALL_STOPS), normalise(sample.answers[0], ALL_STOPS)
    if sample.extra["match"] == "rouge":
        return _score_rouge(record, reply, key)
    if not reply:
        return _score_unparsed(record, "empty")
    correct = bool(key) and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", reply) is not None
    return make_score(record, float(correct), reply, "whole words")


def _score_rouge(record: Record, reply: str, key: str) -> Score:
    if not reply:
        return _score_unparsed(record, "empty")
    return make_score(record, rouge_l(reply, key).f, reply, "rouge-l")


def _score_unparsed(record: Record, rule: str) -> Score:
    return make_score(record, rule=rule, status="unparsed")


def _score_no_key(record: Record) -> Score:
    """The data are at fault, not the model."""
    return make_score(record, rule="key is no choice", status="missing")
