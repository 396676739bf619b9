"""Small runs whose every answer is known, for tests of what is made of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from vivant.analysis.reasoning.label_files import LabelledReply
from vivant.core.randomness import nth_permutation
from vivant.core.records import MediaUse, Record
from vivant.core.types import Control, Option, Reply, Sample, Text, job_key
from vivant.runs.directory import RunDir, new_manifest
from vivant.runs.log import LogWriter
from vivant.runs.run import Run
from vivant.runs.settings import RunSettings, digest

TASK = "jsonl/quiz"
OPTIONS = tuple(Option(name, text) for name, text in zip("ABCD", ("oak", "elm", "ash", "fir"), strict=True))


def label_reply(record: Record, kind: str, by: str = "judge") -> LabelledReply:
    """A label of the general scheme on a whole reply."""
    return LabelledReply(
        key=record.key,
        task=record.task,
        id=record.id,
        by=by,
        scheme="general",
        kind=kind,
        length=len(record.reply.text),
    )


def quiz(count: int, *, cluster: int = 1, facets: Mapping[str, Sequence[str]] | None = None) -> list[Sample]:
    """Questions with four options, the first of which is right; facets go round."""
    return [
        Sample(
            id=f"q{number:03d}",
            task=TASK,
            question=(Text(f"Which tree, {number}?"),),
            options=OPTIONS,
            key=0,
            facets={name: values[number % len(values)] for name, values in (facets or {}).items()},
            cluster=f"c{number // cluster}",
        )
        for number in range(count)
    ]


def answer(
    sample: Sample, option: int | None, *, repeat: int = 0, permutation: int = 0, text: str | None = None
) -> Record:
    """A reply that chooses an option (by its place in the data) under an order; None chooses none."""
    order = nth_permutation(tuple(range(len(sample.options))), permutation)
    shown = tuple(
        Option(own.name, sample.options[k].text) for own, k in zip(sample.options, order, strict=True)
    )
    said = "I cannot tell." if option is None else shown[order.index(option)].name
    return Record(
        key=job_key(sample.task, sample.id, repeat, permutation),
        task=sample.task,
        id=sample.id,
        repeat=repeat,
        permutation=permutation,
        options=shown,
        order=order,
        media=(MediaUse(kind="video", path="v.mp4", times=(0.0, 2.5, 5.0)),),
        reply=Reply(text=said if text is None else f"{text}\n{said}"),
    )


def make_run(
    path: Path,
    samples: Sequence[Sample],
    records: Sequence[Record],
    *,
    model: str | Mapping[str, object] = "m",
    style: str = "zero-shot",
    control: Control = "none",
    **settings: object,
) -> Run:
    """A run directory as the engine writes it."""
    settled = msgspec.convert(
        {
            "tasks": (TASK,),
            "model": {"model": model} if isinstance(model, str) else model,
            "style": style,
            "data": {TASK: digest(samples)[:16]},
            "control": control,
            **settings,
        },
        RunSettings,
    )
    directory = RunDir(path)
    name = model if isinstance(model, str) else str(model["model"])
    manifest = new_manifest(path, name, settled, planned={TASK: len(samples)}, roots={TASK: ""})
    directory.create(manifest, samples)
    with LogWriter(directory.log_file) as log:
        for record in records:
            log.append(record)
    return Run(path)


def run_of(path: Path, samples: Sequence[Sample], right: Sequence[bool], **more: object) -> Run:
    """A run that is right where it is told to be, and else chooses the second option."""
    records = [answer(sample, 0 if good else 1) for sample, good in zip(samples, right, strict=True)]
    return make_run(path, samples, records, **more)  # type: ignore[arg-type]


def call(*arguments: str | Path) -> int:
    """The command line in this process: its exit code. Output is left to pytest's capture."""
    import sys

    from vivant.cli.main import main

    before = sys.argv
    sys.argv = ["vivant", *map(str, arguments)]
    try:
        main()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    finally:
        sys.argv = before
    return 0
