"""What servers answer to OpenAI's chat completions, in all the forms that are in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivant.core.types import Image, Part, Reply, Text
from vivant.models.base import TransientError
from vivant.models.http import describe_missing_answer, read_count, read_string
from vivant.models.reply_json import read_any_form
from vivant.models.thought_marks import ENDED_THINKING, split_thinking


@read_any_form
def read_completion(answer: Any, where: str) -> Reply:
    """A chat completion as a Reply; something that is not one may come right on another try."""
    try:
        choice = answer["choices"][0]
        message = choice["message"]
    except (KeyError, IndexError, TypeError) as error:
        raise TransientError(f"{where} sent JSON without choices: {str(answer)[:120]}") from error
    finish = read_string(choice.get("finish_reason")) or "stop"
    text = message.get("content") or ""
    parts = _interleave_parts(text, message.get("images"))
    marked, text, unfinished = split_thinking(_answer_text(text))
    thinking = _read_thoughts(message) or marked
    refusal = message.get("refusal")
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    status: Any = "ok"
    error_text = ""
    if finish == "error":
        failure = choice.get("error")
        words = read_string(failure.get("message") if isinstance(failure, dict) else failure)[:120]
        raise TransientError(f"{where} failed while it answered: {words or 'finish_reason is error'}")
    if finish == "content_filter" or refusal:
        status, error_text = "refused", read_string(refusal) or "stopped by the content filter"
    elif finish in ("tool_calls", "function_call") and not text:
        status, error_text = "error", "the model called a tool and gave no answer"
    elif finish == "length":
        status, error_text = "truncated", "stopped at the token limit"
    elif unfinished:
        status, error_text = "truncated", ENDED_THINKING
    elif message.get("content") is None and not parts:
        status, error_text = "error", describe_missing_answer(thoughts=bool(thinking))
    details = usage.get("completion_tokens_details")
    details = details if isinstance(details, dict) else {}
    return Reply(
        status=status,
        text=text,
        parts=parts,
        thinking=thinking,
        error=error_text,
        tokens_in=read_count(usage.get("prompt_tokens")),
        tokens_out=read_count(usage.get("completion_tokens")),
        tokens_thinking=read_count(details.get("reasoning_tokens", usage.get("reasoning_tokens"))),
        model=read_string(answer.get("model")),
        provider=read_string(answer.get("provider")),
    )


def _read_thoughts(message: Mapping[str, Any]) -> str:
    """Thoughts that a server sends apart from the answer, in any of the fields in use."""
    thoughts = read_string(message.get("reasoning_content") or message.get("reasoning"))
    if thoughts:
        return thoughts
    content, details = message.get("content"), message.get("reasoning_details")
    pieces = [piece for piece in content if _is_thought(piece)] if isinstance(content, list) else []
    if isinstance(details, list):
        pieces = [
            piece.get("text") or piece.get("summary") or "" for piece in details if isinstance(piece, dict)
        ]
    return read_string(pieces)


def _is_thought(piece: Any) -> bool:
    return isinstance(piece, dict) and piece.get("type") in ("thinking", "reasoning")


def _answer_text(content: Any) -> str:
    """The text of a message's content; thoughts among its typed parts are not part of it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [piece for piece in content if isinstance(piece, dict) and isinstance(piece.get("text"), str)]
        texts = [piece for piece in texts if not _is_thought(piece)]
        return "".join(piece["text"] for piece in texts)
    return read_string(content)


def _interleave_parts(content: Any, images: Any) -> tuple[Part, ...]:
    """Text and pictures in order, where a server sends pictures: among the content, or in a list after it."""
    if isinstance(content, str) and not images:
        return ()
    pieces = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    parts: list[Part] = []
    for piece in [*pieces, *(images if isinstance(images, list) else [])]:
        if not isinstance(piece, dict):
            continue
        url = piece.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        if isinstance(url, str) and url.startswith("data:"):
            parts.append(Image(url))
        elif isinstance(piece.get("text"), str) and piece["text"]:
            parts.append(Text(piece["text"]))
    return tuple(parts) if any(isinstance(part, Image) for part in parts) else ()
