"""What a video's name says, and how names in other people's files meet those in the data.

`man_j_Archery001_angle0_blank.mp4` is avatar, actor, action, camera angle and background; `real_Darts001.mp4`
is an action performed with the real object. Result files write the actors out and drop the `real_` prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.types import Sample

VARIANTS = (
    "base+blank@0",
    "adversarial+blank@0",
    "woman+blank@0",
    "base+aligned@0",
    "base+misaligned@0",
    "adversarial+aligned@0",
    "adversarial+misaligned@0",
    "base+blank@90",
    "base+blank@180",
    "base+blank@270",
)
"""The ten variants of each action, in the order of the released file."""
REAL = "none"
"""The variant of videos of real actions."""
NOT_APPLICABLE = "n/a"

_ROLES = {"man": "base", "spacesuit": "adversarial", "woman": "woman"}
_ACTORS = {"justin": "j", "natali": "n"}
_RENDERED = re.compile(
    r"(?P<avatar>[^_]+)_(?P<actor>[^_]+)_(?P<action>.+?)_angle(?P<angle>\d+)_(?P<background>.+)", re.I
)
_REAL = re.compile(r"real_(?P<action>.+)", re.I)
_EXTENSION = re.compile(r"\.(mp4|webm|mov|avi|mkv|m4v|gif)$", re.I)


class VideoNameParts(Struct, frozen=True):
    """The parts of a video's name; empty where the name does not have them."""

    dataset: str = ""
    avatar: str = ""
    actor: str = ""
    action: str = ""
    angle: str = ""
    background: str = ""


def file_name(path: str) -> str:
    """The last part of a path or an address, whichever way its slashes lean."""
    return re.split(r"[\\/]", path.partition("?")[0])[-1]


def stem(path: str) -> str:
    """The file's name without a video's extension."""
    return _EXTENSION.sub("", file_name(path))


def parse_video_name(path: str) -> VideoNameParts:
    """What a video's name says about it."""
    name = stem(path)
    if match := _REAL.fullmatch(name):
        return VideoNameParts(dataset="REAL", action=match["action"])
    if match := _RENDERED.fullmatch(name):
        return VideoNameParts(
            "MIME", match["avatar"], match["actor"], match["action"], match["angle"], match["background"]
        )
    return VideoNameParts()


def format_variant(avatar: str, background: str, angle: str) -> str:
    """`config_name` as the data spell it, or nothing where a part of it is unknown."""
    if avatar not in _ROLES or not background or not angle:
        return ""
    return f"{_ROLES[avatar]}+{background}@{angle}"


def join_key(path: str) -> str:
    """Equal for two spellings of one video's name."""
    name = stem(path).lower()
    parts = name.split("_")
    if len(parts) > 2 and parts[1] in _ACTORS:
        parts[1] = _ACTORS[parts[1]]
    return "_".join(parts).removeprefix("real_")


class SampleIndex:
    """Finds samples by a video's name or by their id."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.samples = list(samples)
        self._ids = {sample.id: sample for sample in self.samples}
        self._names: dict[str, list[Sample]] = {}
        for sample in self.samples:
            self._names.setdefault(join_key(str(sample.extra.get("file_name", ""))), []).append(sample)

    def find(self, path: str, sample_id: object = None) -> Sample | None:
        """The sample whose video is called so, else the one whose id is `other` (or `path` itself)."""
        matches = self._names.get(join_key(path), []) if path else []
        if len(matches) > 1:
            raise DataError(
                f"The name '{path}' fits {len(matches)} samples ({matches[0].id}, {matches[1].id}); "
                "give data in which every video has a name of its own"
            )
        return matches[0] if matches else self._ids.get(str(sample_id)) or self._ids.get(path)
