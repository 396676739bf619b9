"""A user's own questions: one JSON object a line, no code.

Fields of a line (docs/your-own-questions.md):
- `id`: text or whole number, unique in the file (default: the line's number)
- `question`: text, or a list of parts: a text, {"text": …}, {"image": path}, {"video": path}, {"audio": path}
- `image`, `images`, `video`, `audio`: paths that stand before the question (relative to the file)
- `start`, `end`: the part of the video that is asked about, in seconds or h:m:s; `subtitles`: a file, or the text
- `choices`: a list of texts; `answer`: the right one's text, or its letter, or its place from 0
- `answers` (or `answer` without choices): accepted texts
- `facets`: names and values to filter and group by; `cluster`: samples that are not independent
- any other field: a facet where its value is a text, a number or true/false, else kept with the sample
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from vivant.benchmarks.base import Prompt, PromptContext, Protocol, ScoreSettings, TaskInfo
from vivant.benchmarks.multiple_choice import MultipleChoice, user_message
from vivant.benchmarks.parts import DataFolder
from vivant.benchmarks.question_lines import QuestionLine, decode_line, make_sample, name_line
from vivant.benchmarks.subtitles import FIELD, is_subtitle_file, show_subtitles
from vivant.benchmarks.task_options import MISSING_MEDIA, TaskOption
from vivant.benchmarks.wording import PromptText
from vivant.core.errors import DataError, VivantError
from vivant.core.records import Record, Score
from vivant.core.stored_lines import KeySet
from vivant.core.types import Sample, Text
from vivant.media.paths import resolve_media
from vivant.media.shown_cues import HEADING


class AcceptedAnswers:
    """All accepted answers of a task, for guessers. Gathered once: a large file is not read for each question."""

    def __init__(self) -> None:
        self._pool: Sequence[Sample] = ()
        self._answers: tuple[str, ...] = ()

    def gather(self, pool: Sequence[Sample]) -> tuple[str, ...]:
        """The answers of these samples, sorted."""
        if self._pool is not pool:
            self._pool = pool
            self._answers = tuple(sorted({answer for sample in pool for answer in sample.answers}))
        return self._answers


class Jsonl(MultipleChoice):
    """Questions from a file. Chosen by the path of the file: `vivant run ./mine.jsonl`."""

    name: ClassVar[str] = "jsonl"
    title: ClassVar[str] = "Your own questions"
    summary: ClassVar[str] = (
        "one JSON object a line: question, pictures or a video, choices or accepted answers"
    )
    tasks: ClassVar[tuple[TaskInfo, ...]] = ()
    styles: ClassVar[tuple[str, ...]] = ("zero-shot", "cot", "bare")
    """`bare` adds nothing to a question but its choices."""
    instructions: ClassVar[Mapping[str, str]] = {**MultipleChoice.instructions, "bare": ""}
    prompt_texts: ClassVar[Mapping[str, PromptText] | None] = {
        f"{kind}.{style}": PromptText()
        for kind in ("choices", "free")
        for style in ("zero-shot", "cot", "bare")
    }
    settings: ClassVar[dict[str, Any]] = {"threshold": 1.0}
    task_options: ClassVar[tuple[TaskOption, ...]] = (MISSING_MEDIA,)
    scores_apart: ClassVar[bool] = True
    protocols: ClassVar[tuple[Protocol, ...]] = ("paper", "strict")
    data: ClassVar[DataFolder] = DataFolder("The format is described in docs/your-own-questions.md.")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._accepted = AcceptedAnswers()

    def task(self, name: str) -> TaskInfo:
        """Every file is a task of its own, named after the file."""
        short = name.partition("/")[2] or name
        return TaskInfo(name=short, title=f"Questions of {short}.jsonl")

    def expand(self, selector: str) -> tuple[str, ...]:
        """The file's own name."""
        return (selector,)

    def load(self, root: Path, task: str) -> list[Sample]:
        """`root` is the file itself."""
        return list(self.iterate(root, task))

    def iterate(self, root: Path, task: str) -> Iterator[Sample]:
        """Line by line: a file may hold more questions than memory does."""
        seen = KeySet()
        decoder = msgspec.json.Decoder(QuestionLine)
        number = 0
        try:
            with root.open("rb") as file:
                for number, raw in enumerate(file, 1):
                    if raw.isspace():
                        continue
                    sample = make_sample(*decode_line(raw, decoder), number, task)
                    _check_subtitles(sample, root)
                    if not seen.add(sample.id):
                        raise DataError(
                            f"the id '{sample.id}' is already used{_find_line(root, number, sample.id)}"
                        )
                    yield sample
        except OSError as error:
            raise DataError(f"Cannot read {root}: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError, VivantError) as error:
            raise DataError(f"{root}, line {number}: {error}") from error
        if not seen:
            raise DataError(f"{root} holds no questions")

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """The question as it is, the choices in the sample's own order, and how to answer."""
        if FIELD in sample.extra:
            sample = _with_subtitles(sample, context.root.parent)
        if sample.options:
            return super().prompt(sample, context)
        instruction = context.wording.get(f"free.{context.style}", FREE_INSTRUCTIONS[context.style])
        return Prompt(
            messages=(user_message(sample.question, instruction),),
            max_tokens=1024 if context.style == "cot" else 128,
            candidates=self._accepted.gather(context.pool),
        )

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """Choices: the option read in the reply. Free text: equal to an accepted answer, or near enough in
        meaning to one where `threshold` is below 1."""
        threshold = settings.values["threshold"]
        choices = [item for item in items if item[0].options]
        free = [item for item in items if not item[0].options]
        scores = {score.key: score for score in super().score(choices, settings)}
        for (_, record), (similarity, rule) in zip(free, _similarities(free, threshold), strict=True):
            scores[record.key] = Score(
                key=record.key,
                task=record.task,
                id=record.id,
                value=float(similarity >= threshold),
                answer=final_line(record.reply.text),
                rule=rule,
                detail={"similarity": similarity},
            )
        return [scores[record.key] for _, record in items]


FREE_INSTRUCTIONS = {
    "zero-shot": "Reply with the answer and nothing else.",
    "cot": "Think it through step by step, then write the answer alone on the last line.",
    "bare": "",
}
"""How to answer a question without choices, by style."""


def final_line(text: str) -> str:
    """The last line that holds anything."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().strip(" \t\n.!\"'`*").split())


def _similarities(items: Sequence[tuple[Sample, Record]], threshold: float) -> list[tuple[float, str]]:
    results: list[tuple[float, str]] = []
    for sample, record in items:
        replies = {_plain(record.reply.text), _plain(final_line(record.reply.text))}
        equal = bool(replies & {_plain(answer) for answer in sample.answers})
        results.append((1.0, "equal") if equal else (0.0, "different"))
    unequal = [i for i, (value, _) in enumerate(results) if value == 0.0]
    if threshold < 1.0 and unequal:
        from vivant.metrics.similarity import best_similarity

        texts = [final_line(items[i][1].reply.text) for i in unequal]
        labels = [items[i][0].answers for i in unequal]
        for i, value in zip(unequal, best_similarity(texts, labels), strict=True):
            results[i] = (value, "similarity")
    return results


def _find_line(root: Path, before: int, name: str) -> str:
    """Which line above `before` has the id."""
    decoder = msgspec.json.Decoder(QuestionLine)
    with root.open("rb") as file:
        for number, raw in enumerate(islice(file, before - 1), 1):
            if not raw.isspace() and name_line(decode_line(raw, decoder)[0], number) == name:
                return f" in line {number}"
    return ""


def _with_subtitles(sample: Sample, folder: Path) -> Sample:
    """The sample with its subtitles between the media and the question."""
    first = next(
        (i for i, part in enumerate(sample.question) if isinstance(part, Text)), len(sample.question)
    )
    text = Text(f"{HEADING}\n{show_subtitles(sample, folder)}\n\n")
    return replace(sample, question=(*sample.question[:first], text, *sample.question[first:]))


def _check_subtitles(sample: Sample, root: Path) -> None:
    value = sample.extra.get(FIELD, "")
    if value and is_subtitle_file(value):
        resolve_media(root.parent, value)
