"""The settings of a MIMIC-Chat: read from YAML, kept in the checkpoint's `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from transformers import AutoConfig, PretrainedConfig

from vivant.core.errors import UsageError

CLIP_MEAN, CLIP_STD = (0.481, 0.458, 0.408), (0.269, 0.261, 0.276)


class VisionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The backbone that encodes single frames."""

    name: str = ""
    """A checkpoint on the hub or a folder, whose weights are loaded; without it, the backbone starts at random."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The backbone's own configuration with its `model_type`; `conv` is Vivant's small convolutional stem. Read from
    the checkpoint where there is a name and no configuration."""
    frozen: bool = True
    image_size: int = 224
    mean: tuple[float, float, float] = CLIP_MEAN
    spread: tuple[float, float, float] = CLIP_STD
    attention: str = ""
    """How attention is computed: `sdpa`, `eager`, `flash_attention_2`; the library's choice where it is empty."""
    trust_remote_code: bool = False


class SpatialSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A few frames, for what a scene shows."""

    on: bool = True
    frames: int = 8
    grid: int = 4
    """Patches are averaged to so many by so many."""
    pool: Literal["frames", "shuffle", "mean", "max"] = "frames"
    """`frames` keeps each frame's tokens in order; `mean` and `max` pool over frames, so that their order is
    lost. `max` finds small things, and learns fastest from random weights. `shuffle` keeps each frame's tokens too,
    and joins neighbouring patches to one wide token instead of averaging them, as InternVL does."""


class VideoEncoderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pretrained video encoder of the transformers library: TimeSformer, VideoMAE or V-JEPA 2. It stays frozen."""

    name: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    """As for the backbone."""
    frames: int = 0
    """Frames that it takes at once; 0: as its configuration says."""
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    spread: tuple[float, float, float] = (0.229, 0.224, 0.225)


class TemporalSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole sequence, for what happens: attention over time for each patch, then over space for each frame."""

    on: bool = True
    init: Literal["backbone", "fresh", "features", "video"] = "backbone"
    """`backbone`: its layers with attention over time before each. `fresh`: a stem and blocks of its own. `features`:
    blocks of its own on what the frozen backbone makes of each frame, which can be cached. `video`: likewise on what a
    pretrained video encoder makes of each window."""
    window: int = 32
    """Frames that attend to each other; memory beyond a window grows by a vector a frame."""
    tokens: int = 16
    """Tokens that the language model receives, however long the video is."""
    patches: int = 4
    """For `features` and `video`: each frame's patches are averaged to so many by so many before the blocks."""
    cells: int = 1
    """For `features` and `video`: so many by so many vectors of each time reach the tokens."""
    encoder: VideoEncoderSettings = VideoEncoderSettings()
    """For `video`."""
    tubelet: int = 2
    """Frames that one patch spans, for `fresh`."""
    widths: tuple[int, ...] = (48, 64, 96)
    """Of its stem; the last is that of its blocks."""
    depth: int = 1
    heads: int = 4
    """For `fresh`; attention over time has as many."""


class FusionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How what was seen reaches the language model."""

    place: Literal["input", "layers", "both"] = "input"
    """`input`: as tokens before the task; `layers`: by gated cross-attention inside its layers; `both`: the spatial
    branch as tokens, the temporal branch by gated cross-attention."""
    join: Literal["concat", "sum"] = "concat"
    """For `input`: the branches' tokens one after the other, or weighed against each other token by token."""
    hint: bool = False
    """For `input`: a summary of the video is also added to every token of the task, so that a small model with random
    weights need not first learn to attend to the video."""
    match: int = 0
    """With `hint`: in how many subspaces words are compared with the video. The similarity is added to each word's
    vector and to the next word's logits. A model with random weights then learns to choose among options in hundreds
    of steps, not in thousands."""
    gates: Literal["learned", "open", "closed"] = "learned"
    start: float = 0.5
    """What a learned gate lets through at the beginning; 0 for a pretrained language model in `layers`."""
    every: int = 2
    """For `layers`: before every n-th layer, beginning with the first."""
    width: int = 0
    """For `layers`: the width of the cross-attention; 0: the language model's own."""


class LoraSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank updates of the language model's attention."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: tuple[str, ...] = ()
    """Names of linear layers; all of those inside attention where none is given."""


class LanguageSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The causal language model."""

    name: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    """As for the backbone; `vocab_size` is filled in where the tokenizer is trained along."""
    frozen: bool = True
    lora: LoraSettings | None = None
    lines: bool = False
    """Whether the first token of its line, an option's letter, is added to each token. Helps a small model with random
    weights, which takes long to find it by attention."""
    breaks: tuple[int, ...] = ()
    """For `lines`: tokens that end a line; filled in from the tokenizer."""
    chat: bool = False
    """Whether tasks use the checkpoint's chat template."""
    attention: str = ""
    """As for the backbone."""
    quantize: Literal["", "nf4", "int8"] = ""
    """Frozen weights of four or eight bits (QLoRA); needs bitsandbytes."""
    trust_remote_code: bool = False


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it."""

    checkpoint: str = ""
    """A whole vision-language checkpoint to start from (InternVL, Qwen2.5-VL, Qwen3-VL): vision tower, projector and
    language model come from it, the temporal branch is added."""
    vision: VisionSettings = VisionSettings()
    spatial: SpatialSettings = SpatialSettings()
    temporal: TemporalSettings = TemporalSettings()
    fusion: FusionSettings = FusionSettings()
    language: LanguageSettings = LanguageSettings()

    @property
    def vision_source(self) -> str:
        """The checkpoint that vision comes from, if any."""
        return self.vision.name or self.checkpoint

    @property
    def language_source(self) -> str:
        """The checkpoint that the language model comes from, if any."""
        return self.language.name or self.checkpoint

    @property
    def visual_tokens(self) -> int:
        """Tokens that a video takes in the language model's input."""
        if self.fusion.place == "layers":
            return 0
        if self.fusion.place == "both" and self.spatial.on:
            return self.spatial_tokens
        if self.fusion.join == "sum" and self.spatial.on and self.temporal.on:
            return self.spatial_tokens
        return self.spatial_tokens * self.spatial.on + self.temporal.tokens * self.temporal.on

    @property
    def spatial_tokens(self) -> int:
        """Tokens of the spatial branch."""
        each = self.spatial.grid**2
        return each * self.spatial.frames if self.spatial.pool in ("frames", "shuffle") else each

    @property
    def has_fixed_features(self) -> bool:
        """Whether nothing that learns lies below the branches, so that their inputs can be cached."""
        return self.vision.frozen and (not self.temporal.on or self.temporal.init in ("features", "video"))


def check_settings(settings: ModelSettings, *, has_weights: bool = False) -> ModelSettings:
    """Refuse combinations that cannot work, each in one line. `has_weights`: all parts have weights already."""
    if not settings.spatial.on and not settings.temporal.on:
        raise UsageError("model: one of spatial and temporal must be on")
    _check_parts(settings)
    if not has_weights:
        check_frozen_encoder(settings)
    parts = () if settings.checkpoint else ((settings.vision, "vision"), (settings.language, "language"))
    for part, what in parts:
        if not part.name and not part.config.get("model_type"):
            raise UsageError(f"model.{what}: give a name, or a config with its model_type")
        if (
            not has_weights
            and not part.name
            and part.frozen
            and not (what == "language" and settings.language.lora)
        ):
            raise UsageError(f"model.{what} begins from chance, so it must learn: frozen: false")
    if (
        settings.temporal.on
        and settings.temporal.init == "backbone"
        and settings.vision.config.get("model_type") == "conv"
    ):
        raise UsageError("model.temporal: the stem 'conv' has no layers to begin from; init: fresh")
    for name, value, minimum in (
        ("spatial.frames", settings.spatial.frames, 1),
        ("spatial.grid", settings.spatial.grid, 1),
        ("temporal.window", settings.temporal.window, settings.temporal.tubelet),
        ("temporal.tokens", settings.temporal.tokens, 1),
        ("temporal.tubelet", settings.temporal.tubelet, 1),
        ("temporal.patches", settings.temporal.patches, 1),
        ("temporal.cells", settings.temporal.cells, 1),
        ("fusion.every", settings.fusion.every, 1),
        ("fusion.match", settings.fusion.match, 0),
    ):
        if value < minimum:
            raise UsageError(f"model.{name} is {value}; it must be at least {minimum}")
    if settings.fusion.match and not (settings.fusion.hint and settings.fusion.place == "input"):
        raise UsageError("model.fusion.match needs hint: true and place: input")
    for name, widths in (
        ("vision.config", settings.vision.config.get("widths", (8,))),
        ("temporal", settings.temporal.widths),
    ):
        if not widths or any(width % 8 for width in widths):
            raise UsageError(f"model.{name}: widths must be multiples of 8")
    if settings.temporal.init == "fresh" and settings.temporal.widths[-1] % settings.temporal.heads:
        raise UsageError("model.temporal: the last of widths must be a multiple of heads")
    return settings


