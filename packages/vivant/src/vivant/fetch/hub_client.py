"""The hub's client as it is used here: under the project's name, and with xet where it has it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from vivant.fetch.retrying import is_passing

LIBRARY = "vivant"
_LOOK = 1.0
"""Seconds between two looks at how much has arrived."""

logger = logging.getLogger("vivant")


def find_version() -> str:
    """The installed version of Vivant."""
    try:
        return version(LIBRARY)
    except PackageNotFoundError:
        return "0"


def create_api() -> Any:
    """The hub's interface; requests name this project as their agent."""
    from huggingface_hub import HfApi

    return HfApi(library_name=LIBRARY, library_version=find_version())


def build_headers() -> dict[str, str]:
    """The headers of a download: agent, and the user's token where there is one."""
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # documented, yet not in `__all__`

    headers: dict[str, str] = build_hf_headers(library_name=LIBRARY, library_version=find_version())
    return headers


def fetch_with_xet(url: str, path: Path, size: int, progress: Callable[[int], None]) -> bool:
    """Fetch a file into `path` through the hub's chunk store; False where it or the client does not offer that.

    Chunks that another file or an earlier try brought are not fetched again, which the client sees to itself.
    """
    try:
        from huggingface_hub import constants
        from huggingface_hub.file_download import get_hf_file_metadata, xet_get
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]
        from huggingface_hub.utils._runtime import is_xet_available
    except ImportError:
        return False
    if constants.HF_HUB_DISABLE_XET or not is_xet_available():
        return False
    headers = build_headers()
    try:
        stored = getattr(get_hf_file_metadata(url, headers=headers), "xet_file_data", None)
    except Exception as error:
        if not is_passing(error):
            raise
        stored = None
    if stored is None:
        return False
    disable_progress_bars()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK):
            progress(path.stat().st_size if path.exists() else 0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        xet_get(incomplete_path=path, xet_file_data=stored, headers=headers, expected_size=size)
    except Exception as error:  # a hub that cannot be had in this way is asked in the usual one
        logger.info("xet did not bring %s (%s); fetching it over HTTP.", path.name, type(error).__name__)
        path.unlink(missing_ok=True)
        return False
    finally:
        done.set()
        watcher.join()
    return path.exists() and path.stat().st_size == size
