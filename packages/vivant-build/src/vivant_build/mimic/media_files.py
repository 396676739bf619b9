"""Video files from the media root into a folder of ours: linked where the disk allows, else copied."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from vivant.core.errors import MediaError
from vivant.media.paths import resolve_media
from vivant_build.mimic.ingestion import media_root


def find_media(work: Path, media: str) -> Path | None:
    """A video's file, if the data came with one and it is there. A path that leaves the media root is none."""
    root = media_root(work)
    if not media or root is None:
        return None
    try:
        return Path(resolve_media(root, media))
    except MediaError:
        return None


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file there, sharing its bytes where possible."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:  # another disk, or one without links
        shutil.copyfile(source, target)
