"""The bundled mini-edition: whole, balanced, rebuilt the same, and closed to those who do not look."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import av
import numpy as np
import pytest

from vivant import mini
from vivant.benchmarks.mimic import Mimic, names
from vivant.benchmarks.mimic.format import iter_items, iter_videos
from vivant.build.mini_mimic import build_mini_mimic
from vivant.build.mini_mimic.clips import draw, load_clips
from vivant.scoring.similarity import load_encoder
from vivant.scoring.stats import wilson

ROOT = mini.root("mimic") or Path("missing")


def decode(path: Path) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    with av.open(str(path)) as container:
        return [np.asarray(f.to_ndarray(format="rgb24"), dtype=np.uint8) for f in container.decode(video=0)]


def test_it_is_whole_and_small() -> None:
    report = Mimic().check(ROOT)
    assert report.problems == ()
    videos = [video for _, video in iter_videos(ROOT)]
    assert len(videos) == 48 and len({v.category for v in videos}) == 12
    assert {v.platform for v in videos} == {"tiktok", "youtube"}
    assert {v.language for v in videos} == {"en", "es", "de", "ja", "ar"}
    for task in (*names.THINKING, names.MIMICKING):
        assert len(Mimic().load(ROOT, task)) == (32 if task == names.OWN else 48)
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < 3_000_000


def test_popularity_puts_ranks_1_10_50_and_100_side_by_side() -> None:
    for _, item in iter_items(ROOT):
        if item.task == names.OWN:
            assert {option.rank for option in item.options} == set(names.RANKS)
            assert item.options[item.key or 0].rank == 1


def test_every_text_is_right_once_and_wrong_three_times() -> None:
    for task in ("title", "description", "tag", "topic", "comment-match"):
        samples = Mimic().load(ROOT, task)
        right = Counter(s.options[s.key or 0].text for s in samples)
        every = Counter(o.text for s in samples for o in s.options)
        assert all(every[text] == 4 * count for text, count in right.items()), task
        assert len(every) == len(right)


def test_wrong_options_come_from_other_categories_and_speak_the_same_language() -> None:
    videos = {video.ref: video for _, video in iter_videos(ROOT)}
    for _, item in iter_items(ROOT):
        if item.task == names.OWN:
            continue
        own = videos[item.video]
        sources = [videos[o.video] for n, o in enumerate(item.options) if n != item.key]
        assert all(source.category != own.category for source in sources)
        if item.task in ("title", "description", "tag", "comment-match"):
            assert all(source.language == own.language for source in sources)


def near_chance(right: int, of: int) -> bool:
    interval = wilson(right, of)
    return interval.low <= 0.25 <= interval.high


@pytest.mark.parametrize("task", names.THINKING)
def test_texts_alone_give_nothing_away(task: str) -> None:
    samples = Mimic().load(ROOT, task)
    encoded = load_encoder().encode([option.text for sample in samples for option in sample.options])
    right: Counter[str] = Counter()
    for number, sample in enumerate(samples):
        texts = [option.text for option in sample.options]
        vectors = encoded[4 * number : 4 * number + 4]
        likeness = (vectors @ vectors.T).sum(axis=1)
        guesses = {
            "longest": max(range(4), key=lambda n: len(texts[n])),
            "shortest": min(range(4), key=lambda n: len(texts[n])),
            "most alike": int(likeness.argmax()),
            "least alike": int(likeness.argmin()),
            "first": 0,
        }
        right.update(name for name, guess in guesses.items() if guess == sample.key)
    assert all(near_chance(right[name], len(samples)) for name in ("most alike", "least alike", "first")), (
        right
    )
    assert max(right["longest"], right["shortest"]) <= 0.4 * len(samples), right


def test_a_new_build_says_the_same_and_looks_the_same(tmp_path: Path) -> None:
    build_mini_mimic(tmp_path)
    for name in ("videos.jsonl", "items.jsonl"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
    for _, video in list(iter_videos(ROOT))[::12]:
        ours, theirs = decode(tmp_path / video.path), decode(ROOT / video.path)
        assert len(ours) == len(theirs) == 20
        apart = np.abs(np.stack(ours).astype(int) - np.stack(theirs)).mean()
        assert apart < 1.0, "encoders differ a little between versions, pictures do not"


def test_clips_move_and_differ() -> None:
    seen = []
    for name, clip in load_clips().items():
        first, middle = (draw(clip, t).astype(int) for t in (0.1, 0.55))
        assert np.abs(middle - first).mean() > 0.5, name
        seen.append(middle)
    stack = np.stack(seen)
    for number, picture in enumerate(stack):
        apart = np.abs(stack - picture).mean(axis=(1, 2, 3))
        apart[number] = 99
        assert apart.min() > 8
