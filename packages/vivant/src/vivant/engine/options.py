"""The options of a run, each declared once: `vivant run`, `vivant.evaluate`, the manifest and the reference page
are derived from `RunOptions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct, field

from vivant.core.option_specs import PYTHON_ONLY, OptionSpec, list_declared_options
from vivant.core.types import Control, Decoding, EveryStart, FramePolicy, FrameSpread
from vivant.engine.option_checks import check_combinations
from vivant.engine.retry import RetryPolicy
from vivant.models.base import Effort, ModelOptions, ThinkingOptions, VideoAs
from vivant.models.request_limits import OnTooLarge
from vivant.runs.settings import make_decoding, make_frame_policy

CacheUse = Literal["auto", "always", "off"]
ExecutorName = Literal["local", "ray"]
AnswerBy = Literal["generate", "loglik"]
StrOrMany = str | Sequence[str]
PathOrNone = str | Path | None
PathOrMany = str | Path | Sequence[str | Path]

MODEL, QUESTIONS, FRAMES = "Model", "Questions", "Images and video"
RUN, CLUSTER = "Run and budget", "Where it runs"
_model = partial(OptionSpec, panel=MODEL, records="model")
_question = partial(OptionSpec, panel=QUESTIONS)
_frames = partial(OptionSpec, panel=FRAMES, records="frames")
_reply = partial(OptionSpec, panel=MODEL, records="decoding")
_run, _cluster = partial(OptionSpec, panel=RUN), partial(OptionSpec, panel=CLUSTER)


class RunOptions(Struct, frozen=True, kw_only=True):
    """Everything a user can say about a run, parsed and checked (`option_parsing.make_options` does both)."""

    selectors: Annotated[
        tuple[str, ...],
        _question(
            "Benchmarks (mime), tasks (mime/mcq), or files of your own: ./mine.jsonl, ./mine.yaml.",
            "BENCHMARK…",
            flag=PYTHON_ONLY,
            common=True,
            records="tasks",
            accepts=StrOrMany,
        ),
    ]
    model: Annotated[
        str,
        _model(
            "Backend and name: openai/NAME, random, ./file.py:Class (see `vivant models`).",
            "NAME",
            short="-m",
            common=True,
        ),
    ] = ""
    base_url: Annotated[
        str | None, _model("Address of an OpenAI-compatible server.", "URL", common=True, records="")
    ] = None
    model_options: Annotated[
        Mapping[str, Any],
        _model("Options of the backend, e.g. detail=low.", "NAME=VALUE", flag="--model-option", common=True),
    ] = field(default_factory=dict)
    models: Annotated[
        str | None,
        _model(
            "YAML file of models in MileBench's form; --model then names one of them.",
            "FILE",
            accepts=PathOrNone,
        ),
    ] = None
    timeout: Annotated[float, _model("Seconds that one request may take.", "SECONDS", records="")] = 600.0
    video_as: Annotated[
        VideoAs,
        _model("Give videos as videos or as frames; auto: as the backend does by itself (docs/video.md)."),
    ] = "auto"
    trust_remote_code: Annotated[
        bool,
        _model(
            "Run code that a checkpoint (transformers, internvl-chat, vllm) or a bridged task brings along.",
            records="",
        ),
    ] = False
    on_too_large: Annotated[
        OnTooLarge, _model("Shrink a request over the model's limits (docs/backends.md), or refuse it.")
    ] = "shrink"
    image_model: Annotated[
        str | None,
        _model("Draw what a model without images describes: placeholder, openai/NAME, diffusers/ID.", "NAME"),
    ] = None
    image_base_url: Annotated[
        str | None, _model("Address of the image model's server.", "URL", records="")
    ] = None
    image_options: Annotated[
        Mapping[str, Any],
        _model("Options of the image model, e.g. size=512x512.", "NAME=VALUE", flag="--image-option"),
    ] = field(default_factory=dict)

    recipe: Annotated[
        str | None,
        _question(
            "Ask as a published row was asked, e.g. paper/gpt-4o-mini; other options go over it (see `vivant "
            "recipes NAME`).",
            "NAME",
        ),
    ] = None
    data: Annotated[
        tuple[str, ...],
        _question(
            "Folder of the data, or 'mini' for the bundled edition; NAME=PATH with several benchmarks.",
            "PATH",
            common=True,
            records="data",
            accepts=PathOrMany,
            default="$VIVANT_DATA/NAME, else ./data/NAME",
        ),
    ] = ()
    limit: Annotated[
        int | None,
        _question(
            "Samples per task, at most, drawn by --seed.", "N", common=True, records="limit", minimum=1
        ),
    ] = None
    where: Annotated[
        tuple[str, ...],
        _question(
            "Only samples with this facet; a,b for either, != for the others. Repeat to narrow down.",
            "FACET=VALUE",
            common=True,
            records="where",
            accepts=StrOrMany,
        ),
    ] = ()
    style: Annotated[
        str | None, _question("Prompt style: zero-shot, cot, few-shot.", "NAME", common=True, records="style")
    ] = None
    task_options: Annotated[
        Mapping[str, Any],
        _question(
            "Options of the benchmark, e.g. adv=true.",
            "NAME=VALUE",
            flag="--task-option",
            common=True,
            records="variant",
        ),
    ] = field(default_factory=dict)
    limits: Annotated[
        Mapping[str, int],
        _question("The model's window, as a file of models states it.", flag=PYTHON_ONLY, records="limits"),
    ] = field(default_factory=dict)
    control: Annotated[
        Control,
        _question("none, blind, one-frame, shuffled or reversed.", "NAME", common=True, records="control"),
    ] = "none"
    repeat: Annotated[
        int, _question("Repeat each question N times.", "N", common=True, records="repeat", minimum=1)
    ] = 1
    permute: Annotated[
        int | Literal["all"],
        _question(
            "Ask each multiple-choice question under K orders of its options.",
            "K|all",
            records="permute",
            minimum=1,
        ),
    ] = 1
    seed: Annotated[int, _question("Seed of option order, --limit and --until.", "N", records="seed")] = 0
    subset: Annotated[
        str | None,
        _question("Ask these samples alone (docs/subsets.md).", "FILE", records="subset", accepts=PathOrNone),
    ] = None
    until: Annotated[
        float | None,
        _question(
            "Stop when half the 95 % interval is ≤ POINTS.",
            "POINTS",
            common=True,
        ),
    ] = None
    until_better_than: Annotated[
        tuple[str, ...],
        _question("Stop when it is settled who is better, this run or RUN.", "RUN", accepts=PathOrMany),
    ] = ()
    until_rank: Annotated[
        bool, _question("Stop when the rank among the runs in the same folder is settled.")
    ] = False
    prompts: Annotated[
        Mapping[str, str],
        _question(
            "Replace bundled prompt texts: a YAML or JSON file of names and texts.",
            "FILE",
            records="wording",
            accepts=str | Path | Mapping[str, str],
        ),
    ] = field(default_factory=dict)

    frames: Annotated[
        int | FramePolicy | None,
        _frames("Frames per video, evenly spread.", "N", common=True, minimum=1, default="8"),
    ] = None
    fps: Annotated[float | None, _frames("Frames per second of video instead.", "RATE")] = None
    every: Annotated[int | None, _frames("Each k-th frame instead.", "K", minimum=1)] = None
    every_start: Annotated[
        EveryStart | None,
        _frames("With --every K: frames 0, K, 2K … (first), or K-1, 2K-1 … (kth).", default="first"),
    ] = None
    spread: Annotated[
        FrameSpread | None,
        _frames(
            "Spread frames from the first to the last (ends), or take the middles of equal parts, by the rule "
            "of MiniCPM and Phi (middles) or of InternVL (segments).",
            default="ends",
        ),
    ] = None
    max_frames: Annotated[int | None, _frames("At most N frames, with --fps or --every.", "N", minimum=1)] = (
        None
    )
    longest_side: Annotated[
        int | None, _frames("Scale images and frames down to this many pixels.", "PIXELS", minimum=16)
    ] = None
    jpeg_quality: Annotated[
        int | None, _frames("Quality of frames and scaled images, 1 to 100.", "N", minimum=1, default="90")
    ] = None
    audio: Annotated[bool, _frames("Send the sound track to models that take it.", records="model")] = False

    max_tokens: Annotated[
        int | Literal["server"] | None,
        _reply("Reply length, or server.", "N", common=True, minimum=1, default="benchmark's"),
    ] = None
    thinking_tokens: Annotated[
        int | None,
        _model(
            "Room for thoughts besides the answer, for models that think (docs/thinking.md).",
            "N",
            minimum=1,
            default="the model's",
        ),
    ] = None
    effort: Annotated[
        Effort | None,
        _model("How hard a model thinks: low, medium or high.", "LEVEL", default="the model's"),
    ] = None
    no_thinking: Annotated[bool, _model("Answer without thinking, where the model can.")] = False
    temperature: Annotated[
        float | Literal["server"] | None,
        _reply("Temperature, or server; 0 is greedy.", "T", common=True, minimum=0, default="0"),
    ] = None
    answer_by: Annotated[
        AnswerBy,
        _reply(
            "Choose an option by the reply, or by likelihood where the backend reports it.", records="model"
        ),
    ] = "generate"
    decoding: Annotated[
        Decoding,
        _reply(
            "All decoding settings (top_p, stop, …) at once; --max-tokens and --temperature go over it.",
            flag=PYTHON_ONLY,
        ),
    ] = Decoding()

    out: Annotated[
        str | None,
        _run(
            "Run directory.",
            "DIR",
            short="-o",
            common=True,
            accepts=PathOrNone,
            default="runs/NAME, by settings",
        ),
    ] = None
    concurrency: Annotated[
        int, _run("Requests at once, at most.", "N", short="-j", common=True, minimum=1)
    ] = 16
    rpm: Annotated[int | None, _run("Requests a minute, at most.", "N", minimum=1)] = None
    tpm: Annotated[int | None, _run("Tokens a minute, in and out, at most.", "N", minimum=1)] = None
    cache: Annotated[
        CacheUse, _run("Reuse replies to identical requests; auto: with greedy decoding only.")
    ] = "auto"
    keep_errors: Annotated[bool, _run("When resuming, do not retry what failed before.")] = False
    batch: Annotated[
        bool, _run("Use the provider's batch endpoint: cheaper, within a day; run again to collect.")
    ] = False
    retry: Annotated[RetryPolicy, _run("When to try a failed request again.", flag=PYTHON_ONLY)] = (
        RetryPolicy()
    )

    budget_cost: Annotated[
        float | None, _run("Stop before the run costs more than this.", "AMOUNT", common=True, minimum=0)
    ] = None
    budget_tokens: Annotated[
        int | None, _run("Stop before the run takes more tokens, in and out, resumed or not.", "N", minimum=1)
    ] = None
    budget_time: Annotated[
        float | None,
        _run(
            "Stop before this command has run so long: 90 (seconds), 30m, 1h30m.",
            "TIME",
            accepts=float | str | None,
        ),
    ] = None
    prices: Annotated[
        str | None,
        _run(
            "YAML file of prices that go over the bundled ones.",
            "FILE",
            accepts=PathOrNone,
            default="$VIVANT_PRICES",
        ),
    ] = None
    confirm_above: Annotated[
        float | None,
        _run(
            "Ask before a run that may cost more than this; without a terminal, refuse it.",
            "AMOUNT",
            minimum=0,
        ),
    ] = None
    yes: Annotated[bool, _run("Go on, whatever --confirm-above says.")] = False

    workers: Annotated[
        int, _cluster("Processes that decode video; with Ray, on each node.", "N", minimum=1)
    ] = 2
    executor: Annotated[
        ExecutorName, _cluster("Run on this machine, or on a Ray cluster (docs/clusters.md).")
    ] = "local"
    address: Annotated[
        str | None,
        _cluster(
            "Address of the Ray cluster, e.g. auto, ray-head:6379.",
            "ADDRESS",
            default="$RAY_ADDRESS, else this machine",
        ),
    ] = None
    start_timeout: Annotated[
        float,
        _cluster(
            "With Ray: wait so long for workers to start and load the model: 90 (seconds), 30m.",
            "TIME",
            accepts=float | str,
        ),
    ] = 1800.0

    def __post_init__(self) -> None:
        check_combinations(self)

    @property
    def frame_policy(self) -> FramePolicy:
        """Which frames are shown, and how."""
        if isinstance(self.frames, FramePolicy):
            return self.frames
        return make_frame_policy(msgspec.structs.asdict(self))

    @property
    def decoding_settings(self) -> Decoding:
        """How the model writes: `decoding`, with what was said outright over it."""
        return make_decoding(self.decoding, msgspec.structs.asdict(self))

    @property
    def backend_options(self) -> ModelOptions:
        """What the model's backend is told."""
        trust = {"trust_remote_code": True} if self.trust_remote_code else {}
        return ModelOptions(
            base_url=self.base_url,
            timeout=self.timeout,
            video=self.video_as,
            frames=self.frame_policy,
            thinking=ThinkingOptions(tokens=self.thinking_tokens, effort=self.effort, off=self.no_thinking),
            values={**self.model_options, **trust},
        )

    @property
    def image_backend_options(self) -> ModelOptions:
        """What the image model's backend is told."""
        return ModelOptions(base_url=self.image_base_url, timeout=self.timeout, values=self.image_options)

    def to_settings(self) -> dict[str, Any]:
        """The options that the run's settings hold as they are."""
        plain = {
            name: getattr(self, name)
            for name, option in list_declared_options(RunOptions).items()
            if option.spec.records == name and name not in _RESOLVED
        }
        return {
            **plain,
            "frames": self.frame_policy,
            "decoding": self.decoding_settings,
            "wording": self.prompts,
        }


_RESOLVED = ("model", "data", "style", "limits", "frames", "decoding", "subset")
"""Recorded as what they turn out to be, not as they were given."""
