"""Thinking before an answer: room for it over the answer's limit, and how a request asks for it.

Thoughts count against the limit on a reply. A model that thinks is therefore asked for the answer's limit and room
for thoughts besides (`models.yaml`, `thinking`; `--thinking-tokens`). A model that does not think is asked as ever.
Everything that this adds to a request is part of the model's identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vivant.core.errors import UsageError
from vivant.models.base import ThinkingOptions
from vivant.models.model_table import (
    Api,
    ServerFacts,
    ThinkingFamily,
    ThinkingSwitch,
    find_plain_word,
    find_thinking,
    load_model_table,
    never_thinks,
)

_LEAST_ROOM = 256
"""A server that leaves less room than this for thoughts is not asked again."""


class Thinking(Struct, frozen=True, kw_only=True):
    """How a model thinks in this run."""

    room: int = 0
    """Tokens for thoughts, over the answer's limit; 0: it does not think."""
    body: Mapping[str, Any] = {}
    """Fields that requests carry for it."""
    sampling: bool = True
    """Without: temperature and top_p must not be sent."""
    is_budget: bool = False
    """The room is a number that the model is told, not only a limit."""
    less: tuple[str, ...] = ()
    """Options by which it would think less."""

    def limit(self, answer: int | None) -> int | None:
        """The limit on the whole reply, from the answer's."""
        return None if answer is None else answer + self.room

    @property
    def identity(self) -> dict[str, Any]:
        """What tells it from other ways to think, for a fingerprint."""
        if not self.room and not self.body:
            return {}
        size = {"budget" if self.is_budget else "room": self.room}
        return {"thinking": size | ({"sent": dict(self.body)} if self.body else {})}


def thinking_identity(thinking: Thinking | None) -> dict[str, Any]:
    """The part of a model's identity that is about thinking; empty for a model that does not think."""
    return {} if thinking is None else thinking.identity


def plan_thinking(
    name: str,
    options: ThinkingOptions,
    *,
    api: Api = "openai",
    server: ServerFacts | None = None,
    thinks: bool | None = None,
) -> Thinking | None:
    """Decide how a model thinks; None where it does not, and the user says nothing about it.

    Args:
        name: the model's name on its server.
        options: what the user says.
        api: the API that it speaks.
        server: the server's facts, which may have their own switch.
        thinks: whether it thinks, where the user says so (`--model-option reasoning=true`).
    """
    table = load_model_table().thinking
    family = None if thinks is False else find_thinking(name, api)
    if family is None:
        if not thinks and not options.is_set:
            return None
        if thinks is None and never_thinks(name, api):
            if options.off:
                return Thinking()
            raise UsageError(f"{name} does not think; leave out --effort and --thinking-tokens")
        if thinks is None and options.effort is not None and find_plain_word(name):
            word = find_plain_word(name)
            raise UsageError(f"{name}: models with '{word}' in their names do not think; leave out --effort")
        hosted = server is not None and server.needs_key
        if api == "openai" and hosted and not thinks and options.off:
            return Thinking()
        # A model that nobody knows: servers of one's own read fields of the chat template, others an effort.
        by_api = {"gemini": "gemini-budget", "anthropic": "anthropic-adaptive"}
        family = ThinkingFamily(api=api, switch=by_api.get(api, "effort" if thinks or hosted else "template"))
    own = server.thinking if server is not None else ""
    switch = table.switches.get(own or family.switch, ThinkingSwitch())
    if own and not family.efforts:  # its chat template takes none; the server does
        family = replace(family, efforts=ThinkingFamily().efforts)
    if options.off:
        return _stop(name, family, switch, keeps_own=bool(own))
    if family.starts == "request" and not options.is_set:
        return None
    return _start(name, options, family, switch)


def _stop(name: str, family: ThinkingFamily, switch: ThinkingSwitch, *, keeps_own: bool) -> Thinking:
    body = switch.stop if family.stop is None or keeps_own else family.stop
    if family.starts == "always" or body is None:
        less = "; --effort low thinks less" if "low" in family.efforts else ""
        raise UsageError(f"{name} cannot answer without thinking; leave out --no-thinking{less}")
    room = load_model_table().thinking.tokens if family.keeps_room else 0
    return Thinking(room=room, body=body)


