"""Ingest, clean and tasks on a Ray cluster of two nodes write what one process writes, byte for byte.

So does clean with its parts and the video files in object storage.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vivant_build.mimic.cleaning as cleaning
import vivant_build.mimic.ingestion as ingestion
from tests.support.mimic_build_kit import Words
from tests.support.object_storage import serve_objects
from vivant.core.errors import DataError
from vivant.core.worker_pool import RayPool
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import PipelineSettings, SelectSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.tasks import make_tasks
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.crawl import write_crawl

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    variables = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "PYTHONPATH": os.pathsep.join(sys.path),  # where `tests` is found, which spans several folders
    }
    node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        nodes = Cluster(initialize_head=True, head_node_args=node)
        nodes.add_node(num_cpus=1, object_store_memory=80_000_000)
        yield nodes
        nodes.shutdown()


def build(work: Path, crawl: Path, ray: str) -> dict[str, bytes]:
    work.mkdir()
    (work / ".salt").write_bytes(b"0" * 32)
    chosen = PipelineSettings(workers=1, select=SelectSettings(target=16, top={"*": 0.5}))
    ingestion.ingest(work, [crawl], chosen, ray=ray)
    cleaning.clean(work, chosen, ray=ray)
    select_videos(work, chosen)
    split_videos(work, chosen)
    make_tasks(work, chosen, encoder=Words(), ray=ray)
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in sorted(work.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def test_a_cluster_writes_what_one_process_writes(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    write_crawl(
        tmp_path / "crawl", WorldPlan(videos=250, comments=25_000, seed=4), render_first=2, broken=0.02
    )
    monkeypatch.setattr(ingestion, "_PART", 60)
    monkeypatch.setattr(cleaning, "_PART", 10_000)
    local = build(tmp_path / "local", tmp_path / "crawl", "")
    ray.init(cluster.address, log_to_driver=False)  # once for all steps, so that workers start once
    try:
        # By short names, though processes of the cluster work in folders of their own.
        monkeypatch.chdir(tmp_path)
        spread = build(Path("spread"), Path("crawl"), cluster.address)
        stored = clean_in_storage(tmp_path, cluster.address)
    finally:
        ray.shutdown()
    assert local.keys() == spread.keys() and len(local) > 12
    assert [name for name in local if local[name] != spread[name]] == []
    record, record_stored = (json.loads(files.pop("clean/step.json")) for files in (local, stored))
    assert record_stored["counts"] == record["counts"]
    assert record_stored["fingerprint"] != record["fingerprint"], "where the videos are is part of it"
    assert stored == {name: content for name, content in local.items() if name.startswith("clean/")}


def clean_in_storage(folder: Path, ray: str) -> dict[str, bytes]:
    """The step clean with comments and video files in object storage, and no copy of the videos on this machine."""
    work, crawl = folder / "stored", folder / "crawl"
    shutil.copytree(folder / "local" / "ingest", work / "ingest")
    (work / "ingest" / "media.txt").write_text(f"{folder}/gone\n", encoding="utf-8")
    chosen = PipelineSettings(workers=1, select=SelectSettings(target=16, top={"*": 0.5}))
    with serve_objects() as storage:
        for video in crawl.rglob("*.mp4"):
            storage.objects[f"media/v/{video.relative_to(crawl)}"] = video.read_bytes()
        cleaning.clean(
            work, chosen, ray=ray, store=storage.address("parts/w"), media=storage.address("media/v")
        )
        puts = [line for line in storage.requests if "/dealt/" in line and line.startswith(("PUT", "POST"))]
        assert len(puts) > 6, "parts went through the storage"
        assert [name for name in storage.objects if name.endswith(".parquet")] == [], "and are gone"
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in sorted((work / "clean").rglob("*"))
        if path.is_file()
    }


def _square(number: int) -> int:
    if number == 3:
        raise DataError("three cannot be read; leave it out")
    return number * number


def test_results_keep_their_order_and_an_error_is_the_functions_own(cluster: Any) -> None:
    ended: list[int] = []
    assert RayPool(cluster.address, _square).map([5, 1, 2], ended.append) == [25, 1, 4]
    assert sorted(ended) == [1, 2, 5]
    with pytest.raises(DataError, match="three cannot be read; leave it out"):
        RayPool(cluster.address, _square).map([1, 3])
