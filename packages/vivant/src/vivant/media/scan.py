"""Open a video, list its frames, and say what it is. Runs in a worker process: libav may hang or crash."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any, cast

import av
from av.container import InputContainer
from av.packet import Packet
from av.sidedata.sidedata import SideData, Type
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from msgspec import Struct

from vivant.core.errors import MediaError
from vivant.core.file_types import MAX_PIXELS, detect_impostor
from vivant.media.frame_cache import HIDDEN, KEY, FrameTable, PacketTable, VideoInfo

# Formats that hold their media themselves. Playlists, which make libav open other files, are not among them.
_FORMATS = (
    "3dostr,3g2,3gp,aac,ac3,aiff,amr,apng,asf,asf_o,au,av1,avi,caf,dv,eac3,flac,flv,gif,h261,h263,h264,hevc,ivf,"
    "m4a,m4v,matroska,mj2,mjpeg,mov,mp3,mp4,mpeg,mpegts,mpegvideo,mxf,nut,obu,ogg,opus,rm,swf,vc1,w64,wav,webm,"
    "wtv,wv,yuv4mpegpipe"
)
_OPTIONS = {"protocol_whitelist": "file", "format_whitelist": _FORMATS}

# So many first frames are decoded to see whether the packets' timestamps tell the truth.
_CHECKED = 12
# Sound often starts a few milliseconds early, as padding for its coder; that does not move second zero.
_PADDING = Fraction(1, 10)


class VideoScan(Struct, frozen=True, eq=False):
    """What one pass over a file's packets gives."""

    table: FrameTable
    packets: PacketTable | None


@contextmanager
def open_media(path: str, name: str) -> Iterator[InputContainer]:
    """The file as libav sees it; whatever libav objects to becomes a MediaError under `name`."""
    with open(path, "rb") as file:
        text = detect_impostor(file.read(512))
    if text is not None:
        raise MediaError(f"{name} {text}")
    try:
        container = av.open(path, options=_OPTIONS, metadata_errors="replace")
    except (av.FFmpegError, ValueError) as error:
        raise MediaError(
            f"{name} cannot be opened as media ({_reason(error)}): cut short, damaged or of an unknown kind;"
            " fetch it again"
        ) from None
    try:
        yield container
    except av.FFmpegError as error:
        raise MediaError(f"{name} cannot be read: {_reason(error)}") from None
    finally:
        container.close()


def video_stream(container: InputContainer, name: str, threads: int = 0) -> VideoStream:
    """The file's moving picture (not the cover of a song), set up for decoding."""
    for stream in container.streams.video:
        if not stream.disposition & av.stream.Disposition.attached_pic:
            break
    else:
        raise MediaError(f"{name} has no video in it")
    context = stream.codec_context
    if context is None:
        raise MediaError(
            f"{name} is coded in a way that this build of PyAV cannot decode; convert it to H.264"
        )
    if context.width * context.height > MAX_PIXELS:
        raise MediaError(
            f"{name} has {context.width}×{context.height} pixels a frame, more than can be decoded safely"
        )
    context.thread_type = "AUTO"
    context.thread_count = threads
    return stream


def scan_video(path: str, name: str, threads: int = 0) -> VideoScan:
    """List a video's frames: by its packets' timestamps, or by decoding all of it where those mislead."""
    with open_media(path, name) as container:
        stream = video_stream(container, name)
        rows, note = _demux(container, stream)
        if not rows:
            raise MediaError(f"{name} has no frames in it; fetch it again")
        base = stream.time_base or Fraction(1, 1000)
        begins = container.start_time
        rate = stream.guessed_rate or stream.average_rate or Fraction(25)
        kind = container.format.name.split(",")[0]
        codec = stream.codec_context.name
        has_audio = bool(container.streams.audio)
    head = _head(path, name, threads)
    if not head.pts:
        raise MediaError(f"{name} holds no frame that can be decoded; fetch it again")
    rows, lost = _drop_leading(rows, head)
    if lost and head.damaged:
        note = note or f"the first {lost} frames cannot be decoded"
    times = sorted(row[0] for row in rows if not row[3] & HIDDEN and row[0] is not None)
    trusted = len(times) == sum(not row[3] & HIDDEN for row in rows) and _is_ascending(times)
    if trusted and (head.damaged or head.pts == times[: len(head.pts)]):
        packets = _packets(rows)
        last = next(row[4] for row in rows if row[0] == times[-1])
    else:
        packets, last = None, 0
        times, base = _count(path, name, threads, base, rate)
    gaps = [b - a for a, b in pairwise(times)]
    step = last or (round(sum(gaps) / len(gaps)) if gaps else round(1 / (rate * base))) or 1
    origin, end = _origin(times[0], base, begins), times[-1] + step
    seconds = float((end - origin) * base)
    info = VideoInfo(
        frames=len(times),
        duration=seconds,
        fps=float(len(times) / ((end - times[0]) * base)),
        width=head.width,
        height=head.height,
        has_audio=has_audio,
        constant_rate=not gaps or (max(gaps) - min(gaps)) * base <= Fraction(3, 2000),
        codec=codec,
        container=kind,
        note=note,
    )
    table = FrameTable(
        base=(base.numerator, base.denominator),
        origin=origin,
        end=end,
        pts=array("q", times).tobytes(),
        sequential=packets is None,
        info=info,
    )
    return VideoScan(table, packets)


_Row = tuple[int | None, int | None, int, int, int]  # pts, dts, offset, flags, duration


def _demux(container: InputContainer, stream: VideoStream) -> tuple[list[_Row], str]:
    """All packets of a stream, and a note where the file ends before it should."""
    rows: list[_Row] = []
    note, reached = "", 0.0
    hides = stream.codec_context.name in ("vp8", "libvpx")
    # Matroska states how long it is but not how many frames it has, so all streams are followed to the end.
    timed = "matroska" in container.format.name
    try:
        for packet in iter_packets(container, *(container.streams if timed else (stream,))):
            if timed and packet.pts is not None:
                reached = max(reached, float((packet.pts + (packet.duration or 0)) * packet.time_base))
            if packet.stream_index != stream.index:
                continue
            flags = KEY if packet.is_keyframe else 0
            # VP8 keeps reference pictures that are never shown in packets of their own; bit 4 says "shown".
            if packet.is_discard or (hides and not memoryview(packet)[0] & 0x10):
                flags |= HIDDEN
            offset = -1 if packet.pos is None else packet.pos
            rows.append((packet.pts, packet.dts, offset, flags, packet.duration or 0))
    except av.FFmpegError as error:
        note = f"unreadable after frame {len(rows)}: {_reason(error)}"
    stated = (container.duration or 0) / 1_000_000
    if timed and stated - reached > max(0.5, stated * 0.02):
        note = f"cut short: {reached:.1f} of {stated:.1f} s are there"
    # Only this family of formats lists every frame in its index.
    if "mp4" in container.format.name and len(stream.index_entries) > len(rows):
        note = f"cut short: {len(rows)} of {len(stream.index_entries)} frames are there"
    return rows, note


def _drop_leading(rows: list[_Row], head: _Head) -> tuple[list[_Row], int]:
    """Hide the frames before the first that decodes: a file cut at an open group of pictures starts so."""
    first = head.pts[0]
    if first is None or all(row[0] != first for row in rows):
        return rows, 0
    early = {i for i, row in enumerate(rows) if row[0] is not None and row[0] < first and not row[3] & HIDDEN}
    for i in early:
        rows[i] = (*rows[i][:3], rows[i][3] | HIDDEN, rows[i][4])
    return rows, len(early)


def _is_ascending(times: list[int]) -> bool:
    return all(a < b for a, b in pairwise(times))


def _packets(rows: list[_Row]) -> PacketTable:
    def column(values: Iterator[int]) -> bytes:
        return array("q", values).tobytes()

    return PacketTable(
        pts=column(row[0] or 0 for row in rows),
        dts=column((row[0] or 0) if row[1] is None else row[1] for row in rows),
        positions=column(row[2] for row in rows),
        flags=bytes(row[3] for row in rows),
    )


class _Head(Struct, frozen=True):
    pts: list[int | None]
    damaged: bool
    width: int
    height: int


def _head(path: str, name: str, threads: int) -> _Head:
    """The first frames, decoded: their timestamps, and the size of the picture as shown."""
    pts: list[int | None] = []
    damaged, width, height = False, 0, 0
    with open_media(path, name) as container:
        stream = video_stream(container, name, threads)
        width, height = stream.codec_context.width, stream.codec_context.height
        for frame in iter_frames(container, stream):
            if frame is None:
                damaged = True
                continue
            if not pts:
                width, height = frame.width, frame.height
                if frame_orientation(frame)[0]:
                    width, height = height, width
            pts.append(frame.pts)
            if len(pts) == _CHECKED:
                break
    return _Head(pts, damaged, width, height)


def _count(path: str, name: str, threads: int, base: Fraction, rate: Fraction) -> tuple[list[int], Fraction]:
    """Times of all frames by decoding every one, and their unit; by the nominal rate where they have none."""
    with open_media(path, name) as container:
        stream = video_stream(container, name, threads)
        timestamps = [frame.pts for frame in iter_frames(container, stream) if frame is not None]
    times = [value for value in timestamps if value is not None]
    if len(times) == len(timestamps) and _is_ascending(times):
        return times, base
    return list(range(len(timestamps))), 1 / rate


def iter_packets(container: InputContainer, *streams: Stream) -> Iterator[Packet[Any]]:
    """The packets of some streams from here on, without the empty ones at the end."""
    try:
        yield from (packet for packet in container.demux(*streams) if packet.size)
    except IndexError:
        # PyAV's way of ending where streams turned up that the file's head did not announce.
        return


def iter_frames(container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame | None]:
    """All frames from the start; None stands for a packet that could not be decoded."""
    packets: Iterator[Packet[VideoStream] | None] = chain(iter_packets(container, stream), (None,))
    while True:
        try:
            yield from stream.codec_context.decode(next(packets))
        except StopIteration:
            return
        except (av.FFmpegError, EOFError):
            # After an error in reading, `packets` ends, and `scan` has made a note of it.
            yield None


def frame_orientation(frame: VideoFrame) -> tuple[bool, bool, bool]:
    """How a frame is to be shown: rows and columns exchanged, then mirrored left-right, then upside down."""
    side_data = cast("Iterable[SideData]", frame.side_data)  # what PyAV's stubs say of it is not so
    matrix = next((data for data in side_data if data.type is Type.DISPLAYMATRIX), None)
    if matrix is None:
        return False, False, False
    a, b, _, c, d, *_ = memoryview(matrix).cast("B").cast("i")
    if abs(b) + abs(c) > abs(a) + abs(d):
        return True, c < 0, b < 0
    return False, a < 0, d < 0


def _origin(first: int, base: Fraction, begins: int | None) -> int:
    """The timestamp of second zero: where the file starts, if that is clearly before its first frame."""
    if begins is None:
        return first
    start = Fraction(begins, 1_000_000) / base
    return round(start) if (first - start) * base > _PADDING else first


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).lower()
