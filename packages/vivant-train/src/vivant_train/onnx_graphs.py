"""A MIMIC-Chat as three pure functions of tensors, each of which becomes one ONNX graph.

The window encoder turns a window of frames into vectors, the video encoder turns some frames and all vectors into
the video's tokens, and the decoder turns ids into logits. A video of any length is a loop over windows outside the
graphs. The decoder serves both the prompt and every further token: its layers' states go in and come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from vivant.core.errors import UsageError
from vivant.models.mimic_chat_format import MARKS, PATCH
from vivant_train.model.config import VisionSettings
from vivant_train.model.fusion import InputFusion, get_decoder_layers
from vivant_train.model.modeling import MimicChat
from vivant_train.model.temporal import TIME_SCALE, embed_time


def scale_pixels(frames: Tensor, vision: VisionSettings) -> Tensor:
    """`normalize_pixels` as one product and one sum over whole planes, which is faster than colours last."""
    factor = torch.tensor([1 / (255.0 * spread) for spread in vision.spread])[:, None, None]
    shift = torch.tensor([-m / s for m, s in zip(vision.mean, vision.spread, strict=True)])[:, None, None]
    return frames.permute(0, 3, 1, 2).to(torch.float32) * factor + shift


class WindowEncoderGraph(nn.Module):  # type: ignore[misc]
    """One window: [groups, frames of a group, side, side, 3] bytes → [vectors, width]."""

    def __init__(self, model: MimicChat) -> None:
        super().__init__()
        self.model = model

    def forward(self, frames: Tensor) -> Tensor:
        """One vector for each group of frames."""
        pixels = scale_pixels(frames.flatten(0, 1), self.model.settings.vision)
        seen: Tensor = self.model.temporal.windows(self.model.eyes, pixels[None])[0]
        return seen


class VideoEncoderGraph(nn.Module):  # type: ignore[misc]
    """Both branches and what joins them; a branch that is off ignores what it is given."""

    def __init__(self, model: MimicChat) -> None:
        super().__init__()
        self.model = model
        if not isinstance(model.fusion, InputFusion):
            raise UsageError("Only a model whose fusion.place is input can be exported")

    def forward(self, scene: Tensor, vectors: Tensor, pool: Tensor) -> tuple[Tensor, Tensor]:
        """Frames of the spatial branch as bytes, vectors of all windows, and the matrix that averages vectors to
        tokens → what stands in the input, [tokens, hidden], and what is added to each token of the task, [hidden].
        """
        model, branches = self.model, {}
        if model.settings.spatial.on:
            pixels = scale_pixels(scene, model.settings.vision)
            branches["spatial"] = model.spatial(model.eyes, pixels[None])
        if model.settings.temporal.on:
            tokens = vectors[None]
            tokens = tokens + TIME_SCALE * embed_time(tokens.shape[1], model.temporal.width, tokens)
            branches["temporal"] = pool @ model.temporal.thought(model.temporal.whole(tokens))
        seen = model.fusion({name: model.projectors[name](tokens) for name, tokens in branches.items()})
        hint = model.fusion.summarize(seen)
        return seen[0], seen[0, 0] * 0.0 if hint is None else hint[0]


class TensorCache:
    """The layers' states as plain tensors, instead of the transformers library's cache."""

    def __init__(self, states: Mapping[int, Sequence[Tensor]]) -> None:
        self.before = states
        self.after: dict[int, tuple[Tensor, ...]] = {}

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keys and values of all tokens so far."""
        old_keys, old_values = self.before[layer]
        self.after[layer] = torch.cat([old_keys, keys], dim=2), torch.cat([old_values, values], dim=2)
        return self.after[layer]

    def get_conv_state(self, *_: Any, **__: Any) -> None:
        """None: one token and many take the same path."""
        return

    def update_conv_state(self, hidden: Tensor, layer: int, **_: Any) -> Tensor:
        """What a short convolution sees: the last few tokens, then the new ones."""
        (old,) = self.before[layer]
        joined = torch.cat([old, hidden], dim=2)
        self.after[layer] = (joined[:, :, -old.shape[2] :],)
        return joined


