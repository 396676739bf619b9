"""Plain prediction files: JSON lines of an id and a response, joined to a task's samples by id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import Benchmark, Imported, PromptContext
from vivant.benchmarks.registry import Selection
from vivant.core.errors import DataError, VivantError
from vivant.core.records import Record
from vivant.core.types import Option, Reply, Sample, job_key


class PredictionLine(Struct):
    """One line of a plain prediction file. Other fields are passed over."""

    id: str | int
    response: str
    options: list[str] = []
    """The options as the model saw them; default: in the order in which `vivant run` shows them."""


def read_prediction_lines(
    file: Path, samples: Sequence[Sample], selection: Selection, style: str
) -> Imported:
    """JSONL of `{"id", "response"}`, joined by id. Every id must be a sample's, and stand once."""
    task = selection.tasks[0]
    by_id = {sample.id: sample for sample in samples}
    responses: dict[str, PredictionLine] = {}
    strangers: list[str] = []
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror}") from error
    decoder = msgspec.json.Decoder(PredictionLine)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            prediction = decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise DataError(
                f'{file}, line {number}: {error}; a prediction is {{"id": …, "response": "…"}}, one a line'
            ) from error
        name = str(prediction.id)
        if name in responses:
            raise DataError(f"{file}, line {number}: the id '{name}' is repeated; ids must be unique")
        responses[name] = prediction
        if name not in by_id:
            strangers.append(name)
    if strangers:
        raise DataError(
            f"{file}: {len(strangers)} of {len(responses)} ids are no samples of {task}, "
            f"the first is '{strangers[0]}' (samples are called like '{next(iter(by_id))}')"
        )
    context = PromptContext(style=style, pool=tuple(samples), root=selection.root)
    records = []
    for name, prediction in responses.items():
        try:
            options = _options_shown(by_id[name], prediction, selection.benchmark, context)
        except VivantError as error:
            raise DataError(f"{file}, id '{name}': {error}") from error
        records.append(_record(by_id[name], prediction.response, *options))
    absent = len(by_id) - len(responses)
    notes = (f"{absent} of {len(by_id)} samples have no prediction and count as missing",) if absent else ()
    return Imported(task=task, records=tuple(records), samples=tuple(samples), notes=notes)


def _options_shown(
    sample: Sample, prediction: PredictionLine, benchmark: Benchmark, context: PromptContext
) -> tuple[tuple[Option, ...], tuple[int, ...]]:
    """The options as the model saw them, and the order that this is."""
    if not sample.options:
        return (), ()
    prompt = benchmark.prompt(sample, context)
    if not prediction.options:
        return prompt.options, prompt.order
    texts = [option.text for option in sample.options]
    if sorted(prediction.options) != sorted(texts):
        raise DataError("its `options` are not those of the sample")
    order = tuple(texts.index(text) for text in prediction.options)
    names = [option.name for option in prompt.options]
    return tuple(map(Option, names, prediction.options)), order


def _record(sample: Sample, text: str, options: tuple[Option, ...], order: tuple[int, ...]) -> Record:
    return Record(
        key=job_key(sample.task, sample.id),
        task=sample.task,
        id=sample.id,
        options=options,
        order=order,
        reply=Reply(text=text),
    )
