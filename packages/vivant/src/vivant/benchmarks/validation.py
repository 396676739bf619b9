"""What a plug-in gets wrong is found before anything is sent. Each message is one line that names plug-in and remedy.

Bundled benchmarks pass the cheap checks of `load_samples` alone; plug-ins pass them all. With VIVANT_DEBUG=1 the
command line shows the whole traceback of an exception in a plug-in.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.base import PROTOCOLS, Benchmark, Prompt, PromptContext, ScoreSettings, TaskInfo
from vivant.benchmarks.multiple_choice import MultipleChoice
from vivant.benchmarks.parts import DataFolder, JudgedTasks, NativeFormats, OwnTables, PublishedResults
from vivant.core.errors import DataError, MediaError, UsageError, VivantError
from vivant.core.python_files import find_line
from vivant.core.records import Record, Score
from vivant.core.stored_lines import KeySet, store_lines
from vivant.core.types import Audio, Image, Message, Option, Reply, Sample, Video, job_key
from vivant.media.paths import resolve_media

_PARTS = {
    "data": DataFolder,
    "judged": JudgedTasks,
    "native": NativeFormats,
    "published": PublishedResults,
    "tables": OwnTables,
}
_FIRST = 100
"""So many samples have their media paths checked."""
_SCORED = 3
"""So many samples are scored with a made-up reply."""


def is_bundled(benchmark: Benchmark) -> bool:
    """Whether a benchmark is one of the package's own."""
    return type(benchmark).__module__.startswith(("vivant.benchmarks.", "vivant.bridges."))


def check_class(cls: Any, source: str, name: str = "") -> None:
    """Check what a plug-in declares.

    Args:
        cls: What the entry point or file names.
        source: Where it comes from, for error messages: `my_package:MyBench`.
        name: The entry point's name, where there is one.
    """

    def wrong(text: str) -> UsageError:
        return UsageError(f"Benchmark plug-in {source}: {text}")

    if not inspect.isclass(cls) or not issubclass(cls, Benchmark):
        raise wrong("it is not a subclass of vivant.benchmarks.base.Benchmark; derive the class from it")
    missing = sorted(cls.__abstractmethods__)
    if missing:
        raise wrong(f"the method {missing[0]}() is missing; write it, or derive from MultipleChoice")
    for attribute, example in (("name", '"my-bench"'), ("title", '"My benchmark"')):
        value = getattr(cls, attribute, None)
        if not isinstance(value, str) or not value:
            raise wrong(
                f"the class attribute `{attribute}` is missing or no text; add {attribute} = {example}"
            )
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", cls.name):
        raise wrong(f"its name is '{cls.name}'; use small letters, digits, '-', '_' and '.' alone")
    if name and cls.name != name:
        raise wrong(f"its name is '{cls.name}' but its entry point is '{name}'; make them equal")
    tasks = getattr(cls, "tasks", None)
    example = 'tasks = (TaskInfo(name="mcq", title="Multiple choice"),)'
    if not isinstance(tasks, tuple | list) or not tasks or not all(isinstance(t, TaskInfo) for t in tasks):
        raise wrong(f"the class attribute `tasks` is missing or not a tuple of TaskInfo; add {example}")
    names = [task.name for task in tasks]
    for task in names:
        if not task or "/" in task:
            raise wrong(f"a task is called '{task}'; use a name without '/'")
        if names.count(task) > 1:
            raise wrong(f"two tasks are called '{task}'; task names must be unique")
    for attribute in ("styles", "protocols"):
        values = getattr(cls, attribute)
        if not isinstance(values, tuple | list) or not values:
            raise wrong(f"`{attribute}` must be a tuple with at least one name, e.g. ({values!r},)")
    for protocol in cls.protocols:
        if protocol not in PROTOCOLS:
            raise wrong(f"it has the protocol '{protocol}'; a protocol is {' or '.join(PROTOCOLS)}")
    for part, kind in _PARTS.items():
        if not isinstance(getattr(cls, part), kind):
            raise wrong(f"`{part}` is not an instance of {kind.__name__}; write {part} = My{kind.__name__}()")


@contextmanager
def guard(benchmark: Benchmark, method: str, root: Path | None = None) -> Iterator[None]:
    """Turn an exception in a plug-in's method into one line that names the plug-in's file and line."""
    try:
        yield
    except VivantError:
        raise
    except Exception as error:
        if is_bundled(benchmark):
            raise
        location = _source(benchmark)
        line = find_line(error, inspect.getfile(type(benchmark)))
        if line is not None:
            location += f", line {line}"
        if isinstance(error, FileNotFoundError) and method == "load":
            remedy = f" {benchmark.data.help}" if benchmark.data.help else ""
            raise DataError(
                f"{benchmark.name}: {error.filename} does not exist ({method}(), {location}). "
                f"Give the folder with the data as --data PATH; it was '{root}'.{remedy}"
            ) from error
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(
            f"{benchmark.name}: {method}() failed in {location}: {reason} (VIVANT_DEBUG=1 shows the traceback)"
        ) from error


