"""Features of frozen encoders, computed once by `vivant train features` and read by every later training.

A folder in the cache belongs to one way of encoding: the encoder's files, the size of frames, which frames, what both
branches keep of them. Another encoder or setting has another folder. One file a video, which appears whole or not
at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
from safetensors import SafetensorError

from vivant.core.errors import UsageError
from vivant.core.files import atomic_path
from vivant.core.paths import cache_root
from vivant.core.types import FramePolicy
from vivant_train.backbones.files import open_checkpoint
from vivant_train.data.sources import Example
from vivant_train.model.config import ModelSettings


class FeatureCache:
    """The features of one way of encoding."""

    def __init__(self, settings: ModelSettings, frames: FramePolicy, precision: str) -> None:
        self.folder = cache_root() / "features" / fingerprint_encoder(settings, frames, precision)
        self._keys: dict[str, str] = {}
        self._present: set[str] = set()

    def path(self, example: Example) -> Path:
        """The file of an example's video."""
        key = self._keys.get(example.video)
        if key is None:
            key = self._keys[example.video] = _fingerprint_video(example)
        return self.folder / key[:2] / f"{key}.safetensors"

    def has(self, example: Example) -> bool:
        """Whether there are features of an example's video."""
        if example.video in self._present:
            return True
        if not self.path(example).is_file():
            return False
        self._present.add(example.video)
        return True

    def read(self, example: Example) -> dict[str, Any]:
        """The features by branch."""
        from safetensors.torch import load_file

        path = self.path(example)
        try:
            features: dict[str, Any] = load_file(path)
        except (OSError, SafetensorError) as error:
            raise UsageError(
                f"The features in {path} cannot be read: {error}; delete the file and run `vivant train features` again"
            ) from error
        return features

    def write(self, example: Example, features: dict[str, Any]) -> None:
        """Keep the features of an example's video."""
        from safetensors.torch import save_file

        path = self.path(example)
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {name: value.detach().cpu().contiguous() for name, value in features.items()}
        with atomic_path(path) as temporary:
            save_file(tensors, temporary)


def open_feature_cache(
    settings: ModelSettings, frames: FramePolicy, precision: str, trained: Collection[str] = ()
) -> FeatureCache | None:
    """The cache that fits a model; None where its features change as it learns, or nothing was cached.

    Nor is there one where the backbone has learnt in an earlier training (`trained`): the cache is its source's.
    """
    if not settings.has_fixed_features or not settings.vision_source or "vision" in trained:
        return None
    cache = FeatureCache(settings, frames, precision)
    return cache if cache.folder.is_dir() else None


def fingerprint_encoder(settings: ModelSettings, frames: FramePolicy, precision: str) -> str:
    """What must be equal for features to be the same."""
    temporal = settings.temporal
    content = {
        "vision": msgspec.to_builtins(
            msgspec.structs.replace(settings.vision, name="", config={}, attention="", frozen=True)
        ),
        "weights": [_list_weights(settings.vision_source)],
        "spatial": msgspec.to_builtins(settings.spatial),
        "temporal": [temporal.on, temporal.init, temporal.patches, temporal.window],
        "frames": msgspec.to_builtins(frames),
        "precision": precision,
    }
    if temporal.on and temporal.init == "video":
        content["weights"] += [_list_weights(temporal.encoder.name)]
        content["video"] = msgspec.to_builtins(temporal.encoder)
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:24]


def _list_weights(name: str) -> list[tuple[str, int, int]]:
    files = sorted(set(open_checkpoint(name).list_tensors().values()))
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def _fingerprint_video(example: Example) -> str:
    """A video's path, size and time of change."""
    digest = hashlib.sha256(example.video.encode())
    for part in example.media:
        file = Path(example.media_root) / part.path
        if file.is_file():
            status = file.stat()
            digest.update(f"\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return digest.hexdigest()
