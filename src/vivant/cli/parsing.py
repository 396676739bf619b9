"""What a user's options turn into: text taken apart, combinations checked, `Options` filled."""

from __future__ import annotations

import re
from typing import Any, Literal, cast, get_args

import msgspec

from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.types import Control, Decoding, FramePolicy
from vivant.engine.evaluation import Executor, Options, load_wording
from vivant.models.base import ModelOptions
from vivant.models.yaml_config import load_models


def pairs(entries: list[str] | None, flag: str) -> dict[str, str]:
    """`NAME=VALUE` entries as a mapping."""
    found: dict[str, str] = {}
    for entry in entries or []:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {entry}: write NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def split(entries: list[str] | None) -> list[str]:
    """Repeated and comma-separated values as one list."""
    return [name.strip() for entry in entries or [] for name in entry.split(",") if name.strip()]


def frame_policy(
    frames: int | None, fps: float | None, every: int | None, cap: int | None, longest_side: int | None
) -> FramePolicy:
    """The policy that the options name; two ways of choosing at once are refused."""
    if sum(value is not None for value in (frames, fps, every)) > 1:
        raise UsageError("Choose one of --frames, --fps and --every")
    if cap is not None and fps is None and every is None:
        raise UsageError("--max-frames goes with --fps or --every; --frames N is already a number")
    if fps is not None and fps <= 0:
        raise UsageError(f"--fps {fps}: must be above 0")
    if fps is not None:
        return FramePolicy(select="fps", fps=fps, cap=cap, longest_side=longest_side)
    if every is not None:
        return FramePolicy(select="every", every=every, cap=cap, longest_side=longest_side)
    return FramePolicy(count=frames or FramePolicy().count, longest_side=longest_side)


def control(name: str) -> Control:
    """A control by name."""
    known = get_args(Control)
    if name not in known:
        raise unknown_name_error("control", name, known)
    return cast(Control, name)


def permute(text: str) -> int | Literal["all"]:
    """`all`, or a number of orders."""
    if text == "all":
        return "all"
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--permute {text}: write 'all' or a number of orders from 1 up")
    return int(text)


def duration(text: str | None, flag: str) -> float | None:
    """Seconds from `90`, `45s`, `30m`, `1h30m`, `2d`."""
    if text is None:
        return None
    units = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
    pieces = re.findall(r"(\d+(?:\.\d+)?)([dhms])", text)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        seconds = float(text)
    elif pieces and "".join(number + unit for number, unit in pieces) == text:
        seconds = sum(float(number) * units[unit] for number, unit in pieces)
    else:
        raise UsageError(f"{flag} {text}: write seconds, or 30m, 1h30m, 2d")
    if seconds <= 0:
        raise UsageError(f"{flag} {text}: must be above 0")
    return seconds


def executor(name: Executor, address: str | None) -> Executor:
    """Who does the work; an address without Ray is a mistake."""
    if address is not None and name != "ray":
        raise UsageError("--address is that of a Ray cluster: add --executor ray")
    return name


def model_values(entries: list[str] | None, trust_remote_code: bool) -> dict[str, Any]:
    """The backend's own settings; those with a flag of their own among them."""
    values: dict[str, Any] = dict(pairs(entries, "--model-option"))
    return {**values, "trust_remote_code": True} if trust_remote_code else values


def run_options(given: dict[str, Any]) -> Options:
    """The parameters of `run` and `plan`, which are the same, as `Options`. What is said outright wins over
    what a file of models says."""
    model, limits = given["model"], {}
    decoding = Decoding()
    if given["models"]:
        known = load_models(given["models"])
        if model not in known:
            raise unknown_name_error(f"model in {given['models']}", model, known)
        config = known[model]
        model, limits, decoding = config.spec, dict(config.limits), config.decoding
    if given["max_new_tokens"] is not None:
        decoding = msgspec.structs.replace(decoding, max_tokens=given["max_new_tokens"])
    if given["temperature"] is not None:
        decoding = msgspec.structs.replace(decoding, temperature=given["temperature"])
    named = {"max_context_len": given["max_context_len"], "n_tokens_per_image": given["tokens_per_image"]}
    limits |= {name: value for name, value in named.items() if value is not None}
    variant: dict[str, Any] = dict(pairs(given["variant"], "--option"))
    if given["adv"]:
        variant["adv"] = True
    if given["combine"] is not None:
        variant["combine"] = given["combine"]
    return Options(
        selectors=tuple(given["selectors"]),
        model=model,
        style=given["style"],
        data=tuple(given["data"] or ()),
        frames=frame_policy(
            given["frames"], given["fps"], given["every"], given["max_frames"], given["longest_side"]
        ),
        decoding=decoding,
        control=control(given["control_name"]),
        seed=given["seed"],
        limit=given["limit"],
        where=tuple(given["where"] or ()),
        repeat=given["repeat"],
        permute=permute(given["permute"]),
        wording=load_wording(given["prompts"]),
        limits=limits,
        variant=variant,
        audio=given["audio"],
        model_options=ModelOptions(
            base_url=given["base_url"],
            timeout=given["timeout"],
            video="native" if given["native_video"] else "frames",
            values=model_values(given["model_option"], given["trust_remote_code"]),
        ),
        image_model=given["image_model"],
        image_options=ModelOptions(
            base_url=given["image_base_url"],
            timeout=given["timeout"],
            values=pairs(given["image_option"], "--image-option"),
        ),
        on_too_large=given["on_too_large"],
        choose=given["choose"],
        out=given["out"],
        concurrency=given["concurrency"],
        cache=given["cache"],
        keep_errors=given["keep_errors"],
        workers=given["workers"],
        rpm=given["rpm"],
        tpm=given["tpm"],
        max_cost=given["max_cost"],
        max_tokens=given["max_tokens"],
        max_time=duration(given["max_time"], "--max-time"),
        prices=given["prices"],
        batch=given["batch"],
        executor=executor(given["executor"], given["address"]),
        address=given["address"],
    )
