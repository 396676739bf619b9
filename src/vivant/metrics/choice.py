"""A reply to a question with options, scored: the one place where shown order meets the key."""

from __future__ import annotations

from vivant.core.types import Record, Sample, Score, make_score
from vivant.metrics.option_extraction import extract_option


def score_choice(sample: Sample, record: Record) -> Score:
    """Right where the option that the reply names is the sample's key; `unparsed` where it names none."""
    shown = record.options or sample.options
    order = record.order or tuple(range(len(shown)))
    found = extract_option(record.reply.text, shown)
    if found.name is None:
        return make_score(record, rule=found.rule, status="unparsed")
    place = [option.name for option in shown].index(found.name)
    return make_score(record, float(order[place] == sample.key), found.name, found.rule)
