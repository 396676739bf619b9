"""The fingerprint of a request: model, decoding, messages, media hashes, frame policy. Never a secret."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from vivant.core.records import MediaUse
from vivant.core.types import Job


class Fingerprints:
    """Hashes what all requests of a run share once, and the rest for each."""

    def __init__(
        self,
        identity: Mapping[str, Any],
        *,
        server: str = "",
        native_video: bool = False,
        audio: bool = False,
        limits: Any = None,
        is_seeded: bool = False,
    ) -> None:
        shared = {
            "identity": dict(identity),
            "server": server,
            "native_video": native_video,
            "audio": audio,
            "version": 1,
        }
        if limits is not None:  # what is over them is sent otherwise, or not at all
            shared["limits"] = limits
        self._shared = hashlib.sha256(msgspec.json.encode(shared, order="sorted"))
        self._is_seeded = is_seeded
        self._encoder = msgspec.json.Encoder()

    def compute(self, job: Job, media: tuple[MediaUse, ...]) -> str:
        """64 hex digits. The file's content counts, not its name; the seed where it changes pixels or replies."""
        hashed = self._shared.copy()
        seed = job.seed if self._is_seeded or job.control == "shuffled" else 0
        content = (
            [(message.role, message.parts) for message in job.messages],
            [use.sha256 for use in media],
            job.frames if media else None,
            job.decoding,
            job.control,
            seed,
            job.repeat,
        )
        hashed.update(self._encoder.encode(content))
        return hashed.hexdigest()
