"""Replies by rule, from a file: for trying out how a run deals with refusals, failures and odd answers.

A YAML list; of the rules that fit a request, the first one answers.

    - {key: jsonl/mine/q001, text: A}           # this sample
    - {contains: "number 3?", status: refused, error: not today}
    - {contains: "number 4?", fail: 2, text: B}   # the first two tries fail, as if the server were overloaded
    - {text: "The answer is C.", delay: 0.1}      # everything else
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.core.errors import DataError, UsageError
from vivant.core.types import Reply, ReplyStatus, Request
from vivant.models.base import Capabilities, Model, ModelOptions, TransientError


class ReplyRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to reply to which request."""

    key: str = ""
    contains: str = ""
    text: str = ""
    thinking: str = ""
    status: ReplyStatus = "ok"
    error: str = ""
    fail: int = 0
    delay: float = 0.0


class ScriptedModel(Model):
    """Answers from a file of rules; a request that none fits is an error."""

    cacheable = False
    capabilities = Capabilities(images=False)

    def __init__(self, path: Path) -> None:
        from vivant.core.yaml_files import read_yaml

        try:
            self._rules = read_yaml(path, list[ReplyRule])
        except DataError as error:
            raise UsageError(f"{error} (a script is a list of rules)") from error
        self.name = f"scripted/{path.stem}"
        self._digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        self._tries: Counter[str] = Counter()

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": self.name, "script": self._digest}

    async def generate(self, request: Request) -> Reply:
        self._tries[request.key] += 1
        for rule in self._rules:
            if (rule.key and rule.key != request.key) or rule.contains not in request.text:
                continue
            if rule.delay:
                await asyncio.sleep(rule.delay)
            if self._tries[request.key] <= rule.fail:
                raise TransientError("told to fail", retry_after=0.0)
            return Reply(status=rule.status, text=rule.text, thinking=rule.thinking, error=rule.error)
        return Reply(status="error", error=f"no rule of {self.name} fits {request.key}")


def create(name: str, options: ModelOptions) -> Model:
    """`--model scripted/FILE.yaml`."""
    options.resolve()
    if not name:
        raise UsageError("Name the file of rules: scripted/FILE.yaml")
    return ScriptedModel(Path(name).expanduser())
