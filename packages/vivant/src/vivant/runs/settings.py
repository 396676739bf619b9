"""Everything that decides what a run will send, as data: its fingerprint and how two of them differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from vivant.core.types import Control, Decoding, FramePolicy


class RunSettings(Struct, frozen=True, kw_only=True):
    """Two runs with equal settings ask the same questions of the same model in the same way."""

    tasks: tuple[str, ...]
    model: Mapping[str, Any]
    """The model's identity, without secrets."""
    style: str
    data: Mapping[str, str]
    """Fingerprint of the samples of each task, as read."""
    frames: FramePolicy = FramePolicy()
    decoding: Decoding = Decoding()
    control: Control = "none"
    seed: int = 0
    limit: int | None = None
    where: tuple[str, ...] = ()
    repeat: int = 1
    permute: int | Literal["all"] = 1
    """Under how many orders of its options each question is asked."""
    wording: Mapping[str, str] = field(default_factory=dict)
    """A user's own prompt texts."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """The model's window, for benchmarks that cut to it: `max_context_len`, `n_tokens_per_image`."""
    subset: str = ""
    """Fingerprint of the subset that is asked; empty for all samples."""
    variant: Mapping[str, Any] = field(default_factory=dict)
    """Options of the benchmarks themselves, e.g. adversarial files."""

    def fingerprint(self) -> str:
        """Sixteen hex digits."""
        values = msgspec.to_builtins(self)
        if self.permute == 1:  # runs made before there was a choice have the same fingerprint
            del values["permute"]
        if not self.subset:
            del values["subset"]
        return digest(values)[:16]

    def list_distinctions(self) -> tuple[str, ...]:
        """What is not as by default, in a word or two each: `blind`, `16 frames`, `limit 20`, `effort high`.

        Names and lists of runs show these beside model and style, for they tell runs of one model apart.
        """
        return tuple(word for word in _list_words(self) if word)


def _list_words(settings: RunSettings) -> Iterator[str]:
    frames, decoding, default = settings.frames, settings.decoding, Decoding()
    yield settings.control if settings.control != "none" else ""
    yield {
        "count": f"{frames.count} frames" if frames.count != FramePolicy().count else "",
        "fps": f"{frames.fps:g} fps",
        "every": f"every {frames.every} frames",
        "all": "all frames",
    }[frames.select]
    yield f"at most {frames.cap} frames" if frames.cap else ""
    yield f"side {frames.longest_side}" if frames.longest_side else ""
    video = settings.model.get("video")
    yield f"video as {video}" if isinstance(video, str) and video not in ("", "frames") else ""
    yield f"limit {settings.limit}" if settings.limit else ""
    yield f"subset {settings.subset[:6]}" if settings.subset else ""
    yield _describe_thinking(settings.model)
    yield from settings.where
    yield from (f"{name}={value}" for name, value in settings.variant.items() if name != "answers")
    yield f"repeat {settings.repeat}" if settings.repeat != 1 else ""
    yield f"permute {settings.permute}" if settings.permute != 1 else ""
    temperature = decoding.temperature
    yield f"temperature {temperature:g}" if temperature and temperature != default.temperature else ""
    yield f"{decoding.max_tokens} tokens" if decoding.max_tokens else ""
    yield f"seed {settings.seed}" if settings.seed else ""
    yield "own prompts" if settings.wording else ""


def make_frame_policy(options: Mapping[str, Any]) -> FramePolicy:
    """Which frames are shown, and how, from a run's options by name; None and missing are the defaults."""
    usual = FramePolicy()
    policy = FramePolicy(
        longest_side=options.get("longest_side"),
        spread=options.get("spread") or usual.spread,
        quality=options.get("jpeg_quality") or usual.quality,
    )
    replace = msgspec.structs.replace
    if options.get("fps") is not None:
        return replace(policy, select="fps", fps=options["fps"], cap=options.get("max_frames"))
    if options.get("every") is not None:
        start = options.get("every_start") or usual.every_start
        cap = options.get("max_frames")
        return replace(policy, select="every", every=options["every"], every_start=start, cap=cap)
    return replace(policy, count=options.get("frames") or usual.count)


def make_decoding(decoding: Decoding, options: Mapping[str, Any]) -> Decoding:
    """How the model writes: `decoding`, with what options name over it; `server` leaves a setting out."""
    left_out = {"max_tokens": 0, "temperature": None}
    changes: dict[str, Any] = {
        name: unset if options[name] == "server" else options[name]
        for name, unset in left_out.items()
        if options.get(name) is not None
    }
    return msgspec.structs.replace(decoding, **changes)


def _describe_thinking(identity: Mapping[str, Any]) -> str:
    """`effort high`, `no thinking`, `thinking 4000`, from what a model's identity says it is sent."""
    thinking = identity.get("thinking")
    thinking = thinking if isinstance(thinking, Mapping) else {}
    for name, value in _list_leaves({**identity, **thinking}):
        if name.endswith(("effort", "thinkingLevel")) and isinstance(value, str):
            return "no thinking" if value == "none" else f"effort {value}"
        is_off = name in ("enable_thinking", "thinking") and value is False
        if is_off or value == "disabled" or (name == "thinkingBudget" and value == 0):
            return "no thinking"
    return f"thinking {thinking['budget']}" if thinking.get("budget") else ""


def _list_leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _list_leaves(inner, str(key))
    else:
        yield name, value


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


class ListDigest:
    """`digest` of a list whose values come one by one."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"[")
        self._encode = msgspec.json.Encoder(order="sorted").encode
        self._separator = b""

    def add(self, value: Any) -> None:
        """The next value."""
        self._hash.update(self._separator + self._encode(value))
        self._separator = b","

    def hexdigest(self) -> str:
        """Of all values so far."""
        whole = self._hash.copy()
        whole.update(b"]")
        return whole.hexdigest()


def list_differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Where two settings differ, one readable entry per leaf: `frames.count: 8 → 16`."""
    old, new = msgspec.to_builtins(old), msgspec.to_builtins(new)
    if isinstance(old, dict) and isinstance(new, dict):
        entries: list[str] = []
        for name in sorted(old.keys() | new.keys()):
            inner = f"{path}.{name}" if path else str(name)
            entries += list_differences(old.get(name), new.get(name), inner)
        return entries
    if old == new:
        return []
    return [f"{path}: {_shorten(old)} → {_shorten(new)}"]


def _shorten(value: Any) -> str:
    if value is None:
        return "default"
    if isinstance(value, str):
        text = value
    elif isinstance(value, list):
        text = ", ".join(map(str, value)) or "none"
    else:
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"
