"""What is so in the world, whatever its metadata say: for measuring what the pipeline finds out."""

from __future__ import annotations

import pyarrow as pa

from vivant_build.mimic.world.phrases import Phrases
from vivant_build.mimic.world.platform import KINDS_OF_VIDEO, InventedPlatform


def make_truth_table(phrases: Phrases, platform: InventedPlatform) -> pa.Table:
    """For each video: its language, topic, clip, way of playing, kind, and which video it copies."""
    topic = pa.array(platform.topic)
    refs = platform.table.column("ref").combine_chunks()
    return pa.table(
        {
            "ref": refs,
            "language": pa.array(phrases.languages).take(pa.array(platform.language)),
            "topic": pa.array([entry.name for entry in phrases.topics]).take(topic),
            "clip": pa.array([entry.clip for entry in phrases.topics]).take(topic),
            "motion": pa.array([entry.motion for entry in phrases.topics]).take(topic),
            "kind": pa.array(KINDS_OF_VIDEO).take(pa.array(platform.kind)),
            "copy_of": refs.take(pa.array(platform.copy_of)),
            "clip_seed": pa.array(platform.clip_seed),
        }
    )