def load_samples(
    benchmark: Benchmark, root: Path, task: str, observe: Callable[[Sample], object] | None = None
) -> Sequence[Sample]:
    """Read the samples of a task and check them. Many are kept in a file, not in memory.

    Args:
        benchmark: Whose samples.
        root: The folder (or file) with the data.
        task: The task's full name.
        observe: Called with each sample as it is read.
    """
    bundled = is_bundled(benchmark)
    with guard(benchmark, "load", root):
        if bundled:
            return store_lines(
                _check_samples(benchmark, benchmark.iterate(root, task), root, task, observe), Sample
            )
        samples = benchmark.load(root, task)
    _check_types(benchmark, samples, root, task)
    stored = store_lines(_check_samples(benchmark, iter(samples), root, task, observe), Sample)
    _check_media(benchmark, samples[:_FIRST], root)
    return stored


def _check_samples(
    benchmark: Benchmark,
    samples: Iterator[Sample],
    root: Path,
    task: str,
    observe: Callable[[Sample], object] | None,
) -> Iterator[Sample]:
    """The samples as they come, each checked."""
    bundled = is_bundled(benchmark)
    seen = KeySet()
    for sample in samples:
        if not seen.add(sample.id):
            raise DataError(
                f"{benchmark.name}: two samples of {task} have the id '{sample.id}'; ids must be "
                f"unique ({root})"
            )
        if sample.task != task:
            raise _wrong(
                benchmark, "load", f"sample '{sample.id}' has the task '{sample.task}'; set task={task!r}"
            )
        if not bundled:
            _check_options(benchmark, sample)
        if observe is not None:
            observe(sample)
        yield sample


def check_stages(benchmark: Benchmark, samples: Sequence[Sample], context: PromptContext) -> None:
    """Phrase all samples that will be asked and score made-up replies to some. Sends nothing."""
    if is_bundled(benchmark) or not samples:
        return
    prompts: list[Prompt] = []
    for sample in samples:
        with guard(benchmark, "prompt"):
            prompt = benchmark.prompt(sample, context)
        _check_prompt(benchmark, sample, prompt)
        if len(prompts) < _SCORED:
            prompts.append(prompt)
    pairs = list(zip(samples, prompts, strict=False))
    if benchmark.task(samples[0].task).judged:
        if any(not benchmark.judged.rubrics(protocol) for protocol in benchmark.protocols):
            raise _wrong(
                benchmark, "judged.rubrics", f"{samples[0].task} is judged but has no rubric; set `judged`"
            )
        return
    for protocol in benchmark.protocols:
        settings = ScoreSettings(protocol=protocol, style=context.style, values=dict(benchmark.settings))
        right = score_records(benchmark, [make_record(s, p, right=True) for s, p in pairs], settings)
        wrong = score_records(benchmark, [make_record(s, p, right=False) for s, p in pairs], settings)
        for (sample, prompt), best, worst in zip(pairs, right, wrong, strict=True):
            if prompt.options and sample.key is not None and (best.value or 0.0) < (worst.value or 0.0):
                raise _wrong(
                    benchmark,
                    "score",
                    f"a wrong reply to sample '{sample.id}' scores {worst.value}, the right one {best.value}; "
                    "read the option with Record.options and Record.order (vivant.metrics.choice.score_choice)",
                )


def scores_apart(benchmark: Benchmark) -> bool:
    """Whether records may be scored in portions: the class that has `score` says so, not one that it derives from."""
    owner = next(cls for cls in type(benchmark).__mro__ if "score" in vars(cls))
    return bool(vars(owner).get("scores_apart", False))


def score_records(
    benchmark: Benchmark, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings
) -> list[Score]:
    """Score records and check that there is one usable score for each, in order."""
    with guard(benchmark, "score"):
        scores = benchmark.score(items, settings)
    if is_bundled(benchmark):
        return scores
    if not isinstance(scores, list) or not all(isinstance(score, Score) for score in scores):
        raise _wrong(benchmark, "score", f"it returned {_kind(scores)}; return a list of Score")
    if len(scores) != len(items):
        raise _wrong(
            benchmark,
            "score",
            f"it returned {len(scores)} scores for {len(items)} records; return one for each",
        )
    for score, (_, record) in zip(scores, items, strict=True):
        if score.key != record.key:
            raise _wrong(
                benchmark,
                "score",
                f"the score for '{record.key}' has the key '{score.key}'; set key=record.key",
            )
        if score.status == "scored" and (score.value is None or not math.isfinite(score.value)):
            raise _wrong(
                benchmark,
                "score",
                f"'{score.key}' is scored with {score.value}; give a number or another status",
            )
    return scores


def _source(benchmark: Benchmark) -> str:
    return f"{Path(inspect.getfile(type(benchmark))).name}:{type(benchmark).__name__}"


