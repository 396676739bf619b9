"""Whether a video or sound file can be used: its two ends are decoded. Runs in a worker."""

from __future__ import annotations

import av

from vivant.media.decoding import decode_frames
from vivant.media.scan import iter_packets, open_media, scan_video


def find_stream_problem(path: str, name: str) -> str | None:
    """What is wrong with a file that opens, in one line; None where nothing is. Raises where it does not."""
    with open_media(path, name) as container:
        pictures = any(
            not stream.disposition & av.stream.Disposition.attached_pic for stream in container.streams.video
        )
        if not pictures and container.streams.audio:
            return _sound(container.streams.audio[0], container)
    scanned = scan_video(path, name)
    last = scanned.table.info.frames - 1
    lost = [index for index, frame in decode_frames(path, name, scanned, (0, last)) if frame is None]
    if scanned.table.info.note:
        return scanned.table.info.note
    if lost:
        which = " and ".join("first" if index == 0 else "last" for index in sorted(lost))
        return f"the {which} frame cannot be decoded"
    return None


def _sound(stream: av.AudioStream, container: av.container.InputContainer) -> str | None:
    for packet in iter_packets(container, stream):
        if stream.codec_context.decode(packet):
            return None
    return "its sound cannot be decoded"
