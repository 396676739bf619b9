"""A user's own questions: one JSON object a line, no code.

Fields of a line (docs/your-own-questions.md):
- `id`: text or whole number, unique in the file (default: the line's number)
- `question`: text, or a list of parts: a text, {"text": …}, {"image": path}, {"video": path}, {"audio": path}
- `image`, `images`, `video`, `audio`: paths that stand before the question (relative to the file)
- `choices`: a list of texts; `answer`: the right one's text, or its letter, or its place from 0
- `answers` (or `answer` without choices): accepted texts
- `facets`: names and values to filter and group by; `cluster`: samples that are not independent
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import Prompt, PromptContext, Protocol, ScoreSettings, TaskInfo
from vivant.benchmarks.multiple_choice import MultipleChoice, make_options, user_message
from vivant.benchmarks.parts import DataFolder
from vivant.benchmarks.wording import PromptText
from vivant.core.errors import DataError, VivantError
from vivant.core.stored_lines import KeySet
from vivant.core.types import Audio, Image, Option, Part, Record, Sample, Score, Text, Video

_MEDIA = {"image": Image, "video": Video, "audio": Audio}


class QuestionLine(Struct, forbid_unknown_fields=True):
    """One line as it may be written. Unknown fields are refused, so that a misspelt one is not ignored."""

    question: str | list[str | dict[str, str]] = ""
    id: str | int | None = None
    image: str | None = None
    images: list[str] = []
    video: str | None = None
    audio: str | None = None
    choices: list[str] = []
    answer: str | int | None = None
    answers: list[str] = []
    facets: dict[str, str | int | float | bool] = {}
    cluster: str | int | None = None


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
    scores_apart: ClassVar[bool] = True
    protocols: ClassVar[tuple[Protocol, ...]] = ("paper", "strict")
    data: ClassVar[DataFolder] = DataFolder("The format is described in docs/your-own-questions.md.")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._gathered: tuple[Sequence[Sample], tuple[str, ...]] = ((), ())

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
                    sample = _sample(decoder.decode(raw), number, task)
                    if not seen.add(sample.id):
                        raise DataError(
                            f"the id '{sample.id}' is already used{_find_line(root, number, sample.id)}"
                        )
                    yield sample
        except OSError as error:
            raise DataError(f"Cannot read {root}: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError, VivantError) as error:
            reason = str(error)
            if "unknown field" in reason:
                reason += f"; known: {', '.join(QuestionLine.__struct_fields__)}"
            raise DataError(f"{root}, line {number}: {reason}") from error
        if not seen:
            raise DataError(f"{root} holds no questions")

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """The question as it is, the choices in the sample's own order, and how to answer."""
        if sample.options:
            return super().prompt(sample, context)
        instruction = context.wording.get(f"free.{context.style}", _FREE[context.style])
        return Prompt(
            messages=(user_message(sample.question, instruction),),
            max_tokens=1024 if context.style == "cot" else 128,
            candidates=self._candidates(context.pool),
        )

    def _candidates(self, pool: Sequence[Sample]) -> tuple[str, ...]:
        """All accepted answers. Gathered once, so that a large file is not read over for each question."""
        if self._gathered[0] is not pool:
            self._gathered = (pool, tuple(sorted({answer for other in pool for answer in other.answers})))
        return self._gathered[1]

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


_FREE = {
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
    with root.open("rb") as file:
        for number, raw in enumerate(islice(file, before - 1), 1):
            if not raw.isspace() and _name(msgspec.json.decode(raw, type=QuestionLine), number) == name:
                return f" in line {number}"
    return ""


def _name(line: QuestionLine, number: int) -> str:
    return str(line.id) if line.id is not None else str(number)


def _sample(line: QuestionLine, number: int, task: str) -> Sample:
    question = _media(line) + _question(line.question)
    if not question:
        raise DataError("there is no `question`, and no picture or video either")
    options = make_options(line.choices)
    if len(set(line.choices)) != len(line.choices):
        raise DataError("two `choices` are the same")
    if len(options) == 1:
        raise DataError("`choices` holds only one choice")
    answers = tuple(line.answers)
    key = None
    if options:
        key = _key(line, options)
    else:
        if line.answer is not None:
            answers = (str(line.answer), *answers)
        if not answers:
            raise DataError("there are neither `choices` nor an `answer`")
    name = _name(line, number)
    return Sample(
        id=name,
        task=task,
        question=question,
        options=options,
        key=key,
        answers=answers,
        facets={facet: _facet(value) for facet, value in line.facets.items()},
        cluster=str(line.cluster) if line.cluster is not None else (line.video or name),
    )


def _facet(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key(line: QuestionLine, options: tuple[Option, ...]) -> int:
    answer = line.answer
    if answer is None and len(line.answers) == 1:
        answer = line.answers[0]
    if answer is None:
        raise DataError("there are `choices` but no `answer`")
    if isinstance(answer, int):
        if 0 <= answer < len(options):
            return answer
        raise DataError(f"`answer` {answer} is no place in `choices` (0 to {len(options) - 1})")
    texts = [option.text for option in options]
    if answer in texts:
        return texts.index(answer)
    for index, option in enumerate(options):
        if answer.strip().upper() == option.name:
            return index
    raise DataError(f"`answer` '{answer}' is none of the `choices`")


def _media(line: QuestionLine) -> tuple[Part, ...]:
    parts: list[Part] = [Image(path) for path in ([line.image] if line.image else []) + line.images]
    if line.video:
        parts.append(Video(line.video))
    if line.audio:
        parts.append(Audio(line.audio))
    return tuple(parts)


def _question(question: str | list[str | dict[str, str]]) -> tuple[Part, ...]:
    if isinstance(question, str):
        return (Text(question),) if question else ()
    parts: list[Part] = []
    for index, piece in enumerate(question):
        if isinstance(piece, str):
            parts.append(Text(piece))
        elif len(piece) != 1:
            raise DataError(f"part {index} of `question` must have one field: text, image, video or audio")
        else:
            (kind, value), *_ = piece.items()
            if kind == "text":
                parts.append(Text(value))
            elif kind in _MEDIA:
                parts.append(_MEDIA[kind](value))
            else:
                raise DataError(
                    f"part {index} of `question` is '{kind}'; it may be text, image, video or audio"
                )
    return tuple(parts)
