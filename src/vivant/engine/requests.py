"""From a job's media to a request that its model takes, for whoever sends it: the runner, or a batch."""

from __future__ import annotations

import asyncio

from vivant.engine.fingerprint import Fingerprints
from vivant.media import Prepared
from vivant.models.base import Model
from vivant.models.fitting import OnTooLarge, fit, problems
from vivant.types import Reply


def fingerprints(model: Model, *, audio: bool, on_too_large: OnTooLarge) -> Fingerprints:
    """What all requests of a run have in common, hashed."""
    limits = None if model.budget is None else {"budget": model.budget, "on_too_large": on_too_large}
    return Fingerprints(
        model.identity, server=model.server, native_video=model.takes.video, audio=audio, limits=limits
    )


async def fitted(
    prepared: Prepared, model: Model, on_too_large: OnTooLarge
) -> tuple[Prepared, tuple[str, ...], Reply | None]:
    """A request within the model's limits and the notes on it, or the reply that stands for one refused."""
    if model.budget is None or not any(problems(prepared.turns, model.budget)):
        return prepared, (), None
    fit_one = await asyncio.to_thread(fit, prepared.turns, prepared.media, model.budget, on_too_large)
    refused = Reply(status="too_long", error=fit_one.refused) if fit_one.refused else None
    return Prepared(fit_one.turns, fit_one.media), fit_one.notes, refused
