"""A user's own model: `./file.py:Class`, or a class named by an entry point of the group `vivant.models`.

Two shapes are taken. A class with `async def generate(self, request) -> Reply | str` sees every request as
it is. A class with a plain `generate(self, prompts, media) -> texts` gets batches: a list of texts and, for
each, the list of its pictures as encoded bytes in order. `batch_size` (default 8) sets how many at most.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vivant.core.errors import UsageError, VivantError, unknown_name_error
from vivant.core.python_files import digest_code, load_python_file
from vivant.core.types import Reply, Request, iter_pictures
from vivant.models.base import Capabilities, Model, ModelError, ModelOptions, TransientError, make_error_reply

_Outcome = Reply | TransientError | VivantError


def load_model_file(spec: str, options: ModelOptions) -> Model:
    """The model that `path/to/file.py:Class` names; without `:Class`, the only one that fits."""
    path_text, _, class_name = spec.partition(".py:")
    path = Path(path_text if not class_name else path_text + ".py").expanduser()
    if not path.is_file():
        raise UsageError(
            f"Model file {path} does not exist; `vivant models new {path.name}` writes an example"
        )
    module = load_python_file(path, "Model file")
    classes = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and callable(getattr(value, "generate", None))
    }
    if class_name:
        if class_name not in classes:
            raise unknown_name_error(f"class in {path}", class_name, classes)
        chosen = classes[class_name]
    elif len(classes) == 1:
        chosen = next(iter(classes.values()))
    else:
        raise UsageError(f"{path} holds {len(classes)} classes with `generate`; name one: {path}:Class")
    model = adapt_class(chosen, f"{path.stem}:{chosen.__name__}", options)
    model.code_version = digest_code(path)
    return model


def adapt_class(cls: type[Any], name: str, options: ModelOptions) -> Model:
    """An instance of a user's class as a `Model`."""
    try:
        instance = cls(**dict(options.values))
    except TypeError as error:
        raise UsageError(f"{name} cannot be created with the given --model-option values: {error}") from error
    if isinstance(instance, Model):
        if not hasattr(instance, "name"):
            instance.name = name
        return instance
    if inspect.iscoroutinefunction(instance.generate):
        _check_call(instance.generate, name, ("request",))
        return _AsyncModel(instance, name, options)
    _check_call(instance.generate, name, ("prompts", "media"))
    return _BatchModel(instance, name, options)


def _check_call(generate: Any, name: str, arguments: tuple[str, ...]) -> None:
    """Raise where a user's `generate` cannot be called with so many arguments."""
    try:
        inspect.signature(generate).bind(*arguments)
    except TypeError as error:
        kind = "async def" if len(arguments) == 1 else "def"
        raise UsageError(
            f"{name} cannot be asked ({error}): write `{kind} generate(self, {', '.join(arguments)})`"
        ) from error
    except ValueError:
        return  # written in C: it has no signature to look at


class _UserModel(Model):
    def __init__(self, inner: Any, name: str, options: ModelOptions) -> None:
        self._inner = inner
        self.name = getattr(inner, "name", None) or name
        self.capabilities = getattr(inner, "capabilities", None) or Capabilities()
        self.cacheable = bool(getattr(inner, "cacheable", False))
        self.is_local = bool(getattr(inner, "is_local", True))
        self._options = options

    @property
    def identity(self) -> Mapping[str, Any]:
        version = getattr(self._inner, "version", "")
        return {"model": self.name, "version": str(version), "options": dict(self._options.values)}

    async def close(self) -> None:
        close = getattr(self._inner, "close", None)
        if close is not None:
            result = close()
            if inspect.isawaitable(result):
                await result


class _AsyncModel(_UserModel):
    async def generate(self, request: Request) -> Reply:
        return to_reply(await self._inner.generate(request))


class _BatchModel(_UserModel):
    """Gathers requests that wait at the same time and hands them over as one batch, in a thread."""

    async def open(self) -> None:
        self._size = max(1, int(getattr(self._inner, "batch_size", 8)))
        self._waiting: list[tuple[Request, asyncio.Future[_Outcome]]] = []
        self._busy = asyncio.Lock()

    async def generate(self, request: Request) -> Reply:
        future: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        async with self._busy:
            while not future.done():
                await self._run_batch()
        outcome = await future
        if isinstance(outcome, Reply):
            return outcome
        raise outcome

    async def _run_batch(self) -> None:
        # One turn of the loop lets requests that are ready at the same moment join this batch.
        await asyncio.sleep(0)
        batch, self._waiting = self._waiting[: self._size], self._waiting[self._size :]
        outcomes = await self._answer([request for request, _ in batch])
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)

    async def _answer(self, requests: Sequence[Request]) -> list[_Outcome]:
        """What comes of a batch. If the user's code raises, each request is asked alone: only those at fault fail.
        What the engine must hear of (try again, or end the run) is raised for the request that met it."""
        prompts = [request.text for request in requests]
        media = [[picture.data for picture in iter_pictures(request.turns)] for request in requests]
        try:
            texts = await asyncio.to_thread(self._inner.generate, prompts, media)
        except Exception as error:  # the user's code: whatever else it raises costs a sample, not the run
            if len(requests) == 1 or _concerns_all(error):
                outcome = (
                    error if isinstance(error, TransientError | VivantError) else make_error_reply(error)
                )
                return [outcome] * len(requests)
            return [outcome for request in requests for outcome in await self._answer([request])]
        try:
            if isinstance(texts, str):
                raise TypeError("generate returned one text; return a list with one for each prompt")
            if len(texts) != len(requests):
                raise ValueError(f"generate returned {len(texts)} texts for {len(requests)} prompts")
        except (TypeError, ValueError) as error:  # which text belongs to which prompt is not known
            return [make_error_reply(error)] * len(requests)
        return [_read_text(text) for text in texts]


def _concerns_all(error: Exception) -> bool:
    """Whether an error says of itself that the rest of the batch would meet it too."""
    if isinstance(error, TransientError):
        return error.slow_down or error.unreachable or error.retry_after is not None
    return isinstance(error, ModelError)


def _read_text(text: Any) -> Reply:
    try:
        return to_reply(text)
    except TypeError as error:
        return make_error_reply(error)


def to_reply(result: Any) -> Reply:
    """What a user's `generate` returned, as a Reply."""
    if isinstance(result, Reply):
        return result
    if isinstance(result, str):
        return Reply(text=result)
    raise TypeError(f"generate must return text or a Reply, not {type(result).__name__}")


EXAMPLE = '''"""A model of your own. Try it: vivant run mime --model ./{file}:MyModel --limit 20"""


class MyModel:
    """Vivant calls `generate` with a batch of prompts and, for each, its pictures (encoded bytes)."""

    batch_size = 8

    def __init__(self) -> None:
        # Load your weights here. `--model-option name=value` arrives as keyword arguments.
        self.answers = "ABCD"

    def generate(self, prompts: list[str], media: list[list[bytes]]) -> list[str]:
        # Replace this by your model. It answers by the number of bytes it was shown.
        return [self.answers[sum(map(len, pictures)) % 4] for pictures in media]
'''


def write_example(path: Path) -> None:
    """Write a working example; an existing file is not touched."""
    if path.exists():
        raise UsageError(f"{path} exists already; choose another name")
    if path.suffix != ".py":
        raise UsageError(f"{path} should end in .py")
    path.write_text(EXAMPLE.replace("{file}", path.name), encoding="utf-8")
