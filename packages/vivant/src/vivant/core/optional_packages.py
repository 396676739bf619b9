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


_OTHER_NAMES = {
    "huggingface-hub": "huggingface_hub",
    "markdown-it-py": "markdown_it",
    "mlflow-skinny": "mlflow",
    "pyspellchecker": "spellchecker",
}
"""Distributions whose module has another name."""


def find_extra(module: str) -> str | None:
    """Return the extra of Vivant that installs a module; None if no extra does."""
    extras: dict[str, list[str]] = {}
    for line in _list_requirements("vivant"):
        if extra := re.search(r"extra == ['\"]([\w-]+)['\"]", line):
            name = _get_name(line)
            # An extra that is a package of ours brings what that package needs.
            needed = _list_requirements(name) if name == f"vivant-{extra[1]}" else ()
            names = [name, *(_get_name(each) for each in needed if "extra ==" not in each)]
            modules = [_OTHER_NAMES.get(each, each.replace("-", "_")) for each in names if each != "vivant"]
            extras.setdefault(extra[1], []).extend(modules)
    root = module.partition(".")[0]
    fitting = [extra for extra, modules in extras.items() if root in modules]
    # Of two that bring torch, the one for language models is meant.
    return min(fitting, key=lambda extra: (extra == "diffusers", len(extras[extra])), default=None)


def describe_missing(error: ModuleNotFoundError) -> str:
    """Return what is missing and the extra that brings it; empty if no extra does."""
    name = (error.name or "").partition(".")[0]
    extra = find_extra(name)
    return f"needs the package '{name}'. Install it with: pip install 'vivant[{extra}]'" if extra else ""


def _list_requirements(package: str) -> list[str]:
    """Return the dependencies of an installed package, with their conditions."""
    try:
        return requires(package) or []
    except PackageNotFoundError:
        return []


def _get_name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0]
