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
        parts = self.settings
        self.eyes = VisionEncoder(parts.vision, pretrained=pretrained)
        self.language_model = _load_language_model(parts.language, pretrained)
        text = self.language_model.config.get_text_config()
        self.vocabulary, hidden = int(text.vocab_size), int(text.hidden_size)
        widths: dict[str, int] = {}
        if parts.spatial.on:
            self.spatial = SpatialBranch(parts.spatial, self.eyes.side)
            widths["spatial"] = self.eyes.width
        if parts.temporal.on:
            self.temporal = TemporalBranch(parts.temporal, self.eyes, parts.vision.image_size)
            widths["temporal"] = self.temporal.width
        self.projectors = nn.ModuleDict({name: Projector(width, hidden) for name, width in widths.items()})
        self.marks = nn.Embedding(len(MARKS), hidden)
        nn.init.normal_(self.marks.weight, std=0.02)
        self.lines = nn.Linear(hidden, hidden, bias=False) if parts.language.lines else None
        self.fusion: InputFusion | LayerFusion
        if parts.fusion.place == "input":
            self.fusion = InputFusion(parts.fusion, widths, hidden)
        else:
            heads, layers = int(text.num_attention_heads), int(text.num_hidden_layers)
            self.fusion = LayerFusion(parts.fusion, widths, hidden, heads, layers)
        if parts.language.lora is not None:
            add_lora(self.language_model, parts.language.lora)
        self.freeze()
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Every part begins as its own constructor left it."""

    def freeze(self) -> None:
        """Let only those parts learn that the settings let learn."""
        self.eyes.requires_grad_(not self.settings.vision.frozen)
        for name, weight in self.language_model.named_parameters():
            weight.requires_grad_("lora_" in name or not self.settings.language.frozen)

    def set_trainable(self, parts: ModelSettings) -> None:
        """Take from other settings which parts learn; what the model is made of stays as it is."""
        own = self.settings
        language = msgspec.structs.replace(own.language, frozen=parts.language.frozen)
        if own.language.lora is None and parts.language.lora is not None:
            add_lora(self.language_model, parts.language.lora)
            language = msgspec.structs.replace(language, lora=parts.language.lora)
        vision = msgspec.structs.replace(own.vision, frozen=parts.vision.frozen)
        self.settings = msgspec.structs.replace(own, vision=vision, language=language)
        self.freeze()

    def train(self, mode: bool = True) -> MimicChat:
        """Frozen backbones stay in evaluation: no dropout, no statistics."""
        super().train(mode)
        if self.settings.vision.frozen:
            self.eyes.eval()
        return self

    # ── what is seen ──

    def encode_videos(self, frames: Tensor, lengths: Sequence[int]) -> dict[str, Tensor]:
        """Frames of all videos as bytes, [all frames, side, side, 3], and how many each has → tokens by branch."""
        kind = self.projectors[next(iter(self.projectors))].layers[1].weight.dtype
        pixels = normalize_pixels(frames, self.settings.vision, kind)
        videos = list(pixels.split(list(lengths)))
        found: dict[str, Tensor] = {}
        with nullcontext() if self._vision_learns else torch.no_grad():
            if self.settings.spatial.on:
                count = self.settings.spatial.frames
                chosen = torch.stack([v[spatial_frame_indices(len(v), count)] for v in videos])
                found["spatial"] = self.spatial(self.eyes, chosen)
        if self.settings.temporal.on:
            found["temporal"] = self._encode_temporal(videos)
        return {name: self.projectors[name](tokens) for name, tokens in found.items()}

    @property
    def _vision_learns(self) -> bool:
        return not self.settings.vision.frozen

    def _encode_temporal(self, videos: Sequence[Tensor]) -> Tensor:
        """Videos of one length go together; the order is kept."""
        found: list[Tensor | None] = [None] * len(videos)
        for length in sorted({len(video) for video in videos}):
            places = [place for place, video in enumerate(videos) if len(video) == length]
            seen = self.temporal(self.eyes, torch.stack([videos[place] for place in places]))
            for place, tokens in zip(places, seen, strict=True):
                found[place] = tokens
        return torch.stack([tokens for tokens in found if tokens is not None])

    def embed(self, ids: Tensor, patches: Tensor | None, asked: Tensor | None = None) -> Tensor:
        """Vectors of the ids; where a patch stands, the tokens of what was seen, in order."""
        marks = ids >= self.vocabulary
        table, vectors = self.language_model.get_input_embeddings(), self._embed_words(ids)
        marked = self.marks((ids - self.vocabulary).clamp(0, len(MARKS) - 1)).to(vectors.dtype)
        vectors = torch.where(marks[..., None], marked, vectors)
        if self.lines is not None:
            heads, inside = self._find_line_heads(ids)
            inside = inside if asked is None else inside & asked
            vectors = vectors + self.lines(table(heads)).masked_fill(~inside[..., None], 0.0)
        if patches is not None:
            places = ids == self.vocabulary + PATCH
            vectors = vectors.masked_scatter(places[..., None], patches.to(vectors.dtype))
        return vectors

    def _embed_words(self, ids: Tensor) -> Tensor:
        """Vectors from the language model's table; marks have those of its first word."""
        return self.language_model.get_input_embeddings()(ids.masked_fill(ids >= self.vocabulary, 0))

    def _find_line_heads(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The first token of each token's line, and whether a token stands inside a line at all."""
        ends = ids >= self.vocabulary
        for token in self.settings.language.breaks:
            ends = ends | (ids == token)
        places = torch.arange(ids.shape[1], device=ids.device)
        earlier = places[None, :] <= places[:, None]
        last = torch.where(ends[:, None] & earlier, places, -1).amax(2)
        first = (last + 1).clamp(max=ids.shape[1] - 1)
        return ids.gather(1, first).masked_fill(ends.gather(1, first), 0), ~ends

    # ── both ways of use ──

    def forward(
        self,
        input_ids: Tensor,
        frames: Tensor | None = None,
        lengths: Sequence[int] = (),
        shown: Sequence[int] = (),
        owner: Tensor | None = None,
        asked: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        labels: Tensor | None = None,
        shares: Tensor | None = None,
        num_items_in_batch: int | None = None,
        **named: Any,
    ) -> CausalLMOutputWithPast:
        """`shown` names the video of each question in order (several may be about one); `owner` that of each token,
        `asked` which tokens are a question's, not its answer's.

        Rows may hold several questions, told apart by position ids that begin anew. With labels, logits are those
        of the answers' tokens alone, and the loss is their sum over `num_items_in_batch`, or over their number; with
        `shares`, each token counts by its share of its answer.
        """
        vectors, around, named_words = self._prepare_inputs(input_ids, frames, lengths, shown, owner, asked)
        if labels is not None:
            answered = (labels[:, 1:] != -100).any(0).nonzero()[:, 0]
            if self._keeps_logits:
                named["logits_to_keep"] = answered
        with around:
            out = self.language_model(
                inputs_embeds=vectors,
                attention_mask=attention_mask,
                position_ids=position_ids,
                use_cache=False,
                **named,
            )
        if labels is None:
            if named_words is not None and owner is not None:
                out.logits = out.logits + _select_video_rows(named_words, owner)
            return out
        logits = out.logits if self._keeps_logits else out.logits[:, answered]
        if named_words is not None and owner is not None:
            logits = logits + _select_video_rows(named_words, owner[:, answered])
        wanted = labels[:, answered + 1]
        each = functional.cross_entropy(
            logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=-100, reduction="none"
        )
        total = each.sum() if shares is None else (each * shares[:, answered + 1].flatten()).sum()
        count = num_items_in_batch or int((wanted != -100).sum())
        return CausalLMOutputWithPast(loss=total / max(1, count), logits=logits)

    @property
    def _keeps_logits(self) -> bool:
        return "logits_to_keep" in inspect.signature(self.language_model.forward).parameters

    def _prepare_inputs(
        self,
        ids: Tensor,
        frames: Tensor | None,
        lengths: Sequence[int],
        shown: Sequence[int],
        owner: Tensor | None,
        asked: Tensor | None,
    ) -> tuple[Tensor, Any, Tensor | None]:
        """The input, what stays open while it is read, and how well each word fits each video, if that is told."""
        if frames is None or not len(lengths):
            return self.embed(ids, None, asked), nullcontext(), None
        tokens = self.encode_videos(frames, lengths)
        if isinstance(self.fusion, InputFusion):
            seen = self.fusion(tokens)
            vectors = self.embed(ids, seen[list(shown)], asked)
            sums = self.fusion.summarize(seen)
            if owner is None or sums is None:
                return vectors, nullcontext(), None
            # A token that is yet to be written is never given a hint, so neither is one to learn from.
            told = (owner >= 0 if asked is None else (owner >= 0) & asked)[..., None].to(vectors.dtype)
            hints = sums.to(vectors.dtype)[owner.clamp(min=0)]
            vectors = self.fusion.add_hints(vectors, self._embed_words(ids), hints, told)
            return vectors, nullcontext(), self.score_vocabulary(sums)
        assert owner is not None
        return self.embed(ids, None, asked), self.fusion.attend_to(self.language_model, tokens, owner), None

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
        lengths: Sequence[int] = (),
        shown: Sequence[int] = (),
        owner: Tensor | None = None,
        asked: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **named: Any,
    ) -> Any:
        """Write answers; rows are padded on the left. Only new tokens are returned."""
        vectors, around, named_words = self._prepare_inputs(input_ids, frames, lengths, shown, owner, asked)
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if named_words is not None and owner is not None:
            fitting = _select_video_rows(named_words, owner[:, -1])
            named["logits_processor"] = LogitsProcessorList([lambda _, scores: scores + fitting])
        with around:
            return self.language_model.generate(inputs_embeds=vectors, attention_mask=attention_mask, **named)


def _select_video_rows(named: Tensor, owner: Tensor) -> Tensor:
    """For each token the row of its video; nothing where it has none (-1)."""
    return named[owner.clamp(min=0)].masked_fill((owner < 0)[..., None], 0.0)


def _load_language_model(language: LanguageSettings, pretrained: bool) -> Any:
    try:
        if pretrained and language.name:
            return AutoModelForCausalLM.from_pretrained(
                language.name, trust_remote_code=language.trust_remote_code
            )
        if language.config:
            given = {name: value for name, value in language.config.items() if name != "model_type"}
            config = AutoConfig.for_model(language.config["model_type"], **given)
        else:
            config = AutoConfig.from_pretrained(language.name, trust_remote_code=language.trust_remote_code)
        return AutoModelForCausalLM.from_config(config, trust_remote_code=language.trust_remote_code)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelError(loading_error(language.name or "model.language.config", error)) from error