def _wrong(benchmark: Benchmark, method: str, text: str) -> DataError:
    return DataError(f"{benchmark.name}: {method}() in {_source(benchmark)}: {text}")


def _kind(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return f"a {type(value).__name__} of {type(value[0]).__name__}"
    return f"an empty {type(value).__name__}" if value in ([], ()) else f"{type(value).__name__}"


def _check_types(benchmark: Benchmark, samples: Any, root: Path, task: str) -> None:
    if not isinstance(samples, list) or not all(isinstance(sample, Sample) for sample in samples):
        raise _wrong(benchmark, "load", f"it returned {_kind(samples)}; return a list of Sample")
    if not samples:
        raise _wrong(benchmark, "load", f"there are no samples of {task} in {root}; check --data")
    for number, sample in enumerate(samples):
        problem = _convert(sample, Sample)
        if problem:
            raise _wrong(benchmark, "load", f"sample {number} ('{sample.id}'): {problem}")


def _convert(value: Any, kind: type) -> str:
    """What is wrong with the types of a struct's fields; structs are not checked when they are made."""
    try:
        msgspec.convert(msgspec.to_builtins(value), kind)
    except (msgspec.ValidationError, TypeError) as error:
        return str(error).replace("`$.", "`")
    return ""


def _check_options(benchmark: Benchmark, sample: Sample) -> None:
    names = [option.name for option in sample.options]
    if len(set(names)) != len(names):
        raise _wrong(
            benchmark, "load", f"two options of sample '{sample.id}' have the same name; use A, B, C …"
        )
    if sample.key is not None and not 0 <= sample.key < len(names):
        raise _wrong(
            benchmark,
            "load",
            f"sample '{sample.id}' has the key {sample.key} and {len(names)} options; "
            "`key` is the index of the right option, from 0",
        )
    if isinstance(benchmark, MultipleChoice) and (sample.key is None or len(names) < 2):
        lack = "`key`" if sample.key is None else "options (at least two)"
        raise _wrong(benchmark, "load", f"sample '{sample.id}' lacks {lack}; MultipleChoice needs them")


def _check_media(benchmark: Benchmark, samples: Sequence[Sample], root: Path) -> None:
    """Paths that leave the folder are refused; missing files are reported with the plan."""
    folder = benchmark.data.media_root(root)
    for sample in samples:
        for part in sample.question:
            if not isinstance(part, Image | Video | Audio) or (isinstance(part, Image) and part.tiles):
                continue
            try:
                resolve_media(folder, part.path)
            except MediaError as error:
                if "missing" not in str(error):
                    raise _wrong(benchmark, "load", f"sample '{sample.id}': {error}") from error


def _check_prompt(benchmark: Benchmark, sample: Sample, prompt: Any) -> None:
    if not isinstance(prompt, Prompt):
        raise _wrong(benchmark, "prompt", f"it returned {_kind(prompt)}; return a Prompt")
    problem = (
        "" if all(isinstance(message, Message) for message in prompt.messages) else "messages: not Message"
    )
    problem = problem or _convert(prompt, Prompt)
    if problem or not prompt.messages:
        raise _wrong(benchmark, "prompt", f"sample '{sample.id}': {problem or 'there are no messages'}")
    if not sample.options or not prompt.options:
        return
    shown = [option.text for option in prompt.options]
    stated = [option.text for option in sample.options]
    order = prompt.order or tuple(range(len(stated)))
    if sorted(order) != list(range(len(shown))) or len(shown) != len(stated):
        raise _wrong(
            benchmark,
            "prompt",
            f"it shows {len(shown)} options in the order {prompt.order} and sample '{sample.id}' has "
            f"{len(stated)}; show all of them and set order=context.order(sample)",
        )
    if sorted(shown) == sorted(stated) and shown != [stated[index] for index in order]:
        remedy = "`Prompt.order` says otherwise" if prompt.order else "`Prompt.order` is empty"
        raise _wrong(
            benchmark,
            "prompt",
            f"it shows the options of sample '{sample.id}' in another order and {remedy}; "
            "shuffle with order = context.order(sample) and return Prompt(..., order=order)",
        )


def make_record(sample: Sample, prompt: Prompt, *, right: bool) -> tuple[Sample, Record]:
    """A made-up reply that names the right option or another, in the form that the prompt asks for."""
    options: tuple[Option, ...] = prompt.options
    order = prompt.order or tuple(range(len(options)))
    if options:
        chosen = [
            option for option, index in zip(options, order, strict=True) if (index == sample.key) == right
        ]
        text = prompt.answer_form.format((chosen or options)[0].name)
    else:
        text = (sample.answers or prompt.candidates or ("made up",))[0] if right else "made up"
    record = Record(
        key=job_key(sample.task, sample.id),
        task=sample.task,
        id=sample.id,
        messages=prompt.messages,
        options=options,
        order=prompt.order,
        reply=Reply(text=text),
    )
    return sample, record
