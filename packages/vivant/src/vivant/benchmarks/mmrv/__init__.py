"""MMR-V: multiple choice about long videos that must be understood as a whole."""

from __future__ import annotations

from vivant.benchmarks.mmrv.benchmark import MMRV

__all__ = ["MMRV"]
