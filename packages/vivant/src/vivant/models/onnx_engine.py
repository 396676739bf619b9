"""Inference with an exported MIMIC-Chat: onnxruntime, tokenizers and numpy."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vivant.core.randomness import derive_seed
from vivant.core.types import Decoding, Picture, Reply, Request
from vivant.models.base import ModelError
from vivant.models.mimic_chat_format import (
    build_prompt_ids,
    make_reply,
    refuse_long_prompt,
    refuse_strange_question,
    resize_picture,
    spatial_frame_indices,
    split_request,
)
from vivant.models.onnx_backend import (
    DECODER_GRAPH,
    TOKENIZER,
    VIDEO_GRAPH,
    WINDOW_GRAPH,
    WORDS,
    read_settings,
)
from vivant.models.transformers_engine import generation_arguments

Floats = NDArray[np.float32]
_CACHED_VIDEOS = 32
"""Videos whose tokens are kept: questions about one video often follow each other."""


class OnnxMimicChatEngine:
    """A loaded model."""

    accelerators = 0

    def __init__(self, settings: Mapping[str, Any], accelerator: int = 0) -> None:  # noqa: ARG002 (the protocol's)
        folder = Path(settings["folder"])
        self.settings = read_settings(folder)
        threads = int(settings.get("threads", 0))
        self._decoder = _load_session(folder / DECODER_GRAPH, threads)
        self._video_encoder = _load_session(folder / VIDEO_GRAPH, threads)
        self._window_encoder = (
            _load_session(folder / WINDOW_GRAPH, threads) if self.settings.temporal_tokens else None
        )
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:  # the library raises bare Exceptions
            raise ModelError(f"{folder / TOKENIZER} cannot be read: {error}") from error
        words = folder / WORDS
        self._known_words = frozenset(words.read_text("utf-8").split()) if words.is_file() else None
        self._decoder_inputs = {node.name for node in self._decoder.get_inputs()}
        self._state_names = [
            each.name for each in self._decoder.get_inputs() if each.name.startswith("state_")
        ]
        self._video_cache: OrderedDict[bytes, tuple[Floats, Floats]] = OrderedDict()

    # ── requests ──

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Greedy, or sampled where a temperature is given."""
        return [self._generate(request) for request in requests]

    def _generate(self, request: Request) -> Reply:
        if self._known_words is not None:
            pictures, text = split_request(request)
            strange = refuse_strange_question(text, bool(pictures), self._known_words)
            if strange is not None:
                return strange
        ids, video = self._tokenize_request(request)
        context = self.settings.context
        if (refusal := refuse_long_prompt(len(ids), context)) is not None:
            return refusal
        max_tokens: int = min(generation_arguments(request.decoding)["max_new_tokens"], context - len(ids))
        logits, states = self.prefill(ids, video)
        tokens: list[int] = []
        while len(tokens) < max_tokens:
            token = _sample_token(
                logits[-1], request.decoding, derive_seed(request.seed, "token", str(len(tokens)))
            )
            tokens.append(token)
            if token == self.settings.end or len(tokens) == max_tokens:
                break
            if request.decoding.stop and any(
                stop in self._detokenize(tokens) for stop in request.decoding.stop
            ):
                break
            logits, states = self.decode([token], len(ids) + len(tokens) - 1, states, video)
        return make_reply(tokens, self.settings.end, self._detokenize, len(ids), request.decoding, max_tokens)

    def loglikelihood(self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]) -> list[Reply]:
        """The sum of the likelihoods of an answer's tokens, after the prompt."""
        return [self._score_answers(request, texts) for request, texts in zip(requests, answers, strict=True)]

    def _score_answers(self, request: Request, texts: Sequence[str]) -> Reply:
        ids, video = self._tokenize_request(request)
        first, states = self.prefill(ids, video)
        likelihoods: list[float] = []
        for text in texts:
            tokens = self._tokenize(text)
            rows = first[-1:]
            if len(tokens) > 1:
                rest, _ = self.decode(tokens[:-1], len(ids), states, video)
                rows = np.concatenate([rows, rest])
            likelihoods.append(
                sum(float(_log_softmax(row)[token]) for row, token in zip(rows, tokens, strict=True))
            )
        return Reply(tokens_in=len(ids), likelihoods=tuple(likelihoods))

    def _tokenize_request(self, request: Request) -> tuple[list[int], tuple[Floats, Floats] | None]:
        pictures, text = split_request(request)
        settings = self.settings
        template = None if settings.after is None else (settings.before, settings.after)
        patches = settings.visual_tokens if pictures else None
        ids = build_prompt_ids(self._tokenize(text), settings.vocabulary, patches, template)
        return ids, self._encode_pictures(pictures) if pictures else None

    def _tokenize(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _detokenize(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)

    # ── video encoder ──

    def _encode_pictures(self, pictures: Sequence[Picture]) -> tuple[Floats, Floats]:
        digest = hashlib.sha256(
            b"".join(hashlib.sha256(picture.data).digest() for picture in pictures)
        ).digest()
        if digest not in self._video_cache:
            frames = np.stack([resize_picture(p, self.settings.image_size) for p in pictures])
            self._video_cache[digest] = self.encode_video(frames)
            if len(self._video_cache) > _CACHED_VIDEOS:
                self._video_cache.popitem(last=False)
        self._video_cache.move_to_end(digest)
        return self._video_cache[digest]

    def clear_cache(self) -> None:
        """Encode every video anew."""
        self._video_cache.clear()

    def encode_video(self, frames: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Frames as bytes, [frames, side, side, 3] → the video's tokens, and the hint that is added to each token."""
        settings = self.settings
        inputs: dict[str, Any] = {}
        if settings.spatial_frames:
            inputs["scene"] = frames[spatial_frame_indices(len(frames), settings.spatial_frames)]
        if self._window_encoder is not None:
            size, group = settings.window, settings.group
            windows = [group_frames(frames[i : i + size], group) for i in range(0, len(frames), size)]
            vectors = np.concatenate([self._window_encoder.run(None, {"frames": w})[0] for w in windows])
            inputs["vectors"] = vectors
            inputs["pool"] = make_pooling_matrix(len(vectors), settings.temporal_tokens)
        names = {node.name for node in self._video_encoder.get_inputs()}
        seen, hint = self._video_encoder.run(
            None, {name: value for name, value in inputs.items() if name in names}
        )
        return seen, hint

    # ── decoder ──

    def prefill(
        self, ids: Sequence[int], video: tuple[Floats, Floats] | None, keep: Sequence[int] = (-1,)
    ) -> tuple[Floats, list[Floats]]:
        """Logits of a prompt's tokens at `keep`, and the decoder's states after it."""
        settings = self.settings
        row = np.array([ids], np.int64)
        heads, inside = (
            find_line_heads(row[0], settings.vocabulary, settings.breaks)
            if settings.lines
            else (row[0] * 0, row[0] < 0)
        )
        nothing = np.zeros((1, settings.hidden), np.float32)
        seen, hint = video or (nothing, nothing[0])
        hinted = np.full((1, len(ids), 1), float(settings.hint and video is not None), np.float32)
        states = [np.zeros(shape, np.float32) for shape in settings.states]
        inputs = {"heads": heads[None], "inside": inside[None, :, None].astype(np.float32), "asked": hinted}
        positions = np.arange(len(ids), dtype=np.int64)
        return self._run(
            {"ids": row, **inputs, "seen": seen, "hint": hint}, positions, positions[list(keep)], states
        )

    def decode(
        self,
        ids: Sequence[int],
        start: int,
        states: Sequence[Floats],
        video: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, list[Floats]]:
        """The same for the tokens from index `start` on, with the states before them; they get no hints."""
        row = np.array([ids], np.int64)
        nothing = np.zeros((1, self.settings.hidden), np.float32)
        off = np.zeros((1, len(ids), 1), np.float32)
        inputs = {
            "ids": row,
            "heads": row * 0,
            "inside": off,
            "asked": off,
            "seen": nothing,
            "hint": video[1] if video else nothing[0],  # words that fit what was seen stay likelier
        }
        positions = np.arange(start, start + len(ids), dtype=np.int64)
        return self._run(inputs, positions, np.arange(len(ids), dtype=np.int64), states)

    def _run(
        self,
        inputs: dict[str, Any],
        positions: NDArray[np.int64],
        keep: NDArray[np.int64],
        states: Sequence[Floats],
    ) -> tuple[Floats, list[Floats]]:
        by_name = dict(zip(self._state_names, states, strict=True))
        given = {**inputs, "places": positions[None], "keep": keep, **by_name}
        logits, *new_states = self._decoder.run(
            None, {name: value for name, value in given.items() if name in self._decoder_inputs}
        )
        return logits, new_states


def _load_session(file: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    # Threads that wait sleep: spinning doubles the CPU time here, and costs time where others use the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors have no common class of their own
        raise ModelError(f"{file} cannot be loaded: {' '.join(str(error).split())[:200]}") from error


def group_frames(frames: NDArray[np.uint8], group: int) -> NDArray[np.uint8]:
    """Frames in groups, [groups, group, side, side, 3]; the last frame fills the last group."""
    missing = -len(frames) % group
    padded = np.concatenate([frames, *[frames[-1:]] * missing])
    return padded.reshape(-1, group, *frames.shape[1:])


def make_pooling_matrix(length: int, tokens: int) -> Floats:
    """The matrix that averages `length` vectors to `tokens`, as adaptive pooling does."""
    matrix = np.zeros((tokens, length), np.float32)
    for row in range(tokens):
        start, stop = row * length // tokens, -(-(row + 1) * length // tokens)
        matrix[row, start:stop] = 1 / (stop - start)
    return matrix


def find_line_heads(ids: NDArray[np.int64], vocabulary: int, breaks: Sequence[int]) -> tuple[Any, Any]:
    """The first token of each token's line, and whether a token stands inside a line at all."""
    ends = (ids >= vocabulary) | np.isin(ids, np.array(breaks, np.int64))
    positions = np.arange(len(ids))
    last = np.maximum.accumulate(np.where(ends, positions, -1))
    first = np.minimum(last + 1, len(ids) - 1)
    return np.where(ends[first], 0, ids[first]), ~ends


def _log_softmax(row: Floats) -> NDArray[np.float64]:
    shifted = row.astype(np.float64) - row.max()
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result


def _sample_token(row: Floats, decoding: Decoding, seed: int) -> int:
    if not decoding.temperature:
        return int(row.argmax())
    probabilities = np.exp(_log_softmax(row / np.float32(decoding.temperature)))
    order = np.argsort(-probabilities)
    before = np.cumsum(probabilities[order]) - probabilities[order]
    likely = order[before < (decoding.top_p or 1.0)]
    chosen = np.random.default_rng(seed).choice(likely, p=probabilities[likely] / probabilities[likely].sum())
    return int(chosen)
