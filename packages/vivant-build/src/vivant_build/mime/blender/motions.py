"""Recordings that Blender reads: the animations of FBX files as BVH, converted once and kept by their content."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.paths import cache_root
from vivant_build.mime.blender.process import find_blender, job_folder, run_blender, time_limit

_LIMIT = 300.0
_INDEX = "animations.json"
"""Name of each animation → its file; written last, so that it stands for a whole conversion."""


def convert_fbx(file: Path) -> dict[str, Path]:
    """Each animation of an FBX file as a BVH file below the cache, by name and in the file's order; made once."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:24]
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from None
    target = cache_root() / "mime" / "motions" / digest
    if not (target / _INDEX).is_file():
        program = find_blender()
        with job_folder() as folder:
            job = {"task": "bvh", "file": str(file.resolve()), "out": str(folder)}
            answer = run_blender(program, job, folder, limit=time_limit(_LIMIT), name=str(file))
            try:
                target.mkdir(parents=True, exist_ok=True)
                for part in answer["animations"].values():
                    write_atomic(target / part, (folder / part).read_bytes(), durable=False)
                write_atomic(target / _INDEX, json.dumps(answer["animations"]).encode(), durable=False)
            except OSError as error:
                raise DataError(f"{target} cannot be written: {error.strerror}") from None
    index: dict[str, str] = json.loads((target / _INDEX).read_bytes())
    return {name: target / part for name, part in index.items()}
