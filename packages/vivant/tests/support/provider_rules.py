"""What providers refuse about thinking and sampling, model by model, as their documentation states it.

Each function returns the words of the refusal, or an empty text for a request that is taken. `KNOWN` has the models.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Thinks = Literal["never", "budget", "either", "adaptive", "default", "between", "always"]


class ClaudeRule(NamedTuple):
    """A Claude model: the ways to think that it takes, and the most that it writes."""

    thinks: Thinks
    most: int
    sampling: bool = False
    effort: bool = True
    combines: bool = True
    """Takes a temperature and top_p together."""


CLAUDE: dict[str, ClaudeRule] = {
    "claude-3-5-haiku-20241022": ClaudeRule("never", 8_192, sampling=True, effort=False),
    "claude-3-7-sonnet-20250219": ClaudeRule("budget", 64_000, sampling=True, effort=False),
    "claude-opus-4-20250514": ClaudeRule("budget", 32_000, sampling=True, effort=False),
    "claude-opus-4-1-20250805": ClaudeRule("budget", 32_000, sampling=True, effort=False, combines=False),
    "claude-sonnet-4-5": ClaudeRule("budget", 64_000, sampling=True, effort=False, combines=False),
    "claude-haiku-4-5": ClaudeRule("budget", 64_000, sampling=True, effort=False, combines=False),
    "claude-opus-4-5-20251101": ClaudeRule("budget", 64_000, sampling=True, combines=False),
    "claude-sonnet-4-6": ClaudeRule("either", 128_000, sampling=True, combines=False),
    "claude-opus-4-6": ClaudeRule("either", 128_000, sampling=True, combines=False),
    "claude-opus-4-7": ClaudeRule("adaptive", 128_000),
    "claude-opus-4-8": ClaudeRule("adaptive", 128_000),
    "claude-opus-5": ClaudeRule("default", 128_000),
    "claude-sonnet-5": ClaudeRule("default", 128_000),
    "claude-haiku-5-5": ClaudeRule("default", 128_000),
    "claude-sonnet-5-5": ClaudeRule("between", 128_000),
    "claude-opus-5-5": ClaudeRule("always", 128_000),
    "claude-fable-5-1": ClaudeRule("always", 128_000),
}
_TYPES: dict[Thinks, set[str]] = {
    "never": set(),
    "budget": {"enabled", "disabled"},
    "either": {"enabled", "disabled", "adaptive"},
    "adaptive": {"adaptive", "disabled"},
    "default": {"adaptive", "disabled"},
    "between": {"adaptive", "between_tools"},
    "always": {"adaptive"},
}


def refuse_claude(body: dict[str, Any]) -> str:
    """Anthropic's Messages API."""
    rule = CLAUDE[body["model"]]
    thinking = body.get("thinking", {})
    kind, budget = thinking.get("type"), thinking.get("budget_tokens", 0)
    if body["max_tokens"] > rule.most:
        return f"max_tokens: {body['max_tokens']} > {rule.most}, which is the maximum allowed number of output tokens"
    if not rule.sampling and {"temperature", "top_p", "top_k"} & set(body):
        return "`temperature` is deprecated for this model."
    if not rule.combines and {"temperature", "top_p"} <= set(body):
        return "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    if kind is not None and kind not in _TYPES[rule.thinks]:
        return f'"thinking.type.{kind}" is not supported for this model.'
    if kind == "enabled" and budget < 1024:
        return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    if kind == "enabled" and body["max_tokens"] <= budget:
        return "`max_tokens` must be greater than `thinking.budget_tokens`."
    if kind != "enabled" and "budget_tokens" in thinking:
        return f"thinking.{kind}.budget_tokens: Extra inputs are not permitted"
    if kind in ("disabled", "between_tools") and "display" in thinking:
        return f"thinking.{kind}.display: Extra inputs are not permitted"
    if kind in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        return "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
    if "output_config" in body and not rule.effort:
        return "This model does not support the effort parameter."
    return ""


