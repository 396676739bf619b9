"""MIME: which action is being mimed? Motion-captured mimes on avatars, and the same actions for real."""

from __future__ import annotations

from vivant.benchmarks.mime.benchmark import Mime

__all__ = ["Mime"]
