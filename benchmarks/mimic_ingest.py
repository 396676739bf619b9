"""Ingest of yt-dlp's `.info.json` files, anonymised and written as Parquet, on one core.

Peers: reading the same files and parsing them with orjson, and nothing else; and the same with four plain patterns
(addresses, links, mentions, numbers) taken out of the texts in Python, the least that a script would do before it keeps
them. Limit: at most two and a half times the CPU of the second, for files as yt-dlp writes them for a large platform
(addresses of formats, thumbnails and captions, which nobody asked for, are most of such a file; real ones are larger
still). Lean files, that hold little but what is taken in, are measured beside them: there nothing can be skipped, and
cleaning and writing the texts weighs more than parsing. All have fifty comments, and one file in a hundred is broken.

Memory: one video with a million comments by a million people, some of whom are named in the texts, against a limit of
560 MB; orjson needs what the peer's line says.

    python benchmarks/mimic_ingest.py
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson

from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.crawl import write_crawl

FILES, COMMENTS, ROUNDS = 2000, 50, 5
RATIO_LIMIT, MEMORY_LIMIT = 2.5, 560.0
PLAIN = [
    re.compile(pattern)
    for pattern in (r"[\w.+-]+@[\w-]+\.[\w.]+", r"https?://\S+|www\.\S+", r"@[\w.]+", r"\+?\d[\d ().-]{7,}\d")
]
MANY = 1_000_000
WORDS = (
    "great",
    "video",
    "they",
    "walked",
    "through",
    "music",
    "garden",
    "morning",
    "again",
    "friends",
    "river",
)


def ballast(name: str) -> dict[str, Any]:
    """What yt-dlp adds for one video: formats, thumbnails, captions."""
    page = f"https://rr4---sn-4g5e6nsz.video.example/videoplayback?expire=1760000000&ei={name}&"
    signed = "&".join(f"p{n}={name}{n:04d}abcdefghijklmnopqrstuvwxyz" for n in range(18))
    headers = {"User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64)", "Accept": "text/html,*/*;q=0.8"}
    formats = [
        {
            "format_id": str(n), "url": f"{page}itag={n}&{signed}", "ext": "mp4", "vcodec": "avc1.4d401f",
            "acodec": "none", "width": 640, "height": 360, "fps": 30, "tbr": 512.25, "filesize": 1_234_567,
            "http_headers": headers, "format": f"{n} - 640x360 (360p)", "quality": 6.0, "has_drm": False,
        }
        for n in range(24)
    ]  # fmt: skip
    thumbnails = [{"url": f"https://i.video.example/vi/{name}/{n}.jpg", "id": str(n)} for n in range(40)]
    captions = {
        f"l{n}": [
            {"ext": ext, "url": f"{page}fmt={ext}&lang=l{n}&{signed[:250]}"}
            for ext in ("json3", "srv1", "vtt")
        ]
        for n in range(40)
    }
    return {"formats": formats, "thumbnails": thumbnails, "automatic_captions": captions}


def whole(content: bytes) -> Any:
    """What a file says; nothing where it is one of the broken."""
    try:
        return json.loads(content)
    except ValueError:
        return None


def make_files(folder: Path, heavy: bool) -> int:
    """The files of one kind; returns their bytes."""
    write_crawl(folder, WorldPlan(videos=FILES, comments=FILES * COMMENTS), broken=0.01)
    total = 0
    for path in folder.rglob("*.info.json"):
        content = path.read_bytes()
        if heavy and (found := whole(content)):
            for comment in found["comments"] or []:
                comment |= {
                    "author_thumbnail": f"https://yt3.video.example/{comment['id']}=s88-c-k-c0x00ffffff-no-rj",
                    "author_url": f"https://www.video.example/{comment['author']}",
                    "_time_text": "1 year ago",
                    "is_favorited": False,
                    "author_is_verified": False,
                }
            content = json.dumps(found | ballast(str(found["id"]))).encode()
            path.write_bytes(content)
        total += len(content)
    return total


def parsed(folder: Path) -> None:
    """The peer."""
    for path in folder.rglob("*.info.json"):
        with path.open("rb") as file:
            content = file.read()
        try:
            orjson.loads(content)
        except orjson.JSONDecodeError:
            continue


def parsed_and_masked(folder: Path) -> None:
    """The second peer."""
    for path in folder.rglob("*.info.json"):
        with path.open("rb") as file:
            content = file.read()
        try:
            info = orjson.loads(content)
        except orjson.JSONDecodeError:
            continue
        texts = [info.get("title"), info.get("description"), *(info.get("tags") or ())]
        texts += [comment.get("text") for comment in info.get("comments") or ()]
        for text in texts:
            for pattern in PLAIN if isinstance(text, str) else ():
                text = pattern.sub("", text)


def taken_in(folder: Path) -> None:
    """Ours, from listing the files to the finished step."""
    with tempfile.TemporaryDirectory() as work:
        ingest(Path(work), [folder], PipelineSettings(workers=1))


def cpu(work: Callable[[Path], None], folder: Path) -> float:
    """CPU seconds."""
    start = time.process_time()
    work(folder)
    return time.process_time() - start


def compare(folder: Path, kind: str, heavy: bool) -> bool:
    """One kind of files."""
    size = make_files(folder, heavy) / FILES / 1000
    taken_in(folder)  # what is imported and looked up once is not counted
    rounds = [
        (cpu(taken_in, folder), cpu(parsed, folder), cpu(parsed_and_masked, folder)) for _ in range(ROUNDS)
    ]
    ours, parsing, masking = (min(column) for column in zip(*rounds, strict=True))
    print(
        f"vivant   {kind}, {size:.0f} kB: {ours / FILES * 1e6:.0f} µs a file, {FILES / ours:,.0f} a second and core"
    )
    print(f"peer     orjson alone: {parsing / FILES * 1e6:.0f} µs a file, ratio {ours / parsing:.2f}")
    print(f"peer     orjson and four plain patterns: {masking / FILES * 1e6:.0f} µs a file")
    ratio = ours / masking
    if not heavy:
        print(f"ratio    {ratio:.2f}")
        return True
    print(f"ratio    {ratio:.2f} (limit: {RATIO_LIMIT:g})  {'ok' if ratio <= RATIO_LIMIT else 'MISSED'}")
    return bool(ratio <= RATIO_LIMIT)


def memory(what: str, folder: Path) -> float:
    """Peak memory in MB of a process of its own."""
    command = [sys.executable, __file__, what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def busy(folder: Path) -> None:
    """One video with a million comments, each by somebody else; one in fifty names another."""
    folder.mkdir()
    draw = Random(7)
    with (folder / "busy.info.json").open("w") as file:
        file.write('{"id": "busy", "extractor_key": "Youtube", "title": "Seen by everybody", "comments": [')
        for n in range(MANY):
            text = " ".join(draw.choices(WORDS, k=9))
            text += f" says somebody{draw.randrange(MANY)}" if n % 50 == 0 else ""
            comment = {
                "id": f"Ug{n:024d}", "parent": "root", "text": text,
                "like_count": n, "author": f"@somebody{n}", "author_id": f"UC{n:022d}", "timestamp": 1_700_000_000 + n,
            }  # fmt: skip
            file.write(("," if n else "") + json.dumps(comment))
        file.write('], "view_count": 1000000}')


def main() -> int:
    """Measure and print the ratios."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        good = compare(root / "heavy", "as yt-dlp writes them", True)
        good &= compare(root / "lean", "lean files", False)
        busy(root / "busy")
        ours, peer = memory("ours", root / "busy"), memory("peer", root / "busy")
        size = (root / "busy" / "busy.info.json").stat().st_size / 1e6
    flat = ours <= MEMORY_LIMIT
    print(
        f"memory   a million comments in a file of {size:.0f} MB: {ours:.0f} MB (orjson alone: {peer:.0f} MB; ",
        end="",
    )
    print(f"limit: {MEMORY_LIMIT:.0f})  {'ok' if flat else 'MISSED'}")
    return 0 if good and flat else 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        (taken_in if sys.argv[1] == "ours" else parsed)(Path(sys.argv[2]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        sys.exit(0)
    sys.exit(main())
