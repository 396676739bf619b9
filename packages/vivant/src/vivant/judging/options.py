"""The options of a judge, each declared once, as those of a run are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from msgspec import Struct, field

from vivant.core.option_specs import PYTHON_ONLY, OptionSpec
from vivant.engine.options import CacheUse
from vivant.models.base import ModelOptions, split_thinking_values

SCORING = "Scoring"
TEMPERATURE = 0.7
_judge = partial(OptionSpec, panel=SCORING)


class JudgeOptions(Struct, frozen=True, kw_only=True):
    """Everything that can be said about one judge.

    Args:
        model: Model that scores free answers, as after `--judge`: openai/NAME, ./file.py:Class, heuristic, …
        base_url: Address of the judge's server.
        model_options: Options of the judge's backend.
        samples: Verdicts per answer; all but the first are sampled.
        attempts: How often an unreadable verdict is requested, in all.
        temperature: Of all verdicts but the first, which is greedy.
        max_images: Most images that the judge takes (protocol strict).
        prompts: Rubric texts of your own, by name.
        concurrency: Requests to the judge at once, at most.
        cache: Whether replies to identical requests are reused.
        keep_errors: When resuming, do not retry what failed before.
    """

    model: Annotated[
        str,
        _judge(
            "Model that scores free answers: openai/NAME, ./file.py:Class, heuristic; repeat for several.",
            "MODEL",
            flag="--judge",
            common=True,
        ),
    ]
    base_url: Annotated[
        str | None, _judge("Address of the judge's server.", "URL", flag="--judge-base-url")
    ] = None
    model_options: Annotated[
        Mapping[str, Any], _judge("Options of the judge's backend.", "NAME=VALUE", flag="--judge-option")
    ] = field(default_factory=dict)
    samples: Annotated[
        int,
        _judge("Verdicts per answer; all but the first are sampled.", "N", flag="--judge-samples", minimum=1),
    ] = 1
    attempts: Annotated[
        int,
        _judge(
            "How often an unreadable verdict is requested, in all.", "N", flag="--judge-attempts", minimum=1
        ),
    ] = 3
    temperature: Annotated[
        float, _judge("Of all verdicts but the first, which is greedy.", flag=PYTHON_ONLY)
    ] = TEMPERATURE
    max_images: Annotated[
        int | None,
        _judge(
            "Most images that the judge takes (protocol strict).", "N", flag="--judge-max-images", minimum=0
        ),
    ] = None
    prompts: Annotated[
        Mapping[str, str],
        _judge("YAML or JSON file of rubric texts of your own.", "FILE", flag="--judge-prompts"),
    ] = field(default_factory=dict)
    concurrency: Annotated[
        int, _judge("Requests to the judge at once, at most.", "N", flag="--judge-concurrency", minimum=1)
    ] = 16
    cache: Annotated[CacheUse, _judge("As --cache of the run.", flag=PYTHON_ONLY)] = "auto"
    keep_errors: Annotated[bool, _judge("As --keep-errors of the run.", flag=PYTHON_ONLY)] = False

    @property
    def backend_options(self) -> ModelOptions:
        """What the judge's backend is told."""
        thinking, values = split_thinking_values(self.model_options)
        return ModelOptions(base_url=self.base_url, values=values, thinking=thinking)
