"""Packages that only some users need: an extra installs them, and what needs one says so in one line."""

from __future__ import annotations

import importlib.util
import re
from importlib.metadata import PackageNotFoundError, requires

from vivant.core.errors import UsageError


def require_package(module: str, extra: str, feature: str) -> None:
    """Check that an optional dependency is installed, without importing it.

    Args:
        module: The module that the package brings.
        extra: The extra of Vivant that installs it; empty if none does.
        feature: What needs it, as the start of a sentence.
    """
    if importlib.util.find_spec(module) is None:
        name = f"'vivant[{extra}]'" if extra else module
        raise UsageError(f"{feature} needs the package '{module}': pip install {name}")


_OTHER_NAMES = {"mlflow-skinny": "mlflow", "huggingface-hub": "huggingface_hub"}
"""Distributions whose module has another name."""


def find_extra(module: str) -> str | None:
    """Return the extra of Vivant that installs a module; None if no extra does."""
    try:
        lines = requires("vivant") or []
    except PackageNotFoundError:
        return None
    extras: dict[str, list[str]] = {}
    for line in lines:
        name, extra = re.match(r"[\w.-]+", line), re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name and extra:
            extras.setdefault(extra[1], []).append(_OTHER_NAMES.get(name[0], name[0].replace("-", "_")))
    root = module.partition(".")[0]
    fitting = [extra for extra, modules in extras.items() if root in modules]
    # Of two that bring torch, the one for language models is meant.
    return min(fitting, key=lambda extra: (extra == "diffusers", len(extras[extra])), default=None)
