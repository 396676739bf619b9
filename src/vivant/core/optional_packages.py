"""Packages that only some users need: an extra installs them, and what needs one says so in one line."""

from __future__ import annotations

import importlib.util

from vivant.core.errors import UsageError


def require_package(module: str, extra: str, feature: str) -> None:
    """Check that an optional dependency is installed, without importing it.

    Args:
        module: The module that the package brings.
        extra: The extra of Vivant that installs it.
        feature: What needs it, as the start of a sentence.
    """
    if importlib.util.find_spec(module) is None:
        raise UsageError(f"{feature} needs the package '{module}': pip install 'vivant[{extra}]'")
