"""Vivant evaluates multimodal models on images, video and long interleaved contexts.

>>> import vivant
>>> run = vivant.evaluate("mime/mcq", "openai/gpt-4o-mini", data=("mini",), limit=20)
>>> vivant.load_run(run.dir.path).scores("strict")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivant.analysis.comparison import compare
    from vivant.engine.evaluation import evaluate
    from vivant.judging.judge_run import JudgeOptions, judge_run
    from vivant.runs.importing import import_predictions
    from vivant.runs.run import Run, load_run

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
    "JudgeOptions": "vivant.judging.judge_run",
    "Run": "vivant.runs.run",
    "compare": "vivant.analysis.comparison",
    "evaluate": "vivant.engine.evaluation",
    "import_predictions": "vivant.runs.importing",
    "judge_run": "vivant.judging.judge_run",
    "load_run": "vivant.runs.run",
}


def __getattr__(name: str) -> Any:
    # Imported late, so that `import vivant` and `vivant --help` stay light.
    if name not in _HOMES:
        raise AttributeError(f"module 'vivant' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
