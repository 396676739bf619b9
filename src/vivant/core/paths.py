"""Where Vivant keeps what it fetched or made and could fetch or make again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """The folder of caches and fetched models: `VIVANT_CACHE`, or `~/.cache/vivant`. May not exist yet."""
    named = os.environ.get("VIVANT_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "vivant"
