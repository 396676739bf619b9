"""Projectors, gates, and cross-attention inside a language model's layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from vivant.core.errors import UsageError
from vivant_train.model.config import FusionSettings


class Projector(nn.Module):  # type: ignore[misc]
    """From a branch's space into the language model's."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, hidden)
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """[videos, tokens, width] → [videos, tokens, hidden]."""
        return self.layers(tokens)


class Gate(nn.Module):  # type: ignore[misc]
    """How much comes through: the hyperbolic tangent of one learned number; or all, or nothing."""

    def __init__(self, fusion: FusionSettings) -> None:
        super().__init__()
        self.kind = fusion.gates
        start = math.atanh(min(0.99, max(-0.99, fusion.start)))
        self.weight = nn.Parameter(torch.tensor([start])) if self.kind == "learned" else None

    @property
    def factor(self) -> Tensor | float:
        """What its tokens are multiplied with: 1 where it is open, 0 where it is shut, else learned in −1 to 1."""
        if self.weight is None:
            return 1.0 if self.kind == "open" else 0.0
        return self.weight.tanh()

    def forward(self, tokens: Tensor) -> Tensor:
        """What comes through."""
        return tokens * self.factor


class InputFusion(nn.Module):  # type: ignore[misc]
    """The branches' tokens as part of the input."""

    def __init__(self, fusion: FusionSettings, branches: Mapping[str, int], hidden: int) -> None:
        super().__init__()
        self.fusion = fusion
        self.gates = nn.ModuleDict({name: Gate(fusion) for name in branches})
        self.kinds = nn.ParameterDict({name: nn.Parameter(torch.randn(hidden) * 0.02) for name in branches})
        weighed = fusion.join == "sum" and len(branches) == 2
        self.scale = nn.Linear(2 * hidden, hidden) if weighed and fusion.gates == "learned" else None
        self.hint = nn.Linear(hidden, hidden) if fusion.hint else None
        self.match = WordMatcher(hidden, fusion.match) if fusion.match else None

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """[videos, tokens, hidden] of each branch → the tokens of the input."""
        seen = [self.gates[name](branch) + self.kinds[name] for name, branch in tokens.items()]
        if self.fusion.join == "concat" or len(seen) == 1:
            return torch.cat(seen, dim=1)
        spatial, temporal = seen
        temporal = functional.adaptive_avg_pool1d(temporal.transpose(1, 2), spatial.shape[1]).transpose(1, 2)
        if self.scale is None:
            return spatial + temporal
        share = self.scale(torch.cat([spatial, temporal], dim=2)).sigmoid()
        return share * spatial + (1 - share) * temporal

    def summarize(self, seen: Tensor) -> Tensor | None:
        """One hint for each video: [videos, tokens, hidden] → [videos, hidden]."""
        return None if self.hint is None else self.hint(seen.mean(1))

    def add_hints(self, vectors: Tensor, word_vectors: Tensor, hint: Tensor, mask: Tensor) -> Tensor:
        """Vectors with the hint, and with how well each word fits it; `mask` is 1 for tokens that get it, else 0."""
        hinted = vectors + mask * hint
        return hinted if self.match is None else hinted + mask * self.match(word_vectors, hint)


class WordMatcher(nn.Module):  # type: ignore[misc]
    """How well words fit what was seen, by several measures that both go through."""

    def __init__(self, hidden: int, measures: int) -> None:
        super().__init__()
        if hidden % measures:
            raise UsageError(f"model.fusion.match is {measures}; it must divide the hidden size, {hidden}")
        self.measures = measures
        self.measure = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(measures, hidden)

    def forward(self, word_vectors: Tensor, seen: Tensor) -> Tensor:
        """[…, hidden] of both → what is added to the words, […, hidden]."""
        words, video = self._project(word_vectors), self._project(seen)
        return self.out((words * video).sum(-1) / math.sqrt(words.shape[-1]))

    def score_vocabulary(self, table: Tensor, seen: Tensor) -> Tensor:
        """How well each word of the language model's table fits: [videos, hidden] → [videos, words].

        Added to what the language model itself expects next, so that what is seen comes to mean its words.
        """
        words, video = self._project(table).flatten(-2), self._project(seen).flatten(-2)
        return video @ words.T / math.sqrt(words.shape[-1] // self.measures)

    def _project(self, vectors: Tensor) -> Tensor:
        normalized = functional.layer_norm(vectors, vectors.shape[-1:])
        return self.measure(normalized).unflatten(-1, (self.measures, -1))


class CrossAttention(nn.Module):  # type: ignore[misc]
    """A layer's tokens attend to the tokens of their own video, one branch after the other, each behind its gate."""

    def __init__(self, fusion: FusionSettings, branches: Mapping[str, int], hidden: int, heads: int) -> None:
        super().__init__()
        width = fusion.width or hidden
        if width % heads:
            raise UsageError(f"model.fusion.width is {width}; it must be a multiple of {heads}, the heads")
        self.heads = heads
        self.norm = nn.LayerNorm(hidden)
        self.query = nn.Linear(hidden, width)
        self.seen = nn.ModuleDict({name: nn.Linear(hidden, 2 * width) for name in branches})
        self.out = nn.ModuleDict({name: nn.Linear(width, hidden) for name in branches})
        self.gates = nn.ModuleDict({name: Gate(fusion) for name in branches})

    def forward(self, hidden: Tensor, tokens: Mapping[str, Tensor], video_index: Tensor) -> Tensor:
        """`video_index` tells each token's video, [rows, length]; a token with none (-1) sees nothing."""
        normalized = self.norm(hidden.to(self.norm.weight.dtype))
        query = self.query(normalized).unflatten(2, (self.heads, -1)).transpose(1, 2)
        blind = video_index < 0
        for name, branch in tokens.items():
            branch = branch.to(normalized.dtype)
            videos, count = branch.shape[:2]
            key, value = self.seen[name](branch.flatten(0, 1)).chunk(2, dim=1)
            key, value = (
                side.unflatten(1, (self.heads, -1)).transpose(0, 1).expand(len(hidden), -1, -1, -1)
                for side in (key, value)
            )
            key_video = torch.arange(videos, device=video_index.device).repeat_interleave(count)
            # A token without a video must attend to something, or its softmax is empty; it is silenced after.
            allowed = (video_index[..., None] == key_video) | blind[..., None]
            mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed[:, None])
            update = self.out[name](mixed.transpose(1, 2).flatten(2))
            hidden = hidden + self.gates[name](update).masked_fill(blind[..., None], 0.0).to(hidden.dtype)
        return hidden


