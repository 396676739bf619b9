"""A training as data: the file that `vivant train mimic-chat --config` reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.types import FramePolicy
from vivant.core.yaml_files import read_yaml
from vivant_train.data.sources import TrainingSource
from vivant_train.data.split import Split
from vivant_train.model.config import ModelSettings, check_settings
from vivant_train.sharding import check_sharding

SIZES = ("tiny", "1b", "8b")


class DataSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the model learns from."""

    sources: tuple[TrainingSource, ...]
    frames: FramePolicy = FramePolicy(count=16)
    vocabulary: int = 2048
    """Tokens of the tokenizer that is trained along, where the language model has no name."""
    max_failed: float = 0.05
    """Share of videos that may fail, or of examples that may be too long, before the training is refused."""
    memory: int = 1024
    """Megabytes of frames kept in memory."""
    workers: int = 2
    """Processes that decode."""


PARTS = ("vision", "temporal", "projectors", "fusion", "lora", "language")
TRACKERS = ("tensorboard", "wandb", "mlflow")


class StageSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the training in which only some parts learn."""

    steps: int
    parts: tuple[str, ...] = ()
    """What learns in it: vision, temporal, projectors, fusion, lora, language; all that is not frozen where empty."""
    learning_rate: float = 0.0
    """0: the training's."""
    warm_up: int | None = None


class TrainingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the model learns."""

    steps: int = 1000
    learning_rate: float = 8e-4
    warm_up: int = 50
    floor: float = 0.01
    """Share of the learning rate that the cosine ends at."""
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    """Largest norm of the gradient."""
    batch_tokens: int = 2048
    """Tokens of one update, over all processes and accumulated passes."""
    row_tokens: int = 512
    """Tokens of one row; what is longer is left out."""
    micro_rows: int = 0
    """Rows of one pass: an update of more is accumulated. 0: all at once."""
    per_video: int = 4
    """Questions about one video that stay together, so that it is encoded once."""
    packing: bool = True
    answers_alike: bool = False
    """Whether each answer counts alike, a letter as much as a sentence; else each token of an answer does."""
    precision: Literal["auto", "no", "bf16", "fp16"] = "auto"
    """`auto`: bf16 where a backbone is stored in it, else none. Frozen weights are kept so; what learns is float32."""
    gradient_checkpointing: bool = False
    device: str = "auto"
    """`auto`, `cpu`, `cuda`, `mps`."""
    fsdp: Mapping[str, Any] | None = None
    """Share out weights, gradients and optimizer over processes (FSDP2): `{}`, or `reshard_after_forward`,
    `cpu_offload`. Without it every process has them all (DDP)."""
    deepspeed: Mapping[str, Any] = field(default_factory=dict)
    """Settings of accelerate's DeepSpeedPlugin, e.g. `zero_stage: 1`, instead of `fsdp`."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Factors of the learning rate by part: vision, temporal, projectors, fusion, lora, language."""
    stages: tuple[StageSettings, ...] = ()
    """Such as an alignment of projectors before the rest learns. Their steps add up to `steps`."""
    trackers: tuple[str, ...] = ("tensorboard",)
    """Where curves go beside `metrics.csv`: tensorboard, wandb, mlflow."""
    threads: int = 0
    """Of the processor; 0 leaves it to torch."""


class EvaluationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An evaluation on a held-out slice by one of Vivant's benchmarks."""

    benchmark: str = "mimic/thinking"
    data: str = ""
    where: tuple[str, ...] = ()
    split: Split | None = None
    style: str = ""
    limit: int | None = None
    every: int = 0
    """Steps between two evaluations; 0: only at the end."""


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole training."""

    model: ModelSettings
    data: DataSettings
    train: TrainingSettings = TrainingSettings()
    evaluation: EvaluationSettings | None = None
    out: str = "mimic-chat"
    seed: int = 0
    checkpoint_every: int = 100
    log_every: int = 10
    keep: int = 2
    """How many checkpoints to resume from are kept."""
    begin: str = ""
    """A finished MIMIC-Chat to start from. Its parts stay as they are; of `model` only what learns is read
    (`vision.frozen`, `language.frozen`, `language.lora`)."""

    def fingerprint(self) -> str:
        """What must be equal for a training to resume: all but its folder and how often it saves and evaluates."""
        content = msgspec.to_builtins(self)
        for name in ("out", "checkpoint_every", "log_every", "keep", "evaluation"):
            content.pop(name)
        for name in (
            "micro_rows",
            "gradient_checkpointing",
            "device",
            "fsdp",
            "deepspeed",
            "threads",
            "trackers",
        ):
            content["train"].pop(name)
        for name in ("memory", "workers"):
            content["data"].pop(name)
        return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:16]


def load_recipe(file: str | Path) -> tuple[Recipe, Path]:
    """The recipe in a YAML file, and the folder that its paths are relative to.

    `model` may be the name of a size, or a mapping with `size` and what is to be otherwise. A backbone named there
    replaces the size's, whose configuration then no longer counts.
    """
    path = Path(file).expanduser()
    try:
        content = read_yaml(path, object)
    except DataError as error:
        raise UsageError(f"Cannot read the recipe: {error}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} should be a mapping with model, data, train")
    recipe = make_recipe(content, str(path))
    return msgspec.structs.replace(recipe, model=_resolve_folders(recipe.model, path.parent)), path.parent


def _resolve_folders(model: ModelSettings, base: Path) -> ModelSettings:
    """Names of backbones that are folders beside the recipe, as paths that hold from everywhere."""

    def resolve(name: str) -> str:
        folder = base / Path(name).expanduser()
        return str(folder.resolve()) if name and folder.is_dir() else name

    replace = msgspec.structs.replace
    encoder = replace(model.temporal.encoder, name=resolve(model.temporal.encoder.name))
    return replace(
        model,
        checkpoint=resolve(model.checkpoint),
        vision=replace(model.vision, name=resolve(model.vision.name)),
        language=replace(model.language, name=resolve(model.language.name)),
        temporal=replace(model.temporal, encoder=encoder),
    )


def make_recipe(content: Mapping[str, Any], source: str = "recipe") -> Recipe:
    """A recipe from plain data; `source` names it in errors."""
    resolved = {**content, "model": _resolve_model(content.get("model", "tiny"))}
    try:
        recipe = msgspec.convert(resolved, Recipe)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {error}") from error
    check_settings(recipe.model, has_weights=bool(recipe.begin))
    _check_recipe(recipe, source)
    return recipe


def _check_recipe(recipe: Recipe, source: str) -> None:
    train = recipe.train
    for name, value in (
        ("train.steps", train.steps),
        ("train.batch_tokens", train.batch_tokens),
        ("train.row_tokens", train.row_tokens),
        ("train.per_video", train.per_video),
        ("checkpoint_every", recipe.checkpoint_every),
        ("log_every", recipe.log_every),
        ("keep", recipe.keep),
    ):
        if value < 1:
            raise UsageError(f"{source}: {name} is {value}; it must be at least 1")
    _check_stages(train, source)
    if train.fsdp is not None:
        if train.deepspeed:
            raise UsageError(f"{source}: train.fsdp and train.deepspeed exclude each other")
        check_sharding(train.fsdp)
        if recipe.model.language.quantize:
            raise UsageError(
                f"{source}: train.fsdp cannot share out quantized weights; leave out one of them"
            )
    temporal = recipe.model.temporal
    distinct = (
        recipe.data.frames.cap or recipe.data.frames.count if recipe.data.frames.select == "count" else None
    )
    if temporal.on and temporal.init != "fresh" and distinct is not None:
        cells = temporal.cells**2 if temporal.init in ("features", "video") else 1
        if temporal.tokens > distinct * cells:
            raise UsageError(
                f"{source}: model.temporal.tokens is {temporal.tokens}, but {distinct} frames give only "
                f"{distinct * cells} different ones; raise data.frames.count or temporal.cells, or lower tokens"
            )
    if recipe.model.visual_tokens >= train.row_tokens:
        raise UsageError(
            f"{source}: a video alone takes {recipe.model.visual_tokens} tokens; raise train.row_tokens"
        )


def _check_stages(train: TrainingSettings, source: str) -> None:
    for part in (*train.rates, *(part for stage in train.stages for part in stage.parts)):
        if part not in PARTS:
            raise unknown_name_error(f"part in {source}", part, PARTS)
    for name in train.trackers:
        if name not in TRACKERS:
            raise unknown_name_error(f"tracker in {source}", name, TRACKERS)
    if train.stages and sum(stage.steps for stage in train.stages) != train.steps:
        raise UsageError(
            f"{source}: the stages have {sum(stage.steps for stage in train.stages)} steps together, train.steps is "
            f"{train.steps}; they must be equal"
        )
    if any(stage.steps < 1 for stage in train.stages):
        raise UsageError(f"{source}: every stage needs at least one step")


def _resolve_model(model: Any) -> Any:
    if isinstance(model, str):
        return load_size(model)
    if isinstance(model, dict) and "size" in model:
        changes = {name: value for name, value in model.items() if name != "size"}
        return _merge(_leave_out_backbones(load_size(model["size"]), changes), changes)
    return model


def _leave_out_backbones(size: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A size without the names and figures of backbones that a recipe replaces by others."""
    for part in ("vision", "language"):
        change = changes.get(part)
        if changes.get("checkpoint") or (isinstance(change, Mapping) and change.get("name")):
            size[part] = {name: value for name, value in size[part].items() if name not in ("name", "config")}
    return size


def load_size(name: str) -> dict[str, Any]:
    """The bundled settings of a size."""
    if name not in SIZES:
        raise unknown_name_error("size", str(name), SIZES)
    with resources.as_file(resources.files("vivant_train").joinpath("sizes", f"{name}.yaml")) as file:
        return read_yaml(file, dict[str, Any])


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes`, merged mapping by mapping."""
    merged = dict(base)
    for name, value in changes.items():
        previous = merged.get(name)
        nested = isinstance(previous, Mapping) and isinstance(value, Mapping)
        merged[name] = _merge(previous, value) if nested else value  # type: ignore[arg-type]
    return merged
