"""People as a model: their recorded answers, found by the benchmark in its own data.

There is nothing to generate, so a run with this model is filled by `vivant.runs.importing`;
the class exists so that people have a name, an identity and a place in the list of models.
"""

from __future__ import annotations

from vivant.core.types import Reply, Request
from vivant.models.base import Model, ModelError, ModelOptions

NAME = "human"


class HumanModel(Model):
    """Stands for the people whose answers a benchmark's data hold."""

    name = NAME
    cacheable = False

    async def generate(self, request: Request) -> Reply:
        raise ModelError(f"People cannot be asked here; no recorded human answer for {request.key}")


def create(name: str, options: ModelOptions) -> Model:
    """`--model human`."""
    options.resolve()
    if name:
        raise ModelError(f"'human' takes nothing after its name; got 'human/{name}'")
    return HumanModel()
