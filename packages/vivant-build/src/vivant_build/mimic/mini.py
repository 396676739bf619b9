"""MIMIC-mini: the world it is taken from, the settings it is built with, and its clips.

`tools/minis/mimic.py` builds the edition; the training set of `vivant/tiny` comes from a world like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant_build.mimic.settings import (
    AuditSettings,
    CleanSettings,
    PipelineSettings,
    SelectSettings,
    TaskSettings,
)
from vivant_build.mimic.world import TRUTH, WorldPlan
from vivant_build.mimic.world.phrases import load_topics
from vivant_build.mimic.world.rendering import render_video

SIZE, FPS, SECONDS = (160, 120), 8, 2.0
BACKDROPS = ("checks", "rings", "waves", "bands")
"""Patterns behind the mini-edition's clips. `vivant/tiny` learns from clips before the other patterns."""
WORLD = WorldPlan(videos=2000, comments=320_000, seed=5)
SETTINGS = PipelineSettings(
    clean=CleanSettings(languages=("en",), fewest_comments=100),
    select=SelectSettings(
        target=48,
        top={"*": 0.4},
        require=("title", "description", "tags", "topics", "category"),
        fewest_comments=104,
        fewest_in_language=8,
        per_uploader=1,
        balance=0.2,
    ),
    tasks=TaskSettings(comments=120, least=0.9),
    audit=AuditSettings(practice=400),
)


def read_topics(work: Path) -> dict[str, tuple[str, int]]:
    """What each video shows, as the world knows it: the topic's name and the look's seed."""
    import polars as pl

    rows = pl.read_parquet(work / "ingest" / TRUTH, columns=["ref", "topic", "clip_seed"]).rows()
    return {ref: (topic, seed) for ref, topic, seed in rows}


def render_mini_clip(
    topic_and_seed: tuple[str, int], path: Path, patterns: Sequence[str] = BACKDROPS
) -> None:
    """Draw a topic with the look of a seed, as small and short as the mini-edition's videos are."""
    name, seed = topic_and_seed
    topics = {topic.name: topic for topic in load_topics()}
    render_video(topics[name], seed, path, size=SIZE, seconds=SECONDS, fps=FPS, patterns=patterns)
