"""The bundled mini-edition: whole, balanced, and at chance for models that do not look."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import vivant
from vivant import mini
from vivant.benchmarks.mimic import Mimic, names
from vivant.benchmarks.mimic.format import iter_items, iter_videos
from vivant.metrics.intervals import wilson
from vivant.metrics.similarity import load_encoder

ROOT = mini.root("mimic") or Path("missing")
VIDEOS = 48


def test_it_is_whole_and_small() -> None:
    report = Mimic().data.check(Mimic(), ROOT)
    assert report.problems == ()
    videos = [video for _, video in iter_videos(ROOT)]
    assert len(videos) == VIDEOS and len({v.category for v in videos}) == 12
    assert {v.platform for v in videos} == {"tiktok", "youtube"}
    assert {v.language for v in videos} == {"en"}
    for task in names.THINKING:
        assert len(Mimic().load(ROOT, task)) >= 0.9 * VIDEOS
    assert len(Mimic().load(ROOT, names.MIMICKING)) == VIDEOS
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < 1_500_000


def test_popularity_puts_ranks_1_10_50_and_100_side_by_side() -> None:
    for _, item in iter_items(ROOT):
        if item.task == names.OWN:
            assert sorted(option.rank or 0 for option in item.options) == list(names.RANKS)
            assert item.options[item.key or 0].rank == 1


@pytest.mark.parametrize("task", [task for task in names.THINKING if task != names.OWN])
def test_texts_are_wrong_about_three_times_as_often_as_right(task: str) -> None:
    samples = Mimic().load(ROOT, task)
    correct = Counter(s.options[s.key or 0].text for s in samples)
    every = Counter(o.text for s in samples for o in s.options)
    assert sum(abs(every[text] - 4 * correct[text]) for text in every) <= 0.2 * every.total()


def test_wrong_options_come_from_other_categories_and_speak_the_same_language() -> None:
    videos = {video.ref: video for _, video in iter_videos(ROOT)}
    for _, item in iter_items(ROOT):
        if item.task == names.OWN:
            continue
        target = videos[item.video]
        sources = [videos[o.video] for n, o in enumerate(item.options) if n != item.key]
        assert all(source.category != target.category for source in sources)
        if item.task in ("title", "description", "tag", "comment-match"):
            assert all(source.language == target.language for source in sources)


# ── what it shows ──


@pytest.mark.parametrize("task", names.THINKING)
def test_texts_alone_give_nothing_away(task: str) -> None:
    samples = Mimic().load(ROOT, task)
    encoded = load_encoder().encode([option.text for sample in samples for option in sample.options])
    correct: Counter[str] = Counter()
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
        correct.update({name: int(guess == sample.key) for name, guess in guesses.items()})
    looks = len(correct) * len(names.THINKING)
    for name, count in correct.items():
        interval = wilson(
            count, len(samples), 1 - 0.05 / looks
        )  # as the step audit does: many looks, one verdict
        assert interval.low <= 0.25 <= interval.high, (name, count, len(samples))


@pytest.mark.parametrize("model", ["blind", "longest"])
def test_a_model_without_eyes_is_at_chance(model: str, tmp_path: Path) -> None:
    run = vivant.evaluate("mimic/thinking", model, data=("mini",), out=str(tmp_path / "run"))
    correct = [score.value for scored in run.scores() for _, _, score in scored.rows]
    interval = wilson(sum(value or 0.0 for value in correct), len(correct))
    assert interval.low <= 0.25 <= interval.high
