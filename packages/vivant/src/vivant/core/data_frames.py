"""The libraries of data frames, which only some users have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vivant.core.errors import VivantError

_INSTALL = {"pandas": "pip install pandas", "polars": "pip install 'vivant[parquet]'"}


class MissingLibraryError(VivantError, ImportError):
    """A library that only some users need is not installed."""


def require_library(name: str) -> Any:
    """Import a library for data frames, or say how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(f"This needs {name}, which is not installed: {_INSTALL[name]}") from error
