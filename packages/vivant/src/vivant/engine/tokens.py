"""How many tokens a request will take: estimated before, learnt from the replies.

Pictures are counted by the model's own rule where it is known, text at four letters a token and one token for
each sign beyond ASCII. The first replies then tell how far off that is for this model on these questions, and
from there on estimates lean to the high side, because limits and budgets are kept with them.
"""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import Struct

from vivant.core.types import Clip, Picture, Reply, Sound, Text, Turn
from vivant.engine.byte_budget import SENT
from vivant.models.model_table import PictureTokens

DEFAULT_PICTURE_TOKENS = PictureTokens("area", base=0, unit=750)
"""For models that state no rule."""
_CLIP = 8_000
"""A video sent as a file: half a minute at the usual 258 tokens a second."""
_SOUND_BYTES = 1_000
"""Of encoded sound, for one token: 32 tokens a second at 16 kHz and 16 bit."""
_FRAME = 8
"""What a request takes besides its content."""
DEFAULT_REPLY_TOKENS = 1_024
"""Tokens of a reply that nothing limits, until replies tell."""
_MARGIN = 1.1
_FORGET = 0.02


class RequestSize(Struct, frozen=True):
    """How much a request holds."""

    bytes: int = 0
    """Held for it in memory: media, and what is made of them to send or to compute."""
    tokens: int = 0
    """By estimate."""


class TokenUsage(Struct, frozen=True):
    """Tokens of one request, estimated or reported."""

    sent: int = 0
    written: int = 0

    @property
    def total(self) -> int:
        """Both."""
        return self.sent + self.written


def count_text_tokens(text: str) -> float:
    """Tokens of a text, roughly."""
    if text.isascii():
        return len(text) / 4
    plain = sum(sign.isascii() for sign in text)
    return plain / 4 + len(text) - plain


def measure_request(
    turns: tuple[Turn, ...], rule: PictureTokens | None, *, decoded: bool = False
) -> RequestSize:
    """Bytes and tokens of a prepared request; `decoded`: the model is in this process and makes pixels of pictures."""
    rule = rule or DEFAULT_PICTURE_TOKENS
    size = pixels = 0
    tokens = float(_FRAME)
    for turn in turns:
        for part in turn.parts:
            if isinstance(part, Text):
                tokens += count_text_tokens(part.text)
            elif isinstance(part, Picture):
                size += len(part.data)
                pixels += part.width * part.height
                tokens += rule.count(part.width, part.height)
            elif isinstance(part, Sound):
                size += len(part.data)
                tokens += len(part.data) / _SOUND_BYTES
            else:
                size += sum(len(frame.data) for frame in part.frames) or _file_size(part.path)
                pixels += sum(frame.width * frame.height for frame in part.frames)
                tokens += _clip_tokens(part, rule)
    held = size + 3 * pixels if decoded else int(size * SENT)
    return RequestSize(held, math.ceil(tokens))


def _file_size(path: str) -> int:
    """Of a video that is sent as it is."""
    return Path(path).stat().st_size if Path(path).exists() else 0


def _clip_tokens(clip: Clip, rule: PictureTokens) -> int:
    return sum(rule.count(frame.width, frame.height) for frame in clip.frames) if clip.frames else _CLIP


class Estimator:
    """Says what a request will take at most, the better the more replies it has seen."""

    def __init__(self) -> None:
        self.known = False
        """Whether a reply has confirmed or corrected the estimates."""
        self._ratio = 1.0
        self._longest = 0.0
        self._largest = 0

    def estimate(self, size: RequestSize, max_tokens: int | None) -> TokenUsage:
        """A careful estimate. `max_tokens` is the limit on the reply, where there is one."""
        written = (
            max_tokens
            if max_tokens is not None
            else math.ceil(max(float(DEFAULT_REPLY_TOKENS), self._longest * _MARGIN))
        )
        sent = math.ceil(size.tokens * self._ratio * _MARGIN)
        return TokenUsage(sent if self.known else max(sent, self._largest), written)

    def recall(self, usage: TokenUsage) -> None:
        """What an earlier process saw: until a reply tells more, a request may be as large as any."""
        self._largest = max(self._largest, usage.sent)
        self._longest = max(self._longest, float(usage.written))

    def measure(self, size: RequestSize, reply: Reply) -> TokenUsage:
        """What a request took: as the server says, else by estimate. Later estimates learn from it."""
        sent, written = reply.tokens_in, reply.tokens_out
        if sent is not None:
            ratio = sent / max(1, size.tokens)
            first = not self.known
            self._ratio = ratio if first else max(ratio, self._ratio + _FORGET * (ratio - self._ratio))
        self.known = True
        if written is not None:
            self._longest = max(self._longest, float(written))
        return TokenUsage(
            size.tokens if sent is None else sent,
            math.ceil(count_text_tokens(reply.text)) if written is None else written,
        )
