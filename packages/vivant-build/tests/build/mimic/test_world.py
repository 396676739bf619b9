"""The invented platform: the same from the same seed, believable, and its clips show what its words say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from vivant_build.mime.video import read_frames
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.steps import StepError, begin_step, read_record
from vivant_build.mimic.world import TRUTH, WorldPlan, make_world
from vivant_build.mimic.world.drawings.clips import draw_clip, load_clips
from vivant_build.mimic.world.phrases import Phrases, load_topics
from vivant_build.mimic.world.platform import DefectShares
from vivant_build.mimic.world.rendering import draw_frames, draw_variation, render_video
from vivant_build.mimic.world.web_items import write_web_crawl

PLAN = WorldPlan(videos=1500, comments=60_000, seed=5)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("world")
    make_world(work, PLAN)
    return work / "ingest"


def videos(world: Path) -> pl.DataFrame:
    return pl.read_parquet(world / "videos" / "*.parquet")


def comments(world: Path) -> pl.DataFrame:
    return pl.read_parquet(world / "comments" / "*.parquet")


def test_the_same_seed_makes_the_same_world_and_another_another(world: Path, tmp_path: Path) -> None:
    make_world(tmp_path / "again", PLAN)
    make_world(tmp_path / "other", WorldPlan(videos=1500, comments=60_000, seed=6))
    assert videos(tmp_path / "again" / "ingest").equals(videos(world))
    assert comments(tmp_path / "again" / "ingest").equals(comments(world))
    assert videos(tmp_path / "other" / "ingest")["title"].to_list() != videos(world)["title"].to_list()


def test_sizes_refs_and_comment_ids_hold(world: Path) -> None:
    made, said = videos(world), comments(world)
    assert len(made) == made["ref"].n_unique() == 1500
    assert abs(len(said) - 60_000) < 600
    assert said.select(pl.struct("ref", "id").n_unique()).item() == len(said)
    assert set(said["ref"].unique()) <= set(made["ref"])
    assert made.filter(pl.col("ref") != pl.col("platform") + "/" + pl.col("id")).is_empty()
    replies = said.filter(pl.col("reply_to") != "")
    assert 0.05 < len(replies) / len(said) < 0.15
    answered = replies.join(said, left_on=["ref", "reply_to"], right_on=["ref", "id"], how="anti")
    assert answered.is_empty()


def test_likes_fall_off_like_zipf_and_some_are_unknown(world: Path) -> None:
    said = comments(world)
    assert 0.005 < said["likes"].null_count() / len(said) < 0.04
    busiest = said["ref"].value_counts(sort=True)["ref"][0]
    likes = said.filter(pl.col("ref") == busiest)["likes"].drop_nulls().sort(descending=True).to_numpy()
    rank = np.arange(1, len(likes) + 1)
    some = (likes > 20) & (rank < 200)
    slope = np.polyfit(np.log(rank[some]), np.log(likes[some]), 1)[0]
    assert -1.4 < slope < -0.7


def test_comments_fit_their_video_more_than_another(world: Path) -> None:
    topics = {topic.name: topic for topic in load_topics()}
    truth = pl.read_parquet(world / TRUTH)
    english = truth.filter((pl.col("language") == "en") & (pl.col("kind") == "own"))
    texts = comments(world).group_by("ref").agg(pl.col("text").str.join("\n"))
    named = english.join(texts, on="ref")
    own = others = 0
    for ref, topic, text in named.select("ref", "topic", "text").iter_rows():
        del ref
        own += sum(text.count(word) for word in topics[topic].words["en"]["about"])
        other = next(name for name in sorted(topics) if name.partition("/")[0] != topic.partition("/")[0])
        others += sum(text.count(word) for word in topics[other].words["en"]["about"])
    assert own > 20 * max(others, 1)


def test_accidents_of_a_platform_are_there(world: Path) -> None:
    truth = pl.read_parquet(world / TRUTH)
    kinds = dict(truth["kind"].value_counts().iter_rows())
    assert {"own", "copy", "near copy", "spam"} <= set(kinds)
    made = videos(world)
    copy, original = truth.filter(pl.col("kind") == "copy").row(0, named=True), None
    original = copy["copy_of"]
    both = made.filter(pl.col("ref").is_in([copy["ref"], original]))
    assert both["title"].n_unique() == both["description"].n_unique() == 1
    assert set(truth["language"].unique()) == {"en", "es", "de", "zh", "ar", "hi"}
    assert set(made["platform"].unique()) == {"youtube", "tiktok"}
    assert "" in made["language"].unique()


def test_shares_of_accidents_are_parameters(tmp_path: Path) -> None:
    none = DefectShares(copies=0, near_copies=0, spam=0, untitled=0, commentless=0, all_spam=0, all_equal=0)
    make_world(tmp_path, WorldPlan(videos=300, comments=3000, shares=none))
    truth = pl.read_parquet(tmp_path / "ingest" / TRUTH)
    assert truth["kind"].unique().to_list() == ["own"]


def test_a_world_of_one_video_without_comments(tmp_path: Path) -> None:
    step = make_world(tmp_path, WorldPlan(videos=1, comments=0))
    assert len(videos(step.folder)) == 1
    assert comments(step.folder).is_empty()


def test_every_topic_speaks_every_language() -> None:
    phrases = Phrases()
    for topic in phrases.topics:
        assert set(topic.words) == set(phrases.languages)
    named = [topic.name for topic in phrases.topics]
    assert len(set(named)) == len(named)
    labels = [label for topic in phrases.topics for label in topic.topics]
    assert len(set(labels)) == len(labels)


def test_a_clip_backwards_has_the_same_pictures_in_the_other_order() -> None:
    topics = {topic.name: topic for topic in load_topics()}
    forward = list(draw_frames(topics["balloons"], 9, (64, 48), 12))
    backward = list(draw_frames(topics["balloons/reverse"], 9, (64, 48), 12))

    def far(one: list[np.ndarray], other: list[np.ndarray]) -> float:
        # Means of squares of four pixels: the grain of each video is its own.
        coarse = [np.stack(frames).reshape(12, 12, 4, 16, 4, 3).mean(axis=(2, 4)) for frames in (one, other)]
        return float(np.abs(coarse[0] - coarse[1]).mean())

    # The stretch shown is mirrored in time, so the pictures agree up to a frame's worth of movement and noise.
    assert far(forward, backward[::-1]) < 0.6 * far(forward, backward)


def test_looks_differ_and_a_rendered_clip_has_its_size(tmp_path: Path) -> None:
    topics = load_topics()
    assert len({draw_variation(seed) for seed in range(50)}) == 50
    assert render_video(topics[0], 1, tmp_path / "a" / "one.mp4", size=(96, 64), seconds=1.0, fps=8) == 8
    render_video(topics[0], 2, tmp_path / "two.mp4", size=(96, 64), seconds=1.0, fps=8)
    one, two = read_frames(tmp_path / "a" / "one.mp4"), read_frames(tmp_path / "two.mp4")
    assert len(one) == 8
    assert one[0].shape == (64, 96, 3)
    assert np.abs(one[3].astype(int) - two[3]).mean() > 3


# ── the steps' protocol, tried on small steps of our own ──


def test_a_step_is_kept_while_nothing_changes_and_done_again_when_something_does(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.txt").write_text("a")

    def run(number: int) -> bool:
        with begin_step(tmp_path / "work", "one", [source], {"number": number}) as step:
            if not step.done:
                (step.folder / "out.txt").write_text(str(number))
                step.count("things", into=3, out=2, why={"broken": 1})
        return step.kept

    assert [run(1), run(1), run(2), run(2)] == [False, True, False, True]
    (source / "b.txt").write_text("b")
    assert not run(2)
    record = read_record(tmp_path / "work", "one")
    assert record.counts[0].why == {"broken": 1}
    assert (tmp_path / "work" / "one" / "out.txt").read_text() == "2"


def test_a_step_that_fails_leaves_the_old_result_and_resumes_if_it_may(tmp_path: Path) -> None:
    def run(number: int, resume: bool, fail: bool) -> list[str]:
        with begin_step(tmp_path, "one", [], {"number": number}, resume=resume) as step:
            if step.done:
                return []
            found = sorted(path.name for path in step.folder.iterdir() if not path.name.startswith("."))
            (step.folder / f"part{len(found)}").write_text("x")
            if fail:
                raise step.fail("on purpose")
        return found

    assert run(1, True, False) == []
    for _ in range(2):
        with pytest.raises(StepError, match=r"^one: on purpose$"):
            run(2, True, True)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["part0", "step.json"]
    assert run(2, True, False) == ["part0", "part1"]
    with pytest.raises(StepError):
        run(3, False, True)
    assert run(3, False, False) == []


def test_counts_must_account_for_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="but reasons for"), begin_step(tmp_path, "one", [], {}) as step:
        step.count("videos", into=10, out=7, why={"broken": 2})


def test_what_a_step_needs_is_named(tmp_path: Path) -> None:
    first = r"two: .*one is not there yet; first run: vivant build mimic one --work"
    with pytest.raises(StepError, match=first), begin_step(tmp_path, "two", ["one"], {}):
        pass
    mistyped = tmp_path / "wrok"
    with pytest.raises(StepError, match=first), begin_step(mistyped, "two", ["one"], {}):
        pass
    assert not mistyped.exists(), "a name mistyped leaves no folder behind"
    nowhere = tmp_path / "nowhere"
    with pytest.raises(StepError, match="nowhere does not exist"), begin_step(tmp_path, "two", [nowhere], {}):
        pass


def test_one_run_of_a_step_at_a_time(tmp_path: Path) -> None:
    twice = pytest.raises(StepError, match="another run of this step")
    with begin_step(tmp_path, "one", [], {}), twice, begin_step(tmp_path, "one", [], {}):
        pass


def test_a_run_killed_between_two_renames_is_mended(tmp_path: Path) -> None:
    with begin_step(tmp_path, "one", [], {"n": 1}) as step:
        (step.folder / "out").write_text("1")
    (tmp_path / "one").rename(tmp_path / ".one.old")
    with begin_step(tmp_path, "one", [], {"n": 1}) as step:
        assert step.kept
    assert (tmp_path / "one" / "out").read_text() == "1"


def test_a_crawl_in_the_form_of_tiktoks_site(tmp_path: Path) -> None:
    plan = WorldPlan(videos=40, comments=400, seed=5)
    write_web_crawl(tmp_path / "crawl", plan, render_first=1)
    write_web_crawl(tmp_path / "again", plan, render_first=1)
    names = sorted(path.name for path in (tmp_path / "crawl").iterdir())
    assert names == ["7301234567890123000.mp4", "comments.json", "followers.csv", "videos.jsonl"]
    for name in names:
        assert (tmp_path / "crawl" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    ingest(tmp_path / "work", [tmp_path / "crawl"], PipelineSettings(workers=1))
    taken = videos(tmp_path / "work" / "ingest")
    assert len(taken) == 40 and set(taken["platform"]) == {"tiktok"}
    assert taken["file"].to_list().count("7301234567890123000.mp4") == 1
    assert taken.filter(pl.col("tags").list.len() > 0).height > 20
    assert comments(tmp_path / "work" / "ingest")["ref"].is_in(taken["ref"].to_list()).all()
    reasons = pl.read_parquet(tmp_path / "work" / "ingest" / "quarantine.parquet")["reason"].to_list()
    assert len(reasons) == 3 and "pictures, not a video" in reasons


def test_a_file_behind_a_link_that_changes_is_seen(tmp_path: Path) -> None:
    source, real = tmp_path / "source", tmp_path / "real.txt"
    source.mkdir()
    real.write_text("one")
    (source / "linked.txt").symlink_to(real)
    (source / "dangling.txt").symlink_to(tmp_path / "nowhere")

    def run() -> bool:
        with begin_step(tmp_path / "work", "one", [source], {}) as step:
            pass
        return step.kept

    assert [run(), run()] == [False, True]
    real.write_text("another")
    assert [run(), run()] == [False, True]


def test_clips_move_and_differ() -> None:
    seen = []
    for name, clip in load_clips().items():
        first, middle = (draw_clip(clip, t).astype(int) for t in (0.1, 0.55))
        assert np.abs(middle - first).mean() > 0.5, name
        seen.append(middle)
    stack = np.stack(seen)
    for number, picture in enumerate(stack):
        apart = np.abs(stack - picture).mean(axis=(1, 2, 3))
        apart[number] = 99
        assert apart.min() > 8
