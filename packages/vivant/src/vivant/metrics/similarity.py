"""How close two texts are in meaning: cosine of their all-MiniLM-L6-v2 embeddings.

The same numbers as sentence-transformers gives (to 1e-6), without torch and many texts at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vivant.core.errors import DataError, VivantError
from vivant.metrics.minilm import HIDDEN, NAME, MiniLmNetwork, ModelFiles, find_weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TOKENS = 256
"""Longer texts are cut, the two marks at the ends included, as sentence-transformers cuts them."""
_BATCH_TOKENS = 4096
"""Tokens run at once: enough to keep the cores busy, little enough to stay in their caches."""

_PROBE = ("aiming a weapon", "shooting arrow", 0.5830660462379456)
_PROBE_TOLERANCE = 1e-5


class SentenceEncoder:
    """Texts to unit vectors. Safe to share between threads."""

    def __init__(self, files: ModelFiles) -> None:
        self.files = files
        self._tokenizer = _read_tokenizer(files)
        self._network = MiniLmNetwork(files.weights)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row of 384 per text; equal texts are computed once."""
        indices: dict[str, int] = {}
        rows = np.array([indices.setdefault(_encodable(text), len(indices)) for text in texts], np.intp)
        vectors = self._encode_distinct(list(indices))
        return vectors[rows]

    def _encode_distinct(self, texts: list[str]) -> NDArray[np.float32]:
        out = np.empty((len(texts), HIDDEN), np.float32)
        # Texts of equal length go together: nothing is padded, so no text's vector depends on longer ones.
        lengths: dict[int, list[int]] = {}
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)] if texts else []
        for index, ids in enumerate(tokens):
            lengths.setdefault(len(ids), []).append(index)
        for length, members in lengths.items():
            step = max(1, _BATCH_TOKENS // length)
            for start in range(0, len(members), step):
                batch = members[start : start + step]
                out[batch] = self._network.run(np.array([tokens[index] for index in batch], np.int64))
        return out


def load_encoder() -> SentenceEncoder:
    """The encoder, loaded once per process. Raises a DataError that says how to get the weights."""
    return _open(find_weights())


@lru_cache(maxsize=2)
def _open(files: ModelFiles) -> SentenceEncoder:
    encoder = SentenceEncoder(files)
    first, second, expected = _PROBE
    try:
        vectors = encoder.encode([first, second])
        similarity = float(vectors[0] @ vectors[1])
    except VivantError:
        raise
    except Exception as error:  # a foreign graph may fail in any way that onnxruntime and numpy can
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{files.weights} does not run as {NAME}: {reason}") from error
    # Quantised or fine-tuned copies load as well and give scores that nobody can compare.
    if not abs(similarity - expected) <= _PROBE_TOLERANCE:
        raise DataError(
            f"{files.weights} does not give {NAME}'s similarities ({similarity:.6f}, right is {expected:.6f}); "
            "use the full-precision weights"
        )
    return encoder


def best_similarity(
    texts: Sequence[str], labels_per_text: Sequence[Iterable[str]], encoder: SentenceEncoder | None = None
) -> list[float]:
    """For each text, the highest cosine similarity to any of its labels."""
    encoder = encoder or load_encoder()
    labels = [tuple(group) for group in labels_per_text]
    for text, group in zip(texts, labels, strict=True):
        if not group:
            raise DataError(f"There is no label to compare the answer {text[:60]!r} with")
    flat = [label for group in labels for label in group]
    vectors = encoder.encode([*texts, *flat])
    owners = np.repeat(np.arange(len(texts)), [len(group) for group in labels])
    cosines = np.einsum("ij,ij->i", vectors[owners], vectors[len(texts) :])
    best = np.full(len(texts), -np.inf, np.float32)
    np.maximum.at(best, owners, cosines)
    return [float(value) for value in best]


def _read_tokenizer(files: ModelFiles) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # tokenizers raises bare Exception
        raise DataError(f"{files.tokenizer} is not a readable tokenizer: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _encodable(text: str) -> str:
    """Replies may hold halves of surrogate pairs, which no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
