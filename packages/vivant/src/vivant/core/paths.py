"""Where Vivant keeps what it fetched or made and could make again, and where a user's own settings are."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """The folder of caches and fetched models: `VIVANT_CACHE`, or `~/.cache/vivant`. May not exist yet."""
    named = os.environ.get("VIVANT_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "vivant"


def config_root() -> Path:
    """The folder of a user's own settings: `$XDG_CONFIG_HOME/vivant`, or `~/.config/vivant`. May not exist yet."""
    named = os.environ.get("XDG_CONFIG_HOME")
    return (Path(named).expanduser() if named else Path.home() / ".config") / "vivant"
