"""Steps that are killed go on where they were, also with parts in object storage, and end with the same bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import vivant_build.mimic.cleaning as cleaning
from tests.build.mimic.test_ingest import info, put
from tests.support.object_storage import serve_objects
from tests.support.quick_params import mark_most_full
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.crawl import write_crawl
from vivant_build.mimic.world.phrases import load_topics
from vivant_build.mimic.world.rendering import render_video

ALONE = PipelineSettings(workers=1)

_DIES = """
import os, sys
from pathlib import Path
import vivant_build.mimic.cleaning as cleaning
from vivant_build.mimic.settings import PipelineSettings

# As by kill -9: nothing is tidied up.
cleaning.clean_threads = lambda part, job: os._exit(9)
cleaning.clean(Path(sys.argv[1]), PipelineSettings(workers=1), store=sys.argv[2])
"""


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.full
def test_a_killed_clean_in_storage_goes_on(tmp_path: Path) -> None:
    write_crawl(tmp_path / "crawl", WorldPlan(videos=40, comments=800, seed=5))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    ingest(whole, [tmp_path / "crawl"], ALONE)
    shutil.copytree(whole, killed)
    cleaning.clean(whole, ALONE)
    with serve_objects() as storage:
        address = storage.address("parts/w")
        died = subprocess.run([sys.executable, "-c", _DIES, str(killed), address], check=False, timeout=600)
        assert died.returncode == 9
        dealt = {name for name in storage.objects if "/dealt/" in name}
        assert dealt and not (killed / "clean").exists()
        begun = len(storage.requests)
        cleaning.clean(killed, ALONE, store=address)
        again = [line for line in storage.requests[begun:] if line.startswith(("PUT", "POST"))]
        second = ("/comments/0000.parquet", "/left/part-0000.parquet", "/dealt/part-0000.json")
        parts = [line for line in again if ".json" in line or ".parquet" in line]
        assert parts and all(any(name in line for name in second) for line in parts), "no first pass again"
        assert not [name for name in storage.objects if name.endswith(".parquet")], (
            "parts are gone at the end"
        )
    assert _files(killed / "clean") == _files(whole / "clean")


def _write_two_videos(crawl: Path) -> None:
    topics = {topic.name: topic for topic in load_topics()}
    for name, topic, title in (("one", "train", "a title of one"), ("two", "tea", "quite another title")):
        comments = [{"id": str(n), "text": f"comment {n} on {name}"} for n in range(6)]
        put(crawl, name, info(id=name, title=title, description="", comments=comments))
        render_video(topics[topic], 3, crawl / f"{name}.mp4", size=(96, 72), seconds=1.0)


def _kept(work: Path) -> list[str]:
    return sorted(pl.read_parquet(work / "clean/videos/*.parquet")["id"].to_list())


def test_stored_files_are_known_by_address_and_state(tmp_path: Path) -> None:
    crawl, work = tmp_path / "crawl", tmp_path / "work"
    _write_two_videos(crawl)
    ingest(work, [crawl], ALONE)
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        shutil.copy(crawl / "one.mp4", folder)
    cleaning.clean(work, ALONE, media=f"file://{first}")
    assert _kept(work) == ["one"]
    shutil.copy(crawl / "two.mp4", first)  # uploaded later
    assert not cleaning.clean(work, ALONE, media=f"file://{first}").kept
    assert _kept(work) == ["one", "two"]
    assert cleaning.clean(work, ALONE, media=f"file://{first}").kept
    (second / "two.mp4").write_bytes(b"no video")
    assert not cleaning.clean(work, ALONE, media=f"file://{second}").kept
    assert _kept(work) == ["one"]


def test_parts_done_before_a_file_was_mended_are_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    crawl, work = tmp_path / "crawl", tmp_path / "work"
    _write_two_videos(crawl)
    ingest(work, [crawl], ALONE)
    whole = (crawl / "two.mp4").read_bytes()
    (crawl / "two.mp4").write_bytes(whole[:300])
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(cleaning, "_finish", die)
        cleaning.clean(work, ALONE)
    (crawl / "two.mp4").write_bytes(whole)
    step = cleaning.clean(work, ALONE)
    assert _kept(work) == ["one", "two"]
    assert not pl.read_parquet(work / "clean/quarantine.parquet").height
    assert [count.out for count in step.record.counts] == [2, 12]


@pytest.mark.parametrize(
    "point",
    mark_most_full(
        [
            "ingestion.consolidation._sort_comments",
            "ingestion.consolidation._write_quarantine",
            "steps.remove",
            "steps.write_atomic",
            "steps._put_in_place",
        ],
        2,
    ),
)
def test_an_ingest_killed_at_its_end_gives_the_same_when_it_goes_on(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*arguments: Any) -> None:
        if point == "steps.remove":  # in the midst of it
            next(arguments[0].rglob("*.parquet")).unlink()
        raise KeyboardInterrupt

    crawl, work = tmp_path / "crawl", tmp_path / "work"
    for copy in ("monday", "tuesday"):  # each video and comment twice
        write_crawl(crawl / copy, WorldPlan(videos=6, comments=60, seed=5))
    ingest(work, [crawl], ALONE)
    whole = _files(work)
    shutil.rmtree(work / "ingest")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(f"vivant_build.mimic.{point}", die)
        ingest(work, [crawl], ALONE)
    assert not (work / "ingest").exists()
    ingest(work, [crawl], ALONE)
    assert _files(work) == whole
