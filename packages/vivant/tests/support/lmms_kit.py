"""Small datasets in the published layouts of benchmarks that lmms-eval has tasks for. The questions are our own."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.support.media_kit import make_video


def draw(number: int, form: str = "JPEG", mode: str = "RGB", size: tuple[int, int] = (48, 32)) -> Image.Image:
    """A picture that no other number gives, opened from encoded bytes."""
    pixels = np.random.default_rng(number).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(buffer, form)
    return Image.open(io.BytesIO(buffer.getvalue()))


def _save(
    folder: Path, split: str, rows: list[dict[str, Any]], pictures: dict[str, Any] | None = None
) -> Path:
    import datasets

    table = datasets.Dataset.from_list(rows)
    for name, feature in (pictures or {}).items():
        table = table.cast_column(name, feature)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_parquet(str(folder / f"{split}-00000-of-00001.parquet"))
    return folder


def encode(picture: Image.Image, form: str = "JPEG") -> dict[str, Any]:
    """As a picture column holds it."""
    buffer = io.BytesIO()
    picture.save(buffer, form)
    return {"bytes": buffer.getvalue(), "path": None}


def write_mmmu(folder: Path, count: int = 12) -> Path:
    """Multiple choice with one or two pictures in the text, and every fourth question open."""
    import datasets

    rows = []
    for number in range(count):
        is_open = number % 4 == 3
        row: dict[str, Any] = {
            "id": f"validation_{['Art', 'Math'][number % 2]}_{number}",
            "question": f"Look at <image 1>{' and <image 2>' if number % 3 == 0 else ''}. What is item {number}?",
            "options": "[]" if is_open else str([f"cup {number}", f"pot {number}", f"jar {number}"]),
            "explanation": "",
            "img_type": "['Photographs']",
            "answer": f"{number}" if is_open else "ABC"[number % 3],
            "topic_difficulty": ["Easy", "Medium", "Hard"][number % 3],
            "question_type": "open" if is_open else "multiple-choice",
            "subfield": "Pottery",
        }
        for place in range(1, 8):
            shown = place == 1 or (place == 2 and number % 3 == 0)
            form, mode = ("PNG", "RGBA") if number == 1 else ("JPEG", "RGB")
            row[f"image_{place}"] = encode(draw(10 * number + place, form, mode), form) if shown else None
        rows.append(row)
    images = {f"image_{place}": datasets.Image() for place in range(1, 8)}
    return _save(folder, "validation", rows, images)


def write_ai2d(folder: Path, count: int = 9) -> Path:
    """The key is the place of the right option, as a text."""
    import datasets

    rows = [
        {
            "question": f"Which part is number {number}?",
            "options": ["leaf", "stem", "root", "seed"],
            "answer": str(number % 4),
            "image": encode(draw(number, "PNG"), "PNG"),
        }
        for number in range(count)
    ]
    return _save(folder, "test", rows, {"image": datasets.Image()})


def write_chartqa(folder: Path, count: int = 8) -> Path:
    """Numbers, within a tolerance."""
    import datasets

    rows = [
        {
            "type": "human_test" if number % 2 else "augmented_test",
            "question": f"How high is bar {number}?",
            "answer": str(100 + number) if number % 3 else f"{number}%",
            "image": encode(draw(number, "PNG"), "PNG"),
        }
        for number in range(count)
    ]
    return _save(folder, "test", rows, {"image": datasets.Image()})


def write_muirbench(folder: Path, count: int = 6) -> Path:
    """Several pictures a question."""
    import datasets

    rows = [
        {
            "idx": str(number),
            "task": ["Counting", "Ordering"][number % 2],
            "image_relation": "Complementary",
            "image_type": "Photo",
            "question": "<image>Which differs from <image>?",
            "options": ["the first", "the second", "neither"],
            "answer": "ABC"[number % 3],
            "image_list": [encode(draw(2 * number)), encode(draw(2 * number + 1))],
            "counterpart_idx": "",
        }
        for number in range(count)
    ]
    return _save(folder, "test", rows, {"image_list": datasets.Sequence(datasets.Image())})


def write_tempcompass(folder: Path, home: Path, count: int = 6, missing: int = 0) -> Path:
    """Videos in the hub's folder, where lmms-eval unpacks them; the last `missing` are not there."""
    rows = [
        {
            "video_id": f"{1000 + number // 2}",
            "question": f"Which way does it go, {number}?\nA. up\nB. down",
            "answer": f"{'AB'[number % 2]}. {['up', 'down'][number % 2]}",
            "dim": ["direction", "speed"][number % 2],
        }
        for number in range(count)
    ]
    names = list(dict.fromkeys(row["video_id"] for row in rows))
    for name in names[: len(names) - missing]:
        path = home / "tempcompass" / "videos" / f"{name}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        make_video(path, 8)
    (home / "tempcompass" / "videos").mkdir(parents=True, exist_ok=True)
    return _save(folder / "multi-choice", "test", rows)
