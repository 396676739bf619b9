"""Small makers of data that several test files use."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import msgspec
import numpy as np
import pytest
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
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, and return what a process of its own would have.

    A process a command costs a second. `vivant_process` starts one, for tests of processes.
    """
    from vivant.cli.main import main

    words = ["vivant", *map(str, arguments)]
    out, errors = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    logger = logging.getLogger("vivant")
    kept = (logger.handlers[:], logger.level, logger.propagate)
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "stdin", StringIO())
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        logger.handlers, logger.propagate = [], True
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        except BaseException:
            traceback.print_exc(file=errors)
            code = 1
        finally:
            logger.handlers, logger.level, logger.propagate = kept
            logger.setLevel(kept[1])
    return subprocess.CompletedProcess(
        words, code if isinstance(code, int) else 0 if code is None else 1, *map(_read, (out, errors))
    )


def _read(stream: TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def vivant_process(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from vivant.cli.main import main; main()", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
