"""MiniLM vectors, computed once: kept in WORK/vectors by the text's hash, written as they come.

Vectors are rounded to half precision (a cosine changes by less than a thousandth) before anything is decided
by them, so that a run that finds them and one that computes them decide alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from vivant.core.errors import DataError
from vivant.core.files import atomic_file
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.worker_pool import RayPool

FOLDER = "vectors"
_BATCH = 2048
_RAY_BATCH = 256
_CHARACTERS = 160
"""What a longer text says after this many characters changes little and costs much."""
Vectors = NDArray[np.float32]


class TextEncoder(Protocol):
    """Texts to unit vectors: `vivant.metrics.similarity.load_encoder()`."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""


class RayEncoder:
    """MiniLM on a Ray cluster: texts go out in small batches, of the same texts whatever the cluster's size."""

    def __init__(self, address: str, encoder: TextEncoder | None = None) -> None:
        self._address = address
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        batches = [list(texts[start : start + _RAY_BATCH]) for start in range(0, len(texts), _RAY_BATCH)]
        rows = RayPool(self._address, partial(_encode_batch, encoder=self._encoder)).map(batches)
        return np.concatenate(rows) if rows else np.zeros((0, 384), np.float32)


def _encode_batch(texts: list[str], encoder: TextEncoder | None) -> Vectors:
    if encoder is None:
        from vivant.metrics.similarity import load_encoder

        encoder = load_encoder()
    return encoder.encode(texts)


class VectorStore:
    """Texts' vectors, from the work folder or from MiniLM."""

    def __init__(
        self, work: Path, progress: ProgressCallback = ignore_progress, encoder: TextEncoder | None = None
    ) -> None:
        self._folder = work / FOLDER
        self._progress = progress
        self._encoder = encoder
        self._rows: dict[bytes, NDArray[np.float16]] = {}
        self._files = 0
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self._folder.glob("*.npz")):
            self._read(path)
            self._files = int(path.stem) + 1

    def get(self, texts: Sequence[str], what: str = "texts") -> Vectors:
        """One unit vector a text."""
        keys = [_hash_key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows}
        self._encode(missing, what)
        if not keys:
            return np.zeros((0, 384), np.float32)
        return np.stack([self._rows[key] for key in keys]).astype(np.float32)

    def _encode(self, missing: dict[bytes, str], what: str) -> None:
        keys = list(missing)
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            rows = self._load().encode([_truncate(missing[key]) for key in batch]).astype(np.float16)
            self._rows.update(zip(batch, rows, strict=True))
            self._write(batch, rows)
            self._progress(min(start + _BATCH, len(keys)), len(keys), f"{what} compared in meaning")

    def _load(self) -> TextEncoder:
        if self._encoder is None:
            from vivant.metrics.similarity import load_encoder

            self._encoder = load_encoder()
        return self._encoder

    def _write(self, keys: Sequence[bytes], rows: NDArray[np.float16]) -> None:
        path = self._folder / f"{self._files:06d}.npz"
        with atomic_file(path, durable=False) as file:
            np.savez(file, keys=np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1), rows=rows)
        self._files += 1

    def _read(self, path: Path) -> None:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                names, rows = stored["keys"], stored["rows"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise DataError(f"{path} is broken ({error}); delete it, it is made again") from error
        self._rows.update(zip((name.tobytes() for name in names), rows, strict=True))


def _truncate(text: str) -> str:
    return text[:_CHARACTERS]


def _hash_key(text: str) -> bytes:
    return hashlib.blake2b(_truncate(text).encode("utf-8", "replace"), digest_size=16).digest()
