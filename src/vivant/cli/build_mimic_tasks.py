"""`vivant build mimic`: the steps from cleaned data to a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from vivant.build.mimic.settings import Settings
    from vivant.build.mimic.steps import Progress, Step

app = typer.Typer(add_completion=False)

STEPS: dict[str, Callable[[Path, Settings, Progress], Step]] = {}
"""The steps after clean by name, in their order, for `vivant build mimic all`. Each imports its module late."""
