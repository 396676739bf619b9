"""MileBench-mini: one or two small datasets for each of the twelve groups, drawn, in the native layout."""

from __future__ import annotations

from pathlib import Path

from minis.milebench import retrieval as mini_milebench_retrieval
from minis.milebench import semantic as mini_milebench_semantic
from minis.milebench import temporal as mini_milebench_temporal
from minis.milebench.dataset import SEED
from vivant.core.errors import UsageError
from vivant_build.needles import build_needles


def build_mini_milebench(out: Path) -> Path:
    """Write the mini-edition into an empty folder; the same files every time."""
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty; choose another folder")
    mini_milebench_temporal.build(out)
    mini_milebench_semantic.build(out)
    mini_milebench_retrieval.build(out)
    build_needles(out, kind="text", depths=(0, 3, 6, 9), lengths=(250, 500, 1000, 1500), seed=SEED)
    build_needles(out, kind="image", depths=(0, 3, 6, 9), lengths=(4, 12, 20, 34), seed=SEED)
    return out
