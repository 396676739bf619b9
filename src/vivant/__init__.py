"""Vivant evaluates multimodal models on images, video and long interleaved contexts.

>>> import vivant
>>> run = vivant.evaluate("mime/mcq", "openai/gpt-4o-mini", data="mini", limit=20)
>>> vivant.load_run(run.dir.path).scores("strict")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivant.api import (
        Decoding,
        FramePolicy,
        JudgeOptions,
        ModelOptions,
        RetryPolicy,
        Run,
        VivantError,
        compare,
        evaluate,
        import_predictions,
        judge_run,
        load_run,
    )

__version__ = "0.1.0"
__all__ = [
    "Decoding",
    "FramePolicy",
    "JudgeOptions",
    "ModelOptions",
    "RetryPolicy",
    "Run",
    "VivantError",
    "__version__",
    "compare",
    "evaluate",
    "import_predictions",
    "judge_run",
    "load_run",
]


def __getattr__(name: str) -> Any:
    # Imported late, so that `import vivant` and `vivant --help` stay light.
    if name not in __all__:
        raise AttributeError(f"module 'vivant' has no attribute '{name}'")
    from vivant import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
