"""MIMIC-Bench: seven four-option tasks about user videos, and comments written to pass as human."""

from __future__ import annotations

from vivant.benchmarks.mimic.benchmark import Mimic

__all__ = ["Mimic"]
