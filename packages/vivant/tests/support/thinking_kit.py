"""Answers of servers whose models think: thoughts count against the limit, and what a real server refuses is refused.

Each function returns an answer for the stand-ins of `tests/support/standin.py`. A token is a word.
"""

from __future__ import annotations

from typing import Any

from tests.support.standin import Answer

THOUGHTS = 3_000
"""Tokens that a stand-in thinks."""


def refuse(message: str, **more: Any) -> dict[str, Any]:
    """A 400."""
    return {"status": 400, "body": {"error": {"message": message, "type": "invalid_request_error", **more}}}


def _share(limit: int | None, text: str, thoughts: int) -> tuple[str, int, bool]:
    """What is left of an answer within a limit: its text, the tokens of thoughts, whether it was cut off."""
    words = text.split()
    if limit is None or limit >= thoughts + len(words):
        return text, thoughts, False
    return " ".join(words[: max(0, limit - thoughts)]), min(limit, thoughts), True


def gpt5(text: str = "A", thoughts: int = THOUGHTS) -> Answer:
    """OpenAI's chat completions and Responses: thoughts are hidden, and an answer without room for one is empty."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        for field in ("max_tokens", "stop"):
            if field in body:
                return refuse(f"Unsupported parameter: '{field}' is not supported with this model.")
        if body.get("temperature", 1) != 1:
            return refuse("Unsupported value: 'temperature' does not support 0.0 with this model.")
        if "input" in body:
            return _respond(body, text, thoughts)
        least = body.get("reasoning_effort") in ("none", "minimal")
        said, thought, cut = _share(body.get("max_completion_tokens"), text, 0 if least else thoughts)
        return {
            "model": "gpt-5-mini-2025-08-07",
            "choices": [
                {
                    "finish_reason": "length" if cut else "stop",
                    "message": {"role": "assistant", "content": said, "refusal": None},
                }
            ],
            "usage": {
                "prompt_tokens": 50,
                "completion_tokens": thought + len(said.split()),
                "completion_tokens_details": {"reasoning_tokens": thought},
            },
        }

    return answer


def _respond(body: dict[str, Any], text: str, thoughts: int) -> dict[str, Any]:
    said, thought, cut = _share(body.get("max_output_tokens"), text, thoughts)
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    ]
    if said:
        content = [{"type": "output_text", "text": said, "annotations": []}]
        output.append({"type": "message", "role": "assistant", "content": content})
    return {
        "object": "response",
        "model": "gpt-5-pro-2025-10-06",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "output": output,
        "usage": {
            "input_tokens": 50,
            "output_tokens": thought + len(said.split()),
            "output_tokens_details": {"reasoning_tokens": thought},
        },
    }


def vllm(
    text: str = "A",
    thoughts: int = THOUGHTS,
    *,
    window: int = 262_144,
    request: int = 50,
    parser: bool = True,
    exact: bool = True,
) -> Answer:
    """A *-Thinking checkpoint behind vLLM; without a parser, thoughts come in the text and lack their opening mark."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        limit = body.get("max_tokens")
        if limit is not None and limit > window - request and not exact:
            return refuse(
                f"This model's maximum context length is {window} tokens. However, you requested {limit} output "
                f"tokens and your prompt contains at least {window - limit + 1} input tokens, for a total of at "
                f"least {window + 1} tokens. Please reduce the length of the input prompt or the number of "
                "requested output tokens."
            )
        if limit is not None and limit > window - request:
            return refuse(
                f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. This model's maximum context "
                f"length is {window} tokens and your request has {request} input tokens "
                f"({limit} > {window} - {request})."
            )
        off = body.get("chat_template_kwargs", {}).get("enable_thinking") is False
        said, thought, cut = _share(limit, text, 0 if off else thoughts)
        message: dict[str, Any] = {"role": "assistant", "content": said or None, "reasoning": "Hm. " * 3}
        if not parser:
            marked = f"Hm, a hand.\n</think>\n\n{said}" if said else "Hm, a hand."
            message = {"role": "assistant", "content": f"<think>{marked}" if not said else marked}
        return {
            "model": body["model"],
            "choices": [{"finish_reason": "length" if cut else "stop", "message": message}],
            "usage": {"prompt_tokens": request, "completion_tokens": thought + len(said.split())},
        }

    return answer


def gemini_thinker(text: str = "A", thoughts: int = THOUGHTS) -> Answer:
    """Gemini: thoughts have parts and a count of their own."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        config = body["generationConfig"]
        thinking = config.get("thinkingConfig", {})
        if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
            return refuse("You can only set only one of thinking budget and thinking level.", code=400)
        count = 0 if thinking.get("thinkingBudget") == 0 else thoughts
        said, thought, cut = _share(config.get("maxOutputTokens"), text, count)
        parts = [{"text": "Hm.", "thought": True}] if thinking.get("includeThoughts") and thought else []
        parts += [{"text": said}] if said else []
        usage = {"promptTokenCount": 50, "thoughtsTokenCount": thought, "totalTokenCount": 50 + thought}
        return {
            "candidates": [
                {
                    "content": {"role": "model", **({"parts": parts} if parts else {})},
                    "finishReason": "MAX_TOKENS" if cut else "STOP",
                }
            ],
            "usageMetadata": usage | ({"candidatesTokenCount": len(said.split())} if said else {}),
            "modelVersion": "gemini-3-pro-preview",
        }

    return answer


def claude(text: str = "A", thoughts: int = THOUGHTS, *, by_default: bool = False) -> Answer:
    """Anthropic: a budget below max_tokens and no temperature, or adaptive thinking; blocks come with a signature."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        thinking = body.get("thinking", {"type": "adaptive" if by_default else "disabled"})
        on = thinking["type"] != "disabled"
        if on and body.get("temperature", 1) != 1:
            return refuse("`temperature` may only be set to 1 when thinking is enabled.")
        if on and thinking.get("budget_tokens", 0) >= body["max_tokens"]:
            return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
        said, thought, cut = _share(body["max_tokens"], text, thoughts if on else 0)
        blocks: list[dict[str, Any]] = (
            [{"type": "thinking", "thinking": "Hm.", "signature": "Eo0="}] if on else []
        )
        blocks += [{"type": "text", "text": said}] if said else []
        return {
            "type": "message",
            "model": body["model"],
            "content": blocks,
            "stop_reason": "max_tokens" if cut else "end_turn",
            "usage": {"input_tokens": 50, "output_tokens": thought + len(said.split())},
        }

    return answer
