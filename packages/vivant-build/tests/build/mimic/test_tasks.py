"""The step tasks: wrong options that are wrong, look alike and are as common as right ones."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tests.support.mimic_build_kit import Words, settings, thread, video, write_clean
from vivant.benchmarks.mimic.check import check
from vivant.benchmarks.mimic.format import Comment, MimicItem, MimicVideo, iter_items, iter_videos
from vivant.benchmarks.mimic.names import OWN, RANKS, THINKING
from vivant.core.errors import DataError
from vivant.core.files import is_temporary
from vivant.core.randomness import derive_generator
from vivant.metrics.text import normalise_text
from vivant_build.mimic.distractors import DistractorCosts, break_up_fours, choose_fair_share
from vivant_build.mimic.popularity import FEW, SAME, TIED, choose_ranked_options
from vivant_build.mimic.rank_matching import PopularityScores, RankMatcher
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import PipelineSettings, SelectSettings, TaskSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.steps import StepError, read_record
from vivant_build.mimic.tasks import make_tasks
from vivant_build.mimic.vectors import VectorStore
from vivant_build.mimic.video_records import file_name, shorten
from vivant_build.mimic.video_table import normalise_name


def build(work: Path, videos: list[dict[str, Any]], chosen: PipelineSettings, comments: Any = None) -> None:
    write_clean(work, videos, comments)
    select_videos(work, chosen)
    split_videos(work, chosen)
    make_tasks(work, chosen, encoder=Words())


def few(videos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A few comments under each, where none is asked about."""
    return [comment for one in videos for comment in thread(one, 8)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("made")
    build(work, [video(n) for n in range(400)], settings(target=120))
    return work


def items_of(work: Path, task: str = "") -> list[MimicItem]:
    return [item for _, item in iter_items(work / "tasks") if task in ("", item.task)]


def videos_of(work: Path) -> dict[str, MimicVideo]:
    return {line.ref: line for _, line in iter_videos(work / "tasks")}


def test_the_checker_of_the_benchmark_finds_nothing_but_missing_files(made: Path) -> None:
    problems = check(made / "tasks").problems
    assert [p for p in problems if "is missing from" not in p] == []
    assert Counter(item.task for item in items_of(made)) == dict.fromkeys(THINKING, 120)


def test_keys_stand_equally_often_at_each_place(made: Path) -> None:
    for task in THINKING:
        keys = Counter(item.key for item in items_of(made, task))
        assert max(keys.values()) - min(keys.values()) <= 1, task


@pytest.mark.parametrize("task", [task for task in THINKING if task != OWN])
def test_four_texts_stand_together_in_four_items_and_each_is_right_once(made: Path, task: str) -> None:
    fours: dict[frozenset[str], list[str]] = {}
    for item in items_of(made, task):
        fours.setdefault(frozenset(o.video for o in item.options), []).append(item.video)
    closed = [four for four, asked in fours.items() if four == set(asked)]
    assert len(closed) >= 0.9 * len(items_of(made, task)) / 4
    right = Counter(normalise_text(item.options[item.key or 0].text) for item in items_of(made, task))
    every = Counter(normalise_text(option.text) for item in items_of(made, task) for option in item.options)
    assert sum(abs(every[text] - 4 * count) for text, count in right.items()) <= 0.1 * every.total()


def test_wrong_options_come_from_unrelated_videos(made: Path) -> None:
    videos = videos_of(made)
    for item in items_of(made):
        if item.task == OWN:
            continue
        own = videos[item.video]
        for place, option in enumerate(item.options):
            if place == item.key:
                assert option.video == item.video
                continue
            other = videos[option.video]
            assert other.uploader != own.uploader and other.category != own.category
            named = {normalise_name(t) for t in (*own.tags, *own.topics)} - {"fyp"}
            assert named.isdisjoint(normalise_name(t) for t in (*other.tags, *other.topics))


def test_a_tag_that_everybody_uses_is_not_asked_for(made: Path) -> None:
    assert not any("#fyp" in option.text for item in items_of(made, "tag") for option in item.options)


def test_options_look_alike(made: Path) -> None:
    videos = videos_of(made)
    lengths = [len(videos[item.video].title) for item in items_of(made, "title")]
    spread = np.std(lengths)
    apart = [
        abs(len(option.text) - len(item.options[item.key or 0].text))
        for item in items_of(made, "title")
        for option in item.options
    ]
    assert np.mean(apart) * 4 / 3 < 0.7 * spread * 2 / np.sqrt(np.pi), "nearer than by chance"


def test_no_option_is_near_in_meaning_to_the_right_one(made: Path) -> None:
    store = VectorStore(made, encoder=Words())
    for task in ("title", "comment-match"):
        for item in items_of(made, task):
            vectors = store.get([option.text for option in item.options])
            near = np.round(vectors @ vectors[item.key or 0], 3)
            assert sorted(near)[-2] < 0.6


def test_popularity_takes_the_ranks(made: Path) -> None:
    for item in items_of(made, OWN):
        assert {option.rank for option in item.options} == set(RANKS)
        right = item.options[item.key or 0]
        assert right.rank == 1 and all(
            (right.likes or 0) > (o.likes or 0) for o in item.options if o is not right
        )


@pytest.mark.full
def test_the_same_again_whatever_the_order_of_the_files(made: Path, tmp_path: Path) -> None:
    build(tmp_path, [video(n) for n in range(400)][::-1], settings(target=120))
    for name in ("items.jsonl", "videos.jsonl"):
        assert (tmp_path / "tasks" / name).read_bytes() == (made / "tasks" / name).read_bytes()


def test_vectors_are_computed_once(made: Path) -> None:
    encoder = Words()
    make_tasks(made, settings(target=120, tasks=TaskSettings(least=0.4)), encoder=encoder)
    assert encoder.asked == 0
    assert not any(map(is_temporary, (made / "vectors").iterdir()))


def test_a_broken_file_of_vectors_is_named(made: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors").mkdir()
    whole = next((made / "vectors").glob("*.npz")).read_bytes()
    (tmp_path / "vectors" / "000000.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"000000\.npz is broken .* delete it"):
        VectorStore(tmp_path)


# ── what cannot be asked ──


def test_a_task_without_material_fails_with_a_line_that_says_what_to_change(tmp_path: Path) -> None:
    videos = [video(n, topics=[]) for n in range(100)]
    with pytest.raises(
        StepError,
        match=r"^tasks: only 0 of 40 videos can be asked for their topic \(40 no topics\).*"
        r"select: {require: \[title, topics\]}.*tasks\.tasks",
    ):
        build(tmp_path, videos, settings(target=40))


def test_a_single_category_needs_a_setting_and_says_so(tmp_path: Path) -> None:
    videos = [video(n, category="Food") for n in range(150)]
    with pytest.raises(StepError, match="too few unrelated videos"):
        build(tmp_path / "a", videos, settings(target=40))
    asked = tuple(task for task in THINKING if task not in ("category", "topic"))
    build(tmp_path / "b", videos, settings(target=40, tasks=TaskSettings(other_category=False, tasks=asked)))
    assert len(items_of(tmp_path / "b", "title")) == 40


def test_all_comments_equal(tmp_path: Path) -> None:
    videos = [video(n) for n in range(100)]
    comments = [{**c, "text": "so good to see"} for v in videos for c in thread(v, 110)]
    # Once each is left of them, which is too few to be chosen at all only where more are required.
    with pytest.raises(StepError, match=r"^tasks: only 0 of 40 videos can be asked for their comment-match"):
        build(tmp_path, videos, settings(target=40), comments)


def test_a_benchmark_without_a_question_is_refused_even_where_no_share_is_asked_for(tmp_path: Path) -> None:
    videos = [video(n, tags=[]) for n in range(100)]
    with pytest.raises(
        StepError, match=r"^tasks: not one of 40 videos can be asked about \(tag: 40 no tags that say"
    ):
        build(
            tmp_path, videos, settings(target=40, tasks=TaskSettings(tasks=("tag",), least=0.0)), few(videos)
        )


def test_with_three_categories_the_setting_that_helps_is_named(tmp_path: Path) -> None:
    videos = [video(n, category="abc"[n % 3]) for n in range(100)]
    apart, mixed = (TaskSettings(tasks=("title",), other_category=other) for other in (True, False))
    with pytest.raises(StepError, match=r"too few unrelated videos.*set tasks\.other_category: false"):
        build(tmp_path / "a", videos, settings(target=40, tasks=apart), few(videos))
    build(tmp_path / "b", videos, settings(target=40, tasks=mixed), few(videos))
    assert len(items_of(tmp_path / "b")) >= 20


def test_a_common_category_is_asked_for_no_more_than_is_fair(tmp_path: Path) -> None:
    # Two thirds are Food: its surplus is not asked for, or a guess at the commonest would pay.
    videos = [video(n, **({"category": "Food"} if n % 3 else {})) for n in range(600)]
    asked = TaskSettings(tasks=("category",), least=0.2)
    build(
        tmp_path,
        videos,
        settings(select=SelectSettings(target=240, top={"*": 1.0}, balance=1.0), tasks=asked),
        few(videos),
    )
    right = Counter(item.options[item.key or 0].text for item in items_of(tmp_path))
    assert right["Food"] <= right.total() / 4
    why = read_record(tmp_path, "tasks").counts[0].why
    assert why["its answer is too common to be asked fairly"] > 60


def comment(name: int, likes: int | None, text: str = "") -> Comment:
    return Comment(id=f"c{name:03d}", text=text or f"words {name} " + "x" * (name % 9), likes=likes)


def line(*comments: Comment) -> MimicVideo:
    return MimicVideo(platform="p", id="v", comments=comments)


def test_popularity_with_ties_too_few_and_equal_words() -> None:
    falling = [comment(n, 1000 - n) for n in range(100)]
    found = choose_ranked_options(line(*falling), RANKS, 0)
    assert not isinstance(found, str) and [o.likes for o in found] == [1000, 991, 951, 901]
    assert choose_ranked_options(line(*falling[:99]), RANKS, 0) == FEW
    unknown = [*falling[:99], comment(99, None)]
    assert choose_ranked_options(line(*unknown), RANKS, 0) == FEW, "unknown likes have no rank"
    tied = [comment(n, 7 if n < 10 else 1) for n in range(100)]
    assert choose_ranked_options(line(*tied), RANKS, 0) == TIED
    zeros = [comment(n, max(0, 5 - n)) for n in range(100)]
    found = choose_ranked_options(line(*zeros), RANKS, 0)
    assert not isinstance(found, str) and [o.likes for o in found] == [5, 0, 0, 0]
    assert len({o.comment for o in found}) == 4
    again = choose_ranked_options(line(*zeros), RANKS, 0, attempt=1)
    assert not isinstance(again, str) and {o.comment for o in again} != {o.comment for o in found}
    equal = [comment(n, 1000 - n, "same words") for n in range(100)]
    assert choose_ranked_options(line(*equal), RANKS, 0) == SAME


class WordClassifier:
    def __init__(self, rule: Callable[[str], float]) -> None:
        self.score = rule


def make_scores(rule: Callable[[str], float]) -> PopularityScores:
    scores = PopularityScores([])
    scores.add(WordClassifier(rule))
    return scores


def test_options_are_worded_alike_where_such_comments_are_near_the_ranks() -> None:
    """A classifier that tells two kinds apart finds one kind among the options of nearly every video."""
    alike = 0
    for number in range(50):
        chance = derive_generator(number, "kinds")
        kinds = ["moment" if chance.random() < 0.3 else "plain" for _ in range(130)]
        comments = [comment(n, 2000 - n, f"{kind} words {n}") for n, kind in enumerate(kinds)]
        own = MimicVideo(platform="p", id=str(number), comments=tuple(comments))
        matcher = RankMatcher(make_scores(lambda text: 10.0 * text.startswith("moment")), 0.5)
        options = choose_ranked_options(own, RANKS, 0, 1, matcher)
        assert not isinstance(options, str)
        alike += len({option.text.split()[0] for option in options}) == 1
    assert alike > 25, "by chance it would be one video in four"


def test_near_ranks_can_be_dealt_out_by_a_score() -> None:
    def score(text: str) -> float:
        return float("moment" in text) + len(text) / 1000

    first, matcher = 0, RankMatcher(make_scores(score), 0.2)
    for number in range(100):
        chance = derive_generator(number, "near")
        comments = []
        for n in range(130):
            kind = "moment" if chance.random() < (0.8 if n == 0 else 0.3) else "plain"
            comments.append(comment(n, 2000 - n, f"{kind} {n}{'x' * chance.randrange(9)}"))
        own = MimicVideo(platform="p", id=str(number), comments=tuple(comments))
        options = choose_ranked_options(own, RANKS, 0, 1, matcher)
        assert not isinstance(options, str)
        for option, asked in zip(options, RANKS, strict=True):
            assert option.rank is not None and abs(option.rank - asked) <= 0.2 * asked
            assert comments[option.rank - 1].likes == option.likes
        scores = [score(option.text) for option in options]
        first += scores[0] == max(scores)
    assert 0.15 < first / 100 < 0.4, "by the most-liked's words alone it would be above a half"


def test_where_the_right_one_cannot_hide_under_one_video_it_does_under_others() -> None:
    def score(text: str) -> float:
        return float("moment" in text)

    near = RankMatcher(make_scores(score), 0.2)
    longest = wordiest = 0
    for number in range(200):
        chance = derive_generator(number, "even")
        loud = number % 5 == 0
        comments = [comment(0, 3000, "moment " + "x" * (60 if loud else 20))]
        for n in range(1, 130):
            kind = "moment" if chance.random() < 0.3 else "other"
            comments.append(comment(n, 2000 - n, f"{kind} {n:03d}{'x' * chance.randrange(12, 30)}"))
        own = MimicVideo(platform="p", id=str(number), comments=tuple(comments))
        options = choose_ranked_options(own, RANKS, 0, 2, near)
        assert not isinstance(options, str) and len({normalise_text(o.text) for o in options}) == 4
        assert [o.rank for o in options] == sorted(o.rank or 0 for o in options)
        lengths = [len(option.text) for option in options]
        longest += lengths[0] == max(lengths)
        wordiest += score(options[0].text) > max(score(option.text) for option in options[1:])
    assert 0.2 < longest / 200 < 0.35, "under one video in five it is the longest whatever is chosen"
    assert wordiest / 200 < 0.5
    equal = [comment(n, 1000 - n, "same words") for n in range(100)]
    assert choose_ranked_options(line(*equal), RANKS, 0, 2, near) == SAME


def test_matched_options_are_near_the_right_one_in_time_and_style() -> None:
    """Early, shouted, well-liked comments get wrong options that are early and shouted too, where there are any."""
    matcher = RankMatcher(make_scores(lambda _: 0.0), 0.2)
    start = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    apart: dict[str, list[float]] = {"matched": [], "as published": []}
    shouted = Counter[str]()
    for number in range(60):
        chance = derive_generator(number, "time")
        comments = []
        for n in range(130):
            early = n == 0 or chance.random() < 0.4
            text = f"words number {n} of {number}"
            time = start + datetime.timedelta(
                hours=chance.uniform(0.1, 3) if early else chance.uniform(300, 900)
            )
            comments.append(
                Comment(
                    id=f"c{n:03d}",
                    text=text.upper() if n == 0 or chance.random() < 0.4 else text,
                    likes=2000 - n,
                    time=time.strftime("%Y-%m-%dT%H:%M:%SZ"),
                )
            )
        own = MimicVideo(
            platform="p", id=str(number), comments=tuple(comments), uploaded="2025-01-01T00:00:00Z"
        )
        times = {c.id: datetime.datetime.fromisoformat(c.time) for c in comments}
        for kind, options in (
            ("matched", choose_ranked_options(own, RANKS, 0, 0, matcher)),
            ("as published", choose_ranked_options(own, RANKS, 0)),
        ):
            assert not isinstance(options, str)
            hours = [
                (times[o.comment] - times["c000"]).total_seconds() / 3600 for o in options[1:] if o.comment
            ]
            apart[kind] += [abs(value) for value in hours]
            shouted[kind] += sum(option.text.isupper() for option in options[1:])
    assert np.mean(apart["matched"]) < 0.5 * np.mean(apart["as published"])
    assert shouted["matched"] > 1.5 * shouted["as published"]


def test_fours_are_broken_up_for_texts_that_found_no_company() -> None:
    class Apart:
        """The first four may not stand beside each other; everything else may."""

        code = np.arange(16)

        def costs(self, rows: np.ndarray[Any, Any], columns: np.ndarray[Any, Any]) -> Any:
            far = (rows[:, None] < 4) & (columns[None, :] < 4) | (rows[:, None] == columns[None, :])
            return np.where(far, 1e9, 0.0)

    found: list[list[int]] = [[] for _ in range(16)]
    for four in (range(4, 8), range(8, 12), range(12, 16)):
        for member in four:
            found[member] = [other for other in four if other != member]
    chance = np.random.default_rng(0)
    left = break_up_fours(np.arange(4), np.arange(16), cast(DistractorCosts, Apart()), found, chance, few=3)
    assert len(left) == 0
    for member, others in enumerate(found):
        assert len(others) == 3 and all({member, *others} == {other, *found[other]} for other in others)
        assert sum(other < 4 for other in (member, *others)) == 1
    kept = [list(others) for others in found]
    assert (
        len(break_up_fours(np.arange(0), np.arange(16), cast(DistractorCosts, Apart()), found, chance, few=3))
        == 0
    )
    assert found == kept, "where nothing is left over nothing is broken up"


def test_fair_share_leaves_balanced_names_alone() -> None:
    chance = np.random.default_rng(0)
    assert choose_fair_share(np.arange(40) % 8, chance).all()
    kept = choose_fair_share(np.array([0] * 90 + [1, 2, 3, 4, 5, 6, 7, 8, 9] * 3), chance)
    assert kept[90:].all() and 0 < kept[:90].sum() <= kept.sum() / 4
    assert not choose_fair_share(np.zeros(10, np.int64), chance).any(), "one name alone cannot be asked for"


def test_descriptions_are_cut_at_the_end_of_a_sentence_or_word() -> None:
    assert shorten("One two. Three four five", 12) == "One two."
    assert shorten("abcdef ghijkl mnopqr", 15) == "abcdef ghijkl"
    assert shorten("あ" * 50, 20) == "あ" * 20
    assert shorten(" short ", 20) == "short"


def test_file_names_are_safe() -> None:
    assert file_name("youtube", "aB-_1", "x/y.webm") == "youtube-aB-_1.webm"
    assert file_name("x-y", "z", "q.mp4") != file_name("x", "y-z", "q.mp4") == "x-y-z.mp4"
    assert "/" not in file_name("a/b", "../../etc", "") and file_name("a", "é", "").endswith(".mp4")
