"""`vivant benchmarks check`: a benchmark and its data read in full, and a few questions to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from vivant.benchmarks.base import Benchmark, PromptContext, ScoreSettings
from vivant.benchmarks.declarative.benchmark import Declarative
from vivant.benchmarks.missing_media import find_missing_media
from vivant.benchmarks.validation import check_stages, is_bundled, load_samples, make_record
from vivant.core.types import Sample, Text, Video

SHOWN = 10
_SCORED = 5
_LONGEST = 200


class CheckedTask(Struct, frozen=True, kw_only=True):
    """What was read of one task."""

    task: str
    samples: Sequence[Sample]
    problems: tuple[str, ...]


def check_task(
    benchmark: Benchmark, root: Path, task: str, requested_style: str | None = None
) -> CheckedTask:
    """Load a task, phrase its questions in every style, or the requested one, and score made-up right replies to some.

    Raises DataError for the first mistake in the data.
    """
    samples = load_samples(benchmark, root, task)
    problems: list[str] = []
    media = find_missing_media(benchmark, root, samples)
    if media.missing:
        problems.append(f"{task}: {media}")
    styles = _list_styles(benchmark, task) if requested_style is None else (requested_style,)
    for style in styles:
        context = PromptContext(style=style, pool=samples, root=root)
        selected = [sample for sample in samples if benchmark.keep(sample, style)]
        check_stages(benchmark, selected, context)
        examples = pick_samples(selected, SHOWN)
        prompts = [benchmark.prompt(sample, context) for sample in examples]
        if style != styles[0] or benchmark.task(task).judged or benchmark.explain_unscorable(task):
            continue
        pairs = list(zip(examples, prompts, strict=True))[:_SCORED]
        items = [make_record(sample, prompt, right=True) for sample, prompt in pairs]
        settings = ScoreSettings(
            protocol=benchmark.protocols[-1], style=style, values=dict(benchmark.settings)
        )
        problems += [
            f"{task}: the right answer to {score.id} scores 0; look at the scorer and the key"
            for score in benchmark.score(items, settings)
            if score.status != "excluded" and not score.value
        ]
    return CheckedTask(task=task, samples=samples, problems=tuple(problems))


def _list_styles(benchmark: Benchmark, task: str) -> Sequence[str]:
    """The styles that the user decides about; one for a benchmark of the package's own."""
    if isinstance(benchmark, Declarative):
        return tuple(benchmark.spec(task).style_specs)
    return benchmark.styles[:1] if is_bundled(benchmark) else benchmark.styles


def pick_samples(samples: Sequence[Sample], count: int) -> list[Sample]:
    """So many samples, spread evenly."""
    if len(samples) <= count:
        return list(samples)
    return [samples[index * len(samples) // count] for index in range(count)]


def format_sample(sample: Sample, number: int) -> Iterator[str]:
    """A question in lines: id and facets, media, text, options with a star at the right one."""
    facets = "  ".join(f"{name}={value}" for name, value in sample.facets.items())
    yield f"{number:>3}. {sample.id}" + (f"   {facets}" if facets else "")
    text = ""
    for part in sample.question:
        if isinstance(part, Text):
            text += part.text
            continue
        clip = ""
        if isinstance(part, Video) and (part.start is not None or part.end is not None):
            end = "the end" if part.end is None else f"{part.end:g} s"
            clip = f" from {part.start or 0:g} s to {end}"
        yield f"     [{type(part).__name__.lower()}] {part.path}{clip}"
    subtitles = sample.extra.get("subtitles")
    if subtitles:
        yield f"     [subtitles] {_shorten(str(subtitles))}"
    yield f"     {_shorten(text)}"
    for index, option in enumerate(sample.options):
        yield f"   {'*' if index == sample.key else ' '} {option.name}. {_shorten(option.text)}"
    if sample.answers:
        yield f"   = {_shorten(' | '.join(sample.answers))}"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
