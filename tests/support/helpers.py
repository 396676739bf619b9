"""Small makers of data that several test files use."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image


def picture(
    path: Path, colour: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (64, 48)
) -> bytes:
    """Write a picture of one colour in the format of the path's suffix and return its bytes."""
    pixels = np.full((size[1], size[0], 3), colour, dtype=np.uint8)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, {".jpg": "JPEG", ".png": "PNG", ".webp": "WEBP"}[path.suffix])
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def questions(folder: Path, count: int, name: str = "mine.jsonl", pictures: bool = True) -> Path:
    """A file of multiple-choice questions; the right choice is always "right"."""
    lines = []
    for number in range(count):
        line: dict[str, object] = {
            "id": f"q{number:03d}",
            "question": f"Which one, number {number}?",
            "choices": ["right", "wrong", "also wrong", "wrong too"],
            "answer": "right",
            "facets": {"half": "first" if number < count / 2 else "second"},
        }
        if pictures:
            picture(folder / f"{number}.png", (number % 256, 0, 0))
            line["image"] = f"{number}.png"
        lines.append(msgspec.json.encode(line))
    path = folder / name
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@contextmanager
def logged_messages() -> Iterator[list[str]]:
    """What the library logs in the meantime, in every thread."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("vivant")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def vivant(
    *arguments: str | Path, cwd: Path, env: dict[str, str] | None = None, timeout: float = 100
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does, in a process of its own."""
    import os

    return subprocess.run(
        [sys.executable, "-c", "from vivant.cli.main import main; main()", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
