"""What `import vivant` offers: evaluate models, load and compare runs, judge answers, import predictions.

Messages go to the logger `vivant`: `logging.basicConfig(level="INFO")` shows them.
"""

from __future__ import annotations

from vivant.analysis.comparison import compare
from vivant.core.errors import VivantError
from vivant.core.types import Decoding, FramePolicy
from vivant.engine.evaluation import evaluate
from vivant.engine.retry import RetryPolicy
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.models.base import ModelOptions
from vivant.runs.importing import import_predictions
from vivant.runs.run import Run, load_run

__all__ = [
    "Decoding",
    "FramePolicy",
    "JudgeOptions",
    "ModelOptions",
    "RetryPolicy",
    "Run",
    "VivantError",
    "compare",
    "evaluate",
    "import_predictions",
    "judge_run",
    "load_run",
]
