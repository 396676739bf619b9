"""Small files as hubs hold them: pictures as structs, Parquet, TSV, archives."""

from __future__ import annotations

import base64
import csv
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars

from tests.support.helpers import picture
from tests.support.media_kit import make_video

Rows = list[dict[str, Any]]


LETTERS = "ABCDE"
SRT = (
    '1\n00:00:00,000 --> 00:00:00,500\n<font color="white">first words</font>\n\n'
    '2\n00:00:00,500 --> 00:00:09,000\n<font color="white">later words</font>\n'
)


def image(number: int) -> dict[str, Any]:
    """A picture as a Parquet file of the hub holds it."""
    return {"bytes": encode_picture(number), "path": f"{number}.png"}


def base64_image(number: int) -> str:
    """A picture as VLMEvalKit's tables hold it."""
    return base64.b64encode(encode_picture(number)).decode()


@cache
def encode_picture(number: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return picture(Path(folder) / "a.png", (number % 256, 40, 90), (40, 30))


@cache
def encode_video() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return make_video(Path(folder) / "a.mp4", 20).read_bytes()


def write_parquet(path: Path, rows: Rows, **schema: Any) -> None:
    """Rows as a Parquet file; `schema` states the types of columns that cannot be told from the rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    polars.DataFrame(rows, schema_overrides=schema, infer_schema_length=None).write_parquet(path)


def write_json(path: Path, value: Any) -> None:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_zip(path: Path, members: Sequence[str], content: bytes | None = None) -> None:
    """A zip archive with a video under each name, or another content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, encode_video() if content is None else content)


def write_videos(folder: Path, names: Sequence[str]) -> None:
    """Videos as plain files."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_video())


def write_split_tar(folder: Path, name: str, members: dict[str, bytes]) -> None:
    """A tar archive in two pieces, as LongVideoBench comes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, content in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    data = buffer.getvalue()
    for ending, piece in (("aa", data[: len(data) // 2]), ("ab", data[len(data) // 2 :])):
        (folder / f"{name}.part.{ending}").write_bytes(piece)


def write_tsv(path: Path, rows: Rows) -> None:
    """A table as pandas writes it for VLMEvalKit."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
