"""People's choices as a run of the model `human`, so that tables, comparisons and reports show them as a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Imported, PromptContext
from vivant.benchmarks.mime import human as mime_human
from vivant.benchmarks.registry import Selection
from vivant.core.records import Record
from vivant.core.types import Option, Reply, Sample, job_key
from vivant.runs.importing import write_run
from vivant_study.judgement import StudyJudgement
from vivant_study.make.items import ROOT, SAMPLE
from vivant_study.results import StudyResults

MODEL = "human"


def write_human_run(collected: StudyResults, out: Path, mime_files: Sequence[Path] = ()) -> list[Path]:
    """A run directory per benchmark asked; none where the items are no samples of one."""
    samples = {
        item: msgspec.convert(line.extra[SAMPLE], Sample)
        for item, line in collected.key.items()
        if SAMPLE in line.extra and line.option is not None
    }
    by_benchmark: dict[str, list[str]] = {}
    for item, sample in samples.items():
        by_benchmark.setdefault(sample.task.partition("/")[0], []).append(item)
    folders: list[Path] = []
    for name, items in by_benchmark.items():
        benchmark = registry.get(name)
        root = Path(str(collected.key_line(items[0]).extra.get(ROOT, ".")))
        if name == "mime":
            parts = _read_mime_parts(mime_files, [samples[item] for item in items])
        else:
            parts = _build_parts(collected, benchmark, {item: samples[item] for item in items}, root)
        if not parts:
            continue
        folder = out / ("run" if len(by_benchmark) == 1 else f"run-{name}")
        write_run(
            parts,
            Selection(benchmark, tuple(part.task for part in parts), root),
            folder,
            MODEL,
            benchmark.styles[0],
        )
        folders.append(folder)
    return folders


def _read_mime_parts(files: Sequence[Path], samples: Sequence[Sample]) -> list[Imported]:
    """MIME reads its own file: people's free answers are scored in a way that only it knows."""
    if not files:
        return []
    free = [msgspec.structs.replace(sample, task="mime/ff", options=(), key=None) for sample in samples]
    choices = mime_human.read_judgements(files, samples, "mime/mcq")
    texts = mime_human.read_judgements(files, free, "mime/ff")
    return [part for part in (choices, texts) if any(r.reply.text for r in part.records)]


def _build_parts(
    collected: StudyResults, benchmark: Benchmark, samples: dict[str, Sample], root: Path
) -> list[Imported]:
    records_by_task: dict[str, list[Record]] = {}
    samples_by_task: dict[str, dict[str, Sample]] = {}
    repeats: Counter[str] = Counter()
    for judgement in collected.iter_counted():
        if judgement.page != "choose" or judgement.answer is None or judgement.item not in samples:
            continue
        sample = samples[judgement.item]
        record = _build_record(
            judgement,
            collected.items[judgement.item].options,
            sample,
            benchmark,
            root,
            repeats[judgement.item],
        )
        repeats[judgement.item] += 1
        records_by_task.setdefault(sample.task, []).append(record)
        samples_by_task.setdefault(sample.task, {})[sample.id] = sample
    return [
        Imported(
            task=task, records=tuple(records), samples=tuple(samples_by_task[task].values()), model=MODEL
        )
        for task, records in records_by_task.items()
    ]


def _build_record(
    judgement: StudyJudgement,
    options: tuple[str, ...],
    sample: Sample,
    benchmark: Benchmark,
    root: Path,
    repeat: int,
) -> Record:
    """A person's choice as a model's reply: options under the names and in the order that this person saw."""
    prompt = benchmark.prompt(sample, PromptContext(style=benchmark.styles[0], pool=(sample,), root=root))
    shown_order = judgement.shown or tuple(range(len(options)))
    texts = [option.text.strip() for option in sample.options]
    names = [option.name for option in prompt.options]
    places = _match_options(options, texts)
    order = tuple(places[index] for index in shown_order)
    chosen = names[shown_order.index(judgement.answer)]
    return Record(
        key=job_key(sample.task, sample.id, repeat),
        task=sample.task,
        id=sample.id,
        repeat=repeat,
        options=tuple(Option(name, sample.options[k].text) for name, k in zip(names, order, strict=True)),
        order=order,
        reply=Reply(text=prompt.answer_form.format(chosen), model=MODEL),
        source=judgement.annotator[:16],
        seconds=judgement.seconds or 0.0,
    )


def _match_options(options: Sequence[str], texts: Sequence[str]) -> list[int]:
    """The place of each of an item's options among the sample's; a text that stands twice takes both places in turn."""
    left: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        left.setdefault(text, []).append(index)
    return [left[option].pop(0) for option in options]
