"""Small MIME editions and result files for tests, and the way from an import to a scored run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vivant.benchmarks.base import Imported, Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.mime import Mime
from vivant.benchmarks.mime.names import VARIANTS
from vivant.core.types import Sample

MIME = Mime()
LABELS = {
    "Archery001": ("j", "shooting arrow"),
    "Soccer003": ("j", "soccer shot"),
    "Fishing001": ("j", "fishing"),
    "Violin002": ("j", "playing violin"),
    "WatchingTV01": ("n", "controlling remote|watching tv"),
}
_AVATARS = {"base": "man", "adversarial": "spacesuit", "woman": "woman"}


def make_row(action: str, variant: str = "base+blank@0", **changes: Any) -> dict[str, Any]:
    """One row of metadata, as the released files have it."""
    actor, label = LABELS[action]
    if variant == "none":
        name = f"real_{action}.mp4"
        avatar = angle = background = scene = "n/a"
    else:
        role, _, rest = variant.partition("+")
        background, _, angle = rest.partition("@")
        avatar = _AVATARS[role]
        scene = {"blank": "blank", "aligned": "gym", "misaligned": "living_room"}[background]
        name = f"{avatar}_{actor}_{action}_angle{angle}_{scene}.mp4"
    fields = {
        "action": action,
        "angle": angle,
        "avatar": avatar,
        "background_config": background,
        "background_name": scene,
        "distractors": "arm curls|playing drums|tennis serve",
        "label": label,
        "sample_id": f"id-{name.removesuffix('.mp4')}",
        "s3_url": f"https://example.org/{name}",
        "type": "REAL" if variant == "none" else "MIME",
        "split": "test",
        "file_name": name,
        "config_name": variant,
    }
    return {key: value for key, value in (fields | changes).items() if value is not None}


def make_edition(actions: Sequence[str] = tuple(LABELS), real: bool = True) -> list[dict[str, Any]]:
    """All variants of some actions, in the released order, and REAL after them."""
    ordered = sorted(actions, key=lambda action: (LABELS[action][0], action))
    rows = [make_row(action, variant) for action in ordered for variant in VARIANTS]
    return rows + [make_row(action, "none") for action in reversed(ordered)] * real


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in rows))
    return path


def write_json(path: Path, value: Any) -> Path:
    """One JSON value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def load_samples(folder: Path, task: str, rows: Sequence[Mapping[str, Any]] | None = None) -> list[Sample]:
    """The samples of a small edition."""
    write_lines(folder / "mime_data_legacy.jsonl", make_edition() if rows is None else rows)
    return MIME.load(folder, task)


def spell_out_name(name: str) -> str:
    """A video's name as result files spell it."""
    return name.replace("_j_", "_Justin_").replace("_n_", "_Natali_").removeprefix("real_")


def make_raw_choice(sample: Sample, answer: str = "A", key: int = 0, **changes: Any) -> dict[str, Any]:
    """An item of a raw multiple-choice file, with options of its own."""
    options: list[Any] = ["playing harp", "bowling", "boxing uppercut"]
    options.insert(key, sample.answers[0])
    return {
        "instance_id": 0,
        "model_answer": answer,
        "correct_answer": "ABCD"[key],
        "is_correct": answer == "ABCD"[key],
        "video_path": spell_out_name(sample.extra["file_name"]),
        "options": options,
    } | changes


def make_raw_free(sample: Sample, text: str, **changes: Any) -> dict[str, Any]:
    """An item of a raw free-form file."""
    return {
        "instance_id": 0,
        "output_text": text,
        "video_path": spell_out_name(sample.extra["file_name"]),
        "action": list(sample.answers),
    } | changes


def read_import(file: Path, data: Sequence[Sample], task: str) -> Imported:
    """An import that must be one."""
    imported = MIME.native.read_predictions(file, data, task)
    assert imported is not None
    return imported


def score_import(
    imported: Imported, protocol: Protocol = "paper", run: str = "run", **values: Any
) -> ScoredRun:
    """An import with its scores, as tables take it."""
    by_id = {sample.id: sample for sample in imported.samples}
    items = [(by_id[record.id], record) for record in imported.records]
    settings = ScoreSettings(protocol=protocol, style=imported.style, values=values)
    scores = MIME.score(items, settings)
    return ScoredRun(
        run=run,
        model=imported.model,
        style=imported.style,
        task=imported.task,
        protocol=protocol,
        rows=tuple((sample, record, score) for (sample, record), score in zip(items, scores, strict=True)),
        settings=values,
    )