def _start(name: str, options: ThinkingOptions, family: ThinkingFamily, switch: ThinkingSwitch) -> Thinking:
    table = load_model_table().thinking
    effort, tokens = options.effort, options.tokens
    if effort is not None and effort not in family.efforts:
        takes = ", ".join(family.efforts)
        raise UsageError(
            f"--effort {effort}: {name} takes {takes} alone"
            if takes
            else f"{name} cannot be told how hard to think; leave out --effort (--thinking-tokens sets the room)"
        )
    if effort is not None and switch.effort is None:
        if switch.tokens is None:
            raise UsageError(f"{name} cannot be told how hard to think; leave out --effort")
        if tokens is not None:
            raise UsageError(f"{name} takes a number of tokens: give --thinking-tokens or --effort, not both")
        tokens = max(family.least, min(table.budgets[effort], family.most or table.budgets[effort]))
    room = tokens or family.tokens or table.tokens
    # Where thinking is switched by a field, room alone does not switch it. Elsewhere the switch also asks for the
    # thoughts themselves, which are wanted in any case.
    starts = effort is not None or family.starts == "request" or family.api != "openai"
    body: dict[str, Any] = dict(switch.start) if starts else {}
    is_budget = False
    if effort is not None and switch.effort is not None:
        body = merge_fields(body, _fill(switch.effort, {"$effort": effort}))
    elif switch.tokens is not None and (tokens is not None or not switch.start):
        _check_budget(name, room, family)
        body = merge_fields(body, _fill(switch.tokens, {"$tokens": room}))
        is_budget = True
    return Thinking(
        room=room,
        body=body,
        sampling=family.sampling,
        is_budget=is_budget,
        less=_list_ways_to_think_less(effort, family, switch),
    )


def _list_ways_to_think_less(
    effort: str | None, family: ThinkingFamily, switch: ThinkingSwitch
) -> tuple[str, ...]:
    takes_effort = "low" in family.efforts and (switch.effort is not None or switch.tokens is not None)
    stops = family.starts != "always" and (family.stop is not None or switch.stop is not None)
    return ("--effort low",) * (takes_effort and effort != "low") + ("--no-thinking",) * stops


def engine_thinking(thinking: Thinking | None) -> dict[str, Any]:
    """The settings of an engine on this machine: room for thoughts, and what its chat template is told."""
    if thinking is None:
        return {"thinking_room": 0, "template": {}}
    return {
        "thinking_room": thinking.room,
        "template": dict(thinking.body.get("chat_template_kwargs", thinking.body)),
    }


def _check_budget(name: str, tokens: int, family: ThinkingFamily) -> None:
    most = family.most
    if tokens < family.least or (most is not None and tokens > most):
        upper = f" to {most:,}" if most is not None else " or more"
        raise UsageError(f"--thinking-tokens {tokens}: {name} takes {family.least:,}{upper}")


def _fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with values in the places that are named after them."""
    if isinstance(template, Mapping):
        return {key: _fill(value, values) for key, value in template.items()}
    return values.get(template, template) if isinstance(template, str) else template


def merge_fields(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two JSON objects as one: objects in both are merged in turn, everything else is `over`'s."""
    merged = dict(base)
    for key, value in over.items():
        inner = merged.get(key)
        both = isinstance(inner, Mapping) and isinstance(value, Mapping)
        merged[key] = merge_fields(inner, value) if both else value  # type: ignore[arg-type]
    return merged


class LargestLimit(NamedTuple):
    """A limit on a reply that a server allows."""

    tokens: int
    lasting: bool
    """It holds for every request; without, it is what a window has left beside this one."""


def find_largest_limit(refusal: str, answer: int) -> LargestLimit | None:
    """The limit on a reply to try next, from a server's refusal of a larger one.

    Args:
        refusal: the server's words.
        answer: the answer's own limit.

    Returns:
        None where the server speaks of something else, or leaves no room to think.
    """
    for pattern in load_model_table().thinking.too_large:
        match = re.search(pattern, refusal, re.DOTALL)
        if match is None:
            continue
        figures = {name: int(value) for name, value in match.groupdict().items()}
        most = figures.get("most") or figures.get("over", 1) - 1
        if "window" in figures:
            most = figures["window"] - figures["request"]
        elif "half" in figures:
            most = figures["half"] // 2
        lasting = "most" in figures or "over" in figures
        return LargestLimit(most, lasting) if most >= answer + _LEAST_ROOM else None
    return None
