"""Folders, runs and judgements of MIMIC-Bench for its tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.mimic.pack_builder import PackReport, build_pack
from vivant.benchmarks.mimic.packs import Key, Pack, open_key
from vivant.core.records import Record
from vivant.core.types import Decoding, Reply
from vivant.judging.comment_authors import load_authors
from vivant.runs.directory import RunDir, new_manifest
from vivant.runs.log import LogWriter
from vivant.runs.settings import RunSettings

TASK = "mimic/comment"
CATEGORIES = ("Food", "Pets", "Music", "Sports")


def make_video_line(number: int, **changes: Any) -> dict[str, Any]:
    """A video with seven comments; comment c1 has most likes."""
    fields: dict[str, Any] = {
        "platform": "youtube" if number % 2 else "tiktok",
        "id": f"v{number}",
        "title": f"Title of number {number}",
        "description": f"Description of number {number}",
        "tags": [f"tag{number}", f"mark{number}"],
        "topics": [f"topic {number}"],
        "category": CATEGORIES[number % 4],
        "language": "en",
        "duration": 20.0 * number,
        "comments": [
            {"id": f"c{n}", "text": f"comment {n} on {number}", "likes": 100 - 10 * n} for n in range(1, 8)
        ],
    }
    return {**fields, **changes}


def make_ref(number: int) -> str:
    return f"{'youtube' if number % 2 else 'tiktok'}/v{number}"


def make_item(number: int, task: str = "title", **changes: Any) -> dict[str, Any]:
    """An item of a task about one of four videos; the right option is the second."""
    texts = {
        "title": "Title of number {}",
        "description": "Description of number {}",
        "tag": "#tag{0} #mark{0}",
        "topic": "topic {}",
        "comment-match": "comment 2 on {}",
    }
    others = [other for other in range(4) if other != number]
    sources = [others[0], number, *others[1:]]
    options: list[dict[str, Any]]
    if task == "comment-popularity":
        options = [
            {
                "text": f"comment {n} on {number}",
                "video": make_ref(number),
                "comment": f"c{n}",
                "likes": 100 - 10 * n,
            }
            for n in (3, 1, 2, 5)
        ]
    elif task == "category":
        options = [{"text": CATEGORIES[n], "video": make_ref(n)} for n in sources]
    else:
        options = [{"text": texts[task].format(n), "video": make_ref(n)} for n in sources]
    return {
        "id": f"{task}-{number}",
        "task": task,
        "video": make_ref(number),
        "options": options,
        "key": 1,
        **changes,
    }


def write_lines(path: Path, values: Sequence[Any]) -> Path:
    """JSON lines; bytes are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"".join((v if isinstance(v, bytes) else msgspec.json.encode(v)) + b"\n" for v in values)
    )
    return path


def write_folder(path: Path, videos: Sequence[Any] | None = None, items: Sequence[Any] | None = None) -> Path:
    """Four videos and an item each, unless other lines are given. There are no video files."""
    write_lines(
        path / "videos.jsonl", videos if videos is not None else [make_video_line(n) for n in range(4)]
    )
    write_lines(path / "items.jsonl", items if items is not None else [make_item(n) for n in range(4)])
    return path


def write_comment_run(
    path: Path, model: str, texts: Mapping[str, str | Reply], *, style: str = "zero-shot"
) -> Path:
    """A finished run of mimic/comment with these replies by video."""
    settings = RunSettings(
        tasks=(TASK,),
        model={"model": model},
        style=style,
        data={TASK: "0"},
        decoding=Decoding(temperature=0.8),
    )
    run = RunDir(path)
    run.create(new_manifest(path, model, settings, {TASK: len(texts)}, {TASK: "."}), [])
    with LogWriter(run.log_file) as log:
        for name, text in texts.items():
            reply = Reply(text=text) if isinstance(text, str) else text
            log.append(Record(key=f"{TASK}/{name}", task=TASK, id=name, reply=reply))
    return path


def build_small_pack(
    path: Path, seed: int = 0, models: int = 2, **options: Any
) -> tuple[Pack, Key, PackReport]:
    """A pack of two models over four videos, with its key."""
    root = write_folder(path / "data") if not (path / "data").exists() else path / "data"
    runs = []
    for n in range(models):
        run_path = path / f"run{n}"
        if not run_path.exists():
            write_comment_run(run_path, f"model{n}", {make_ref(v): f"model {n} says {v}" for v in range(4)})
        runs.append(run_path)
    packed = build_pack(load_authors(runs), root, path / f"pack{seed}", seed=seed, **options)
    pack = Pack(path / f"pack{seed}")
    return pack, open_key(packed.key_file, pack), packed
