"""The original's result files, read and written. Replies are joined by `question_idx`, never by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.base import Imported, ScoredRun
from vivant.benchmarks.mmrv.data import FIELDS, TASK, Item, format_id, read_file, to_samples
from vivant.benchmarks.mmrv.score import FINAL, extract_letter
from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.records import Record, Score
from vivant.core.types import Reply, Sample

RAW = "_raw_response"
ANSWER = "_response"
FAILED = "Error: Invalid response type"
"""What the original stores where the server's reply was no text."""

_REASONED = 100  # characters; a direct reply is a few

Entry = tuple[str, str, Item]
"""Place in the file, id, item."""


def read_results(
    file: Path, samples: Sequence[Sample], task: str = TASK, model: str | None = None
) -> Imported | None:
    """Replies from a result file of the original, or a list of `idx` and `response`; None for other files.

    A file without `question_idx` (the 200 questions of the human study) brings its own questions, whose place
    in the file is their id: nothing ties them to the ids of the full set.
    """
    if file.suffix not in (".json", ".jsonl", ".ndjson", ".parquet"):
        return None
    try:
        items = read_file(file)
    except DataError:
        if file.suffix in (".json", ".parquet") or _mentions(file, RAW):
            raise
        return None  # JSON lines of another kind, for others to read
    if not items:
        return None
    model = _choose_model(file, [item for _, item in items], model)
    if model is None and not all({"idx", "response"} <= item.keys() for _, item in items):
        return None
    own_questions = model is not None and not any("question_idx" in item for _, item in items)
    if own_questions:
        samples = to_samples(items, file)
        entries = [(where, sample.id, item) for (where, item), sample in zip(items, samples, strict=True)]
    else:
        entries = _list_entries(items, "question_idx" if model is not None else "idx")
        if not samples and model is not None and all(set(FIELDS) <= item.keys() for _, item in items):
            samples = to_samples(items, file)
        _check_ids(file, entries, samples)
    replies = {name: _build_reply(item, model) for _, name, item in entries}
    stored = {name: _get_stored(item, model) for _, name, item in entries}
    by_id = {sample.id: sample for sample in samples}
    style, guess = _guess_style(file, replies)
    records = tuple(
        Record(
            key=f"{task}/{name}",
            task=task,
            id=name,
            options=by_id[name].options,
            order=tuple(range(len(by_id[name].options))),
            reply=replies[name],
            extra=stored[name],
        )
        for _, name, _ in entries
    )
    return Imported(
        task=task,
        records=records,
        samples=tuple(samples),
        model=model or file.stem.removeprefix("mmrv_").removesuffix("_cot").removesuffix("-cot"),
        style=style,
        notes=(*_build_notes(file, entries, samples, replies, stored, own_questions), *guess),
    )


def _mentions(file: Path, text: str) -> bool:
    with file.open("rb") as opened:
        return text.encode() in opened.read(1 << 16)


def _choose_model(file: Path, items: Sequence[Item], preferred: str | None) -> str | None:
    """The model whose replies the file holds; None where it has no `<model>_raw_response`."""
    models = sorted({name.removesuffix(RAW) for item in items for name in item if name.endswith(RAW)})
    if preferred is not None and preferred in models:
        return preferred
    matching = [model for model in models if file.stem.startswith(model)]
    if len(models) == 1 or len(matching) == 1:
        return models[0] if len(models) == 1 else matching[0]
    if models:
        raise DataError(
            f"{file}: holds replies of {len(models)} models ({', '.join(models)}); "
            f"rename it to <model>_on_MMR_V.json to choose one"
        )
    return None


