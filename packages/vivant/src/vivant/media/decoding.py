"""Decode chosen frames of a video: seek to the keyframe before, decode no more than they need.

Frames come out as a full decode from the start would give them, whatever the timestamps, edit lists or
frame order of the file. Only a decoder's few reference frames are in memory at a time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain

import av
from av.container import InputContainer
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from vivant.media.frame_cache import HIDDEN, KEY, PacketTable
from vivant.media.scan import VideoScan, iter_frames, iter_packets, open_media, video_stream

# Reading on is cheaper than a seek up to about so many packets; decoding on, than emptying the decoder.
_READ_ON = 48
_DECODE_ON = 6
# Decoders that heed a change of `skip_frame` from packet to packet; others fix it when they are opened.
_SKIPPING = frozenset(("h264", "hevc", "mpeg2video", "mpeg4"))


def decode_frames(
    path: str,
    name: str,
    scan: VideoScan,
    frames: Iterable[int],
    threads: int = 0,
    on_damage: Callable[[], None] | None = None,
) -> Iterator[tuple[int, VideoFrame | None]]:
    """Each wanted frame by its index, once, in the file's own order; None for what cannot be decoded.

    `on_damage` is called where a part of the file that was read is damaged, wanted or not: frames after it may show
    what is left of it (`find_frames_after_damage`).
    """
    indices = sorted(set(frames))
    if not indices:
        return
    with ExitStack() as files:

        def reopen(threads: int = threads) -> tuple[InputContainer, VideoStream]:
            files.close()
            container = files.enter_context(open_media(path, name))
            return container, video_stream(container, name, threads)

        report = on_damage or (lambda: None)
        if scan.packets is None:
            yield from _decode_by_counting(*reopen(), indices, report)
        else:
            yield from _decode_by_seeking(_Index(scan.packets), reopen, indices, report)


def find_frames_after_damage(path: str, name: str, scan: VideoScan, frames: Iterable[int]) -> set[int]:
    """Those frames that build upon a damaged part: decoded after it, with no whole keyframe in between.

    A decoder shows them as if nothing were wrong, with the damage smeared into them.
    """
    indices = sorted(set(frames))
    with open_media(path, name) as container:
        if scan.packets is None:
            return _find_after_by_counting(container, video_stream(container, name, 1), indices)
    with ExitStack() as files:

        def reopen() -> tuple[InputContainer, VideoStream]:
            files.close()
            container = files.enter_context(open_media(path, name))
            # In one thread, an error belongs to the packet that was just sent.
            return container, video_stream(container, name, 1)

        index = _Index(scan.packets)
        reader = _Reader(index, reopen)
        positions = {pts: position for position, pts in enumerate(index.pts)}
        after: set[int] = set()
        for start, wanted in _group_by_key(index, indices).items():
            reader.failed.clear()
            for frame in reader.run(start, set(range(start, max(wanted) + 1)), None):
                if frame.is_corrupt and frame.pts in positions:
                    reader.failed.append(positions[frame.pts])
            damage = min((position for position in reader.failed if position >= start), default=None)
            if damage is not None:
                after |= {number for position, number in wanted.items() if position > damage}
        return after


def _find_after_by_counting(
    container: InputContainer, stream: VideoStream, indices: Sequence[int]
) -> set[int]:
    wanted, after = set(indices), set()
    damaged, number = False, 0
    for frame in iter_frames(container, stream):
        if frame is None or frame.is_corrupt:
            damaged = True
        elif frame.key_frame:
            damaged = False
        elif damaged and number in wanted:
            after.add(number)
        number += frame is not None
    return after


def _group_by_key(index: _Index, indices: Sequence[int]) -> dict[int, dict[int, int]]:
    """Wanted frames by the keyframe to start from: the position of each in the order of decoding, and its number."""
    groups: dict[int, dict[int, int]] = {}
    for number in indices:
        position = index.position(number)
        groups.setdefault(index.key_before(position), {})[position] = number
    return dict(sorted(groups.items()))


def _decode_by_counting(
    container: InputContainer, stream: VideoStream, indices: Sequence[int], on_damage: Callable[[], None]
) -> Iterator[tuple[int, VideoFrame | None]]:
    remaining = set(indices)
    number = -1
    for frame in iter_frames(container, stream):
        if frame is None or frame.is_corrupt:
            on_damage()
        if frame is None:
            continue
        number += 1
        if number in remaining:
            remaining.discard(number)
            yield number, frame
            if not remaining:
                return
    for number in sorted(remaining):
        yield number, None


def _decode_by_seeking(
    index: _Index,
    reopen: Callable[..., tuple[InputContainer, VideoStream]],
    indices: Sequence[int],
    on_damage: Callable[[], None],
) -> Iterator[tuple[int, VideoFrame | None]]:
    reader = _Reader(index, reopen)
    remaining = {index.pts[index.position(i)]: i for i in indices}
    runs = _group_by_key(index, indices)
    starts = list(runs)
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        for frame in reader.run(start, set(runs[start]), following):
            if frame.is_corrupt:
                on_damage()
            if frame.pts in remaining:
                yield remaining.pop(frame.pts), frame
    if reader.failed or remaining:
        on_damage()
    if not remaining:
        return
    # Some streams need more than one keyframe's distance to recover, and decoding in several threads loses
    # sound frames near damaged ones. One thread now, and nothing is skipped.
    reader = _Reader(index, partial(reopen, 1))
    for position in sorted(index.position(i) for i in remaining.values()):
        start = index.key_before(position, back=2)
        for frame in reader.run(start, set(range(start, position + 1)), None):
            if frame.pts in remaining:
                yield remaining.pop(frame.pts), frame
    for i in sorted(remaining.values()):
        yield i, None


class _Index:
    """Where frames and keyframes are in the order of decoding."""

    def __init__(self, packets: PacketTable) -> None:
        self.pts = array("q", packets.pts)
        self.dts = array("q", packets.dts)
        self.offsets = array("q", packets.positions)
        self.keys = [i for i, flags in enumerate(packets.flags) if flags & KEY] or [0]
        self._by_identity = {(self.pts[i], self.offsets[i]): i for i in self.keys}
        self._shown = sorted(
            (i for i, flags in enumerate(packets.flags) if not flags & HIDDEN), key=self.pts.__getitem__
        )

    def position(self, frame: int) -> int:
        """Where the packet of a frame (by its index in the order of showing) is."""
        return self._shown[frame]

    def key_before(self, position: int, back: int = 0) -> int:
        """The keyframe to start from: the last decoded and shown no later, or `back` keyframes earlier."""
        number = bisect_right(self.keys, position) - 1
        if number < 0:
            return 0
        while number > 0 and self.pts[self.keys[number]] > self.pts[position]:
            number -= 1
        return self.keys[max(number - back, 0)]

    def find(self, packet: Packet[VideoStream]) -> int | None:
        """Which keyframe a packet is; None for any other packet."""
        offset = -1 if packet.pos is None else packet.pos
        return self._by_identity.get((packet.pts or 0, offset))


class _Astray(Exception):  # noqa: N818 (caught within this file)
    """What a seek led to is not what the table says is there."""


class _Reader:
    """Feeds a decoder from chosen keyframes on."""

    def __init__(self, index: _Index, reopen: Callable[[], tuple[InputContainer, VideoStream]]) -> None:
        self._index = index
        self._reopen = reopen
        self._seekable = True
        self.failed: list[int] = []
        """Where packets are that could not be decoded; in one thread, exactly these."""
        self._full = False
        """The decoder still holds frames of the run before, which leads up to this one."""
        self._rewind()

    def run(self, start: int, positions: set[int], following: int | None) -> Iterator[VideoFrame]:
        """Decode from keyframe `start` on, as far as the packets at `positions` need; others may be left out.

        Where the `following` run starts close by, the decoder is not emptied but goes on into it.
        """
        for _ in range(2):
            try:
                yield from self._run(start, positions, following)
                return
            except _Astray:
                # MPEG program streams do this, for one: timestamps are other ones after a seek.
                self._seekable = False
                self._rewind()

    def _run(self, start: int, positions: set[int], following: int | None) -> Iterator[VideoFrame]:
        if not self._full and not self._go(start):
            return
        context = self._stream.codec_context
        skips, last = context.name in _SKIPPING, max(positions)
        while self._next <= last:
            if skips:
                # Frames that no other frame refers to are not decoded unless wanted: that changes no other.
                context.skip_frame = "DEFAULT" if self._next in positions else "NONREF"
            packet = self._read()
            if packet is None:
                break
            yield from self._decode(context, packet)
        self._full = following is not None and 0 <= following - self._next <= _DECODE_ON
        if not self._full:
            yield from self._decode(context, None)
            context.flush_buffers()

    def _decode(self, context: VideoCodecContext, packet: Packet[VideoStream] | None) -> list[VideoFrame]:
        try:
            return context.decode(packet)
        except (av.FFmpegError, EOFError):
            # A damaged packet. The frames that depend on it are missed, and reported, by whoever wanted them.
            self.failed.append(self._next - 1)
            return []

    def _rewind(self) -> None:
        self._container, self._stream = self._reopen()
        self._packets = iter_packets(self._container, self._stream)
        self._next = 0
        """Where the packet that `_read` will give is."""
        self._full = False

    def _read(self) -> Packet[VideoStream] | None:
        try:
            packet = next(self._packets, None)
        except av.FFmpegError:
            # Unreadable from here on; `scan` met the same place and made a note of it.
            return None
        if packet is not None and packet.pts != self._index.pts[self._next]:
            raise _Astray
        self._next += 1
        return packet

    def _go(self, key: int) -> bool:
        """Make the packet at `key` the next one: by reading on, by a seek, or from the start of the file."""
        if not 0 <= key - self._next <= _READ_ON:
            index = self._index
            before, earlier = (index.dts[index.key_before(key, back)] for back in (1, 2))
            times = (index.pts[key], index.dts[key], before, earlier)
            if self._seekable and not any(self._seek(time, key) for time in times):
                self._seekable = False
                self._rewind()
            elif key < self._next:
                self._rewind()
        while self._next < key:
            if self._read() is None:
                return False
        return True

    def _seek(self, time: int, key: int) -> bool:
        """Seek, and read up to the first keyframe found there; False where that one is past `key`."""
        try:
            self._container.seek(time, stream=self._stream)
            packets = iter_packets(self._container, self._stream)
            for packet in packets:
                position = self._index.find(packet)
                if position is not None:
                    self._packets = chain((packet,), packets)
                    self._next = position
                    return position <= key
        except av.FFmpegError:
            return False
        return False
