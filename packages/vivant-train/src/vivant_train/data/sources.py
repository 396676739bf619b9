"""Folders, files and shards that benchmarks read, as examples with answers.

What is asked comes from the benchmark's own code, so that training and evaluation cannot drift apart: the answer
to a question with options is the right one's name where that question is shown to stand; other epochs draw other
orders. A question with answers in words has one of them drawn for each epoch, a video to be commented on one of
its most-liked comments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, PromptContext
from vivant.benchmarks.conditions import matches, parse_where
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.randomness import derive_generator, derive_seed, sample_ids
from vivant.core.types import Audio, Image, Option, Part, Sample, Text, Video
from vivant_train.data.shards import list_shards
from vivant_train.data.split import Split

QuestionForm = Literal["choice", "words", "fewer"]
Media = tuple[Image | Video, ...]


class TrainingSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark's data to learn from."""

    benchmark: str = "mimic"
    """What `vivant run` would be given: `mimic/thinking`, `mime/mcq`, a path of questions in JSON lines."""
    data: str = ""
    """The benchmark's folder; relative to the file that names it."""
    shards: str = ""
    """Instead: WebDataset shards, a path or URL with `*` or `{0000..0099}`. They are read as they are needed."""
    where: tuple[str, ...] = ()
    split: Split | None = None
    """Only one part of a division, e.g. `{part: train, by: action, sizes: [36, 14, 36]}`."""
    style: str = ""
    limit: int | None = None
    weight: float = 1.0
    """How often it comes up in an epoch, against the others."""
    words: float = 0.0
    """Share of the questions with options that are asked without them, to be answered in the right one's words."""
    fewer: float = 0.0
    """Share of which only some options are shown, at times the right one alone: from naming the one there is, a
    model from chance learns to name the one that fits."""
    until: float = 1.0
    """Until which part of the training these shares hold; of `words` a tenth is left afterwards, of `fewer` a half."""
    variant: Mapping[str, Any] = field(default_factory=dict)


class Example(Struct, frozen=True, eq=False):
    """A sample with what phrases it."""

    benchmark: Benchmark
    sample: Sample
    pool: tuple[Sample, ...]
    root: Path
    style: str
    source: TrainingSource
    number: int
    """Of its source."""

    @property
    def name(self) -> str:
        """As messages call it."""
        return f"{self.sample.task}/{self.sample.id}"

    @property
    def media(self) -> Media:
        """What is to be seen."""
        return tuple(part for part in self.sample.question if isinstance(part, Image | Video))

    @property
    def media_root(self) -> str:
        """The folder that media paths are relative to."""
        return str(self.benchmark.data.media_root(self.root).resolve())

    @property
    def video(self) -> str:
        """What tells its media from another's."""
        return "|".join([self.media_root, *(repr(part) for part in self.media)]) if self.media else ""


class PhrasedExample(Struct, frozen=True):
    """An example as it is asked and answered in one epoch."""

    text: str
    answer: str
    media: Media = ()
    options: tuple[str, ...] = ()


class LoadedExamples(Struct, frozen=True, eq=False):
    """Examples, and what the user should know about them."""

    examples: tuple[Example, ...]
    warnings: tuple[str, ...] = ()


def load_examples(
    sources: Sequence[TrainingSource], base: Path, seed: int = 0, *, shards: bool = True
) -> LoadedExamples:
    """Read all sources.

    Args:
        sources: what to read.
        base: the folder that their paths are relative to.
        seed: draws the samples of a source with a limit.
        shards: read shards too, to their end; else a training streams them.
    """
    if not sources:
        raise UsageError("data.sources is empty: there is nothing to learn from")
    examples: list[Example] = []
    warnings: list[str] = []
    for number, source in enumerate(sources):
        if source.shards and not shards:
            continue
        loaded = list(_load_source(source, number, base, seed))
        answered = [example for example in loaded if list_answers(example)]
        if not answered:
            raise DataError(
                f"None of the {len(loaded)} samples of {source.benchmark} in {source.data or source.shards} "
                "has an answer to learn from (a key, answers, or comments)"
            )
        if len(answered) < len(loaded):
            lost = next(example for example in loaded if not list_answers(example))
            warnings.append(
                f"{len(loaded) - len(answered)} of {len(loaded)} samples of {source.benchmark} have no answer and are "
                f"left out; the first: {lost.name}"
            )
        examples += answered
    return LoadedExamples(tuple(examples), tuple(warnings))


def check_source(source: TrainingSource) -> None:
    """Refuse a source that says too little or too much."""
    if bool(source.data) == bool(source.shards) and not registry.is_file(source.benchmark):
        raise UsageError(f"data.sources: {source.benchmark} needs either data or shards")
    if source.shards and (source.limit is not None or source.split is not None):
        raise UsageError(
            "data.sources: limit and split need all samples at once, shards are read one by one; use where"
        )


