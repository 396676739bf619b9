"""Who may be one creator on several platforms: names, handles and links to profiles, as hashes.

Each uploader's names and the profiles that their descriptions link to are squeezed to letters and digits and hashed
with the work folder's salt, without the platform. Two uploaders that share a hash may be one person. `creators.parquet`
holds the hashes beside the uploaders' own; it is never published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from vivant.core.files import write_atomic
from vivant_build.privacy import fold_name

FILE = "creators.parquet"
NAME, LINK = "name or handle", "link to a profile"
_SUFFIX = ".creators"
_SCHEMA = pa.schema([("uploader", pa.string()), ("kind", pa.string()), ("key", pa.string())])
_SHORTEST = 5
_PROFILE = re.compile(
    r"(?:instagram\.com|tiktok\.com|youtube\.com(?:/c|/user)?|twitter\.com|(?<![\w.])x\.com|facebook\.com|twitch\.tv|"
    r"space\.bilibili\.com|linktr\.ee)/@?([\w.\-]{3,40})",
    re.IGNORECASE,
)
_PAGES = {
    "watch",
    "channel",
    "playlist",
    "shorts",
    "video",
    "reel",
    "reels",
    "stories",
    "share",
    "hashtag",
    "results",
}
CreatorKey = tuple[str, str]


def list_creator_keys(names: Iterable[str], description: str) -> Iterator[CreatorKey]:
    """Kind and key of each name, handle and linked profile of an uploader."""
    for name in names:
        key = _squeeze(name)
        if key:
            yield NAME, key
    if "/" in description:
        for match in _PROFILE.finditer(description):
            key = _squeeze(match.group(1))
            if key and key not in _PAGES:
                yield LINK, key


def _squeeze(name: str) -> str:
    key = "".join(character for character in fold_name(name) if character.isalnum())
    return key if len(key) >= _SHORTEST and not key.isdecimal() else ""


def write_creators(path: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    """The keys that one part holds."""
    write_atomic(path.with_suffix(_SUFFIX), msgspec.json.encode(sorted(rows)), durable=False)


def gather_creators(parts: Path, folder: Path) -> None:
    """The keys of all parts as one table in a folder, sorted."""
    rows: set[tuple[str, str, str]] = set()
    for path in parts.glob(f"*{_SUFFIX}"):
        rows.update(msgspec.json.decode(path.read_bytes(), type=list[tuple[str, str, str]]))
    columns = zip(*sorted(rows), strict=True) if rows else ((), (), ())
    arrays = [pa.array(column, pa.string()) for column in columns]
    pq.write_table(pa.table(arrays, schema=_SCHEMA), folder / FILE, compression="zstd")
