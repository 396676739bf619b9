"""Processes of the pipeline: they give what one process gives, and end with the one that began them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import vivant_build.mimic.cleaning as cleaning
import vivant_build.mimic.ingestion as taking_in
from tests.support.processes import is_alive, wait_until
from vivant_build.mimic.database import connect
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.crawl import write_crawl


def tables(work: Path, step: str) -> list[pl.DataFrame]:
    read = [pl.read_parquet(work / step / kind / "*.parquet") for kind in ("videos", "comments")]
    read.append(pl.read_parquet(work / step / "quarantine.parquet"))
    return [table.sort(table.columns[:4]) for table in read]


@pytest.mark.full
def test_two_processes_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_crawl(tmp_path / "crawl", WorldPlan(videos=40, comments=600, seed=4), broken=0.1)
    one, two = tmp_path / "one", tmp_path / "two"
    taking_in.ingest(one, [tmp_path / "crawl"], PipelineSettings(workers=1))
    cleaning.clean(one, PipelineSettings(workers=1))
    two.mkdir()
    (two / ".salt").write_bytes((one / ".salt").read_bytes())
    monkeypatch.setattr(taking_in, "_PART", 20)
    monkeypatch.setattr(taking_in, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(cleaning, "_PART", 200)
    monkeypatch.setattr(cleaning, "_WORTH_PROCESSES", 1)
    taking_in.ingest(two, [tmp_path / "crawl"], PipelineSettings(workers=2))
    cleaning.clean(two, PipelineSettings(workers=2))
    for step in ("ingest", "clean"):
        for mine, theirs in zip(tables(one, step), tables(two, step), strict=True):
            assert mine.equals(theirs), step


FOREVER = """
import sys, time, os
from vivant.core.worker_pool import ProcessPool
def sleep(name):
    open(name, "w").write(str(os.getpid()))
    time.sleep(3600)
if __name__ == "__main__":
    ProcessPool(2, sleep).map([sys.argv[1]], print)
"""


def test_workers_end_with_the_process_that_began_them(tmp_path: Path) -> None:
    script, named = tmp_path / "forever.py", tmp_path / "worker"
    script.write_text(FOREVER)
    running = subprocess.Popen([sys.executable, str(script), str(named)], stderr=subprocess.DEVNULL)
    worker = wait_until(lambda: int(named.read_text()) if named.is_file() and named.read_text() else 0, 600)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert wait_until(lambda: not is_alive(worker), 600)


def test_what_a_killed_process_spilled_is_deleted_and_what_another_needs_is_not(tmp_path: Path) -> None:
    dies = (
        "import os, sys; from pathlib import Path; from vivant_build.mimic.database import connect\n"
        "with connect(Path(sys.argv[1])):\n    os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", dies, str(tmp_path)], check=False).returncode == 9
    (abandoned,) = (path for path in tmp_path.iterdir() if path.is_dir())
    with connect(tmp_path) as first:
        (own,) = (path for path in tmp_path.iterdir() if path.is_dir())
        assert own != abandoned
        with connect(tmp_path):
            assert own.is_dir() and len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2
        assert first.execute("SELECT 1").fetchall() == [(1,)]
    assert not list(tmp_path.iterdir())