class LayerFusion(nn.Module):  # type: ignore[misc]
    """Cross-attention before some of a language model's layers, added by hooks so that any family works.

    Hooks stay on the layers, and what they attend to stays until the next pass: a layer that gradient checkpointing
    runs again in the backward pass must do what it did in the forward pass.
    """

    def __init__(
        self, fusion: FusionSettings, branches: Mapping[str, int], hidden: int, heads: int, layers: int
    ) -> None:
        super().__init__()
        self.places = range(0, layers, fusion.every)
        self.blocks = nn.ModuleList(CrossAttention(fusion, branches, hidden, heads) for _ in self.places)
        self._current: tuple[Mapping[str, Tensor], Tensor] | None = None

    def install(self, model: Any) -> None:
        """Add the cross-attention to a language model's layers."""
        layers = get_decoder_layers(model)
        for index, block in zip(self.places, self.blocks, strict=True):
            layers[index].register_forward_pre_hook(self._make_hook(block), with_kwargs=True)

    @contextmanager
    def attend_to(self, tokens: Mapping[str, Tensor] | None, video_index: Tensor | None) -> Iterator[None]:
        """Within this context, and in its backward pass, the language model's layers attend to these tokens."""
        self._current = None if tokens is None or video_index is None else (tokens, video_index)
        try:
            yield
        finally:
            if not torch.is_grad_enabled():
                self._current = None

    def _make_hook(self, block: nn.Module) -> Any:
        def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            if self._current is None:
                return args, kwargs
            tokens, video_index = self._current
            hidden = args[0] if args else kwargs["hidden_states"]
            # A token written after the prompt belongs to the video of the last one before it.
            index = (
                video_index
                if hidden.shape[1] == video_index.shape[1]
                else video_index[:, -1:].expand(-1, hidden.shape[1])
            )
            seen = block(hidden, tokens, index)
            return ((seen, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": seen})

        return hook


def make_fusion(
    fusion: FusionSettings, widths: Mapping[str, int], model: Any
) -> tuple[InputFusion | LayerFusion, LayerFusion | None]:
    """How branches of these widths reach a language model; with `place: both`, what is inside its layers besides."""
    text = model.config.get_text_config()
    hidden, heads, layers = (
        int(text.hidden_size),
        int(text.num_attention_heads),
        int(text.num_hidden_layers),
    )
    if fusion.place == "input":
        return InputFusion(fusion, widths, hidden), None
    if fusion.place == "layers":
        in_layers = LayerFusion(fusion, widths, hidden, heads, layers)
        in_layers.install(model)
        return in_layers, None
    # What stands in the input is not gated: a pretrained model reads it as it always has.
    in_input = InputFusion(
        FusionSettings(gates="open"),
        {name: width for name, width in widths.items() if name != "temporal"} or widths,
        hidden,
    )
    for kind in in_input.kinds.values():
        nn.init.zeros_(kind)
    inside = LayerFusion(fusion, {"temporal": widths["temporal"]}, hidden, heads, layers)
    inside.install(model)
    return in_input, inside


def get_decoder_layers(model: Any) -> nn.ModuleList:
    """The layers of a causal language model of any family."""
    decoder = model.get_decoder() if hasattr(model, "get_decoder") else model
    layers = getattr(decoder, "layers", None)
    if not isinstance(layers, nn.ModuleList):
        raise UsageError("model.fusion: this language model does not list its layers; use place: input")
    return layers


def select_video_rows(rows: Tensor, video_index: Tensor) -> Tensor:
    """For each token the row of its video; nothing where it has none (-1)."""
    return rows[video_index.clamp(min=0)].masked_fill((video_index < 0)[..., None], 0.0)


def find_line_heads(ids: Tensor, vocabulary: int, breaks: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The first token of each token's line, and whether a token stands inside a line at all."""
    ends = ids >= vocabulary
    for token in breaks:
        ends = ends | (ids == token)
    positions = torch.arange(ids.shape[1], device=ids.device)
    earlier = positions[None, :] <= positions[:, None]
    last = torch.where(ends[:, None] & earlier, positions, -1).amax(2)
    first = (last + 1).clamp(max=ids.shape[1] - 1)
    return ids.gather(1, first).masked_fill(ends.gather(1, first), 0), ~ends