def check_frozen_encoder(settings: ModelSettings) -> None:
    """Refuse a backbone that learns below a temporal branch that takes the features of a frozen one."""
    init = settings.temporal.init
    if settings.temporal.on and init in ("features", "video") and not settings.vision.frozen:
        raise UsageError(
            f"model.temporal.init: {init} needs a backbone that does not learn; write vision.frozen: true, or "
            "init: backbone"
        )


def _check_parts(settings: ModelSettings) -> None:
    temporal, language = settings.temporal, settings.language
    if settings.checkpoint and (settings.vision.name or settings.language.name):
        raise UsageError(
            "model.checkpoint gives vision and language; leave out vision.name and language.name"
        )
    if temporal.on and temporal.init in ("features", "video"):
        if temporal.patches % temporal.cells:
            raise UsageError(
                f"model.temporal.patches is {temporal.patches}; it must be a multiple of cells, {temporal.cells}"
            )
        if temporal.tokens % temporal.cells**2:
            raise UsageError(
                f"model.temporal.tokens is {temporal.tokens}; it must be a multiple of {temporal.cells**2}"
            )
    if temporal.on and temporal.init == "video" and not (temporal.encoder.name or temporal.encoder.config):
        raise UsageError("model.temporal.encoder: init: video needs the name of a video encoder")
    if settings.fusion.place == "both" and not temporal.on:
        raise UsageError("model.fusion: place: both needs the temporal branch; use place: input")
    if language.quantize and not (language.frozen and language.lora):
        raise UsageError(
            "model.language.quantize: quantized weights cannot learn; frozen: true and lora are needed"
        )
    if language.quantize and not (settings.vision_source and settings.language_source):
        raise UsageError(
            "model.language.quantize: quantized weights are not stored, but loaded again by name; both backbones "
            "need a name, or model.checkpoint"
        )


class MimicChatConfig(PretrainedConfig):  # type: ignore[misc]
    """The configuration in the form of the transformers library; `parts` holds all of it."""

    model_type = "mimic_chat"
    has_no_defaults_at_init = True
    parts: dict[str, Any] | None = None
    trained: list[str] | None = None
    """Backbones (`vision`, `language`) that have learnt, now or in an earlier training, so that their weights are not
    those of their names. None in checkpoints that do not say it."""

    @classmethod
    def from_settings(cls, settings: ModelSettings) -> MimicChatConfig:
        """Check the settings and wrap them."""
        return cls(parts=msgspec.to_builtins(check_settings(settings)))

    @property
    def settings(self) -> ModelSettings:
        """The settings that it holds."""
        try:
            return msgspec.convert(self.parts or {}, ModelSettings)
        except msgspec.ValidationError as error:
            raise UsageError(f"The checkpoint's config is not one of MIMIC-Chat: {error}") from error


AutoConfig.register(MimicChatConfig.model_type, MimicChatConfig)
