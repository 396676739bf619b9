"""The step audit: finds what options give away, draws again, and says what cannot be mended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support.mimic_build_kit import Words, settings, thread, video, without_figures, write_clean
from vivant.benchmarks.mimic.format import MimicItem, MimicOption, iter_items
from vivant.benchmarks.mimic.names import OWN, THINKING
from vivant.core.errors import DataError
from vivant.core.files import read_jsonl, write_jsonl
from vivant_build.mimic.audit import AuditReport, audit, read_report, report_tables
from vivant_build.mimic.blind_guessers import GUESSERS, find_solved, guess, score_guessers
from vivant_build.mimic.database import connect
from vivant_build.mimic.distributions import draw_distributions
from vivant_build.mimic.option_classifier import OptionClassifier
from vivant_build.mimic.practice_items import RankingPractice
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import AuditSettings, TaskSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.steps import StepError, read_record
from vivant_build.mimic.tasks import make_tasks
from vivant_build.mimic.vectors import VectorStore


@pytest.fixture(scope="module", autouse=True)
def _no_figures() -> Iterator[None]:
    with without_figures():
        yield


def build(
    work: Path, change: Callable[[Path], None] | None = None, comments: int = 104, **sections: Any
) -> None:
    videos = [video(n) for n in range(400)]
    write_clean(work, videos, [c for v in videos for c in thread(v, comments)])
    chosen = settings(target=100, **sections)
    select_videos(work, chosen)
    split_videos(work, chosen)
    make_tasks(work, chosen, encoder=Words())
    if change is not None:
        change(work)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("built")
    build(work)
    return work


def shares(report: AuditReport, after: bool = True) -> dict[tuple[str, str], float]:
    return {(one.task, one.guesser): one.share for one in (report.after if after else report.before)}


@pytest.mark.full
def test_a_sound_draw_passes_and_is_exactly_at_chance(built: Path) -> None:
    audit(built, settings(target=100), encoder=Words(), redraw=True)
    report = read_report(built)
    found = shares(report)
    assert {task for task, _ in found} == set(THINKING) and {name for _, name in found} == set(GUESSERS)
    for task in ("title", "description", "tag", "comment-match"):
        # The kit's tags share no word: all are equally alike, and taking one of equals is a throw of the dice.
        alike = () if task == "tag" else ("most alike", "least alike")
        for guesser in ("longest", "shortest", "classifier", *alike):
            assert found[task, guesser] == pytest.approx(0.25, abs=0.06), (task, guesser)
    assert set(report.failing) <= {OWN}
    assert report.practised["title"] > 30
    notes = " ".join(read_record(built, "audit").notes)
    assert "solved by every guesser" in notes


def test_distributions_are_drawn(built: Path, tmp_path: Path) -> None:
    items = [item for _, item in iter_items(built / "tasks")]
    with connect(built) as connection:
        drawn = draw_distributions(connection, built, tmp_path, items)
    assert {path.name for path in drawn} == {"videos.svg", "scores.svg", "options.svg"}
    assert all("<svg" in path.read_text() for path in drawn)


def test_who_deals_comments_out_has_not_learnt_where_the_judge_has(built: Path) -> None:
    chosen = settings(target=100)
    practice = RankingPractice(built, chosen)
    judged = {item.video for item in practice.make_judging()}
    dealt = {item.video for item in practice.make_dealing()}
    asked = {item.video for _, item in iter_items(built / "tasks")}
    assert len(dealt) > 10 and judged and not dealt & judged and not dealt & asked


@pytest.mark.full
def test_comment_popularity_keeps_its_ranks_and_the_matched_draw_is_a_variant(built: Path) -> None:
    audit(built, settings(target=100), encoder=Words(), redraw=True)
    published = [item for _, item in iter_items(built / "audit") if item.task == OWN]
    assert published == [item for _, item in iter_items(built / "tasks") if item.task == OWN]
    assert {tuple(sorted(o.rank or 0 for o in item.options)) for item in published} == {(1, 10, 50, 100)}
    variant = read_jsonl(built / "audit" / "items-matched.jsonl", MimicItem)
    others = [item for item in variant if item.task != OWN]
    assert others == [item for _, item in iter_items(built / "audit") if item.task != OWN]
    matched = {item.id: item for item in variant if item.task == OWN}
    assert matched.keys() == {item.id for item in published}
    assert any(matched[item.id] != item for item in published)
    for item in matched.values():
        ranks = sorted(o.rank or 0 for o in item.options)
        assert all(
            abs(rank - asked) <= 0.5 * asked for rank, asked in zip(ranks, (1, 10, 50, 100), strict=True)
        )
    table = report_tables(built)[-1]
    assert "matched" in str(table.title) and table.columns[-1] == "guessable"
    assert re.fullmatch(r"\d+\.\d \[\d+\.\d, \d+\.\d\]( ✗)?", str(table.body[0][-1]))


def give_away(work: Path) -> None:
    """Right titles become the longest."""
    items = [item for _, item in iter_items(work / "tasks")]
    spoilt = [
        msgspec.structs.replace(
            item,
            options=tuple(
                msgspec.structs.replace(o, text=o.text + " and so much more") if place == item.key else o
                for place, o in enumerate(item.options)
            ),
        )
        if item.task == "title"
        else item
        for item in items
    ]
    write_jsonl(work / "tasks" / "items.jsonl", spoilt)


def test_what_gives_itself_away_is_found_and_drawn_again(tmp_path: Path) -> None:
    build(tmp_path, give_away, comments=8, tasks=TaskSettings(tasks=("title", "tag")))
    chosen = settings(target=100, tasks=TaskSettings(tasks=("title", "tag")))
    audit(tmp_path, chosen, encoder=Words())
    first = read_report(tmp_path)
    assert first.failing == ("title",) and shares(first)["title", "longest"] > 0.9
    assert any(
        "GUESSABLE: title, " in note and "--redraw" in note for note in read_record(tmp_path, "audit").notes
    )
    assert len(report_tables(tmp_path)) == 1
    audit(tmp_path, chosen, encoder=Words(), redraw=True)
    second = read_report(tmp_path)
    assert second.failing == () and second.draws == {"title": 1, "tag": 0}
    assert shares(second, after=False)["title", "longest"] > 0.9 and shares(second)["title", "longest"] < 0.4
    before, after = report_tables(tmp_path)
    assert str(before.body[0][-1]).endswith("✗") and not str(after.body[0][-1]).endswith("✗")
    assert "as first drawn" in (tmp_path / "audit" / "audit.md").read_text()
    items = [item for _, item in iter_items(tmp_path / "audit")]
    assert not any("so much more" in option.text for item in items for option in item.options)


def test_a_draw_with_more_items_than_the_first_is_counted_as_it_stands(tmp_path: Path) -> None:
    def lose_one(work: Path) -> None:
        give_away(work)
        items = [item for _, item in iter_items(work / "tasks")]
        write_jsonl(work / "tasks" / "items.jsonl", items[1:])

    asked = TaskSettings(tasks=("title", "tag"))
    build(tmp_path, lose_one, comments=8, tasks=asked)
    audit(tmp_path, settings(target=100, tasks=asked), encoder=Words(), redraw=True, drop=True)
    title = read_record(tmp_path, "audit").counts[0]
    items = [item for _, item in iter_items(tmp_path / "audit") if item.task == "title"]
    assert title.into == 100 and title.out == len(items) == 100 - sum(title.why.values())


def test_items_made_with_other_settings_are_refused(built: Path) -> None:
    fewer = settings(target=100, tasks=TaskSettings(tasks=("title", "tag")))
    with pytest.raises(StepError, match=r"^audit: the section tasks .* run tasks again with these settings"):
        audit(built, fewer, encoder=Words(), force=True)


@pytest.mark.full
def test_a_task_that_no_draw_can_mend_is_named_and_its_items_can_be_dropped(tmp_path: Path) -> None:
    videos = [video(n) for n in range(120)]
    comments = [c for v in videos for c in thread(v, 104)]
    for place, one in enumerate(comments):
        one["text"] = "haha " * 9 + f"{place} 😂" if one["likes"] == 5000 else f"haha {place}"
    write_clean(tmp_path, videos, comments)
    chosen = settings(target=30, tasks=TaskSettings(tasks=(OWN,)))
    select_videos(tmp_path, chosen)
    split_videos(tmp_path, chosen)
    make_tasks(tmp_path, chosen, encoder=Words())
    audit(tmp_path, chosen, encoder=Words())
    again = Words()
    audit(tmp_path, chosen, encoder=again, redraw=True)
    report = read_report(tmp_path)
    assert report.failing == (OWN,)
    found = shares(report)
    assert found[OWN, "longest"] == 1.0 and found[OWN, "classifier"] > 0.9
    assert any(f"GUESSABLE: {OWN}, 100.0 [" in note for note in read_record(tmp_path, "audit").notes)
    assert {one.task for one in report.variant} == {OWN}
    solved = len(report.solved)
    assert solved > 10
    audit(tmp_path, chosen, encoder=Words(), drop=True)
    counts = read_record(tmp_path, "audit").counts[0]
    assert (
        counts.why == {"solved by every guesser": counts.into - (counts.out or 0)} if counts.into else False
    )
    assert set(read_report(tmp_path).dropped).isdisjoint(
        item.id for _, item in iter_items(tmp_path / "audit")
    )


def test_texts_on_both_sides_are_listed(tmp_path: Path) -> None:
    videos = [video(n) for n in range(300)]
    for one in videos:
        one["title"] = "the very same five words"
    write_clean(tmp_path, videos, [c for v in videos for c in thread(v, 8)])
    asked = settings(target=40, tasks=TaskSettings(tasks=("description",)))
    select_videos(tmp_path, asked)
    split_videos(tmp_path, asked)
    make_tasks(tmp_path, asked, encoder=Words())
    audit(tmp_path, asked, encoder=Words())
    overlaps = read_report(tmp_path).overlaps
    assert len(overlaps) == 40 and {one.field for one in overlaps} == {"title"}
    assert not any("practised" in note for note in read_record(tmp_path, "audit").notes)
    more = msgspec.structs.replace(asked, audit=AuditSettings(practice=1000, level=0.9))
    audit(tmp_path, more, encoder=Words())
    assert "with 90 % intervals" in (tmp_path / "audit" / "audit.md").read_text()
    train = read_record(tmp_path, "split").counts[-1].out
    said = f"the classifier practised on {train} videos, all there are for training; audit.practice is 1,000"
    assert said in read_record(tmp_path, "audit").notes


def item(number: int, texts: tuple[str, ...], key: int) -> MimicItem:
    options = tuple(MimicOption(text=text, video=f"p/{number}") for text in texts)
    return MimicItem(id=f"i{number}", task="title", video=f"p/{number}", options=options, key=key)


def test_the_classifier_learns_what_right_options_have_in_common() -> None:
    chance = np.random.default_rng(0)

    def made(count: int, start: int) -> list[MimicItem]:
        items = []
        for number in range(start, start + count):
            key = int(chance.integers(4))
            words = [f"{'subscribe' if p == key else 'watch'} {chance.integers(999)}" for p in range(4)]
            items.append(item(number, tuple(words), key))
        return items

    learned = OptionClassifier(made(200, 0))
    fresh = made(100, 1000)
    picked = learned.scores(fresh).argmax(axis=1)
    assert np.mean(picked == [i.key for i in fresh]) > 0.95
    assert (OptionClassifier([]).scores(fresh) == 0).all()


def test_ties_are_broken_by_chance_and_the_interval_holds_it(tmp_path: Path) -> None:
    items = [item(n, ("aaaa", "bbbb", "cccc", "dddd"), 0) for n in range(400)]
    picks = guess(items, VectorStore(tmp_path, encoder=Words()), OptionClassifier([]))
    found = {one.guesser: one for one in score_guessers(items, picks, 1, 0.95)}
    assert found["most emoji"].passes and 0.15 < found["most emoji"].share < 0.35
    assert len(find_solved(items, picks)) < 40


def test_it_says_which_step_is_missing_and_what_is_broken(tmp_path: Path) -> None:
    with pytest.raises(
        StepError, match=r"audit: .*clean is not there yet; first run: vivant build mimic clean"
    ):
        audit(tmp_path, settings())
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "audit.json").write_text("{")
    with pytest.raises(DataError, match=r"audit\.json cannot be read .* --force"):
        read_report(tmp_path)
