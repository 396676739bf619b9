"""MMIE: questions and answers in which text and pictures interleave, scored by a judge."""

from __future__ import annotations

from vivant.benchmarks.mmie.benchmark import MMIE

__all__ = ["MMIE"]
