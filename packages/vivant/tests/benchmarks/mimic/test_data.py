"""MIMIC-Bench's folder: what is read, what is refused, and what a check finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.mimic_kit import make_item, make_ref, make_video_line, write_folder, write_lines
from vivant.benchmarks import registry
from vivant.benchmarks.mimic import Mimic, names
from vivant.benchmarks.mimic.check import VideoFacts, check, list_item_problems
from vivant.benchmarks.mimic.format import Comment, MimicItem, select_most_liked
from vivant.core.errors import DataError, UsageError
from vivant.core.types import Video


def test_a_thinking_sample_has_options_key_facets_and_its_video_as_cluster(tmp_path: Path) -> None:
    samples = Mimic().load(write_folder(tmp_path), "mimic/title")
    sample = samples[3]
    assert sample.id == "title-3" and sample.task == "mimic/title" and sample.cluster == make_ref(3)
    assert sample.question == (Video("videos/v3.mp4"),)
    assert [o.text for o in sample.options][sample.key or 0] == "Title of number 3"
    assert sample.facets == {
        "axis": "ciu",
        "task": "title",
        "platform": "youtube",
        "category": "Sports",
        "language": "en",
        "length": "1-5min",
        "video": make_ref(3),
    }
    assert sample.extra["sources"] == [make_ref(0), make_ref(3), make_ref(1), make_ref(2)]


def test_selectors_name_tasks_axes_and_all_seven() -> None:
    benchmark = Mimic()
    assert benchmark.expand("thinking") == names.THINKING and len(names.THINKING) == 7
    assert benchmark.expand("cam") == ("tag", "topic", "category")
    assert benchmark.expand("uiu") == ("comment-match", "comment-popularity")
    assert benchmark.expand("") == (*names.THINKING, "comment")
    with pytest.raises(UsageError, match="did you mean 'thinking'"):
        benchmark.expand("thinkin")


def test_of_several_tasks_those_with_items_are_taken(tmp_path: Path) -> None:
    root = write_folder(tmp_path, items=[make_item(0, "tag")])
    selection = registry.select(["mimic"], [str(root)])[0]
    assert selection.tasks == ("mimic/tag", "mimic/comment")


def test_comments_are_asked_for_every_video_or_for_those_that_items_name(tmp_path: Path) -> None:
    everything = Mimic().load(write_folder(tmp_path / "a"), "comment")
    assert [s.id for s in everything] == [make_ref(n) for n in range(4)]
    assert everything[0].extra["human"] == [f"comment {n} on 0" for n in range(1, 6)]
    items = [{"id": "w", "task": "comment", "video": make_ref(2)}]
    assert [s.id for s in Mimic().load(write_folder(tmp_path / "b", items=items), "comment")] == [make_ref(2)]


def test_without_items_comments_can_still_be_asked_for(tmp_path: Path) -> None:
    write_lines(tmp_path / "videos.jsonl", [make_video_line(0)])
    assert len(Mimic().load(tmp_path, "comment")) == 1
    with pytest.raises(DataError, match=r"has no items\.jsonl"):
        Mimic().load(tmp_path, "title")


@pytest.mark.parametrize(
    ("videos", "items", "message"),
    [
        ([make_video_line(0, titel="x")], None, "videos.jsonl, line 1.*titel"),
        ([b'{"platform": "youtube"'], None, "videos.jsonl, line 1"),
        ([b"\xff\xfe{}"], None, "videos.jsonl, line 1"),
        ([make_video_line(0, comments=[{"id": "c", "text": "t", "likes": -3}])], None, "line 1.*>= 0"),
        (None, [make_item(0), make_item(0)], r"line 2 \(item title-0\): the id stands already in line 1"),
        (None, [make_item(0, key=4)], "the key 4 is no option"),
        (None, [make_item(0, key=None)], "there is no key"),
        (None, [make_item(0, options=[])], "0 option"),
        (None, [make_item(0, video="youtube/none")], "the video youtube/none is not in videos.jsonl"),
        (None, [{**make_item(0), "task": "titel"}], "did you mean 'title'"),
        (None, [make_item(0, options=[{"text": " "}, {"text": "b"}])], "option 0 is empty"),
    ],
)
def test_what_no_run_could_use_is_refused_by_line(
    tmp_path: Path, videos: Any, items: Any, message: str
) -> None:
    root = write_folder(tmp_path, videos, items)
    with pytest.raises(DataError, match=message):
        for task in ("comment", "title"):
            Mimic().load(root, task)


def test_a_task_without_items_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no items of the task tag"):
        Mimic().load(write_folder(tmp_path), "tag")


def test_a_video_that_stands_twice_counts_once_and_may_not_contradict_itself(tmp_path: Path) -> None:
    twice = write_folder(tmp_path / "same", [*(make_video_line(n) for n in range(4)), make_video_line(1)])
    assert len(Mimic().load(twice, "comment")) == 4
    assert len(Mimic().load(twice, "title")) == 4
    assert any("stands already in line 2, word for word" in p for p in check(twice).problems)
    other = write_folder(
        tmp_path / "other", [*(make_video_line(n) for n in range(4)), make_video_line(1, title="Another")]
    )
    for task in ("title", "comment"):
        with pytest.raises(DataError, match="line 5: the video youtube/v1 stands already in line 2"):
            Mimic().load(other, task)
    assert any("and the two differ" in p for p in check(other).problems)


def list_problems(root: Path) -> list[str]:
    """What a check finds besides the video files, which the kit does not write."""
    return [p for p in check(root).problems if ".mp4" not in p]


def test_a_sound_folder_has_no_problems_but_missing_files(tmp_path: Path) -> None:
    every = [make_item(n, task) for task in names.THINKING for n in range(4)]
    root = write_folder(tmp_path, items=every)
    assert list_problems(root) == []
    missing = [p for p in check(root).problems if ".mp4" in p]
    assert len(missing) == 4 and "videos/v0.mp4 (video tiktok/v0)" in missing[0]


def change_item(task: str, index: int, **fields: Any) -> dict[str, Any]:
    item = make_item(0, task)
    item["options"][index] = {**item["options"][index], **fields}
    return item


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (change_item("title", 0, video=make_ref(0)), "a wrong option comes from tiktok/v0 itself"),
        (change_item("category", 0, text="food", video=make_ref(1)), "a wrong option is true of tiktok/v0"),
        (change_item("tag", 0, text="#new #TAG0"), "a wrong option is true of tiktok/v0"),
        (change_item("title", 0, text="Made up"), "not in the metadata of its source youtube/v1"),
        (change_item("title", 0, video="youtube/gone"), "its source youtube/gone is not in videos.jsonl"),
        (change_item("title", 1, text="Something else"), "it is not in the metadata of tiktok/v0"),
        (change_item("title", 1, video=make_ref(2)), "it should come from tiktok/v0"),
        (change_item("title", 0, text="title of NUMBER 2!"), "two options say the same"),
        (change_item("comment-match", 1, comment="c5"), "it is not the text of the comment c5"),
        (change_item("comment-popularity", 0, likes=99), "the key has 90 likes, another option has 99"),
        (change_item("comment-popularity", 0, likes=90), "two options share the most likes"),
        (change_item("comment-popularity", 0, likes=None, comment=""), "option 0 has no likes"),
        (change_item("comment-popularity", 1, rank=2), "option 1 says rank 2"),
        ({**make_item(0), "options": make_item(0)["options"][:3]}, "3 options; four are expected"),
    ],
)
def test_a_check_finds_leaks_and_contradictions(tmp_path: Path, item: dict[str, Any], message: str) -> None:
    result = list_problems(write_folder(tmp_path, items=[item]))
    assert any(message in problem for problem in result), result
    assert all("(item " in problem for problem in result)


def test_a_check_reads_on_after_broken_lines_and_counts_what_is_odd(tmp_path: Path) -> None:
    odd = [
        {"id": "a", "text": "no likes"},
        {"id": "b", "text": "x" * 10_000, "likes": 5},
        {"id": "c", "text": "مرحبا بكم 😂", "likes": 4},
        {"id": "d", "text": "  ", "likes": 1},
    ]
    root = write_folder(
        tmp_path, [make_video_line(0, comments=odd), b"{broken", make_video_line(2)], [make_item(0), b"[]"]
    )
    report = check(root)
    assert "1 comments without likes (they have no rank)" in report.contents
    assert "1 comments of more than 2000 characters" in report.contents
    assert "1 empty comments (never used)" in report.contents
    assert any("videos.jsonl, line 2" in p for p in report.problems)
    assert any("items.jsonl, line 2" in p for p in report.problems)


def test_items_that_do_not_name_sources_are_counted(tmp_path: Path) -> None:
    bare = [{"text": f"Title of number {n}"} for n in range(4)]
    report = check(write_folder(tmp_path, items=[make_item(0, options=bare, key=0)]))
    assert any(line.startswith("1 items do not name the source") for line in report.contents)
    assert not [p for p in report.problems if "item title-0" in p]


def test_twins_are_told_by_their_words_and_by_their_bytes(tmp_path: Path) -> None:
    from tests.support.media_kit import make_video

    twin = make_video_line(
        1, title=make_video_line(0)["title"], description=make_video_line(0)["description"]
    )
    root = write_folder(tmp_path, [make_video_line(0), twin], [])
    (root / "videos").mkdir()
    for number in range(2):
        make_video(root / "videos" / f"v{number}.mp4")
    result = check(root).problems
    assert any("has the title and description of tiktok/v0" in p for p in result)
    assert any("the same file as tiktok/v0" in p for p in result)


def test_the_most_liked_comments_are_whole_texts_of_their_own() -> None:
    comments = [
        Comment(id="1", text="late, unknown"),
        Comment(id="2", text="good", likes=5),
        Comment(id="3", text="good", likes=9),
        Comment(id="4", text="a reply", likes=99, reply_to="2"),
        Comment(id="5", text="   ", likes=80),
        Comment(id="6", text="best", likes=50),
    ]
    assert [c.id for c in select_most_liked(comments, 5)] == ["6", "3", "1"]
    assert [c.id for c in select_most_liked(comments, 1)] == ["6"]


def test_lengths_have_buckets_with_names_that_need_no_quoting() -> None:
    cases = {
        None: "unknown",
        0.0: "under-15s",
        15.0: "15-60s",
        299.9: "1-5min",
        1199: "5-20min",
        9e9: "over-20min",
    }
    assert {seconds: names.choose_length_bucket(seconds) for seconds in cases} == cases


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        MimicItem,
        id=st.just("x"),
        task=st.sampled_from([*names.THINKING, "comment", "other"]),
        video=st.sampled_from(["a/1", "a/2"]),
        key=st.integers(-1, 5) | st.none(),
    )
)
def test_no_item_breaks_the_check(item: MimicItem) -> None:
    facts = VideoFacts(true={k: frozenset() for k in ("title",)}, comments={}, likes=(), file="")
    assert all(isinstance(problem, str) for problem in list_item_problems(item, {"a/1": facts}))
