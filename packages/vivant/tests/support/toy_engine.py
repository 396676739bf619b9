"""An engine without a model, for workers in tests: it answers with what it was given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vivant.core.types import Reply, Request
from vivant.models.base import ModelError


class Engine:
    """Each reply says how many requests came in its batch, and on which accelerator."""

    def __init__(self, settings: Mapping[str, Any], accelerator: int) -> None:
        print("libraries like to talk")
        if settings.get("broken"):
            raise ModelError("no such checkpoint")
        if settings.get("crash"):
            print("CUDA error: something", file=sys.stderr)
            os._exit(3)
        if settings.get("child"):
            child = subprocess.Popen(["sleep", "600"])
            Path(settings["child"]).write_text(str(child.pid))
        self.accelerators = int(settings.get("accelerators", 0))
        self._accelerator = accelerator

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        texts = [request.text for request in requests]
        if any("die" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        if any("bad" in text for text in texts):
            raise ValueError("a bad\nrequest")
        return [Reply(text=f"{len(requests)} on {self._accelerator}: {text}") for text in texts]

    def loglikelihood(self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]) -> list[Reply]:
        return [
            Reply(likelihoods=tuple(-float(len(answer)) for answer in options))
            for _, options in zip(requests, answers, strict=True)
        ]