def _load_source(source: TrainingSource, number: int, base: Path, seed: int) -> Iterator[Example]:
    check_source(source)
    selector, folder = source.benchmark, source.data
    if registry.is_file(selector):
        selector = str(base / selector)
    elif source.shards:
        for shard in list_shards(source.shards, base):
            yield from load_folder(source, number, selector, str(shard.unpack()), seed)
        return
    elif folder != "mini":
        folder = str(base / Path(folder).expanduser())
    yield from load_folder(source, number, selector, folder, seed)


def load_folder(
    source: TrainingSource, number: int, selector: str, folder: str, seed: int
) -> Iterator[Example]:
    """The examples of a source in one folder."""
    for chosen in registry.select([selector], [folder] if folder else [], source.variant):
        style = source.style or chosen.benchmark.styles[0]
        if style not in chosen.benchmark.styles:
            raise unknown_name_error(f"style of {chosen.benchmark.name}", style, chosen.benchmark.styles)
        for task in chosen.tasks:
            pool = tuple(chosen.benchmark.load(chosen.root, task))
            conditions = (*source.where, *([source.split.format_condition(pool)] if source.split else []))
            where = parse_where(conditions, pool)
            samples = [s for s in pool if chosen.benchmark.keep(s, style) and matches(s, where)]
            if source.limit is not None:
                ids = set(sample_ids([s.id for s in samples], source.limit, seed, task))
                samples = [s for s in samples if s.id in ids]
            for sample in samples:
                yield Example(chosen.benchmark, sample, pool, chosen.root, style, source, number)


def list_answers(example: Example) -> tuple[str, ...]:
    """All answers that an example accepts, in words; for options, the right one's text."""
    sample = example.sample
    if sample.options:
        return (sample.options[sample.key].text,) if sample.key is not None else ()
    texts = sample.answers or tuple(sample.extra.get("human") or ())
    return tuple(text for text in texts if text.strip())


def phrase_example(example: Example, epoch: int, seed: int, form: QuestionForm = "choice") -> PhrasedExample:
    """The example as the benchmark asks it; epochs other than the first draw other orders and answers."""
    sample = example.sample
    turn = seed if epoch == 0 else derive_seed(seed, "epoch", str(epoch))
    texts = list_answers(example)
    if form == "words" and sample.options:
        title = example.benchmark.task(sample.task).title
        return PhrasedExample(f"In words: {title}", texts[0], example.media)
    context = PromptContext(style=example.style, seed=turn, pool=example.pool, root=example.root)
    prompt = example.benchmark.prompt(sample, context)
    text, media = join_parts([part for message in prompt.messages for part in message.parts])
    options = tuple(option.text for option in prompt.options)
    if not (prompt.options and sample.key is not None):
        drawn = derive_generator(turn, sample.task, sample.id, "answer").choice(texts)
        return PhrasedExample(text, drawn, media, options)
    right = prompt.order.index(sample.key) if prompt.order else sample.key
    answer = prompt.answer_form.format(prompt.options[right].name)
    if form == "fewer":
        generator = derive_generator(turn, sample.task, sample.id, "fewer")
        wrong = [option for number, option in enumerate(prompt.options) if number != right]
        hidden = generator.sample(wrong, generator.randint(1, len(wrong))) if wrong else []
        text = remove_options(text, hidden)
    return PhrasedExample(text, answer, media, options)


def remove_options(text: str, options: Sequence[Option]) -> str:
    """A prompt without the lines of some options; options without a line of their own stay."""
    removed = [
        line
        for option in options
        for line in text.split("\n")
        if line.startswith(option.name) and line.endswith(option.text)
    ]
    return "\n".join(line for line in text.split("\n") if line not in removed)


def draw_form(example: Example, epoch: int, seed: int, progress: float) -> QuestionForm:
    """Draw how an example is asked in an epoch; `progress` is the share of the training done."""
    source = example.source
    if not example.sample.options or not (source.words or source.fewer):
        return "choice"
    early = progress < source.until
    words, fewer = (source.words, source.fewer) if early else (source.words / 10, source.fewer / 2)
    drawn = derive_generator(seed, "form", str(epoch), example.sample.task, example.sample.id).random()
    if drawn < words:
        return "words"
    return "fewer" if drawn < words + fewer else "choice"


def join_parts(parts: Sequence[Part]) -> tuple[str, Media]:
    """All text as one, and what is to be seen, each in its order: `[VID] video [SEP] task`."""
    if any(isinstance(part, Audio) for part in parts):
        raise UsageError("MIMIC-Chat does not hear; leave out tasks with sound")
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    return text, tuple(part for part in parts if isinstance(part, Image | Video))
