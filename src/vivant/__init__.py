"""Vivant evaluates multimodal models on images, video and long interleaved contexts.

>>> import vivant
>>> run = vivant.evaluate("mime/mcq", "openai/gpt-4o-mini", data=("mini",), limit=20)
>>> vivant.load_run(run.dir.path).scores("strict")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivant.evaluation import evaluate
    from vivant.imports import import_predictions
    from vivant.runs import Run, load_run
    from vivant.scoring.compare import compare
    from vivant.scoring.judge.judging import JudgeOptions, judge_run

__version__ = "0.1.0"
__all__ = [
    "JudgeOptions",
    "Run",
    "__version__",
    "compare",
    "evaluate",
    "import_predictions",
    "judge_run",
    "load_run",
]

_HOMES = {
    "JudgeOptions": "vivant.scoring.judge.judging",
    "Run": "vivant.runs",
    "compare": "vivant.scoring.compare",
    "evaluate": "vivant.evaluation",
    "import_predictions": "vivant.imports",
    "judge_run": "vivant.scoring.judge.judging",
    "load_run": "vivant.runs",
}


def __getattr__(name: str) -> Any:
    # Imported late, so that `import vivant` and `vivant --help` stay light.
    if name not in _HOMES:
        raise AttributeError(f"module 'vivant' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
