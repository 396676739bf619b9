"""Steps that are killed go on where they were, also with parts in object storage, and end with the same bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vivant.build.mimic.cleaning as cleaning
from tests.support.object_storage import serve_objects
from vivant.build.mimic.ingestion import ingest
from vivant.build.mimic.settings import PipelineSettings
from vivant.build.mimic.world import WorldPlan
from vivant.build.mimic.world.crawl import write_crawl

ALONE = PipelineSettings(workers=1)

_DIES = """
import os, sys
from pathlib import Path
import vivant.build.mimic.cleaning as cleaning
from vivant.build.mimic.settings import PipelineSettings

# As by kill -9: nothing is tidied up.
cleaning.clean_threads = lambda part, job: os._exit(9)
cleaning.clean(Path(sys.argv[1]), PipelineSettings(workers=1), store=sys.argv[2])
"""


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_killed_clean_in_storage_goes_on(tmp_path: Path) -> None:
    write_crawl(tmp_path / "crawl", WorldPlan(videos=40, comments=800, seed=5))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    ingest(whole, [tmp_path / "crawl"], ALONE)
    shutil.copytree(whole, killed)
    cleaning.clean(whole, ALONE)
    with serve_objects() as storage:
        address = storage.address("parts/w")
        died = subprocess.run([sys.executable, "-c", _DIES, str(killed), address], check=False, timeout=100)
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


@pytest.mark.parametrize(
    "point",
    [
        "ingestion.consolidation._sort_comments",
        "ingestion.consolidation._write_quarantine",
        "steps.write_atomic",
        "steps.remove",
        "steps._put_in_place",
    ],
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
        patched.setattr(f"vivant.build.mimic.{point}", die)
        ingest(work, [crawl], ALONE)
    assert not (work / "ingest").exists()
    ingest(work, [crawl], ALONE)
    assert _files(work) == whole
