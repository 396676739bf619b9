"""Blender in a process of its own: finding it, giving it a job, waiting no longer than is sensible."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, UsageError, VivantError
from vivant.core.paths import cache_root

PINNED = "4.5.15"
"""The version of bpy that is installed."""
OLDEST, NEWEST = (4, 2), (5, 0)
"""Versions that are known to work: from the first on, below the second."""
VARIABLE = "VIVANT_BLENDER"
_SCRIPT = Path(__file__).with_name("script.py")
_HELLO = 120.0
"""Seconds within which Blender should say which version it is."""
_POLL = 0.05


class BlenderError(VivantError):
    """Blender is missing, of another version, hangs, or failed: in one line."""


class BlenderProgram(Struct, frozen=True):
    """A Blender that works."""

    command: tuple[str, ...]
    version: str


def environment_folder() -> Path:
    """Where `vivant build mime setup-blender` puts it."""
    return cache_root() / "blender" / f"bpy-{PINNED}"


def environment_python(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _candidates() -> list[tuple[str, str]]:
    """Programs to try, each with where it comes from."""
    program = os.environ.get(VARIABLE)
    if program:
        return [(program, f"{VARIABLE}={program}")]
    candidates = []
    installed = environment_python(environment_folder())
    if installed.exists():
        candidates.append((str(installed), str(installed)))
    on_path = shutil.which("blender")
    if on_path:
        candidates.append((on_path, on_path))
    return candidates


def find_blender() -> BlenderProgram:
    """Blender by `VIVANT_BLENDER` (a Blender, or a Python with bpy), as set up here, or on the path."""
    candidates = _candidates()
    if not candidates:
        raise BlenderError(
            "Blender is not there; run `vivant build mime setup-blender` (1 GB), put `blender` on the path, or "
            f"name one in {VARIABLE}"
        )
    faults = []
    for program, origin in candidates:
        try:
            return _check_program(program, origin)
        except BlenderError as error:
            faults.append(str(error))
    raise BlenderError("; ".join(faults))


@lru_cache(maxsize=8)
def _check_program(program: str, origin: str) -> BlenderProgram:
    if shutil.which(program) is None:
        raise BlenderError(f"{origin} is no program that can be run")
    command = _command(program)
    with job_folder() as folder:
        answer = run_blender(
            BlenderProgram(command, "?"), {"task": "hello"}, folder, limit=_HELLO, name=origin
        )
    version = tuple(answer["version"])
    text = ".".join(map(str, version))
    if not OLDEST <= version < NEWEST:
        wanted = f"{OLDEST[0]}.{OLDEST[1]} or later and below {NEWEST[0]}.{NEWEST[1]}"
        raise BlenderError(
            f"{origin} is Blender {text}; {wanted} is needed: run `vivant build mime setup-blender`"
        )
    return BlenderProgram(command, text)


def _command(program: str) -> tuple[str, ...]:
    if Path(program).name.lower().startswith("python"):
        return (program, "-E", "-s", str(_SCRIPT))
    start = ("--background", "--factory-startup", "--disable-autoexec", "--python", str(_SCRIPT), "--")
    return (program, *start)


@contextmanager
def job_folder() -> Iterator[Path]:
    """A folder for one job, gone when it ends."""
    with tempfile.TemporaryDirectory(prefix="vivant-blender-") as folder:
        yield Path(folder)


@contextmanager
def start_blender(
    program: BlenderProgram, job: Mapping[str, Any], folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Blender at work on a job; it does not outlive this block."""
    file = folder / "job.json"
    file.write_bytes(msgspec.json.encode(job))
    # Its Python must not find our packages, nor ours its.
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [*program.command, str(file)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=surroundings,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            # It and whatever it started.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_blender(
    program: BlenderProgram, job: Mapping[str, Any], folder: Path, *, limit: float, name: str
) -> dict[str, Any]:
    """Give Blender a job and return its answer. `name` is what a failure is about."""
    with start_blender(program, job, folder) as process:
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            raise BlenderError(f"{name}: Blender gave no answer within {limit:g} s and was ended") from None
    return read_answer(folder, name, process.returncode)


def read_answer(folder: Path, name: str, code: int) -> dict[str, Any]:
    """What Blender wrote before it ended; its last words where it wrote nothing."""
    try:
        answer: dict[str, Any] = msgspec.json.decode(
            (folder / "answer.json").read_bytes(), type=dict[str, Any]
        )
    except (OSError, msgspec.DecodeError):
        raise BlenderError(
            f"{name}: Blender ended with code {code} and no answer: {last_words(folder)}"
        ) from None
    if "refused" in answer:
        raise DataError(f"{name}: {answer['refused']}")
    if "error" in answer:
        raise BlenderError(f"{name}: Blender failed: {answer['error']}")
    return answer


def last_words(folder: Path) -> str:
    """The end of Blender's log in one line."""
    try:
        text = (folder / "log.txt").read_bytes()[-4000:].decode("utf-8", "replace")
    except OSError:
        return "it left no log"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"


def iter_frames(
    process: subprocess.Popen[bytes], folder: Path, frames: Path, count: int, limit: float, name: str
) -> Iterator[Path]:
    """The frames of a rendering as they are finished; a frame that takes longer than `limit` ends Blender."""
    for number in range(count):
        file = frames / f"{number:06d}.png"
        end = time.monotonic() + limit
        while not file.exists():
            if process.poll() is not None and not file.exists():
                read_answer(folder, name, process.returncode)
                raise BlenderError(f"{name}: Blender drew {number} of {count} frames: {last_words(folder)}")
            if time.monotonic() > end:
                raise BlenderError(
                    f"{name}: frame {number} was not drawn within {limit:g} s; Blender was ended"
                )
            time.sleep(_POLL)
        yield file
        file.unlink()


def time_limit(default: float) -> float:
    """Seconds to wait for Blender's next sign of life: `VIVANT_BLENDER_LIMIT`, or the default."""
    text = os.environ.get("VIVANT_BLENDER_LIMIT")
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"VIVANT_BLENDER_LIMIT is '{text}', which is not a number of seconds") from None
