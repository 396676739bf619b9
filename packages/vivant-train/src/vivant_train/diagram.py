"""The model's architecture as a drawing, by size: `python -m vivant_train.diagram SIZE FILE.svg`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from markupsafe import Markup

from vivant.core.errors import UsageError
from vivant.reporting.html.markup import element
from vivant_train.model.config import ModelSettings
from vivant_train.model_size import ModelSize, measure_model
from vivant_train.settings import load_size

_WIDTH, _HEIGHT = 980, 430
_SPATIAL_COLOR, _TEMPORAL_COLOR, _LANGUAGE_COLOR, _NEUTRAL_COLOR = "#d8e8f5", "#fbe3cf", "#dff0d8", "#f2f2f2"
_LINE_COLOR = "#444444"


def draw_architecture(settings: ModelSettings, name: str) -> str:
    """An SVG of both branches, what joins them, and the language model, with their parameters and tokens."""
    sizes = measure_model(settings)
    shapes = [
        element("rect", x=0, y=0, width=_WIDTH, height=_HEIGHT, fill="#ffffff"),
        _draw_box(20, 95, 110, 70, ("video", "any length"), _NEUTRAL_COLOR),
        *_draw_spatial_branch(settings, sizes),
        *_draw_temporal_branch(settings, sizes),
        *_draw_language_model(settings, sizes),
    ]
    arrow = element(
        "marker",
        element("path", d="M0,0 L8,4 L0,8 z", fill=_LINE_COLOR),
        id="tip",
        markerWidth=8,
        markerHeight=8,
        refX=7,
        refY=4,
        orient="auto",
    )
    about = f"Anatomy of MIMIC-Chat {name}: two branches from a video into a language model"
    return element(
        "svg",
        element("title", about),
        element("defs", arrow),
        *shapes,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        font_family="sans-serif",
        font_size=13,
    )


def _draw_spatial_branch(settings: ModelSettings, sizes: ModelSize) -> list[Markup]:
    if not settings.spatial.on:
        return []
    side, spatial = settings.spatial.grid, settings.spatial
    pooling = "each frame's" if spatial.pool == "frames" else f"their {spatial.pool}"
    frozen = "frozen" if settings.vision.frozen else "learns"
    return [
        _draw_arrow(130, 115, 170, 65),
        _draw_box(172, 30, 140, 70, ("spatial branch", f"{spatial.frames} frames"), _SPATIAL_COLOR),
        _draw_arrow(312, 65, 340, 65),
        _draw_box(
            342,
            30,
            170,
            70,
            ("backbone", f"{_backbone_name(settings)}, {_format_millions(sizes.vision)}", frozen),
            _SPATIAL_COLOR,
        ),
        _draw_arrow(512, 65, 540, 65),
        _draw_box(
            542,
            30,
            150,
            70,
            (f"{side} × {side} patches", pooling, f"{settings.spatial_tokens} tokens"),
            _SPATIAL_COLOR,
        ),
        _draw_arrow(692, 65, 720, 65),
        _draw_box(722, 30, 110, 70, ("MLP, gate",), _SPATIAL_COLOR),
        _draw_arrow(832, 65, 872, 115),
    ]


def _draw_temporal_branch(settings: ModelSettings, sizes: ModelSize) -> list[Markup]:
    if not settings.temporal.on:
        return []
    temporal = settings.temporal
    blocks = {
        "fresh": "blocks of its own",
        "backbone": "in the backbone's layers",
        "features": "on its features",
        "video": "on a video encoder",
    }[temporal.init]
    return [
        _draw_arrow(130, 145, 170, 195),
        _draw_box(
            172,
            160,
            140,
            70,
            ("temporal branch", "all frames,", f"windows of {temporal.window}"),
            _TEMPORAL_COLOR,
        ),
        _draw_arrow(312, 195, 340, 195),
        _draw_box(
            342,
            160,
            170,
            70,
            ("time, then space", blocks, _format_millions(sizes.temporal)),
            _TEMPORAL_COLOR,
        ),
        _draw_arrow(512, 195, 540, 195),
        _draw_box(
            542,
            160,
            150,
            70,
            ("the whole video", "averaged to", f"{temporal.tokens} tokens"),
            _TEMPORAL_COLOR,
        ),
        _draw_arrow(692, 195, 720, 195),
        _draw_box(722, 160, 110, 70, ("MLP, gate",), _TEMPORAL_COLOR),
        _draw_arrow(832, 195, 872, 145),
    ]


def _draw_language_model(settings: ModelSettings, sizes: ModelSize) -> list[Markup]:
    """The input in its order, and what reads it."""
    inside = settings.fusion.place != "input"
    joined = "in its layers" if inside else f"{settings.fusion.join}: {settings.visual_tokens}"
    config = settings.language.config
    lora = f" + LoRA {_format_millions(sizes.lora)}" if sizes.lora else ""
    state = "frozen" if settings.language.frozen else "learns"
    kind = config.get("model_type", settings.language.name)
    reader = f"language model: {kind}, {_format_millions(sizes.language)}{lora}, {state}"
    seen = (
        "" if inside else "▢ " * min(8, settings.visual_tokens) + ("… " if settings.visual_tokens > 8 else "")
    )
    sentence = f"[VID]  {seen} [SEP]  What happens here?  A. …  B. …  [ANS]"
    goal = (920, 345) if inside else (920, 272)
    return [
        _draw_box(874, 95, 92, 70, ("joined", joined), _NEUTRAL_COLOR),
        _draw_arrow(920, 165, *goal),
        _draw_box(172, 274, 794, 46, (sentence,), _NEUTRAL_COLOR),
        _draw_arrow(569, 320, 569, 345),
        _draw_box(172, 347, 794, 46, (reader,), _LANGUAGE_COLOR),
        _draw_arrow(172, 370, 132, 370),
        _draw_box(20, 347, 110, 46, ("“B”, a comment",), _NEUTRAL_COLOR),
    ]


def _backbone_name(settings: ModelSettings) -> str:
    kind = str(settings.vision.config.get("model_type") or settings.vision.name)
    return "stem" if kind == "conv" else kind


def _format_millions(count: int) -> str:
    return f"{count / 1e6:.2f} M" if count < 1e7 else f"{count / 1e6:,.0f} M"


def _draw_box(x: float, y: float, width: float, height: float, lines: tuple[str, ...], fill: str) -> Markup:
    top = y + height / 2 - 8.5 * (len(lines) - 1) + 4.5
    texts = [
        element(
            "text",
            line,
            x=x + width / 2,
            y=top + 17 * index,
            text_anchor="middle",
            font_weight="bold" if index == 0 and len(lines) > 1 else None,
            fill="#111111",
        )
        for index, line in enumerate(lines)
    ]
    frame = element("rect", x=x, y=y, width=width, height=height, rx=6, fill=fill, stroke=_LINE_COLOR)
    return element("g", frame, *texts)


def _draw_arrow(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element(
        "line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=_LINE_COLOR, stroke_width=1.5, marker_end="url(#tip)"
    )


def main(arguments: list[str]) -> None:
    """Draw one size into one file."""
    if len(arguments) != 2:
        raise UsageError("python -m vivant_train.diagram SIZE FILE.svg")
    name, file = arguments
    svg = draw_architecture(msgspec.convert(load_size(name), ModelSettings), name)
    Path(file).write_text(svg + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
