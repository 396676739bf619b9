"""MIMIC-mini is what tools/minis builds with vivant-build, and its questions follow from the topics."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from minis.mimic import build_mini
from tests.support.rebuilt_video import assert_rebuilt
from vivant import mini
from vivant.benchmarks.mimic import Mimic
from vivant.benchmarks.mimic.format import MimicVideo, iter_videos
from vivant.core.types import Sample
from vivant.metrics.intervals import wilson
from vivant_build.mimic.mini import FPS, SECONDS
from vivant_build.mimic.world.phrases import WorldTopic, load_topics

ROOT = mini.root("mimic") or Path("missing")


def decode(path: Path) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    with av.open(str(path)) as container:
        return [np.asarray(f.to_ndarray(format="rgb24"), dtype=np.uint8) for f in container.decode(video=0)]


def find_topic(video: MimicVideo, topics: list[WorldTopic]) -> WorldTopic:
    return next(topic for topic in topics if topic.topics == video.topics)


def pick(sample: Sample, video: MimicVideo, topic: WorldTopic) -> int:
    """Takes the option that names the topic, or something that belongs to it."""

    def form(text: str) -> str:
        return "".join(c for c in text.casefold() if c.isalnum())

    spoken = topic.words.get(video.language, topic.words["en"])
    topic_phrases = {form(phrase) for phrases in spoken.values() for phrase in phrases}
    topic_phrases |= {form(topic.category), *map(form, topic.topics)}
    return max(
        range(4), key=lambda n: sum(phrase in form(sample.options[n].text) for phrase in topic_phrases)
    )


def test_one_who_knows_the_videos_topic_is_far_above_chance() -> None:
    topics = list(load_topics())
    videos = {video.ref: video for _, video in iter_videos(ROOT)}
    for task, least in (
        ("title", 0.5),
        ("tag", 0.8),
        ("topic", 0.9),
        ("category", 0.9),
        ("comment-match", 0.5),
    ):
        samples = Mimic().load(ROOT, task)
        correct = sum(
            pick(sample, videos[sample.cluster], find_topic(videos[sample.cluster], topics)) == sample.key
            for sample in samples
        )
        assert wilson(correct, len(samples)).low > 0.3 and correct >= least * len(samples), (task, correct)


@pytest.mark.full
def test_a_new_build_says_the_same_and_looks_the_same(tmp_path: Path) -> None:
    build_mini(tmp_path)
    assert (tmp_path / "videos.jsonl").read_bytes() == (ROOT / "videos.jsonl").read_bytes()
    assert (tmp_path / "items.jsonl").read_bytes() == (ROOT / "items.jsonl").read_bytes()
    for _, video in iter_videos(ROOT):
        assert_rebuilt(tmp_path / video.path, ROOT / video.path)
        assert len(decode(ROOT / video.path)) == SECONDS * FPS
