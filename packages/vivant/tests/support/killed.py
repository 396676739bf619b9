"""The process that a test kills: forked from one that has everything imported, so that fifty take seconds."""

from __future__ import annotations

import os
from contextlib import redirect_stderr

from vivant.engine.evaluation import evaluate


def run(questions: str, url: str, out: str) -> None:
    """A whole run, unless somebody ends it before."""
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        _evaluate(questions, url, out)


def _evaluate(questions: str, url: str, out: str) -> None:
    evaluate(
        questions,
        "openai/x",
        out=out,
        cache="off",
        concurrency=4,
        base_url=url,
    )
