"""A reply to a question with options, scored: the one place where shown order meets the key."""

from __future__ import annotations

from vivant.core.records import Record, Score
from vivant.core.types import Sample
from vivant.metrics.option_extraction import extract_option


def score_choice(sample: Sample, record: Record) -> Score:
    """Right where the option that the reply names is the sample's key; `unparsed` where it names none."""
    options = record.options or sample.options
    order = record.order or tuple(range(len(options)))
    extraction = extract_option(record.reply.text, options)
    if extraction.name is None:
        return Score(key=record.key, task=record.task, id=record.id, status="unparsed", rule=extraction.rule)
    index = [option.name for option in options].index(extraction.name)
    return Score(
        key=record.key,
        task=record.task,
        id=record.id,
        value=float(order[index] == sample.key),
        answer=extraction.name,
        rule=extraction.rule,
    )
