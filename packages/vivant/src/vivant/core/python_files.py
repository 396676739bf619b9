"""A user's own Python file as a module, and where in it an exception arose."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from vivant.core.errors import UsageError


def load_python_file(path: Path, label: str) -> ModuleType:
    """Execute a Python file and return its module.

    Args:
        path: The file.
        label: What an error message calls it: `Model file`.
    """
    name = f"vivant_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{label} {path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Compiled anew: a kept bytecode counts for a file that is changed to one of its size within the second.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except Exception as error:
        line = find_line(error, str(path))
        location = f", line {line}," if line else ""
        raise UsageError(
            f"{label} {path}{location} fails to load: {type(error).__name__}: {error}"
        ) from error
    return module


def digest_code(path: Path) -> str:
    """What tells a user's file from the same file after a change. What it imports is not looked at."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def find_line(error: BaseException, file: str) -> int | None:
    """The line of a file at which an exception arose; None where it never passed there."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None
