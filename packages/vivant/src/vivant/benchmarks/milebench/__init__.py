"""MileBench: long contexts with many images, in 29 datasets of twelve groups."""

from __future__ import annotations

from vivant.benchmarks.milebench.benchmark import MileBench

__all__ = ["MileBench"]
