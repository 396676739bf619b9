"""A reply to a question with options, scored: the one place where shown order meets the key."""

from __future__ import annotations

from vivant.core.types import Record, Sample, Score
from vivant.metrics.option_extraction import extract_option


def score_choice(sample: Sample, record: Record) -> Score:
    """Right where the option that the reply names is the sample's key; `unparsed` where it names none."""
    shown = record.options or sample.options
    order = record.order or tuple(range(len(shown)))
    found = extract_option(record.reply.text, shown)
    if found.name is None:
        return Score(key=record.key, task=record.task, id=record.id, status="unparsed", rule=found.rule)
    place = [option.name for option in shown].index(found.name)
    return Score(
        key=record.key,
        task=record.task,
        id=record.id,
        value=float(order[place] == sample.key),
        answer=found.name,
        rule=found.rule,
    )
