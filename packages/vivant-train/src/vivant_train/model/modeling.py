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
from transformers import LogitsProcessorList, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from vivant.core.errors import UsageError
from vivant.models.mimic_chat_format import MARKS, PATCH, spatial_frame_indices
from vivant_train.backbones.loading import load_projector
from vivant_train.model.config import MimicChatConfig, ModelSettings, check_frozen_encoder
from vivant_train.model.features import VideoFeatures, extract_features, group_by_length
from vivant_train.model.fusion import (
    InputFusion,
    LayerFusion,
    Projector,
    find_line_heads,
    make_fusion,
    select_video_rows,
)
from vivant_train.model.language import fill_configs, make_language_model
from vivant_train.model.lora import add_lora
from vivant_train.model.spatial import SpatialBranch
from vivant_train.model.temporal import TemporalBranch
from vivant_train.model.video_encoder import VideoEncoder
from vivant_train.model.vision_encoder import VisionEncoder, normalize_pixels


class MimicChat(PreTrainedModel):  # type: ignore[misc]
    """The model. `settings` says what it is made of."""

    config_class = MimicChatConfig
    base_model_prefix = ""
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    input_modalities = ("video", "text")

    def __init__(
        self, config: MimicChatConfig, *, pretrained: bool = False, dtype: torch.dtype = torch.float32
    ) -> None:
        """`dtype` is the number format of loaded weights that stay frozen; what learns is float32."""
        super().__init__(config)
        settings: ModelSettings = config.settings
        self.trained = set(config.trained or ())
        vision_dtype = dtype if settings.vision.frozen else torch.float32
        language_dtype = dtype if settings.language.frozen else torch.float32
        self.eyes = VisionEncoder(
            settings.vision, name=settings.vision_source, pretrained=pretrained, dtype=vision_dtype
        )
        self.language_model = make_language_model(
            settings.language, settings.language_source, pretrained=pretrained, dtype=language_dtype
        )
        self.settings = settings = fill_configs(settings, self.eyes, self.language_model)
        text = self.language_model.config.get_text_config()
        self.vocabulary, hidden = int(text.vocab_size), int(text.hidden_size)
        widths = self._add_branches(pretrained, vision_dtype)
        self.projectors = nn.ModuleDict({name: Projector(width, hidden) for name, width in widths.items()})
        if settings.checkpoint and settings.spatial.on:
            self._take_projector(pretrained)
        self.marks = nn.Embedding(len(MARKS), hidden)
        nn.init.normal_(self.marks.weight, std=0.02)
        self.lines = nn.Linear(hidden, hidden, bias=False) if settings.language.lines else None
        self.fusion, self.inside = make_fusion(settings.fusion, widths, self.language_model)
        if settings.language.lora is not None:
            add_lora(self.language_model, settings.language.lora)
        self.freeze()
        self.post_init()

    def _add_branches(self, pretrained: bool, dtype: torch.dtype) -> dict[str, int]:
        """The branches that are on, and the width of each."""
        settings, widths = self.settings, {}
        if settings.spatial.on:
            self.spatial = SpatialBranch(settings.spatial, self.eyes.side, self.eyes.width)
            widths["spatial"] = self.spatial.width
        if settings.temporal.on:
            feature_width = None
            if settings.temporal.init == "video":
                self.video_encoder = VideoEncoder(
                    settings.temporal.encoder, pretrained=pretrained, dtype=dtype
                )
                feature_width = self.video_encoder.width
            elif settings.temporal.init == "features":
                feature_width = self.eyes.width
            self.temporal = TemporalBranch(
                settings.temporal, self.eyes, settings.vision.image_size, feature_width
            )
            widths["temporal"] = self.temporal.width
        return widths

    def _take_projector(self, pretrained: bool) -> None:
        """The spatial branch's projector from the whole checkpoint."""
        if self.eyes.takes_patches_of_qwen:  # its tower projects already
            self.projectors["spatial"] = nn.Identity()
            return
        if self.settings.spatial.pool != "shuffle" or self.settings.spatial.grid * 2 != self.eyes.side:
            raise UsageError(
                "model.spatial: the checkpoint's projector takes four neighbouring patches at once; write "
                f"pool: shuffle and grid: {self.eyes.side // 2}"
            )
        if pretrained:
            self.projectors["spatial"].layers.load_state_dict(load_projector(self.settings.checkpoint))

    def init_weights(self) -> None:
        """Every part keeps the weights of its own constructor: new updates begin at zero, loaded weights stay."""

    def freeze(self) -> None:
        """Freeze the parts that the settings freeze. What learns once stays among the trained."""
        frozen = {"vision": self.settings.vision.frozen, "language": self.settings.language.frozen}
        self.trained |= {name for name, rests in frozen.items() if not rests}
        self.eyes.requires_grad_(not self.settings.vision.frozen)
        if self.settings.temporal.on and self.settings.temporal.init == "video":
            self.video_encoder.requires_grad_(False)
        for name, weight in self.language_model.named_parameters():
            if weight.is_floating_point():  # quantized weights cannot learn
                weight.requires_grad_("lora_" in name or not self.settings.language.frozen)

    def enable_checkpointing(self) -> None:
        """Compute activations again in the backward pass instead of keeping them: language model, windows of frames."""
        self.language_model.gradient_checkpointing_enable({"use_reentrant": False})
        if self.settings.temporal.on:
            self.temporal.checkpointing = True

    def set_trainable(self, settings: ModelSettings) -> None:
        """Take from other settings which parts learn; what the model is made of stays as it is."""
        current = self.settings
        language = msgspec.structs.replace(current.language, frozen=settings.language.frozen)
        if current.language.lora is None and settings.language.lora is not None:
            add_lora(self.language_model, settings.language.lora)
            language = msgspec.structs.replace(language, lora=settings.language.lora)
        vision = msgspec.structs.replace(current.vision, frozen=settings.vision.frozen)
        changed = msgspec.structs.replace(current, vision=vision, language=language)
        check_frozen_encoder(changed)
        self.settings = changed
        self.freeze()

    def to_training_dtypes(self, frozen: torch.dtype) -> None:
        """What learns in float32, named backbones that do not in `frozen`."""
        self.to(torch.float32)
        for part, source in (
            (self.eyes, self.settings.vision_source),
            (self.language_model, self.settings.language_source),
        ):
            if source:
                for weight in part.parameters():
                    if not weight.requires_grad:
                        weight.data = weight.data.to(frozen)

    def train(self, mode: bool = True) -> MimicChat:
        """Frozen backbones stay in evaluation: no dropout, no statistics."""
        super().train(mode)
        if self.settings.vision.frozen:
            self.eyes.eval()
        if self.settings.temporal.on and self.settings.temporal.init == "video":
            self.video_encoder.eval()
        return self

    # ── vision ──

    def encode_videos(
        self,
        frames: Tensor | None,
        frame_counts: Sequence[int],
        features: Sequence[VideoFeatures] | None = None,
    ) -> dict[str, Tensor]:
        """Tokens by branch.

        Args:
            frames: of all videos as bytes, [all frames, side, side, 3].
            frame_counts: how many each has.
            features: instead, what frozen encoders made of each video.
        """
        if self.settings.has_fixed_features:
            if features is None:
                assert frames is not None
                features = [extract_features(self, each) for each in frames.split(list(frame_counts))]
            tokens = self._encode_features(features)
        else:
            assert frames is not None, "features are cached for frozen encoders alone"
            tokens = self._encode_frames(frames, frame_counts)
        return {
            name: self.projectors[name](branch.to(self.marks.weight.dtype)) for name, branch in tokens.items()
        }

    def _encode_features(self, features: Sequence[VideoFeatures]) -> dict[str, Tensor]:
        tokens: dict[str, Tensor] = {}
        if self.settings.spatial.on:
            tokens["spatial"] = torch.stack([each["spatial"] for each in features])
        if self.settings.temporal.on:
            tokens["temporal"] = group_by_length(
                [each["temporal"] for each in features], lambda videos: self.temporal(self.eyes, videos)
            )
        return tokens

    def _encode_frames(self, frames: Tensor, frame_counts: Sequence[int]) -> dict[str, Tensor]:
        pixels = normalize_pixels(frames, self.settings.vision, self.eyes.dtype)
        videos = list(pixels.split(list(frame_counts)))
        tokens: dict[str, Tensor] = {}
        with torch.no_grad() if self.settings.vision.frozen else nullcontext():
            if self.settings.spatial.on:
                count = self.settings.spatial.frames
                chosen = torch.stack([v[spatial_frame_indices(len(v), count)] for v in videos])
                tokens["spatial"] = self.spatial(self.eyes, chosen)
        if self.settings.temporal.on:
            tokens["temporal"] = group_by_length(videos, lambda group: self.temporal(self.eyes, group))
        return tokens

    def embed(self, ids: Tensor, patches: Tensor | None, prompt_mask: Tensor | None = None) -> Tensor:
        """Vectors of the ids; where a patch stands, the tokens of what was seen, in order."""
        is_mark = ids >= self.vocabulary
        table, vectors = self.language_model.get_input_embeddings(), self._embed_words(ids)
        marked = self.marks((ids - self.vocabulary).clamp(0, len(MARKS) - 1)).to(vectors.dtype)
        vectors = torch.where(is_mark[..., None], marked, vectors)
        if self.lines is not None:
            heads, inside = find_line_heads(ids, self.vocabulary, self.settings.language.breaks)
            inside = inside if prompt_mask is None else inside & prompt_mask
            vectors = vectors + self.lines(table(heads)).masked_fill(~inside[..., None], 0.0)
        if patches is not None:
            is_patch = ids == self.vocabulary + PATCH
            vectors = vectors.masked_scatter(is_patch[..., None], patches.to(vectors.dtype))
        return vectors

    def _embed_words(self, ids: Tensor) -> Tensor:
        """Vectors from the language model's table; marks have those of its first word."""
        return self.language_model.get_input_embeddings()(ids.masked_fill(ids >= self.vocabulary, 0))

    # ── training and generation ──

    def forward(
        self,
        input_ids: Tensor,
        frames: Tensor | None = None,
        frame_counts: Sequence[int] = (),
        features: Sequence[VideoFeatures] | None = None,
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
            features: instead of frames, what frozen encoders made of each video.
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
            input_ids, (frames, frame_counts, features), question_videos, video_index, prompt_mask
        )
        if labels is not None:
            answer_columns = (labels[:, 1:] != -100).any(0).nonzero()[:, 0]
            if not len(answer_columns):  # a pass that only keeps processes in step: its loss is 0
                answer_columns = torch.zeros(1, dtype=torch.long, device=labels.device)
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
                out.logits = out.logits + select_video_rows(word_scores, video_index)
            return out
        logits = out.logits if self._keeps_logits else out.logits[:, answer_columns]
        if word_scores is not None and video_index is not None:
            logits = logits + select_video_rows(word_scores, video_index[:, answer_columns])
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
        if not features and frames is None:
            total = total + self._touch_branches()
        return CausalLMOutputWithPast(loss=total / max(1, count), logits=logits)

    def _touch_branches(self) -> Tensor | float:
        """Nothing, by way of every weight that only videos use: processes that share gradients need one for each."""
        weights = [
            weight
            for name, weight in self.named_parameters()
            if weight.requires_grad and not name.startswith("language_model.")
        ]
        return sum((0.0 * weight.sum() for weight in weights), 0.0)

    @property
    def _keeps_logits(self) -> bool:
        return "logits_to_keep" in inspect.signature(self.language_model.forward).parameters

    def _prepare_inputs(
        self,
        ids: Tensor,
        videos: tuple[Tensor | None, Sequence[int], Sequence[VideoFeatures] | None],
        question_videos: Sequence[int],
        video_index: Tensor | None,
        prompt_mask: Tensor | None,
    ) -> tuple[Tensor, Any, Tensor | None]:
        """The input vectors, the context to run the language model in, and how well each word fits each video."""
        frames, frame_counts, features = videos
        inside = self.fusion if isinstance(self.fusion, LayerFusion) else self.inside
        if not features and (frames is None or not len(frame_counts)):
            context = nullcontext() if inside is None else inside.attend_to(None, None)
            return self.embed(ids, None, prompt_mask), context, None
        tokens = self.encode_videos(frames, frame_counts, features)
        if isinstance(self.fusion, InputFusion) and self.inside is not None:
            in_input = {name: value for name, value in tokens.items() if name in self.fusion.kinds}
            vectors = self.embed(ids, self.fusion(in_input)[list(question_videos)], prompt_mask)
            return vectors, self.inside.attend_to({"temporal": tokens["temporal"]}, video_index), None
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
        return self.embed(ids, None, prompt_mask), self.fusion.attend_to(tokens, video_index), None

    def score_vocabulary(self, sums: Tensor) -> Tensor | None:
        """How well each word fits each video, [videos, vocabulary], where the settings ask for it."""
        if not isinstance(self.fusion, InputFusion) or self.fusion.match is None:
            return None
        return self.fusion.match.score_vocabulary(self.language_model.get_input_embeddings().weight, sums)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def generate(
        self,
        input_ids: Tensor,
        frames: Tensor | None = None,
        frame_counts: Sequence[int] = (),
        features: Sequence[VideoFeatures] | None = None,
        question_videos: Sequence[int] = (),
        video_index: Tensor | None = None,
        prompt_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **named: Any,
    ) -> Any:
        """Generate answers; rows are padded on the left. Only new tokens are returned."""
        vectors, fusion_context, word_scores = self._prepare_inputs(
            input_ids, (frames, frame_counts, features), question_videos, video_index, prompt_mask
        )
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if word_scores is not None and video_index is not None:
            bias = select_video_rows(word_scores, video_index[:, -1])
            later = named.get("logits_processor") or ()
            named["logits_processor"] = LogitsProcessorList([lambda _, scores: scores + bias, *later])
        with fusion_context:
            return self.language_model.generate(inputs_embeds=vectors, attention_mask=attention_mask, **named)
