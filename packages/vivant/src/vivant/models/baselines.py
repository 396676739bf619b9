"""Models that need no model: what guessing gives, in its several ways."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any

from vivant.core.errors import DataError, UsageError
from vivant.core.randomness import derive_generator
from vivant.core.types import Reply, Request
from vivant.models.base import Capabilities, Model, ModelOptions


class GuessingModel(Model):
    """Chooses an option by a rule; where there are none, one of the candidate texts by the same rule."""

    cacheable = False
    capabilities = Capabilities(images=False)
    caveat = "a guesser that understands nothing, never for results"

    def __init__(self, name: str, choose: Callable[[Request, tuple[str, ...]], int]) -> None:
        self.name = name
        self._choose = choose

    async def generate(self, request: Request) -> Reply:
        texts = tuple(option.text for option in request.options) or request.candidates
        if not texts:
            return Reply(
                status="error", error=f"'{self.name}' only chooses among options; this question has none"
            )
        index = self._choose(request, texts)
        if request.options:
            return Reply(text=request.answer_form.format(request.options[index].name))
        return Reply(text=texts[index])


def _check_no_arguments(options: ModelOptions, argument: str, name: str) -> None:
    options.resolve()
    if argument:
        raise UsageError(f"'{name}' takes nothing after its name; got '{name}/{argument}'")


def create_random(argument: str, options: ModelOptions) -> Model:
    """Each option is as likely as the others; the choice depends on the run's seed and the sample."""
    _check_no_arguments(options, argument, "random")
    return GuessingModel(
        "random", lambda request, texts: derive_generator(request.seed, "guess").randrange(len(texts))
    )


def create_first(argument: str, options: ModelOptions) -> Model:
    """Shows a preference of the data for the first place, if there is one."""
    _check_no_arguments(options, argument, "first")
    return GuessingModel("first", lambda _request, _texts: 0)


def create_longest(argument: str, options: ModelOptions) -> Model:
    """Shows whether right options are longer than wrong ones. The first of equals."""
    _check_no_arguments(options, argument, "longest")
    return GuessingModel(
        "longest", lambda _request, texts: max(range(len(texts)), key=lambda i: len(texts[i]))
    )


def _remove_options(request: Request) -> str:
    """The question alone: options are often part of its text."""
    question = request.text
    for option in request.options:
        question = question.replace(option.text, "")
    return question


def split_words(text: str) -> list[str]:
    """A text's words in small letters."""
    return re.findall(r"\w+", text.casefold())


class SharedWords(GuessingModel):
    """The option that shares most words with the question; by chance where several do."""

    def __init__(self) -> None:
        super().__init__("blind", self._choose_option)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": self.name, "by": "words"}

    def _choose_option(self, request: Request, texts: tuple[str, ...]) -> int:
        question = set(split_words(_remove_options(request)))
        shared = []
        for text in texts:
            words = set(split_words(text))
            shared.append(len(words & question) / max(1, len(words)))
        best = [index for index, value in enumerate(shared) if value == max(shared)]
        return derive_generator(request.seed, "guess").choice(best)


class NearestOption(GuessingModel):
    """The option whose text is nearest to the question's, by MiniLM."""

    def __init__(self) -> None:
        super().__init__("blind", self._nearest)
        # Questions and options repeat from sample to sample; each text is encoded once.
        self._vectors: dict[str, Any] = {}

    async def open(self) -> None:
        from vivant.metrics.similarity import load_encoder

        try:
            await asyncio.to_thread(load_encoder)
        except DataError as error:
            raise DataError(f"{error}. `--model-option by=words` needs no sentence model") from error

    def _nearest(self, request: Request, texts: tuple[str, ...]) -> int:
        from vivant.metrics.similarity import load_encoder

        question = _remove_options(request)
        new = [text for text in dict.fromkeys((question, *texts)) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, load_encoder().encode(new), strict=True))
        target = self._vectors[question]
        return max(range(len(texts)), key=lambda i: float(self._vectors[texts[i]] @ target))


def create_blind(argument: str, options: ModelOptions) -> Model:
    """What a model that sees no picture could reach, by meaning or by words in common."""
    by = options.resolve(by="meaning")["by"]
    if by not in ("meaning", "words"):
        raise UsageError(f"--model-option by={by}: write meaning or words")
    _check_no_arguments(ModelOptions(), argument, "blind")
    return NearestOption() if by == "meaning" else SharedWords()


class EchoModel(Model):
    """Always the same text."""

    cacheable = False
    capabilities = Capabilities(images=False)
    caveat = "the same text every time, never for results"

    def __init__(self, text: str) -> None:
        self.name = "echo"
        self._text = text

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": self.name, "text": self._text}

    async def generate(self, request: Request) -> Reply:  # noqa: ARG002
        return Reply(text=self._text)


def create_echo(argument: str, options: ModelOptions) -> Model:
    """Useful for checking how a benchmark reads a given reply."""
    options.resolve()
    return EchoModel(argument)
