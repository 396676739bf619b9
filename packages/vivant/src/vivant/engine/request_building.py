"""From a job's media to a request that its model takes, for whoever sends it: the runner, or a batch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from vivant.core.records import Record
from vivant.core.structs import copy_shared_fields
from vivant.core.types import Job, Reply, Request, Turn
from vivant.engine.budget import ESTIMATED
from vivant.engine.fingerprint import Fingerprints
from vivant.media import LoadedMedia
from vivant.models.base import Model, identify_model
from vivant.models.request_limits import OnTooLarge, find_problems, fit_request

if TYPE_CHECKING:
    from vivant.engine.executor import RequestKey
    from vivant.engine.tokens import TokenUsage

_ENCODER = msgspec.json.Encoder()
_REPLY = msgspec.json.Decoder(Reply)


def create_fingerprints(model: Model, *, audio: bool, on_too_large: OnTooLarge) -> Fingerprints:
    """What all requests of a run have in common, hashed."""
    limits = None if model.limits is None else {"budget": model.limits, "on_too_large": on_too_large}
    return Fingerprints(
        identify_model(model),
        server=model.server,
        native_video=model.capabilities.video,
        audio=audio,
        limits=limits,
        is_seeded=model.is_seeded,
    )


async def fit_media(
    prepared: LoadedMedia, model: Model, on_too_large: OnTooLarge
) -> tuple[LoadedMedia, tuple[str, ...], Reply | None]:
    """A request within the model's limits and the notes on it, or the reply that stands for one refused."""
    if model.limits is None or not any(find_problems(prepared.turns, model.limits)):
        return prepared, (), None
    fit_one = await asyncio.to_thread(fit_request, prepared.turns, prepared.media, model.limits, on_too_large)
    refused = Reply(status="too_long", error=fit_one.refused) if fit_one.refused else None
    return LoadedMedia(fit_one.turns, fit_one.media), fit_one.notes, refused


def build_request(job: Job, turns: tuple[Turn, ...]) -> Request:
    """What a model receives."""
    return Request(turns=turns, **copy_shared_fields(job, Request))


def check_reply(reply: Reply) -> Reply:
    """The reply, or one that says why it cannot be logged: what is written must be readable again.

    A model of the user's own may fill fields with anything; the types are checked here, before cache and log.
    """
    try:
        return _REPLY.decode(_ENCODER.encode(reply))
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError) as error:
        return Reply(status="error", error=f"the model returned a reply that cannot be logged: {error}")


def build_record(
    job: Job,
    key: RequestKey,
    reply: Reply,
    *,
    started: float,
    seconds: float = 0.0,
    attempts: int = 1,
    cached: bool = False,
    estimated: TokenUsage | None = None,
    server: str = "",
) -> Record:
    """One line of the log. `estimated` is what it took, where the server does not say and a budget counts."""
    fields = copy_shared_fields(job, Record)
    if estimated is not None:
        fields["extra"] = {**fields.get("extra", {}), ESTIMATED: [estimated.sent, estimated.written]}
    return Record(
        **fields,
        fingerprint=key.fingerprint,
        media=key.media,
        reply=reply,
        server=server,
        attempts=attempts,
        cached=cached,
        started=round(started, 3),
        seconds=round(seconds, 4),
    )
