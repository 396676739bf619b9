"""Options weighed by their likelihood instead of read in a text (`--answer-by loglik`).

The answer is the option whose name, in the form that the prompt asks for, is the likeliest continuation; the
first of equals. Questions without options are asked as always.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vivant.core.errors import UsageError
from vivant.core.types import Reply, Request
from vivant.models.base import Model, WrappedModel

_AROUND = " \t\r\n[](){}<>.:,*\"'`_▁Ġ"
"""What may stand about an option's name inside a token."""


class LikelihoodModel(WrappedModel):
    """Another model, asked how likely each option is."""

    def __init__(self, inner: Model) -> None:
        if not inner.has_loglikelihood:
            raise UsageError(f"{inner.name} does not report likelihoods; leave out --answer-by loglik")
        super().__init__(inner)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**self._inner.identity, "options": "loglik"}

    async def generate(self, request: Request) -> Reply:
        if not request.options:
            return await self._inner.generate(request)
        forms = tuple(request.answer_form.format(option.name) for option in request.options)
        reply = await self._inner.loglikelihood(request, forms)
        weighed = [(weight, index) for index, weight in enumerate(reply.likelihoods) if weight is not None]
        if reply.status != "ok" or not weighed:
            return reply
        best = max(weighed, key=lambda pair: (pair[0], -pair[1]))[1]
        return msgspec.structs.replace(reply, text=forms[best])


def option_likelihoods(tokens: Sequence[Any], names: Sequence[str]) -> tuple[float | None, ...]:
    """Likelihoods of option names from the alternatives that a server reports for each token it wrote.

    Decided where the model names an option, or else at the first token with a name among its alternatives. A
    name written in several ways (with a space, in brackets) counts with their sum. Nothing is returned where
    no alternative names an option.
    """
    naming = [token for token in tokens if _strip_token(token.get("token")) in names]
    for token in [*naming, *tokens]:
        by_name: dict[str, list[float]] = {}
        for alternative in token.get("top_logprobs") or []:
            name = _strip_token(alternative.get("token"))
            if name in names:
                by_name.setdefault(name, []).append(float(alternative["logprob"]))
        if by_name:
            return tuple(_log_sum_exp(by_name[name]) if name in by_name else None for name in names)
    return ()


def _strip_token(token: Any) -> str:
    return str(token or "").strip(_AROUND)


def _log_sum_exp(logs: list[float]) -> float:
    most = max(logs)
    return most + math.log(sum(math.exp(value - most) for value in logs))
