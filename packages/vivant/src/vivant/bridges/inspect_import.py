"""Inspect logs as runs: `vivant import --as inspect LOG`. Inspect itself need not be installed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from vivant.benchmarks.multiple_choice import make_options, option_name
from vivant.bridges.imported_results import (
    ImportedEntry,
    ImportedSource,
    SampleResult,
    default_folder,
    name_task,
    write_imported_run,
)
from vivant.bridges.inspect_format import (
    EvalArchive,
    InspectContent,
    InspectHeader,
    InspectMessage,
    InspectSample,
    InspectScore,
    read_json_log,
)
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import (
    Audio,
    Image,
    Message,
    Part,
    Reply,
    ReplyStatus,
    Role,
    Sample,
    Text,
    Video,
    job_key,
)
from vivant.runs.run import Run

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's letters for right, partly right, wrong and no answer, and what it counts them as."""
_GRADERS = frozenset(
    ("answer", "choice", "math", "model_graded_fact", "model_graded_qa", "pattern")
)  # whose names do not say it
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_DATA = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,")
_ATTACHMENT = "attachment://"
_LONGEST_FACET = 80
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


def import_inspect(path: Path, out: Path | None = None, model: str | None = None) -> Run:
    """Turn an Inspect log into a run with its scores.

    Args:
        path: An `.eval` file, or a log in JSON.
        out: The run directory. Default: `runs/inspect-TASK-MODEL-ID`.
        model: Name of the model. Default: from the log.
    """
    if not path.is_file():
        raise DataError(f"No such file: {path}")
    with ExitStack() as stack:
        samples: Iterator[InspectSample]
        if path.suffix == ".json":
            log = read_json_log(path)
            header: InspectHeader = log
            samples = iter(log.samples or ())
        else:
            archive = stack.enter_context(EvalArchive(path))
            header = archive.read_header()
            samples = archive.iter_samples()
        source = _describe_log(path, header, model)
        target = out or default_folder(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = stack.enter_context(TemporaryDirectory(dir=target.parent, prefix=".vivant-"))
        media = Path(folder) / "media"
        scorers = [result.scorer or result.name for result in header.results.scores] if header.results else []
        reader = _SampleReader(source.task, media, tuple(dict.fromkeys(scorers)))
        return write_imported_run(source, map(reader.read, samples), target, media)


def _describe_log(path: Path, header: InspectHeader, model: str | None) -> ImportedSource:
    spec = header.eval
    packages = ", ".join(f"{name} {version}" for name, version in spec.packages.items())
    notes = [f"read from an Inspect log{' of ' + packages if packages else ''}"]
    if header.status != "success":
        reason = f": {header.error.message[:120]}" if header.error else ""
        notes.append(f"the evaluation did not finish; its status is '{header.status}'{reason}")
    epochs = spec.config.get("epochs")
    return ImportedSource(
        task=f"inspect/{name_task(spec.task)}",
        model=model or spec.model,
        name=(spec.eval_id or spec.task_id or path.stem)[:8],
        file=path,
        repeat=epochs if isinstance(epochs, int) and epochs > 0 else 1,
        notes=tuple(notes),
        shares=_find_shares(header),
    )


def _find_shares(header: InspectHeader) -> frozenset[str]:
    """Scorers whose values are shares of 1: Inspect's own that grade replies, and those that it reports accuracy of."""
    results = header.results.scores if header.results else []
    reported = [result for result in results if "accuracy" in result.metrics]
    names = {name for each in reported for name in (each.name, f"{each.scorer}.{each.name}")}
    return frozenset(names | _GRADERS)


class _SampleReader:
    """Turns samples into entries, and writes the media that they hold."""

    def __init__(self, task: str, media: Path, scorers: tuple[str, ...]) -> None:
        self.task = task
        self.media = media
        self.scorers = scorers
        """In the order of the log's results, which decides whose score is the first."""

    def read(self, sample: InspectSample) -> ImportedEntry:
        """One sample of one epoch."""
        name = str(sample.id)
        question = _read_parts(sample.input, self._find_media(sample))
        options = make_options(sample.choices or ())
        targets = [sample.target] if isinstance(sample.target, str) else sample.target
        letters = [option_name(index) for index in range(len(options))]
        key = letters.index(targets[0]) if len(targets) == 1 and targets[0] in letters else None
        repeat = max(sample.epoch, 1) - 1
        return ImportedEntry(
            Sample(
                id=name,
                task=self.task,
                question=question,
                options=options,
                key=key,
                answers=() if key is not None else tuple(targets),
                facets=_make_facets(sample.metadata),
                cluster=str(sample.metadata.get("cluster") or ""),
            ),
            Record(
                key=job_key(self.task, name, repeat),
                task=self.task,
                id=name,
                repeat=repeat,
                messages=self._read_messages(sample),
                options=options,
                order=tuple(range(len(options))),
                reply=_read_reply(sample),
                seconds=sample.total_time or 0.0,
            ),
            self._read_results(sample.scores or {}),
        )

    def _read_results(self, scores: Mapping[str, InspectScore]) -> dict[str, SampleResult]:
        names = [name for name in self.scorers if name in scores]
        names += [name for name in scores if name not in names]
        results: dict[str, SampleResult] = {}
        for name in names:
            score = scores[name]
            values = score.value if isinstance(score.value, dict) else {"": score.value}
            for part, value in values.items():
                if value is not None:  # NaN in the log: Inspect leaves the sample out of the metric
                    results[f"{name}.{part}" if part else name] = _make_result(value, score)
        return results

    def _read_messages(self, sample: InspectSample) -> tuple[Message, ...]:
        """The conversation up to the model's last words, which are the reply."""
        messages = list(sample.messages)
        while messages and messages[-1].role == "assistant":
            messages.pop()
        media = self._find_media(sample)
        return tuple(
            Message(_ROLES.get(message.role, "user"), _read_parts([message], media)) for message in messages
        )

    def _find_media(self, sample: InspectSample) -> dict[str, str]:
        """Paths by what a message names: attachments and data addresses become files; names stay names."""
        paths: dict[str, str] = {}
        messages = [*([] if isinstance(sample.input, str) else sample.input), *sample.messages]
        for message in messages:
            for part in message.content if isinstance(message.content, list) else ():
                name = part.image or part.video or part.audio
                if name and name not in paths:
                    data = sample.attachments.get(name.removeprefix(_ATTACHMENT), name)
                    paths[name] = self._write_media(data, sample)
        return paths

    def _write_media(self, data: str, sample: InspectSample) -> str:
        match = _DATA.match(data[:200])
        if not match:
            # A path of another machine leads nowhere here; its last part says what was shown.
            return PurePosixPath(data).name if not data.startswith(("http:", "https:")) else data
        try:
            content = base64.b64decode(data[match.end() :], validate=True)
        except binascii.Error as error:
            raise DataError(f"Sample '{sample.id}': its media are no base64: {error}") from error
        ending = (match["type"] or "image/png").partition("/")[2].partition("+")[0].replace("jpeg", "jpg")
        path = f"{hashlib.sha256(content).hexdigest()[:24]}.{ending}"
        target = self.media / path
        if not target.exists():
            self.media.mkdir(exist_ok=True)
            target.write_bytes(content)
        return path


def _read_parts(content: str | list[InspectMessage], media: Mapping[str, str]) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts: list[Part] = []
    for message in content:
        pieces = (
            [InspectContent("text", message.content)] if isinstance(message.content, str) else message.content
        )
        for piece in pieces:
            if piece.image:
                parts.append(Image(media[piece.image]))
            elif piece.video:
                parts.append(Video(media[piece.video]))
            elif piece.audio:
                parts.append(Audio(media[piece.audio]))
            elif piece.text:
                parts.append(Text(piece.text))
    return tuple(parts)


def _read_reply(sample: InspectSample) -> Reply:
    """What the model wrote. A reply that Inspect scored stays an answer, whatever its end."""
    output = sample.output
    stop = output.choices[0].stop_reason if output.choices else "stop"
    message = output.choices[0].message if output.choices else None
    pieces = message.content if message is not None and isinstance(message.content, list) else []
    thinking = "\n".join(piece.reasoning for piece in pieces if piece.reasoning)
    error = sample.error.message if sample.error else output.error or ""
    status: ReplyStatus = "ok"
    if error and not sample.scores:
        status = "error"
    elif stop == "max_tokens":
        status = "truncated"
    elif not sample.scores and stop in ("content_filter", "model_length"):
        status = "refused" if stop == "content_filter" else "too_long"
        error = error or stop
    usage = output.usage
    return Reply(
        status=status,
        text=output.completion,
        thinking=thinking,
        error=" ".join(error.split())[:500],
        tokens_in=usage.input_tokens if usage else None,
        tokens_out=usage.output_tokens if usage else None,
        tokens_thinking=usage.reasoning_tokens if usage else None,
        model=output.model,
    )


def _make_result(value: Any, score: InspectScore) -> SampleResult:
    """A score as a number, by Inspect's own rule: letters, words for true and false, and numbers as they are."""
    number: float | None = None
    if isinstance(value, bool | int | float):
        number = float(value)
    elif isinstance(value, str):
        number = _GRADES.get(value, _WORDS.get(value.lower()))
        if number is None:
            try:
                number = float(value)
            except ValueError:
                number = None
    return SampleResult(
        value=number,
        raw=None if isinstance(value, int | float) and not isinstance(value, bool) else value,
        answer=score.answer or "",
        note=score.explanation or "",
        unparsed=value == "N",
    )


def _make_facets(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The short values among a sample's metadata."""
    facets: dict[str, str] = {}
    for name, value in metadata.items():
        if isinstance(value, bool):
            facets[name] = str(value).lower()
        elif isinstance(value, str | int | float) and len(str(value)) <= _LONGEST_FACET:
            facets[name] = str(value)
    return facets
