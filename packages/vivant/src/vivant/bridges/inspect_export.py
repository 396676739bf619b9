"""Runs as Inspect logs: `vivant export RUN --as inspect`. `inspect view` and `read_eval_log` open them.

The archive is written here, member by member, so that Inspect need not be installed and a large run is not held in
memory. Pictures are embedded, each once a sample, as Inspect does; so are videos and sounds up to a size.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.benchmarks.summary import summarise
from vivant.bridges.inspect_format import LOG_VERSION
from vivant.core.errors import MediaError, UsageError
from vivant.core.file_types import detect_browser_type
from vivant.core.files import atomic_path
from vivant.core.records import Record, Score
from vivant.core.types import Audio, Image, Message, Part, Reply, Sample, Text, Video
from vivant.media.paths import resolve_media
from vivant.media.shown_cues import write_out_cues
from vivant.runs.run import Run

_LARGEST = 16 * 1024 * 1024
"""Videos and sounds above this many bytes are named, not embedded."""
_STOPS = {"ok": "stop", "truncated": "max_tokens", "refused": "content_filter", "too_long": "model_length"}
_KINDS: dict[type[Part], str] = {Image: "image", Video: "video", Audio: "audio"}
SCORER = "vivant"


def export_inspect(
    run: Run, out: Path, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write one `.eval` log per task of a run and return the files.

    Args:
        run: The run.
        out: The folder to write to.
        protocol: Whose scores: `paper` or `strict`.
        values: Scoring settings other than the defaults.
    """
    if out.is_file():
        raise UsageError(f"{out} is a file; name a folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        return [_write_log(run, part, out) for part in run.scores(protocol, values)]
    except OSError as error:
        raise UsageError(f"Cannot write to {out}: {error.strerror or error}") from error


def _write_log(run: Run, part: ScoredRun, out: Path) -> Path:
    manifest = run.manifest
    created = manifest.created.replace("Z", "+00:00")
    words = f"{manifest.fingerprint}/{part.task}/{part.protocol}"
    settings = msgspec.to_builtins(part.settings)
    if settings != msgspec.to_builtins(run.default_scoring(part.protocol)[part.task]):
        words += f"/{msgspec.json.encode(settings, order='sorted').decode()}"
    identity = hashlib.sha256(words.encode()).hexdigest()[:22]
    stamp = created.replace(":", "-").replace("+", "-")
    path = out / f"{stamp}_{part.task.replace('/', '-').replace('_', '-')}_{identity}.eval"
    encode = msgspec.json.Encoder().encode
    writer = _SampleWriter(part)
    with atomic_path(path) as temporary:  # noqa: SIM117 (the archive is closed before it is renamed)
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
            start = _make_start(run, part, identity, created, writer)
            archive.writestr("_journal/start.json", encode(start))
            summaries = []
            for sample, record, score in part.rows:
                if record is None:  # Inspect, too, logs only what was asked
                    writer.add_id(sample, record)
                    continue
                content = writer.write(sample, record, score)
                archive.writestr(f"samples/{content['id']}_epoch_{content['epoch']}.json", encode(content))
                summaries.append(_summarise_sample(content))
            archive.writestr("summaries.json", encode(summaries))
            head = _make_start(run, part, identity, created, writer)
            archive.writestr("header.json", encode({**head, **_make_results(part, created, writer)}))
    return path


class _SampleWriter:
    """Rows of a run as samples of a log, and what the header must say of them all."""

    def __init__(self, part: ScoredRun) -> None:
        self.root = part.root
        self.model = part.model
        self.asked = self.completed = self.scored = 0
        self.tokens_in = self.tokens_out = 0
        self.ids: dict[str, None] = {}

    def add_id(self, sample: Sample, record: Record | None) -> str:
        """A sample's id in the log, also of one that was not asked."""
        name = sample.id if record is None or not record.permutation else f"{sample.id}~{record.permutation}"
        name = name.replace("%", "%25").replace("/", "%2F")  # it names a member of the archive
        self.ids[name] = None
        return name

    def write(self, sample: Sample, record: Record, score: Score) -> dict[str, Any]:
        """One sample with its reply, score and media."""
        attachments: dict[str, str] = {}
        options = record.options or sample.options
        messages = [
            self._write_message(
                Message(message.role, tuple(write_out_cues(message.parts, record))), attachments
            )
            for message in record.messages
        ]
        reply = record.reply
        content: dict[str, Any] = {
            "id": self.add_id(sample, record),
            "epoch": record.repeat + 1,
            "input": messages or "".join(p.text for p in sample.question if isinstance(p, Text)),
            "target": _find_target(sample, record),
            "messages": messages,
            "output": self._write_output(reply, record),
            "scores": _write_scores(score),
            "metadata": {**sample.facets, **({"cluster": sample.cluster} if sample.cluster else {})},
            "store": {},
            "events": [],
            "model_usage": {},
            "total_time": record.seconds,
            "attachments": attachments,
            "uuid": hashlib.sha256(score.key.encode()).hexdigest()[:22],
        }
        if options:
            content["choices"] = [option.text for option in options]
        if content["output"]["choices"]:
            content["messages"] = [*messages, content["output"]["choices"][0]["message"]]
        usage = content["output"].get("usage")
        if usage:
            self.tokens_in += usage["input_tokens"]
            self.tokens_out += usage["output_tokens"]
            content["model_usage"] = {self.model: usage}
        if score.status == "missing":
            message = reply.error or score.rule or reply.status
            content["error"] = {"message": message, "traceback": reply.traceback, "traceback_ansi": ""}
        self.asked += 1
        self.completed += "error" not in content
        self.scored += bool(content["scores"])
        return content

    def _write_message(self, message: Message, attachments: dict[str, str]) -> dict[str, Any]:
        parts = [piece for part in message.parts for piece in self._write_part(part, attachments)]
        if all(isinstance(part, Text) for part in message.parts):
            return {"role": message.role, "content": "".join(part["text"] for part in parts)}
        return {"role": message.role, "content": parts}

    def _write_part(self, part: Part, attachments: dict[str, str]) -> list[dict[str, Any]]:
        """A part as Inspect's content; a grid of pictures as its pictures."""
        if isinstance(part, Text):
            return [{"type": "text", "text": part.text}]
        names = part.tiles if isinstance(part, Image) and part.tiles else (part.path,)
        return [self._write_media(_KINDS[type(part)], name, attachments) for name in names]

    def _write_media(self, kind: str, name: str, attachments: dict[str, str]) -> dict[str, Any]:
        data = self._embed(kind, name)
        if not data:
            return {"type": "text", "text": f"[{kind}: {name}]"}
        digest = hashlib.md5(data.encode(), usedforsecurity=False).hexdigest()  # Inspect's own kind of name
        attachments[digest] = data
        content = {"type": kind, kind: f"attachment://{digest}"}
        if kind != "image":
            content["format"] = Path(name).suffix.removeprefix(".").lower() or "mp4"
        return content

    def _embed(self, kind: str, name: str) -> str:
        """A file as a data address; empty where it is missing, too large or no media."""
        try:
            path = Path(resolve_media(self.root, name))
            if kind != "image" and path.stat().st_size > _LARGEST:
                return ""
            content = path.read_bytes()
            media_type = detect_browser_type(kind, content[:65536], name)
        except (MediaError, OSError):
            return ""
        return f"data:{media_type};base64,{base64.b64encode(content).decode()}"

    def _write_output(self, reply: Reply, record: Record) -> dict[str, Any]:
        output: dict[str, Any] = {"model": reply.model or self.model, "choices": [], "completion": reply.text}
        if reply.status == "error":
            output["error"] = reply.error
        else:
            content: Any = reply.text
            if reply.thinking:
                content = [
                    {"type": "reasoning", "reasoning": reply.thinking},
                    {"type": "text", "text": reply.text},
                ]
            message = {"role": "assistant", "content": content, "source": "generate", "model": self.model}
            output["choices"] = [{"message": message, "stop_reason": _STOPS.get(reply.status, "unknown")}]
        if reply.tokens_in is not None or reply.tokens_out is not None:
            tokens = (reply.tokens_in or 0, reply.tokens_out or 0)
            output["usage"] = {
                "input_tokens": tokens[0],
                "output_tokens": tokens[1],
                "total_tokens": sum(tokens),
            }
            if reply.tokens_thinking is not None:
                output["usage"]["reasoning_tokens"] = reply.tokens_thinking
        if record.seconds:
            output["time"] = record.seconds
        return output


def _find_target(sample: Sample, record: Record) -> str | list[str]:
    """The right answer as the model would name it: the letter of the option as shown, else the accepted texts."""
    if sample.key is not None and sample.options:
        if record.options and sample.key in record.order:
            return record.options[record.order.index(sample.key)].name
        return sample.options[sample.key].name
    return sample.answers[0] if len(sample.answers) == 1 else list(sample.answers) or ""


def _write_scores(score: Score) -> dict[str, Any]:
    if score.status in ("missing", "excluded", "truncated"):
        return {}
    value: str | float = "N" if score.status == "unparsed" or score.value is None else score.value
    if isinstance(value, float) and value in (0.0, 1.0):
        value = "C" if value else "I"
    entry: dict[str, Any] = {
        "value": value,
        "answer": score.answer,
        "explanation": f"read by: {score.rule}" if score.rule else "",
    }
    if score.detail:
        entry["metadata"] = score.detail
    return {SCORER: entry}


def _summarise_sample(content: Mapping[str, Any]) -> dict[str, Any]:
    """A sample's line in the viewer's list."""
    names = ("id", "epoch", "choices", "target", "metadata", "scores", "model_usage", "total_time", "uuid")
    summary = {name: content[name] for name in names if name in content}
    summary["input"] = (
        content["input"] if isinstance(content["input"], str) else _hide_media(content["input"])
    )
    if "error" in content:
        summary["error"] = content["error"]["message"]
    return {**summary, "retries": 0, "completed": True, "message_count": len(content["messages"])}


def _hide_media(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    hidden = []
    for message in messages:
        content = message["content"]
        if not isinstance(content, str):
            content = [
                part if part["type"] == "text" else {"type": "text", "text": f"({part['type'].title()})"}
                for part in content
            ]
        hidden.append({**message, "content": content})
    return hidden


def _make_start(
    run: Run, part: ScoredRun, identity: str, created: str, writer: _SampleWriter
) -> dict[str, Any]:
    """What is known of an evaluation before its first sample."""
    manifest, settings = run.manifest, run.manifest.settings
    decoding = settings.decoding
    config = {"temperature": decoding.temperature, "max_tokens": decoding.max_tokens or None}
    return {
        "version": LOG_VERSION,
        "eval": {
            "eval_id": identity,
            "run_id": manifest.fingerprint,
            "created": created,
            "task": part.task,
            "task_id": identity,
            "task_version": 0,
            "task_args": {"style": part.style, "protocol": part.protocol, **part.settings},
            "dataset": {
                "name": part.task,
                "samples": manifest.planned.get(part.task, len(part.rows)),
                "sample_ids": list(writer.ids),
                "shuffled": False,
            },
            "model": part.model,
            "model_generate_config": {name: value for name, value in config.items() if value is not None},
            "config": {"epochs": settings.repeat, "fail_on_error": False},
            "packages": {"vivant": manifest.versions.get("vivant", "")},
            "metadata": {"vivant_run": manifest.run, "control": settings.control, "seed": settings.seed},
        },
        "plan": {"name": "vivant", "steps": [{"solver": "vivant", "params": {"style": part.style}}]},
    }


def _make_results(part: ScoredRun, created: str, writer: _SampleWriter) -> dict[str, Any]:
    """How it ended, and the aggregates on the scale of the samples' values.

    As in Inspect, an evaluation with failed samples is a success; one that left samples unasked was cancelled.
    """
    usage = {
        "input_tokens": writer.tokens_in,
        "output_tokens": writer.tokens_out,
        "total_tokens": writer.tokens_in + writer.tokens_out,
    }
    results: dict[str, Any] = {
        "status": "success" if writer.asked == len(part.rows) else "cancelled",
        "stats": {"started_at": created, "completed_at": created, "model_usage": {part.model: usage}},
    }
    if writer.scored:
        results["results"] = {
            "total_samples": len(part.rows),
            "completed_samples": writer.completed,
            "scores": [
                {
                    "name": SCORER,
                    "scorer": SCORER,
                    "scored_samples": writer.scored,
                    "unscored_samples": writer.completed - writer.scored,
                    "params": {},
                    "metrics": _list_metrics(part),
                }
            ],
        }
    return results


def _list_metrics(part: ScoredRun) -> dict[str, Any]:
    benchmark = registry.get_by_task(part.task)
    row = summarise(part, benchmark)[0]
    scale = benchmark.task(part.task).scale
    figures = {"mean": row.value}
    if row.interval is not None:
        figures |= {"interval_low": row.interval[0], "interval_high": row.interval[1]}
    return {
        name: {"name": name, "value": value / scale, "params": {}}
        for name, value in figures.items()
        if value is not None
    }
