"""Videos for servers: as the file with the server's own frame settings, or as chosen frames with their times.

A server that takes files chooses the frames itself. It is told the frame policy in the way that its entry in
`models.yaml` names (`frames:`); a server without one keeps its own settings, and the record says so.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from vivant.core.errors import MediaError, UsageError
from vivant.core.types import Clip, FramePolicy, Request
from vivant.media.clips import frame_metadata, round_rate

FrameSettings = Literal["", "media_io_kwargs", "fps"]
"""How a server is told which frames of a file to look at: not at all, as vLLM is, or as DashScope is."""
VIDEO_OPTIONS: Mapping[str, Any] = {"send_video": "file", "video_url": "data", "video_root": None}
_ROUNDING = 1.000001
"""Servers round the number of frames down; a rate of 8 frames in 30 s must not become 7."""


_HEEDS_POLICY, _HEEDS_TIMES = (0, 18), (0, 20)
"""vLLM from these versions on; an older one drops the fields without a word."""


class ServerVideo:
    """How one server is sent videos."""

    def __init__(self, settings: FrameSettings, values: Mapping[str, Any]) -> None:
        self.settings = settings
        self.sends_frames = str(values["send_video"]) == "frames"
        self._url = str(values["video_url"])
        self._root = values["video_root"]
        if str(values["send_video"]) not in ("file", "frames"):
            raise UsageError(f"--model-option send_video={values['send_video']}: write file or frames")
        if self.sends_frames and settings != "media_io_kwargs":
            raise UsageError("--model-option send_video=frames needs a vLLM server: add server=vllm")
        if self._url not in ("data", "file") and not self._url.startswith(("http://", "https://")):
            raise UsageError(f"--model-option video_url={self._url}: write data, file, or an address")
        if self._url.startswith("http") and not self._root:
            raise UsageError(f"Which folder does {self._url} serve? Add --model-option video_root=FOLDER")

    def part(self, clip: Clip) -> dict[str, Any]:
        """A piece of a message."""
        if clip.frames:
            frames = ",".join(b64encode(frame.data).decode("ascii") for frame in clip.frames)
            return {"type": "video_url", "video_url": {"url": f"data:video/jpeg;base64,{frames}"}}
        piece: dict[str, Any] = {"type": "video_url", "video_url": {"url": self._address(clip)}}
        if self.settings == "fps" and clip.fps is not None:
            piece["fps"] = round_rate(clip.fps)
        return piece

    def fields(self, request: Request) -> dict[str, Any]:
        """What the request says besides its messages."""
        if self.settings != "media_io_kwargs":
            return {}
        clips = [part for turn in request.turns for part in turn.parts if isinstance(part, Clip)]
        if self.sends_frames and clips:
            if len(clips) > 1:  # the server takes one set of times for a request
                raise MediaError(
                    "send_video=frames takes one video a request; use send_video=file or --video-as images"
                )
            return {"media_io_kwargs": {"video": describe_frames(clips[0])}}
        files = [clip for clip in clips if not clip.frames]
        return {"media_io_kwargs": {"video": sample_files(files)}} if files else {}

    def find_version_problem(self, version: str) -> str:
        """Why a vLLM of this version would not show the frames that it is told; empty where it would."""
        numbers = re.match(r"(\d+)\.(\d+)\.\d+", version)
        if numbers is None or "dev" in version:
            return ""
        needed = _HEEDS_TIMES if self.sends_frames else _HEEDS_POLICY
        if (int(numbers[1]), int(numbers[2])) >= needed:
            return ""
        return (
            f"vLLM {version} does not heed which frames of a video a request names; "
            f"upgrade it to {needed[0]}.{needed[1]}, or use --video-as images"
        )

    def _address(self, clip: Clip) -> str:
        path = Path(clip.path)
        if self._url == "data":
            return f"data:{clip.media_type};base64,{b64encode(path.read_bytes()).decode('ascii')}"
        if self._url == "file":
            return path.as_uri()
        root = Path(str(self._root)).expanduser().resolve()
        if not path.is_relative_to(root):
            raise MediaError(f"{path.name} is not in the folder {root} that {self._url} serves")
        return f"{self._url.rstrip('/')}/{quote(path.relative_to(root).as_posix())}"


def describe_frames(clip: Clip) -> dict[str, Any]:
    """Frames that were chosen here, in vLLM's words."""
    return {**frame_metadata(clip), "num_frames": -1, "do_sample_frames": False}


def sample_files(clips: Sequence[Clip]) -> dict[str, Any]:
    """A frame policy in vLLM's words.

    Both settings are sent. Loaders for Qwen heed the rate alone; the general one takes the smaller of the two,
    and 32 frames where no number is given.
    """
    policies = [clip.policy for clip in clips if clip.policy is not None]
    policy = policies[0] if policies else FramePolicy()
    number = policy.count if policy.select == "count" else policy.cap
    rates = [clip.fps for clip in clips if clip.fps is not None]
    settings: dict[str, Any] = {"num_frames": -1 if number is None else number}
    if rates:
        settings["fps"] = max(rates) * _ROUNDING
    return settings
