"""OpenAI's Responses API, from and to the form of chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivant.core.errors import MediaError
from vivant.core.types import Reply, ReplyStatus
from vivant.models.base import TransientError
from vivant.models.http import describe_missing_answer, read_count, read_string
from vivant.models.reply_json import read_any_form

_LEAST_LIMIT = 16
"""The API refuses a lower limit."""
_SAME = ("model", "temperature", "top_p", "user", "metadata", "service_tier")
_TRANSIENT = ("server_error", "rate_limit_exceeded", "vector_store_timeout")


def to_response_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request for chat completions as one for the Responses API. Nothing is kept by the server."""
    request: dict[str, Any] = {key: body[key] for key in _SAME if key in body}
    request["input"] = [
        {"role": message["role"], "content": _to_content(message["role"], message["content"])}
        for message in body["messages"]
    ]
    request["store"] = False
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    if limit is not None:
        request["max_output_tokens"] = max(_LEAST_LIMIT, limit)
    if "reasoning_effort" in body:
        request["reasoning"] = {"effort": body["reasoning_effort"]}
    return request


def _to_content(role: str, content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [_to_part(role, part) for part in content]


def _to_part(role: str, part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part["text"]}
    if part["type"] == "image_url":
        image = part["image_url"]
        return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail", "auto")}
    raise MediaError("the Responses API takes text and pictures alone; --model-option api=chat takes more")


@read_any_form
def read_response(answer: Any, where: str) -> Reply:
    """A response as a Reply."""
    output = answer.get("output") if isinstance(answer, dict) else None
    if not isinstance(output, list):
        raise TransientError(f"{where} sent JSON that is no response: {str(answer)[:120]}")
    items = [item for item in output if isinstance(item, dict)]
    pieces = [piece for item in items if item.get("type") == "message" for piece in _list_pieces(item)]
    refusal = read_string([piece.get("refusal") for piece in pieces if piece.get("type") == "refusal"])
    text = read_string([piece.get("text") for piece in pieces if piece.get("type") == "output_text"])
    status, error = _read_status(answer, where)
    if refusal:
        status, error = "refused", refusal
    elif status == "ok" and not pieces and any(item.get("type") == "function_call" for item in items):
        status, error = "error", "the model called a tool and gave no answer"
    elif status == "ok" and not pieces:
        status, error = "error", describe_missing_answer(thoughts=bool(items))
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("output_tokens_details")
    details = details if isinstance(details, dict) else {}
    return Reply(
        status=status,
        text=text,
        thinking="\n".join(filter(None, map(_read_thoughts, items))),
        error=error,
        tokens_in=read_count(usage.get("input_tokens")),
        tokens_out=read_count(usage.get("output_tokens")),
        tokens_thinking=read_count(details.get("reasoning_tokens")),
        model=read_string(answer.get("model")),
    )


def _list_pieces(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return [piece for piece in content if isinstance(piece, dict)] if isinstance(content, list) else []


def _read_thoughts(item: Mapping[str, Any]) -> str:
    if item.get("type") != "reasoning":
        return ""
    parts = [
        part for name in ("summary", "content") for part in item.get(name) or [] if isinstance(part, dict)
    ]
    return "\n".join(read_string(part.get("text")) for part in parts)


def _read_status(answer: Mapping[str, Any], where: str) -> tuple[ReplyStatus, str]:
    state = answer.get("status") or "completed"
    if state == "completed":
        return "ok", ""
    if state == "incomplete":
        reason = read_string((answer.get("incomplete_details") or {}).get("reason"))
        if reason == "content_filter":
            return "refused", "stopped by the content filter"
        return "truncated", "stopped at the token limit"
    problem = answer.get("error") or {}
    message = read_string(problem.get("message"))[:200] if isinstance(problem, dict) else read_string(problem)
    if state == "failed" and isinstance(problem, dict) and problem.get("code") not in _TRANSIENT:
        return "error", message or "the server says that it failed"
    raise TransientError(f"{where} did not finish the response ({state}): {message}")
