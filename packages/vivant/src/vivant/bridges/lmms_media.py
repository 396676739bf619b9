"""What a task of lmms-eval shows, as parts of a message and files in a folder.

Pictures lie in a dataset as encoded bytes. A task gets them opened but not decoded; where it shows one as it is, its
own bytes are kept. Only what a task changes is encoded anew, without loss.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.types import Audio, Image, Message, Part, Role, Text, Video

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

_SOUNDS = (".wav", ".mp3", ".m4a", ".aac", ".flac", ".ogg", ".opus")
_PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tiff", ".webp")
_ORIENTATION = 0x0112
_ORIGINAL = "_vivant_original"
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


class MediaFolder:
    """Writes pictures to a folder, each once, and names files elsewhere by a path under one root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[str] = []
        """Absolute paths of files that lie elsewhere."""

    def read_messages(self, messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
        """A conversation in lmms-eval's form."""
        return tuple(
            Message(_ROLES[str(message["role"])], self.read_content(message["content"]))
            for message in messages
        )

    def read_content(self, content: Any) -> tuple[Part, ...]:
        """The parts of one message."""
        if isinstance(content, str):
            return (Text(content),)
        parts: list[Part] = []
        for piece in content:
            if piece["type"] == "text":
                parts.append(Text(str(piece["text"])))
            else:
                parts.append(self.read_visual(piece["url"]))
        return tuple(part for part in parts if not isinstance(part, Text) or part.text)

    def read_visual(self, visual: Any) -> Part:
        """A picture in memory, a path, or a part of a video."""
        from PIL import Image as Pillow

        if isinstance(visual, Pillow.Image):
            return Image(self._write_picture(visual))
        if isinstance(visual, str | os.PathLike):
            return self._read_path(os.fspath(visual))
        if isinstance(visual, Mapping):
            address = visual.get("url") or visual.get("path")
            if isinstance(address, str):
                start, end = visual.get("video_start"), visual.get("video_end")
                return Video(
                    self._name_file(address),
                    None if start is None else float(start),
                    None if end is None else float(end),
                )
            if "array" in visual and "sampling_rate" in visual:
                return Audio(self._write_sound(visual["array"], int(visual["sampling_rate"])))
        if isinstance(visual, Sequence) and len(visual) == 1:
            return self.read_visual(visual[0])
        raise DataError(f"it shows a {type(visual).__name__}, which Vivant cannot send")

    def _read_path(self, path: str) -> Part:
        ending = Path(path).suffix.lower()
        if ending in _PICTURES:
            return Image(self._name_file(path))
        return Audio(self._name_file(path)) if ending in _SOUNDS else Video(self._name_file(path))

    def _name_file(self, path: str) -> str:
        """An absolute path; `relate` makes it relative when all are known."""
        absolute = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 (links stay as they are)
        self.files.append(absolute)
        return absolute

    def _write_picture(self, picture: PillowImage) -> str:
        data, size = getattr(picture, _ORIGINAL, (None, None))
        ending = (picture.format or "png").lower().replace("jpeg", "jpg")
        # A picture that was decoded may have been drawn on; `tile` is empty then.
        if data is None or picture.size != size or not getattr(picture, "tile", None):
            ending = "png"
            buffer = io.BytesIO()
            known = picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I")
            (picture if known else picture.convert("RGB")).save(buffer, "PNG", compress_level=1)
            data = buffer.getvalue()
        return self._write(data, ending)

    def _write_sound(self, samples: Any, rate: int) -> str:
        import wave

        import numpy as np

        values = np.asarray(samples, dtype=np.float64)
        values = values if values.ndim == 1 else values.mean(axis=int(values.shape[0] > values.shape[-1]))
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(rate)
            sound.writeframes((np.clip(values, -1, 1) * 32767).astype("<i2").tobytes())
        return self._write(buffer.getvalue(), "wav")

    def _write(self, data: bytes, ending: str) -> str:
        name = f"{hashlib.sha256(data).hexdigest()[:24]}.{ending}"
        path = self.folder / name
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data, durable=False)
        return name


def open_pictures(doc: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """A row whose picture columns hold bytes, with pictures opened and not yet decoded."""
    return {name: _open(value) if name in columns else value for name, value in doc.items()}


def _open(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_open(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    from PIL import Image as Pillow
    from PIL import ImageOps

    data = value.get("bytes")
    if data is None:
        path = value.get("path")
        if not path:
            return None
        data = Path(path).read_bytes()
    picture = Pillow.open(io.BytesIO(data))
    # Of a PNG without the chunk, to ask for it would decode the picture.
    has_exif = picture.format != "PNG" or "exif" in picture.info
    if has_exif and picture.getexif().get(_ORIENTATION, 1) != 1:
        return ImageOps.exif_transpose(picture)  # as `datasets` does
    setattr(picture, _ORIGINAL, (data, picture.size))
    if picture.mode == "RGB":
        convert = picture.convert

        def keep(mode: str | None = None, *arguments: Any, **options: Any) -> PillowImage:
            # Most tasks ask for RGB, to be sure. A picture that is RGB stays what it is, undecoded.
            return (
                picture
                if mode == "RGB" and not arguments and not options
                else convert(mode, *arguments, **options)
            )

        picture.convert = keep  # type: ignore[method-assign]
    return picture
