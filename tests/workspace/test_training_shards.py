"""vivant-train reads the shards that vivant-build writes."""

from __future__ import annotations

from pathlib import Path

from tests.support.mimic_build_kit import build_all, settings, video
from vivant.benchmarks.mimic.format import iter_items, iter_videos
from vivant_build.mimic.settings import TrainSettings
from vivant_build.mimic.training_set import make_training_set
from vivant_train.data.shards import list_shards


def test_the_trainer_reads_every_video_and_item(tmp_path: Path) -> None:
    chosen = settings(target=48, train=TrainSettings(shard_bytes=60_000))
    work = build_all(tmp_path, [video(number) for number in range(200)], chosen)
    make_training_set(work, chosen)
    shards = list_shards("train-*.tar", work / "train" / "shards")
    assert len(shards) > 2
    folders = [shard.unpack() for shard in shards]
    refs = [line.ref for folder in folders for _, line in iter_videos(folder)]
    assert sorted(refs) == sorted(line.ref for _, line in iter_videos(work / "train"))
    items = [item.id for folder in folders for _, item in iter_items(folder)]
    assert sorted(items) == sorted(item.id for _, item in iter_items(work / "train"))
    for folder in folders:
        assert all((folder / line.file).stat().st_size > 0 for _, line in iter_videos(folder))
