"""The same crawl gives the same edition, byte for byte: in any order of files, threads and hashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.crawl_kit import ID, web_comment, web_item
from vivant_build.mimic import database
from vivant_build.mimic.ingestion import consolidation
from vivant_build.mimic.ingestion.consolidation import consolidate
from vivant_build.mimic.ingestion.writer import IngestReport
from vivant_build.mimic.schema import COMMENTS, VIDEOS
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.crawl import write_crawl

BUILD = """
import sys
from pathlib import Path
from tests.support.mimic_build_kit import Words
from vivant_build.mimic import ingestion
from vivant_build.mimic.ingestion import json_pieces, youtube
from vivant_build.mimic.audit import audit
from vivant_build.mimic.cleaning import clean
from vivant_build.mimic.comment_pool import make_comment_pool
from vivant_build.mimic.publication import publish
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import AuditSettings, PipelineSettings, PublishSettings, SelectSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.tasks import make_tasks

work, crawl, workers, part = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
work.mkdir()
(work / ".salt").write_bytes(b"0" * 32)
chosen = PipelineSettings(
    workers=workers,
    select=SelectSettings(target=16, top={"*": 0.5}),
    audit=AuditSettings(practice=32),
    publish=PublishSettings(name="Kit", licence="cc-by-4.0", contact="kit@example.org"),
)
ingestion._PART = part
if workers > 1:  # what is one document to the other is read in pieces
    youtube.LARGE, json_pieces.PIECE = 10, 500
sources = [crawl / "youtube", crawl / "tiktok"][:: 1 if workers == 1 else -1]
ingestion.ingest(work, sources, chosen, media=crawl)
clean(work, chosen)
select_videos(work, chosen)
split_videos(work, chosen)
make_tasks(work, chosen, encoder=Words())
audit(work, chosen, encoder=Words())
make_comment_pool(work, chosen)
publish(work, chosen)
"""


@pytest.mark.full
def test_the_same_crawl_gives_the_same_bytes(tmp_path: Path) -> None:
    write_crawl(tmp_path / "crawl", WorldPlan(videos=250, comments=25_000, seed=4), broken=0.02)
    items = [web_item(id=str(int(ID) + number)) for number in range(9)]
    said = [
        web_comment(f"c{number}", f"remark {number}", aweme_id=items[number % 9]["id"])
        for number in range(90)
    ]
    modules = {"ItemModule": {item["id"]: item for item in items}, "said": said}
    (tmp_path / "crawl" / "tiktok" / "dump.json").write_text(json.dumps(modules)[:-50])
    for name, workers, part, seed in (("one", 1, 500, "1"), ("two", 3, 37, "2")):
        command = [
            sys.executable,
            "-c",
            BUILD,
            str(tmp_path / name),
            str(tmp_path / "crawl"),
            f"{workers}",
            f"{part}",
        ]
        # Where `tests` is found, which spans several folders.
        path = os.pathsep.join(sys.path)
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed})
    first, second = (_read_files(tmp_path / name) for name in ("one", "two"))
    assert first.keys() == second.keys() and len(first) > 20
    assert [name for name in first if first[name] != second[name]] == []


@pytest.mark.full
def test_threads_do_not_change_the_bytes_of_many_comments(tmp_path: Path) -> None:
    """DuckDB hands rows over in pieces whose size depends on its threads, and pages of Parquet end with them."""
    number = 190_000
    written: list[bytes] = []
    for workers in (1, 3):
        folder = tmp_path / f"{workers}" / "ingest"
        for name in ("videos", "comments"):
            (folder / "parts" / name).mkdir(parents=True)
        video = dict.fromkeys(VIDEOS.names) | {"ref": "youtube/v", "id": "v", "platform": "youtube"}
        pq.write_table(pa.Table.from_pylist([video], VIDEOS), folder / "parts" / "videos" / "0.parquet")
        for part in range(workers):
            rows = range(part, number, workers)
            columns = [
                ["youtube/v"] * len(rows),
                [f"c{row}" for row in rows],
                [f"{row * row} is the square of {row}, as everybody under this video knows" for row in rows],
                [row % 7 or None for row in rows],
                pa.array(rows, pa.timestamp("us")),
                [""] * len(rows),
            ]
            pq.write_table(pa.table(columns, COMMENTS), folder / "parts" / "comments" / f"{part}.parquet")
        report = IngestReport(videos=1, videos_in=1, comments=number, comments_in=number)
        consolidate(folder, [report], memory="1GB", workers=workers)
        written.append((folder / "comments" / "settled.parquet").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("share", [None, 200_000])
def test_a_sort_that_needs_more_memory_gets_it(
    share: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of comments that come twice the most liked stays, then the first by text, time and what it answers."""
    if share:
        monkeypatch.setattr(database, "_PER_THREAD", share)
        monkeypatch.setattr(database, "_SHARE", 10**6)
    tries: list[str] = []
    for sort in (consolidation._sort_videos, consolidation._sort_comments):

        def count(*args: Any, sort: Callable[..., None] = sort) -> None:
            tries.append(sort.__name__)
            sort(*args)

        monkeypatch.setattr(consolidation, sort.__name__, count)
    folder = tmp_path / "ingest"
    for name in ("videos", "comments"):
        (folder / "parts" / name).mkdir(parents=True)
    video = dict.fromkeys(VIDEOS.names) | {"ref": "youtube/v", "id": "v", "platform": "youtube"}
    videos = [video | {"title": title, "views": views} for title, views in (("b", 3), ("a", 3), ("c", None))]
    pq.write_table(pa.Table.from_pylist(videos, VIDEOS), folder / "parts" / "videos" / "0.parquet")
    said = [
        ("c2", "x", None),
        ("c1", "z", 5),
        ("c1", "y", 5),
        ("c1", "a", None),
        ("c2", "w", None),
        ("c3", "v", 0),
    ]
    rows = [
        {"ref": "youtube/v", "id": name, "text": text, "likes": likes, "time": None, "reply_to": ""}
        for name, text, likes in said
    ]
    pq.write_table(pa.Table.from_pylist(rows, COMMENTS), folder / "parts" / "comments" / "0.parquet")
    report = IngestReport(videos=3, videos_in=3, comments=6, comments_in=6)
    consolidate(folder, [report], memory="1GB", workers=1)
    assert tries.count("_sort_comments") == (2 if share else 1)
    assert pq.read_table(folder / "videos").column("title").to_pylist() == ["a"]
    assert pq.read_table(folder / "comments").column("text").to_pylist() == ["y", "w", "v"]


def _read_files(work: Path) -> dict[str, bytes]:
    """All that was written but the steps' own records, which hold times and paths."""
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in sorted(work.rglob("*"))
        if path.is_file() and path.name != "step.json" and not path.name.endswith(".lock")
    }
