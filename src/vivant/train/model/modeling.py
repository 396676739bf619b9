"""MIMIC-Chat: `[VID] video [SEP] task` in, an option's letter or a comment out, by one language-modelling loss."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForCausalLM, LogitsProcessorList, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from vivant.models.base import ModelError
from vivant.models.transformers_engine import loading_error
from vivant.train.model.config import LanguageSettings, MimicChatConfig, ModelSettings
from vivant.train.model.fusion import InputFusion, LayerFusion, Projector
from vivant.train.model.lora import add_lora
from vivant.train.model.request_format import MARKS, PATCH, spatial_frame_indices
from vivant.train.model.spatial import SpatialBranch, VisionEncoder, normalize_pixels
from vivant.train.model.temporal import TemporalBranch


class MimicChat(PreTrainedModel):  # type: ignore[misc]
    """The model. `settings` says what it is made of."""

    config_class = MimicChatConfig
    base_model_prefix = ""
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    input_modalities = ("video", "text")

    def __init__(self, config: MimicChatConfig, *, pretrained: bool = False) -> None:
        super().__init__(config)
        self.settings: ModelSettings = config.settings
        settings = self.settings
        self.eyes = VisionEncoder(settings.vision, pretrained=pretrained)
        self.language_model = _load_language_model(settings.language, pretrained)
        text = self.language_model.config.get_text_config()
        self.vocabulary, hidden = int(text.vocab_size), int(text.hidden_size)
        widths: dict[str, int] = {}
        if settings.spatial.on:
            self.spatial = SpatialBranch(settings.spatial, self.eyes.side)
            widths["spatial"] = self.eyes.width
        if settings.temporal.on:
            self.temporal = TemporalBranch(settings.temporal, self.eyes, settings.vision.image_size)
            widths["temporal"] = self.temporal.width
        self.projectors = nn.ModuleDict({name: Projector(width, hidden) for name, width in widths.items()})
        self.marks = nn.Embedding(len(MARKS), hidden)
        nn.init.normal_(self.marks.weight, std=0.02)
        self.lines = nn.Linear(hidden, hidden, bias=False) if settings.language.lines else None
        self.fusion: InputFusion | LayerFusion
        if settings.fusion.place == "input":
            self.fusion = InputFusion(settings.fusion, widths, hidden)
        else:
            heads, layers = int(text.num_attention_heads), int(text.num_hidden_layers)
            self.fusion = LayerFusion(settings.fusion, widths, hidden, heads, layers)
        if settings.language.lora is not None:
            add_lora(self.language_model, settings.language.lora)
        self.freeze()
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Every part keeps the weights of its own constructor."""

    def freeze(self) -> None:
        """Freeze the parts that the settings freeze."""
        self.eyes.requires_grad_(not self.settings.vision.frozen)
        for name, weight in self.language_model.named_parameters():
            weight.requires_grad_("lora_" in name or not self.settings.language.frozen)

    def set_trainable(self, settings: ModelSettings) -> None:
        """Take from other settings which parts learn; what the model is made of stays as it is."""
        current = self.settings
        language = msgspec.structs.replace(current.language, frozen=settings.language.frozen)
        if current.language.lora is None and settings.language.lora is not None:
            add_lora(self.language_model, settings.language.lora)
            language = msgspec.structs.replace(language, lora=settings.language.lora)
        vision = msgspec.structs.replace(current.vision, frozen=settings.vision.frozen)
        self.settings = msgspec.structs.replace(current, vision=vision, language=language)
        self.freeze()

    def train(self, mode: bool = True) -> MimicChat:
        """Frozen backbones stay in evaluation: no dropout, no statistics."""
        super().train(mode)
        if self.settings.vision.frozen:
            self.eyes.eval()
        return self

    # ── vision ──

    def encode_videos(self, frames: Tensor, frame_counts: Sequence[int]) -> dict[str, Tensor]:
        """Frames of all videos as bytes, [all frames, side, side, 3], and how many each has → tokens by branch."""
        dtype = self.projectors[next(iter(self.projectors))].layers[1].weight.dtype
        pixels = normalize_pixels(frames, self.settings.vision, dtype)
        videos = list(pixels.split(list(frame_counts)))
        tokens: dict[str, Tensor] = {}
        with torch.no_grad() if self.settings.vision.frozen else nullcontext():
            if self.settings.spatial.on:
                count = self.settings.spatial.frames
                chosen = torch.stack([v[spatial_frame_indices(len(v), count)] for v in videos])
                tokens["spatial"] = self.spatial(self.eyes, chosen)
        if self.settings.temporal.on:
            tokens["temporal"] = self._encode_temporal(videos)
        return {name: self.projectors[name](branch) for name, branch in tokens.items()}

    def _encode_temporal(self, videos: Sequence[Tensor]) -> Tensor:
        """Videos of one length go together; the order is kept."""
        results: list[Tensor | None] = [None] * len(videos)
        for length in sorted({len(video) for video in videos}):
            indices = [index for index, video in enumerate(videos) if len(video) == length]
            encoded = self.temporal(self.eyes, torch.stack([videos[index] for index in indices]))
            for index, tokens in zip(indices, encoded, strict=True):
                results[index] = tokens
        return torch.stack([tokens for tokens in results if tokens is not None])

    def embed(self, ids: Tensor, patches: Tensor | None, prompt_mask: Tensor | None = None) -> Tensor:
        """Vectors of the ids; where a patch stands, the tokens of what was seen, in order."""
        is_mark = ids >= self.vocabulary
        table, vectors = self.language_model.get_input_embeddings(), self._embed_words(ids)
        marked = self.marks((ids - self.vocabulary).clamp(0, len(MARKS) - 1)).to(vectors.dtype)
        vectors = torch.where(is_mark[..., None], marked, vectors)
        if self.lines is not None:
            heads, inside = self._find_line_heads(ids)
            inside = inside if prompt_mask is None else inside & prompt_mask
            vectors = vectors + self.lines(table(heads)).masked_fill(~inside[..., None], 0.0)
        if patches is not None:
            is_patch = ids == self.vocabulary + PATCH
            vectors = vectors.masked_scatter(is_patch[..., None], patches.to(vectors.dtype))
        return vectors

    def _embed_words(self, ids: Tensor) -> Tensor:
        """Vectors from the language model's table; marks have those of its first word."""
        return self.language_model.get_input_embeddings()(ids.masked_fill(ids >= self.vocabulary, 0))

    def _find_line_heads(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The first token of each token's line, and whether a token stands inside a line at all."""
        ends = ids >= self.vocabulary
        for token in self.settings.language.breaks:
            ends = ends | (ids == token)
        positions = torch.arange(ids.shape[1], device=ids.device)
        earlier = positions[None, :] <= positions[:, None]
        last = torch.where(ends[:, None] & earlier, positions, -1).amax(2)
        first = (last + 1).clamp(max=ids.shape[1] - 1)
        return ids.gather(1, first).masked_fill(ends.gather(1, first), 0), ~ends

    # ── training and generation ──

    def forward(
        self,
        input_ids: Tensor,
        frames: Tensor | None = None,
        frame_counts: Sequence[int] = (),
        question_videos: Sequence[int] = (),
        video_index: Tensor | None = None,
        prompt_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        labels: Tensor | None = None,
        token_weights: Tensor | None = None,
        num_items_in_batch: int | None = None,
        **named: Any,
    ) -> CausalLMOutputWithPast:
        """Rows may hold several questions: position ids that begin anew tell them apart.

        With labels, logits are those of the answers' tokens alone, and the loss is their sum over
        `num_items_in_batch`, or over their number.

        Args:
            input_ids: [rows, length].
            frames: of all videos as bytes, [all frames, side, side, 3].
            frame_counts: frames of each video.
            question_videos: the video of each question in order; several may be about one.
            video_index: the video of each token, [rows, length]; -1 where it has none.
            prompt_mask: which tokens are a question's, not its answer's.
            attention_mask: as for any causal language model.
            position_ids: likewise.
            labels: likewise.
            token_weights: how much each token's loss counts.
            num_items_in_batch: what the loss is divided by.
            **named: further arguments of the language model.
        """
        vectors, fusion_context, word_scores = self._prepare_inputs(
            input_ids, frames, frame_counts, question_videos, video_index, prompt_mask
        )
        if labels is not None:
            answer_columns = (labels[:, 1:] != -100).any(0).nonzero()[:, 0]
            if self._keeps_logits:
                named["logits_to_keep"] = answer_columns
        with fusion_context:
            out = self.language_model(
                inputs_embeds=vectors,
                attention_mask=attention_mask,
                position_ids=position_ids,
                use_cache=False,
                **named,
            )
        if labels is None:
            if word_scores is not None and video_index is not None:
                out.logits = out.logits + _select_video_rows(word_scores, video_index)
            return out
        logits = out.logits if self._keeps_logits else out.logits[:, answer_columns]
        if word_scores is not None and video_index is not None:
            logits = logits + _select_video_rows(word_scores, video_index[:, answer_columns])
        targets = labels[:, answer_columns + 1]
        losses = functional.cross_entropy(
            logits.flatten(0, 1).float(), targets.flatten(), ignore_index=-100, reduction="none"
        )
        total = (
            losses.sum()
            if token_weights is None
            else (losses * token_weights[:, answer_columns + 1].flatten()).sum()
        )
        count = num_items_in_batch or int((targets != -100).sum())
        return CausalLMOutputWithPast(loss=total / max(1, count), logits=logits)

    @property
    def _keeps_logits(self) -> bool:
        return "logits_to_keep" in inspect.signature(self.language_model.forward).parameters

    def _prepare_inputs(
        self,
        ids: Tensor,
        frames: Tensor | None,
        frame_counts: Sequence[int],
        question_videos: Sequence[int],
        video_index: Tensor | None,
        prompt_mask: Tensor | None,
    ) -> tuple[Tensor, Any, Tensor | None]:
        """The input vectors, the context to run the language model in, and how well each word fits each video."""
        if frames is None or not len(frame_counts):
            return self.embed(ids, None, prompt_mask), nullcontext(), None
        tokens = self.encode_videos(frames, frame_counts)
        if isinstance(self.fusion, InputFusion):
            seen = self.fusion(tokens)
            vectors = self.embed(ids, seen[list(question_videos)], prompt_mask)
            sums = self.fusion.summarize(seen)
            if video_index is None or sums is None:
                return vectors, nullcontext(), None
            # A token that is yet to be generated never gets a hint, so an answer to learn from gets none either.
            hinted = (video_index >= 0 if prompt_mask is None else (video_index >= 0) & prompt_mask)[
                ..., None
            ].to(vectors.dtype)
            hints = sums.to(vectors.dtype)[video_index.clamp(min=0)]
            vectors = self.fusion.add_hints(vectors, self._embed_words(ids), hints, hinted)
            return vectors, nullcontext(), self.score_vocabulary(sums)
        assert video_index is not None
        return (
            self.embed(ids, None, prompt_mask),
            self.fusion.attend_to(self.language_model, tokens, video_index),
            None,
        )

    def score_vocabulary(self, sums: Tensor) -> Tensor | None:
        """How well each word fits each video, [videos, vocabulary], where the settings ask for it."""
        if not isinstance(self.fusion, InputFusion) or self.fusion.match is None:
            return None
        return self.fusion.match.score_vocabulary(self.language_model.get_input_embeddings().weight, sums)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def generate(
        self,
        input_ids: Tensor,
        frames: Tensor | None = None,
        frame_counts: Sequence[int] = (),
        question_videos: Sequence[int] = (),
        video_index: Tensor | None = None,
        prompt_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **named: Any,
    ) -> Any:
        """Generate answers; rows are padded on the left. Only new tokens are returned."""
        vectors, fusion_context, word_scores = self._prepare_inputs(
            input_ids, frames, frame_counts, question_videos, video_index, prompt_mask
        )
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if word_scores is not None and video_index is not None:
            bias = _select_video_rows(word_scores, video_index[:, -1])
            named["logits_processor"] = LogitsProcessorList([lambda _, scores: scores + bias])
        with fusion_context:
            return self.language_model.generate(inputs_embeds=vectors, attention_mask=attention_mask, **named)


def _select_video_rows(named: Tensor, video_index: Tensor) -> Tensor:
    """For each token the row of its video; nothing where it has none (-1)."""
    return named[video_index.clamp(min=0)].masked_fill((video_index < 0)[..., None], 0.0)


def _load_language_model(language: LanguageSettings, pretrained: bool) -> Any:
    try:
        if pretrained and language.name:
            return AutoModelForCausalLM.from_pretrained(
                language.name, trust_remote_code=language.trust_remote_code
            )
        if language.config:
            values = {name: value for name, value in language.config.items() if name != "model_type"}
            config = AutoConfig.for_model(language.config["model_type"], **values)
        else:
            config = AutoConfig.from_pretrained(language.name, trust_remote_code=language.trust_remote_code)
        return AutoModelForCausalLM.from_config(config, trust_remote_code=language.trust_remote_code)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelError(loading_error(language.name or "model.language.config", error)) from error