def _guess_style(file: Path, replies: Mapping[str, Reply]) -> tuple[str, tuple[str, ...]]:
    """The original names its files `<model>_on_MMR_V[_cot].json`; else the length of the replies tells."""
    if file.stem.endswith(("_cot", "-cot")):
        return "cot", ()
    if file.stem.endswith("_on_MMR_V"):
        return "zero-shot", ()
    lengths = sorted(len(reply.text) for reply in replies.values() if reply.text)
    if lengths and lengths[len(lengths) // 2] > _REASONED:
        return "cot", (
            "most replies reason before they answer: style taken to be cot (--style says otherwise)",
        )
    return "zero-shot", ()


def _list_entries(items: Sequence[tuple[str, Item]], field: str) -> list[Entry]:
    entries: list[Entry] = []
    for where, item in items:
        if item.get(field) is None:
            raise DataError(f"{where}: no {field}")
        entries.append((where, format_id(item[field]), item))
    return entries


def _check_ids(file: Path, entries: Sequence[Entry], samples: Sequence[Sample]) -> None:
    """Refuse ids that stand twice or that the data do not have, with their number and the first of them."""
    first: dict[str, str] = {}
    repeated: list[tuple[str, str]] = []
    for where, name, _ in entries:
        if name in first:
            repeated.append((name, where))
        first.setdefault(name, where)
    if repeated:
        name, where = repeated[0]
        raise DataError(
            f"{file}: {len(repeated)} ids stand more than once; the first is {name} "
            f"({first[name].removeprefix(f'{file}, ')} and {where.removeprefix(f'{file}, ')})"
        )
    known_ids = {sample.id for sample in samples}
    unknown_ids = [name for name in first if name not in known_ids]
    if unknown_ids:
        raise DataError(
            f"{file}: {len(unknown_ids)} of {len(first)} ids are none of the {len(known_ids)} questions of the data, "
            f"the first is {unknown_ids[0]}"
        )


def _build_reply(item: Item, model: str | None) -> Reply:
    text = item.get(model + RAW if model is not None else "response")
    if text is None:
        return Reply(status="error", error="the file holds no reply", model=model or "")
    if not isinstance(text, str) or text == FAILED:
        return Reply(status="error", error="the file notes a reply that was no text", model=model or "")
    return Reply(text=text, model=model or "")


def _get_stored(item: Item, model: str | None) -> dict[str, Any]:
    answer = item.get(model + ANSWER) if model is not None else None
    if isinstance(answer, Mapping) and isinstance(answer.get("final_answer"), str):
        return {FINAL: answer["final_answer"]}
    return {}


def _build_notes(
    file: Path,
    entries: Sequence[Entry],
    samples: Sequence[Sample],
    replies: Mapping[str, Reply],
    stored: Mapping[str, dict[str, Any]],
    own_questions: bool,
) -> list[str]:
    notes: list[str] = []
    if own_questions:
        notes.append("the file has no question_idx: its own questions are used, and their place is their id")
    answered = {name for _, name, _ in entries}
    unanswered = [sample.id for sample in samples if sample.id not in answered]
    if unanswered:
        notes.append(
            f"{file.name}: {len(unanswered)} of {len(samples)} questions have no reply; "
            f"the first is {unanswered[0]}"
        )
    failed = [name for name, reply in replies.items() if reply.status == "error"]
    if failed:
        notes.append(
            f"{len(failed)} replies are missing or failed and count as errors; the first is {failed[0]}"
        )
    empty = [name for name, reply in replies.items() if reply.status == "ok" and not reply.text.strip()]
    if empty:
        notes.append(
            f"{len(empty)} replies are empty and count as unparsed (the original also stores an empty text "
            f"after a failed request); the first is {empty[0]}"
        )
    differing = [
        name
        for name, extra in stored.items()
        if extra.get(FINAL) and extra[FINAL] != extract_letter(replies[name].text).letter
    ]
    if differing:
        notes.append(
            f"{len(differing)} stored answers differ from what the chain reads in the reply; the paper protocol "
            f"keeps the stored one; the first is {differing[0]}"
        )
    return notes


# ── Export ───────────────────────────────────────────────────────────────────────────────────────


def write_results(run: ScoredRun, out: Path) -> list[Path]:
    """A run as the original's result file, which its table script reads; repeats have a file each."""
    suffix = "_cot" if run.style == "cot" else ""
    stem = run.model.replace("/", "_").replace("\\", "_") or "model"
    repeats = sorted({record.repeat for _, record, _ in run.rows if record is not None} or {0})
    out.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for repeat in repeats:
        items = [
            _build_item(sample, record, score, run.model)
            for sample, record, score in run.rows
            if record is None or record.repeat == repeat
        ]
        number = f".{repeat}" if repeat else ""
        path = out / f"{stem}_on_MMR_V{suffix}{number}.json"
        write_atomic(path, msgspec.json.format(msgspec.json.encode(items), indent=4) + b"\n")
        paths.append(path)
    return paths


def _build_item(sample: Sample, record: Record | None, score: Score, model: str) -> dict[str, Any]:
    """One entry of the file; an answer that never came is null, which is read back as an error."""
    reply = record.reply.text if record is not None and score.status in ("scored", "unparsed") else None
    native = sample.extra.get("native", {})
    number = int(sample.id) if sample.id.isdecimal() else sample.id
    item: dict[str, Any] = {
        "video": sample.cluster,
        "videoType": native.get("videoType", sample.facets.get("type", "")),
        "question": sample.question[0].text if hasattr(sample.question[0], "text") else "",
        "options": [f"({option.name}) {option.text}" for option in sample.options],
        "correctAnswer": native.get("correctAnswer", f"({sample.extra.get('gold', '')})"),
        "abilityType_L2": native.get("abilityType_L2", sample.facets.get("l2", "")),
        "abilityType_L3": native.get("abilityType_L3", sample.facets.get("l3", "")),
        "question_idx": number,
        f"{model}{RAW}": reply,
    }
    if score.answer:
        item[f"{model}{ANSWER}"] = {"final_answer": score.answer}
    return item