class GeminiRule(NamedTuple):
    """A Gemini model: its levels, or the least and most of its budget; neither: it does not think."""

    levels: tuple[str, ...] = ()
    budget: tuple[int, int] | None = None
    stops: bool = False
    """Takes a budget of 0."""
    by_default: bool = True


_ALL = ("minimal", "low", "medium", "high")
GEMINI: dict[str, GeminiRule] = {
    "gemini-2.0-flash": GeminiRule(),
    "gemini-2.5-pro": GeminiRule(budget=(128, 32_768)),
    "gemini-2.5-flash": GeminiRule(budget=(1, 24_576), stops=True),
    "gemini-2.5-flash-lite": GeminiRule(budget=(512, 24_576), stops=True, by_default=False),
    "gemini-3-pro-preview": GeminiRule(levels=("low", "high")),
    "gemini-3.1-pro-preview": GeminiRule(levels=_ALL[1:]),
    "gemini-3-flash-preview": GeminiRule(levels=_ALL),
    "gemini-3.1-flash-lite": GeminiRule(levels=_ALL),
    "gemini-3.5-flash": GeminiRule(levels=_ALL),
    "gemini-3.5-flash-lite": GeminiRule(levels=_ALL),
    "gemini-3.6-flash": GeminiRule(levels=_ALL),
    "gemini-3.7-flash": GeminiRule(levels=_ALL[1:]),
    "gemini-3.8-flash": GeminiRule(levels=_ALL[1:]),
    "gemini-pro-latest": GeminiRule(levels=_ALL[1:]),
}


def refuse_gemini(model: str, body: dict[str, Any]) -> str:
    """Gemini's `generateContent`."""
    rule = GEMINI[model]
    config = body["generationConfig"]
    thinking = config.get("thinkingConfig")
    if not 1 <= config.get("maxOutputTokens", 1) <= (65_536 if rule.levels or rule.budget else 8_192):
        return "supported range is from 1 (inclusive) to 65537 (exclusive)"
    if thinking is None:
        return ""
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if not rule.levels and rule.budget is None:
        return "Thinking is not supported by this model."
    if level is not None and (budget is not None or level not in rule.levels):
        return f"Thinking level {level} is not supported for this model."
    if budget is not None and rule.budget is None:
        return "a budget for a model that takes levels"
    least, most = rule.budget or (0, 0)
    if budget is not None and not (budget == 0 and rule.stops) and not least <= budget <= most:
        return f"The thinking budget {budget} is invalid. Please choose a value between {least} and {most}."
    thinks = bool(rule.levels) or (budget != 0 if budget is not None else rule.by_default)
    if thinking.get("includeThoughts") and not thinks:
        return "include_thoughts is only enabled when thinking is enabled."
    return ""


GPT: dict[str, tuple[str, ...]] = {
    "gpt-4o-mini": (),
    "gpt-4.1": (),
    "gpt-5-chat-latest": (),
    "o4-mini": ("low", "medium", "high"),
    "gpt-5-mini": ("minimal", "low", "medium", "high"),
    "gpt-5.2": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.6-terra": ("none", "low", "medium", "high", "xhigh", "max"),
    "gpt-6-sol": ("none", "low", "medium", "high", "xhigh", "max"),
}
"""OpenAI's models and the efforts that they take; without, they do not think."""
_CHAT = {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "reasoning_effort"}


def refuse_gpt(body: dict[str, Any]) -> str:
    """OpenAI's chat completions."""
    efforts = GPT[body["model"]]
    if unknown := set(body) - _CHAT:
        return f"Unknown parameter: {sorted(unknown)}."
    if "reasoning_effort" in body and body["reasoning_effort"] not in efforts:
        return f"Unsupported value: 'reasoning_effort' does not support '{body['reasoning_effort']}'"
    if efforts and {"max_tokens", "temperature"} & set(body):
        return "Unsupported parameter: 'max_tokens' or 'temperature' is not supported with this model."
    most = body.get("max_completion_tokens", body.get("max_tokens", 0))
    limit = 100_000 if efforts else 16_384
    return f"This model supports at most {limit} completion tokens" if most > limit else ""
