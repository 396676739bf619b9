"""Runs made up for the report and the viewer: large ones, and ones that a model with eyes really made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from vivant import mini
from vivant.benchmarks import registry
from vivant.core.files import write_jsonl
from vivant.core.randomness import derive_generator
from vivant.core.records import Record, Score
from vivant.core.types import Message, Reply, Sample, Text
from vivant.runs.directory import RunDir, new_manifest
from vivant.runs.run import Run
from vivant.runs.settings import RunSettings


def settings(task: str, model: str, **other: object) -> RunSettings:
    """Plain settings of a made-up run."""
    plain = RunSettings(tasks=(task,), model={"model": model}, style="zero-shot", data={task: "0" * 16})
    return msgspec.structs.replace(plain, **other)


def write_run(
    path: Path,
    samples: list[Sample],
    records: list[Record],
    scores: Iterable[Score] = (),
    model: str = "made-up",
) -> Run:
    """A run directory of these parts; with no scores, Vivant makes them when asked."""
    task = samples[0].task if samples else "mime/mcq"
    root = mini.root(task.partition("/")[0]) or path
    planned = dict(Counter(sample.task for sample in samples)) or {task: 0}
    chosen = settings(task, model, tasks=tuple(planned), data=dict.fromkeys(planned, "0" * 16))
    roots = dict.fromkeys(planned, str(root))
    manifest = new_manifest(path, model, chosen, planned, roots, command="vivant run …")
    folder = RunDir(path)
    folder.create(manifest, samples)
    write_jsonl(folder.log_file, records)
    made = list(scores)
    if made:
        folder.write_scores("paper", {task: dict(registry.get_by_task(task).settings)}, made)
    return Run(path)


def choice_samples(count: int, task: str = "jsonl/made") -> list[Sample]:
    """Questions of four options; the second is right."""
    from vivant.core.types import Option

    return [
        Sample(
            id=f"q{number}",
            task=task,
            question=(Text(f"Question number {number}: which one?"),),
            options=tuple(Option(name, f"choice {name} of {number}") for name in "ABCD"),
            key=1,
            facets={"half": "even" if number % 2 == 0 else "odd", "third": str(number % 3)},
            cluster=f"c{number // 3}",
        )
        for number in range(count)
    ]


def make_records(samples: list[Sample], replies: Iterable[Reply]) -> list[Record]:
    """One record per sample, options as they stand."""
    return [
        Record(
            key=f"{sample.task}/{sample.id}",
            task=sample.task,
            id=sample.id,
            messages=(Message("user", sample.question),),
            options=sample.options,
            order=tuple(range(len(sample.options))),
            reply=reply,
            seconds=0.5,
        )
        for sample, reply in zip(samples, replies, strict=False)
    ]


def write_large(path: Path, count: int, model: str = "large", skill: float = 0.5) -> Path:
    """MIME's questions over and over under new ids, written in pieces: scored, with replies of some length."""
    folder = RunDir(path)
    task = "mime/mcq"
    root = mini.root("mime")
    assert root is not None
    base = registry.get("mime").load(root, task)
    manifest = new_manifest(
        path, model, settings(task, model), {task: count}, {task: str(root)}, command="made up"
    )
    folder.create(manifest, ())
    folder.score_file("paper").parent.mkdir(exist_ok=True)
    encode = msgspec.json.Encoder().encode
    with (
        folder.samples_file.open("wb") as samples,
        folder.log_file.open("wb") as log,
        folder.score_file("paper").open("wb") as scores,
    ):
        for sample, record, score in _large(base, count, model, skill):
            samples.write(encode(sample) + b"\n")
            log.write(encode(record) + b"\n")
            scores.write(encode(score) + b"\n")
    _header(folder, task)
    return path


def _header(folder: RunDir, task: str) -> None:
    from importlib.metadata import version

    from vivant.core.files import write_atomic
    from vivant.runs.directory import ScoreHeader

    header = ScoreHeader(
        protocol="paper",
        values={task: dict(registry.get("mime").settings)},
        log_bytes=folder.log_bytes(),
        version=version("vivant"),
    )
    write_atomic(folder.score_file("paper").with_suffix(".json"), msgspec.json.encode(header))


def _large(
    base: list[Sample], count: int, model: str, skill: float
) -> Iterator[tuple[Sample, Record, Score]]:
    chance = derive_generator(1, model)
    prompt = "Watch the video and say which action is shown. " * 8
    for number in range(count):
        first = base[number % len(base)]
        round_ = number // len(base)
        sample: Sample = msgspec.structs.replace(
            first, id=f"{first.id}-{round_}", cluster=f"{first.cluster}-{round_ % 50}"
        )
        key = f"{sample.task}/{sample.id}"
        right = chance.random() < skill
        place = 0 if right else 1 + chance.randrange(3)
        status = "error" if chance.random() < 0.01 else "ok"
        reply = Reply(
            status="error" if status == "error" else "ok",
            text=""
            if status == "error"
            else f"The hands and the turn of the body in take {number} say so. ({'ABCD'[place]})",
            error="HTTP 503: overloaded" if status == "error" else "",
            tokens_in=900,
            tokens_out=20 + number % 90,
        )
        record = Record(
            key=key,
            task=sample.task,
            id=sample.id,
            messages=(Message("user", (*sample.question, Text(f"{prompt}{number}"))),),
            options=sample.options,
            order=tuple(range(len(sample.options))),
            reply=reply,
            seconds=0.1 + chance.random(),
        )
        score = Score(
            key=key,
            task=sample.task,
            id=sample.id,
            status="scored" if status == "ok" else "missing",
            value=(1.0 if right else 0.0) if status == "ok" else None,
            answer="ABCD"[place] if status == "ok" else "",
            rule="(X)" if status == "ok" else "error",
        )
        yield sample, record, score
