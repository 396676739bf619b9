"""Recordings that Blender reads: FBX files as BVH, converted once and kept by their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from vivant.build.mime.blender.process import find_blender, job_folder, run_blender, time_limit
from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.paths import cache_root

_LIMIT = 300.0


def convert_fbx(file: Path, out: Path | None = None) -> Path:
    """An FBX file's motion as a BVH file: `out`, or one below the cache that is made once."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:24]
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from None
    target = out or cache_root() / "mime" / "motions" / f"{digest}.bvh"
    if out is None and target.is_file():
        return target
    program = find_blender()
    with job_folder() as folder:
        part = folder / "motion.bvh"
        job = {"task": "bvh", "file": str(file.resolve()), "out": str(part)}
        run_blender(program, job, folder, limit=time_limit(_LIMIT), name=str(file))
        try:
            content = part.read_bytes()
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, content, durable=False)
        except OSError as error:
            raise DataError(f"{target} cannot be written: {error.strerror}") from None
    return target
