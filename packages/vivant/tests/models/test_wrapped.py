"""Models around other models: what the inner one declares holds for the whole."""

from __future__ import annotations

import asyncio

import pytest

from vivant.core.types import Reply, Request
from vivant.models.base import Capabilities, Model, RunResource, WrappedModel
from vivant.models.image_generation.base import create_image_generator
from vivant.models.image_generation.illustrated import IllustratedModel
from vivant.models.likelihood import LikelihoodModel
from vivant.models.model_table import RequestLimits
from vivant.models.thinking import Thinking


class Inner(Model):
    """Differs from the defaults in all that a model can declare."""

    name = "inner"
    caveat = "never for results"
    capabilities = Capabilities(audio=True)
    cacheable = False
    limits = RequestLimits(images=3)
    thinking = Thinking(room=100)
    untold = ("seed",)
    is_seeded = True
    code_version = "inner 1"
    exclusive = ("temperature", "top_p")
    is_local = True
    has_loglikelihood = True

    async def open(self) -> None:
        self.capabilities = Capabilities(clips=True)

    async def generate(self, request: Request) -> Reply:  # noqa: ARG002
        return Reply(text="A")


def illustrate(inner: Model) -> Model:
    return IllustratedModel(inner, create_image_generator("placeholder"))


@pytest.mark.parametrize("wrap", [WrappedModel, LikelihoodModel, illustrate])
def test_what_a_model_declares_holds_for_what_is_around_it(wrap: type[WrappedModel]) -> None:
    inner = Inner()
    model = wrap(inner)
    declared = (*RunResource.__annotations__, *Model.__annotations__)
    for name in declared:
        assert name == "name" or getattr(inner, name) != getattr(Model, name), (
            f"give Inner a {name} of its own"
        )
    changed = {name for name in declared if getattr(model, name) != getattr(inner, name)}
    assert changed <= ({"name", "caveat"} if wrap is illustrate else set())
    assert inner.caveat in model.caveat
    asyncio.run(model.open())
    assert model.capabilities == Capabilities(clips=True), "it is known only when the weights are loaded"
