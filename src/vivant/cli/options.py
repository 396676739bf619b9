"""Options that mean the same everywhere, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vivant.cli.parsing import run_options
from vivant.cli.run_options import RUNNING

ASKED, MODEL = "What is asked", "The model"

Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="Folder with the data; NAME=PATH for one of several benchmarks; 'mini' for the bundled edition. "
        "Default: $VIVANT_DATA/NAME, else ./data/NAME.",
        rich_help_panel=ASKED,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="FACET=VALUE",
        help="Only samples with this facet, e.g. variant=base+blank@0; a,b for either; != for the others; "
        "repeat to narrow down.",
        rich_help_panel=ASKED,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="FACET", help="Group by this facet; repeat or a,b for several."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A scoring setting of the benchmark, e.g. threshold=0.75."
    ),
]
ProtocolOption = Annotated[
    str,
    typer.Option(
        "--protocol", help="paper: as published, quirks included. strict: the sound version of the same."
    ),
]
Form = Annotated[str, typer.Option("--format", help="text, csv, markdown, latex or json.")]
OutFile = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead.")]
Selectors = Annotated[
    list[str],
    typer.Argument(metavar="BENCHMARK…", help="mime, mime/mcq, … or a file of your own questions (.jsonl)."),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="openai/NAME, random, ./file.py:Class, …: see `vivant models`.",
        rich_help_panel=MODEL,
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", help="Address of an OpenAI-compatible server.", rich_help_panel=MODEL),
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model-option",
        metavar="NAME=VALUE",
        help="A setting of the backend, e.g. detail=low.",
        rich_help_panel=MODEL,
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", help="Seconds that one request may take.", rich_help_panel=MODEL)
]
NativeVideo = Annotated[
    bool,
    typer.Option(
        "--native-video/--video-frames",
        help="Send the video file itself to models that take one, instead of frames.",
        rich_help_panel=MODEL,
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run code that a checkpoint brings along (transformers, internvl-chat, vllm).",
        rich_help_panel=MODEL,
    ),
]
OnTooLargeOption = Annotated[
    Literal["shrink", "refuse"],
    typer.Option(
        "--on-too-large",
        help="A request over the model's limits: shrunk by the rule in docs/backends.md, or not made.",
        rich_help_panel=MODEL,
    ),
]
ChooseOption = Annotated[
    Literal["generate", "loglik"],
    typer.Option(
        "--options",
        help="How options are chosen: named in the reply, or by likelihood where the backend reports it.",
        rich_help_panel=ASKED,
    ),
]
Style = Annotated[
    str | None,
    typer.Option(
        "--style", help="zero-shot, cot, few-shot: as the benchmark has them.", rich_help_panel=ASKED
    ),
]
Prompts = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        metavar="FILE",
        help="YAML or JSON of prompt names and texts in place of the bundled wording.",
        rich_help_panel=ASKED,
    ),
]
Frames = Annotated[
    int | None,
    typer.Option(
        "--frames", min=1, help="So many frames per video, evenly spread. (default: 8)", rich_help_panel=ASKED
    ),
]
Fps = Annotated[
    float | None, typer.Option("--fps", help="Frames per second of video instead.", rich_help_panel=ASKED)
]
EveryKth = Annotated[
    int | None, typer.Option("--every", min=1, help="Each k-th frame instead.", rich_help_panel=ASKED)
]
MaxFrames = Annotated[
    int | None,
    typer.Option("--max-frames", min=1, help="At most so many with --fps or --every.", rich_help_panel=ASKED),
]
LongestSide = Annotated[
    int | None,
    typer.Option(
        "--longest-side", min=16, help="Scale pictures down to this many pixels.", rich_help_panel=ASKED
    ),
]
AudioTrack = Annotated[
    bool, typer.Option("--audio", help="Send the sound track to models that take it.", rich_help_panel=ASKED)
]
ControlName = Annotated[
    str,
    typer.Option(
        "--control",
        help="none; blind: no media; one-frame; shuffled or reversed frames.",
        rich_help_panel=ASKED,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="At most so many samples per task, by seed.", rich_help_panel=ASKED),
]
Seed = Annotated[int, typer.Option("--seed", help="For option order and --limit.", rich_help_panel=ASKED)]
Repeat = Annotated[
    int, typer.Option("--repeat", min=1, help="Ask every question so often.", rich_help_panel=ASKED)
]
Permute = Annotated[
    str,
    typer.Option(
        "--permute",
        metavar="all|K",
        help="Ask each multiple-choice question under so many orders of its options.",
        rich_help_panel=ASKED,
    ),
]
Temperature = Annotated[
    float | None, typer.Option("--temperature", help="0 is greedy. (default: 0)", rich_help_panel=ASKED)
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-new-tokens", min=1, help="Length of a reply. (default: the benchmark's)", rich_help_panel=ASKED
    ),
]
ModelsFile = Annotated[
    str | None,
    typer.Option(
        "--models",
        metavar="FILE",
        help="YAML of models in MileBench's form; --model then names one of them.",
        rich_help_panel=MODEL,
    ),
]
MaxContext = Annotated[
    int | None,
    typer.Option(
        "--max-context-len",
        min=1,
        help="Tokens of the model's window, for benchmarks that cut to it (milebench).",
        rich_help_panel=MODEL,
    ),
]
ImageTokens = Annotated[
    int | None,
    typer.Option(
        "--tokens-per-image", min=0, help="What a picture costs in that window.", rich_help_panel=MODEL
    ),
]
Adversarial = Annotated[
    bool, typer.Option("--adv", help="MileBench's adversarial files.", rich_help_panel=ASKED)
]
Combine = Annotated[
    int | None,
    typer.Option(
        "--combine", min=1, help="MileBench: pictures as so many numbered grids.", rich_help_panel=ASKED
    ),
]
Variant = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the benchmark's own: see `vivant benchmarks NAME`.",
        rich_help_panel=ASKED,
    ),
]


ImageModel = Annotated[
    str | None,
    typer.Option(
        "--image-model",
        metavar="NAME",
        help="Draws what a model without pictures describes: placeholder, openai/NAME, diffusers/ID.",
        rich_help_panel=MODEL,
    ),
]
ImageUrl = Annotated[
    str | None,
    typer.Option("--image-base-url", help="Address of the image model's server.", rich_help_panel=MODEL),
]
ImageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--image-option",
        metavar="NAME=VALUE",
        help="A setting of the image model, e.g. size=512x512.",
        rich_help_panel=MODEL,
    ),
]


_COMMON: dict[str, tuple[Any, Any]] = {
    "selectors": (Selectors, inspect.Parameter.empty),
    "model": (ModelName, inspect.Parameter.empty),
    "data": (Data, None),
    "style": (Style, None),
    "where": (Where, None),
    "limit": (Limit, None),
    "frames": (Frames, None),
    "fps": (Fps, None),
    "every": (EveryKth, None),
    "max_frames": (MaxFrames, None),
    "longest_side": (LongestSide, None),
    "audio": (AudioTrack, False),
    "control_name": (ControlName, "none"),
    "prompts": (Prompts, None),
    "seed": (Seed, 0),
    "repeat": (Repeat, 1),
    "permute": (Permute, "1"),
    "temperature": (Temperature, None),
    "max_new_tokens": (MaxTokens, None),
    "adv": (Adversarial, False),
    "combine": (Combine, None),
    "variant": (Variant, None),
    "models": (ModelsFile, None),
    "max_context_len": (MaxContext, None),
    "tokens_per_image": (ImageTokens, None),
    "base_url": (BaseUrl, None),
    "model_option": (ModelOption, None),
    "timeout": (Timeout, 600.0),
    "native_video": (NativeVideo, False),
    "trust_remote_code": (TrustRemoteCode, False),
    "on_too_large": (OnTooLargeOption, "shrink"),
    "choose": (ChooseOption, "generate"),
    "image_model": (ImageModel, None),
    "image_base_url": (ImageUrl, None),
    "image_option": (ImageOption, None),
}


def asks(*without: str, runs: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all options that decide what is asked; it receives them settled, as `options`.

    `run`, `plan` and their like take the same arguments, so they are declared once. Commands that also send
    get the options on how it runs. Parameters of the command's own come after them.
    """
    common = {**_COMMON, **(RUNNING if runs else {})}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        declared = {name: pair for name, pair in common.items() if name not in without}
        parameters = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, (kind, default) in declared.items()
        ]
        parameters += [
            p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, p in own.items() if name != "options"
        ]

        @functools.wraps(command)
        def called(**given: Any) -> None:
            defaults = {name: default for name, (_, default) in {**_COMMON, **RUNNING}.items()}
            mine = {name: value for name, value in given.items() if name in own}
            command(options=run_options({**defaults, **given}), **mine)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate
