"""The form of Inspect's logs: the fields that are read, and the members of an `.eval` archive.

An `.eval` file is a zip of `header.json`, `summaries.json` and `samples/ID_epoch_N.json`. Inspect compresses with
Zstandard, which Python's zipfile reads from 3.14 on; before, the members are decompressed here. Events, which make up
most of a sample, are passed over without being decoded.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from msgspec import Struct, field

from vivant.core.errors import DataError
from vivant.core.optional_packages import require_package
from vivant.models.reply_json import parse_json

LOG_VERSION = 2
ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_T = TypeVar("_T")


class InspectContent(Struct, frozen=True):
    """One part of a message."""

    type: str
    text: str = ""
    image: str = ""
    video: str = ""
    audio: str = ""
    reasoning: str = ""


class InspectMessage(Struct, frozen=True):
    """One turn."""

    role: str
    content: str | list[InspectContent] = ""


class InspectChoice(Struct, frozen=True):
    """One completion."""

    message: InspectMessage
    stop_reason: str = "stop"


class InspectUsage(Struct, frozen=True):
    """Tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int | None = None


class InspectOutput(Struct, frozen=True):
    """What the model wrote."""

    model: str = ""
    choices: list[InspectChoice] = []
    completion: str = ""
    usage: InspectUsage | None = None
    error: str | None = None


class InspectScore(Struct, frozen=True):
    """What one scorer gave a sample."""

    value: Any = None
    answer: str | None = None
    explanation: str | None = None


class InspectError(Struct, frozen=True):
    """Why a sample failed."""

    message: str = ""


class InspectSample(Struct, frozen=True):
    """One sample of one epoch."""

    id: str | int
    epoch: int = 1
    input: str | list[InspectMessage] = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    messages: list[InspectMessage] = []
    output: InspectOutput = InspectOutput()
    scores: dict[str, InspectScore] | None = None
    metadata: dict[str, Any] = {}
    total_time: float | None = None
    error: InspectError | None = None
    attachments: dict[str, str] = {}


class InspectMetric(Struct, frozen=True):
    """One aggregate."""

    name: str
    value: float | None = None


class InspectResult(Struct, frozen=True):
    """The aggregates of one scorer."""

    name: str
    scorer: str = ""
    metrics: dict[str, InspectMetric] = {}


class InspectResults(Struct, frozen=True):
    """All aggregates."""

    total_samples: int = 0
    completed_samples: int = 0
    scores: list[InspectResult] = []


class InspectSpec(Struct, frozen=True):
    """What was evaluated."""

    task: str
    model: str
    created: str = ""
    eval_id: str = ""
    run_id: str = ""
    task_id: str = ""
    task_args: dict[str, Any] = {}
    config: dict[str, Any] = {}
    packages: dict[str, str] = {}


class InspectHeader(Struct, frozen=True):
    """A log without its samples."""

    eval: InspectSpec
    version: int = LOG_VERSION
    status: str = "started"
    results: InspectResults | None = None
    error: InspectError | None = None


class InspectJson(InspectHeader, frozen=True):
    """A log as one JSON file."""

    samples: list[InspectSample] | None = field(default=None)


class EvalArchive:
    """An `.eval` file, open for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            self._file = path.open("rb")
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is no Inspect log: {error}") from error
        self._members = {info.filename: info for info in self._zip.infolist()}
        self._decompress = self._find_decompressor()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()
        self._zip.close()

    def read_header(self) -> InspectHeader:
        """The log's header; of a log whose evaluation was killed, what is known from its start."""
        if "header.json" in self._members:
            return self._decode("header.json", msgspec.json.Decoder(InspectHeader))
        if "_journal/start.json" in self._members:
            return self._decode("_journal/start.json", msgspec.json.Decoder(InspectHeader))
        raise DataError(f"{self.path} is no Inspect log: it holds no header.json")

    def iter_samples(self) -> Iterator[InspectSample]:
        """All samples, one at a time, as they lie in the file."""
        decoder = msgspec.json.Decoder(InspectSample)
        for name in filter(_is_sample, self._members):
            yield self._decode(name, decoder)

    def _decode(self, name: str, decoder: msgspec.json.Decoder[_T]) -> _T:
        try:
            return _decode_json(self._read(name), decoder)
        except ValueError as error:
            raise DataError(f"{self.path}, {name}: {error}") from error

    def _find_decompressor(self) -> Callable[[bytes], bytes] | None:
        if not any(info.compress_type == ZSTANDARD for info in self._members.values()):
            return None
        require_package(
            "zstandard", "inspect", f"{self.path} is compressed with Zstandard. To read it, Vivant"
        )
        import zstandard

        # One decompressor for all members: to make one takes longer than to read a small sample.
        decompressor = zstandard.ZstdDecompressor()
        return lambda data: decompressor.decompressobj().decompress(data)

    def _read(self, name: str) -> bytes:
        info = self._members[name]
        try:
            if info.compress_type != ZSTANDARD or self._decompress is None:
                return self._zip.read(info)
            self._file.seek(info.header_offset)
            fields = _LOCAL_HEADER.unpack(self._file.read(_LOCAL_HEADER.size))
            self._file.seek(fields[-2] + fields[-1], 1)
            return self._decompress(self._file.read(info.compress_size))
        except Exception as error:
            # Each library has its own errors for damaged data, and none of them shares a base.
            raise DataError(f"{self.path}, {name}: it is damaged: {error}") from error


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _decode_json(data: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    """A value in Inspect's JSON, which holds NaN: the value of a sample without a score, or of a metric without
    samples. It becomes None."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(parse_json(data), decoder.type)


def read_json_log(path: Path) -> InspectJson:
    """A log in Inspect's JSON form, whole."""
    try:
        return _decode_json(path.read_bytes(), msgspec.json.Decoder(InspectJson))
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{path} is no Inspect log: {error}") from error