class DecoderGraph(nn.Module):  # type: ignore[misc]
    """The language model with all that is added to its input."""

    def __init__(self, model: MimicChat) -> None:
        super().__init__()
        self.model = model
        self.language = model.language_model
        self.language.set_attn_implementation("eager")
        self.decoder = self.language.get_decoder()
        self.kinds = list_layer_kinds(model)
        norm = getattr(self.decoder, "norm", None) or getattr(self.decoder, "embedding_norm", None)
        if norm is None:
            raise UsageError(f"A language model of type {self.language.config.model_type} cannot be exported")
        self.last_norm = norm

    def forward(
        self,
        ids: Tensor,
        heads: Tensor,
        inside: Tensor,
        hinted: Tensor,
        positions: Tensor,
        keep: Tensor,
        seen: Tensor,
        hint: Tensor,
        states: list[Tensor],
    ) -> tuple[Tensor, list[Tensor]]:
        """`ids`, `heads` (the first token of each token's line) and `positions` are [1, length]; `inside` (whether a
        token gets its line's head) and `hinted` (whether it gets the hint) are numbers, [1, length, 1]. Logits are
        those of the tokens at `keep`.
        """
        word_vectors = self.language.get_input_embeddings()(ids.masked_fill(ids >= self.model.vocabulary, 0))
        hidden = self.model.fusion.add_hints(
            self._embed(ids, heads, inside, seen), word_vectors, hint, hinted
        )
        cache = TensorCache(self._group_by_layer(states))
        past = next(
            (s.shape[2] for s, kind in zip(states, self._list_state_kinds(), strict=True) if kind == "keys"),
            0,
        )
        length = ids.shape[1]
        future = torch.arange(past + length)[None, :] > torch.arange(length)[:, None] + past
        mask = torch.zeros(future.shape).masked_fill(future, -1e9)[None, None]
        rotary = self.decoder.rotary_emb(hidden, position_ids=positions)
        for number, layer in enumerate(get_decoder_layers(self.language)):
            hidden = layer(
                hidden,
                attention_mask=mask if self.kinds[number] == "attention" else None,
                position_embeddings=rotary,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
            )
        logits = self.language.get_output_embeddings()(self.last_norm(hidden)[0, keep])
        word_scores = self.model.score_vocabulary(hint[None])
        if word_scores is not None:
            logits = logits + word_scores
        return logits, [state for number in range(len(self.kinds)) for state in cache.after[number]]

    def _embed(self, ids: Tensor, heads: Tensor, inside: Tensor, seen: Tensor) -> Tensor:
        model, table = self.model, self.language.get_input_embeddings()
        is_mark = ids >= model.vocabulary
        marked = model.marks((ids - model.vocabulary).clamp(0, len(MARKS) - 1))
        vectors = torch.where(is_mark[..., None], marked, table(ids.masked_fill(is_mark, 0)))
        if model.lines is not None:
            vectors = vectors + model.lines(table(heads)) * inside
        is_patch = ids == model.vocabulary + PATCH
        index = (is_patch.long().cumsum(1) - 1).clamp(min=0)
        return torch.where(is_patch[..., None], seen[index], vectors)

    def _list_state_kinds(self) -> list[str]:
        return [
            name for kind in self.kinds for name in (("keys", "values") if kind == "attention" else ("conv",))
        ]

    def _group_by_layer(self, states: Sequence[Tensor]) -> dict[int, list[Tensor]]:
        remaining = iter(states)
        return {
            n: [next(remaining) for _ in range(2 if k == "attention" else 1)]
            for n, k in enumerate(self.kinds)
        }


def list_layer_kinds(model: MimicChat) -> list[str]:
    """`attention` or `conv` for each layer of the language model."""
    kinds = []
    for layer in get_decoder_layers(model.language_model):
        if hasattr(layer, "self_attn"):
            kinds.append("attention")
        elif hasattr(layer, "conv"):
            kinds.append("conv")
        else:
            kind = model.language_model.config.model_type
            raise UsageError(f"A language model of type {kind} cannot be exported")
    return kinds
