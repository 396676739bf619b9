"""An exported MIMIC-Chat at work: onnxruntime, tokenizers and numpy."""

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
from vivant.models.transformers_engine import generation_arguments
from vivant.train.model.requests import prompt_ids, reply_of, resized, seen_and_said, spatial_places
from vivant.train.onnx_backend import LOOK, READ, TOKENIZER, WATCH, read_settings

Floats = NDArray[np.float32]
_KEPT = 32
"""Videos whose tokens are kept: several questions about one come after each other."""


class Engine:
    """A loaded model."""

    accelerators = 0

    def __init__(self, settings: Mapping[str, Any], accelerator: int = 0) -> None:  # noqa: ARG002 (the protocol's)
        folder = Path(settings["folder"])
        self.settings = read_settings(folder)
        threads = int(settings.get("threads", 0))
        self._read = _session(folder / READ, threads)
        self._look = _session(folder / LOOK, threads)
        self._watch = _session(folder / WATCH, threads) if self.settings.temporal_tokens else None
        try:
            self._words = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:  # the library raises bare Exceptions
            raise ModelError(f"{folder / TOKENIZER} cannot be read: {error}") from error
        self._wanted = {each.name for each in self._read.get_inputs()}
        self._outputs = [each.name for each in self._read.get_outputs()]
        self._states = [each.name for each in self._read.get_inputs() if each.name.startswith("state_")]
        self._seen: OrderedDict[bytes, tuple[Floats, Floats]] = OrderedDict()

    # ── asking ──

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Greedy, or sampled where a temperature is given."""
        return [self._generate(request) for request in requests]

    def _generate(self, request: Request) -> Reply:
        ids, shown = self._question(request)
        most: int = generation_arguments(request.decoding)["max_new_tokens"]
        logits, states = self.begin(ids, shown)
        made: list[int] = []
        while len(made) < most:
            token = _choose(logits[-1], request.decoding, derive_seed(request.seed, "token", str(len(made))))
            made.append(token)
            if token == self.settings.end or len(made) == most:
                break
            if request.decoding.stop and any(stop in self._text(made) for stop in request.decoding.stop):
                break
            logits, states = self.go_on([token], len(ids) + len(made) - 1, states, shown)
        return reply_of(made, self.settings.end, self._text, len(ids), request.decoding, most)

    def loglikelihood(self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]) -> list[Reply]:
        """The sum of the likelihoods of an answer's tokens, after the prompt."""
        return [self._weigh(request, texts) for request, texts in zip(requests, answers, strict=True)]

    def _weigh(self, request: Request, texts: Sequence[str]) -> Reply:
        ids, shown = self._question(request)
        first, states = self.begin(ids, shown)
        weights: list[float] = []
        for text in texts:
            tokens = self._ids(text)
            rows = first[-1:]
            if len(tokens) > 1:
                rest, _ = self.go_on(tokens[:-1], len(ids), states, shown)
                rows = np.concatenate([rows, rest])
            weights.append(
                sum(float(_log_shares(row)[token]) for row, token in zip(rows, tokens, strict=True))
            )
        return Reply(tokens_in=len(ids), likelihoods=tuple(weights))

    def _question(self, request: Request) -> tuple[list[int], tuple[Floats, Floats] | None]:
        pictures, text = seen_and_said(request)
        own = self.settings
        around = None if own.after is None else (own.before, own.after)
        ids = prompt_ids(self._ids(text), own.vocabulary, own.visual_tokens if pictures else None, around)
        return ids, self._pictures(pictures) if pictures else None

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._words.encode(text, add_special_tokens=False).ids
        return found

    def _text(self, ids: Sequence[int]) -> str:
        return self._words.decode(list(ids), skip_special_tokens=True)

    # ── seeing ──

    def _pictures(self, pictures: Sequence[Picture]) -> tuple[Floats, Floats]:
        mark = hashlib.sha256(
            b"".join(hashlib.sha256(picture.data).digest() for picture in pictures)
        ).digest()
        if mark not in self._seen:
            self._seen[mark] = self.see(np.stack([resized(p, self.settings.image_size) for p in pictures]))
            if len(self._seen) > _KEPT:
                self._seen.popitem(last=False)
        self._seen.move_to_end(mark)
        return self._seen[mark]

    def forget(self) -> None:
        """Look at every video anew."""
        self._seen.clear()

    def see(self, frames: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Frames as bytes, [frames, side, side, 3] → what stands in the input, and what each token is told."""
        own = self.settings
        given: dict[str, Any] = {}
        if own.spatial_frames:
            given["scene"] = frames[spatial_places(len(frames), own.spatial_frames)]
        if self._watch is not None:
            vectors = np.concatenate(
                [
                    self._watch.run(None, {"frames": grouped(frames[start : start + own.window], own.group)})[
                        0
                    ]
                    for start in range(0, len(frames), own.window)
                ]
            )
            given |= {"vectors": vectors, "pool": averaging(len(vectors), own.temporal_tokens)}
        wanted = {each.name for each in self._look.get_inputs()}
        seen, hint = self._look.run(None, {name: value for name, value in given.items() if name in wanted})
        return seen, hint

    # ── reading ──

    def begin(
        self, ids: Sequence[int], shown: tuple[Floats, Floats] | None, keep: Sequence[int] = (-1,)
    ) -> tuple[Floats, list[Floats]]:
        """Logits of a prompt's tokens at `keep`, and what the layers remember of it."""
        own = self.settings
        row = np.array([ids], np.int64)
        heads, inside = (
            line_heads(row[0], own.vocabulary, own.breaks) if own.lines else (row[0] * 0, row[0] < 0)
        )
        nothing = np.zeros((1, own.hidden), np.float32)
        seen, hint = shown or (nothing, nothing[0])
        told = np.full((1, len(ids), 1), float(own.hint and shown is not None), np.float32)
        states = [np.zeros(shape, np.float32) for shape in own.states]
        said = {"heads": heads[None], "inside": inside[None, :, None].astype(np.float32), "asked": told}
        places = np.arange(len(ids), dtype=np.int64)
        return self._run({"ids": row, **said, "seen": seen, "hint": hint}, places, places[list(keep)], states)

    def go_on(
        self,
        ids: Sequence[int],
        start: int,
        states: Sequence[Floats],
        shown: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, list[Floats]]:
        """The same for tokens that stand from `start` on; they are told neither lines nor hints."""
        row = np.array([ids], np.int64)
        nothing = np.zeros((1, self.settings.hidden), np.float32)
        silent = np.zeros((1, len(ids), 1), np.float32)
        said = {
            "ids": row,
            "heads": row * 0,
            "inside": silent,
            "asked": silent,
            "seen": nothing,
            "hint": shown[1] if shown else nothing[0],  # words that fit what was seen stay likelier
        }
        places = np.arange(start, start + len(ids), dtype=np.int64)
        return self._run(said, places, np.arange(len(ids), dtype=np.int64), states)

    def _run(
        self,
        said: dict[str, Any],
        places: NDArray[np.int64],
        keep: NDArray[np.int64],
        states: Sequence[Floats],
    ) -> tuple[Floats, list[Floats]]:
        given = {**said, "places": places[None], "keep": keep, **dict(zip(self._states, states, strict=True))}
        logits, *after = self._read.run(None, {n: v for n, v in given.items() if n in self._wanted})
        return logits, after


def _session(file: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors have no common class of their own
        raise ModelError(f"{file} cannot be loaded: {' '.join(str(error).split())[:200]}") from error


def grouped(frames: NDArray[np.uint8], group: int) -> NDArray[np.uint8]:
    """Frames in groups, [groups, group, side, side, 3]; the last frame fills the last group."""
    lacking = -len(frames) % group
    whole = np.concatenate([frames, *[frames[-1:]] * lacking])
    return whole.reshape(-1, group, *frames.shape[1:])


def averaging(length: int, tokens: int) -> Floats:
    """The matrix that averages `length` vectors to `tokens`, as adaptive pooling does."""
    made = np.zeros((tokens, length), np.float32)
    for row in range(tokens):
        start, stop = row * length // tokens, -(-(row + 1) * length // tokens)
        made[row, start:stop] = 1 / (stop - start)
    return made


def line_heads(ids: NDArray[np.int64], vocabulary: int, breaks: Sequence[int]) -> tuple[Any, Any]:
    """The first token of each token's line, and whether a token stands inside a line at all."""
    ends = (ids >= vocabulary) | np.isin(ids, np.array(breaks, np.int64))
    places = np.arange(len(ids))
    last = np.maximum.accumulate(np.where(ends, places, -1))
    first = np.minimum(last + 1, len(ids) - 1)
    return np.where(ends[first], 0, ids[first]), ~ends


def _log_shares(row: Floats) -> NDArray[np.float64]:
    shifted = row.astype(np.float64) - row.max()
    found: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return found


def _choose(row: Floats, decoding: Decoding, seed: int) -> int:
    if not decoding.temperature:
        return int(row.argmax())
    shares = np.exp(_log_shares(row / np.float32(decoding.temperature)))
    order = np.argsort(-shares)
    before = np.cumsum(shares[order]) - shares[order]
    likely = order[before < (decoding.top_p or 1.0)]
    chosen = np.random.default_rng(seed).choice(likely, p=shares[likely] / shares[likely].sum())
    return int(chosen)
