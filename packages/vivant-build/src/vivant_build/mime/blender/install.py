"""Installing Blender as a Python module, in an environment of its own."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from pathlib import Path

from vivant_build.mime.blender.process import (
    PINNED,
    BlenderError,
    environment_folder,
    environment_python,
    find_blender,
)

logger = logging.getLogger("vivant")
_MEGABYTES = 950
_SPARE = 400
"""The download beside what it becomes."""
_PYTHON = (3, 11)
"""The one that this bpy is built for."""


def install(*, again: bool = False) -> str:
    """Make the environment, or find what is there; returns a sentence on what can be used."""
    folder = environment_folder()
    if not again:
        try:
            program = find_blender()
        except BlenderError:
            pass  # none that works: that is why we are here
        else:
            return f"Blender {program.version} is there already: {program.command[0]}. --again installs anew."
    _check_room(folder)
    logger.info("bpy %s from the package index: about %d MB on disk, into %s", PINNED, _MEGABYTES, folder)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _call([_python(), "-m", "venv", str(folder)], "the environment cannot be made")
        command = [str(environment_python(folder)), "-m", "pip", "install", "--quiet", f"bpy=={PINNED}"]
        _call(command, f"bpy {PINNED} cannot be installed")
        program = find_blender()
    except (BlenderError, OSError) as error:
        # Half an environment would be found and fail later.
        shutil.rmtree(folder, ignore_errors=True)
        raise BlenderError(str(error)) from None
    return f"Blender {program.version} is ready: {program.command[0]}"


def _python() -> str:
    """A Python of the version that bpy is built for: this one, or one on the path."""
    if sys.version_info[:2] == _PYTHON:
        return sys.executable
    name = f"python{_PYTHON[0]}.{_PYTHON[1]}"
    other = shutil.which(name)
    if other is None:
        raise BlenderError(
            f"bpy {PINNED} needs {name}, which is not on the path; install it, or put `blender` on the path"
        )
    return other


def _check_room(folder: Path) -> None:
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free / 1e6
    if free < _MEGABYTES + _SPARE:
        raise BlenderError(
            f"{existing} has {free:,.0f} MB free and Blender needs {_MEGABYTES + _SPARE:,}; make room, or name "
            "another place in VIVANT_CACHE"
        )


def _call(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise BlenderError(f"{what}: {lines[-1].strip()[:300] if lines else 'no reason given'}")
