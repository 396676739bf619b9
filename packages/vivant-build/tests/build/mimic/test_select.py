"""The step select: a score that scale cannot sway, strata, and never fewer videos than asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.mimic_build_kit import settings, thread, video, write_clean
from vivant_build.mimic.selection import CHOSEN, select_videos
from vivant_build.mimic.settings import SelectSettings
from vivant_build.mimic.steps import StepError, read_record
from vivant_build.mimic.strata import VideoCandidate, allot_places, choose_videos


def verdicts(work: Path) -> dict[str, dict[str, Any]]:
    rows = pl.read_parquet(work / "select" / "videos.parquet", glob=False).to_dicts()
    return {row["ref"]: row for row in rows}


def run(
    work: Path, videos: list[dict[str, Any]], comments: Any = None, **changes: Any
) -> dict[str, dict[str, Any]]:
    write_clean(work, videos, [c for v in videos for c in thread(v, 8)] if comments is None else comments)
    select_videos(work, settings(select=SelectSettings(**{"target": 20, "top": {"*": 0.5}, **changes})))
    return verdicts(work)


def test_the_most_interacted_with_are_chosen_whatever_the_platforms_scale(tmp_path: Path) -> None:
    plain = [video(n) for n in range(200)]
    # The same world in which one platform counts everything a hundred times.
    scaled = [
        {**v, **{k: v[k] * 100 for k in ("views", "likes", "comment_count")}}
        if v["platform"] == "tiktok"
        else v
        for v in plain
    ]
    first, second = run(tmp_path / "a", plain), run(tmp_path / "b", scaled)
    assert {r for r in first if first[r]["verdict"] == CHOSEN} == {
        r for r in second if second[r]["verdict"] == CHOSEN
    }
    assert len([r for r in first.values() if r["verdict"] == CHOSEN]) == 20
    chosen = [r["score"] for r in first.values() if r["verdict"] == CHOSEN]
    assert min(chosen) > sorted(r["score"] for r in first.values())[99] - 0.05


def test_a_few_lucky_views_are_no_record(tmp_path: Path) -> None:
    videos = [video(n) for n in range(200)]
    videos[7] |= {"views": 4, "likes": 4, "comment_count": 4}
    found = run(tmp_path, videos)
    assert found[videos[7]["ref"]]["verdict"] != CHOSEN


def test_unknown_counts_are_left_out_of_the_mean(tmp_path: Path) -> None:
    videos = [video(n) for n in range(120)]
    videos[3] |= {"views": 10**9, "likes": None, "comment_count": 10**7}
    videos[4] |= {"views": None, "likes": None, "comment_count": None}
    found = run(tmp_path, videos)
    assert found[videos[3]["ref"]]["verdict"] == CHOSEN
    assert found[videos[4]["ref"]]["score"] is not None, "the comments that were collected count"


def test_top_shares_are_per_platform(tmp_path: Path) -> None:
    found = run(tmp_path, [video(n) for n in range(300)], target=10, top={"tiktok": 0.2, "*": 0.0})
    assert {r["platform"] for r in found.values() if r["verdict"] == CHOSEN} == {"tiktok"}
    outside = [r for r in found.values() if r["platform"] == "youtube"]
    assert {r["verdict"] for r in outside} == {"not among the top of its platform"}


def test_fewer_than_asked_for_is_an_error_that_says_what_to_change(tmp_path: Path) -> None:
    write_clean(tmp_path, [video(n) for n in range(40)])
    with pytest.raises(StepError, match=r"^select: 4,000 videos are asked for.*select\.target.*at most"):
        select_videos(tmp_path, settings(target=4000))
    assert not (tmp_path / "select").exists()


def test_the_share_that_the_line_names_does(tmp_path: Path) -> None:
    write_clean(tmp_path, [video(n) for n in range(300)])
    small = SelectSettings(target=40, top={"tiktok": 0.02, "*": 0.1})
    with pytest.raises(StepError, match=r"set select\.top to (\{.*\}), which gives them, or lower") as caught:
        select_videos(tmp_path, settings(select=small))
    named = re.search(r"select\.top to (\{.*\}),", str(caught.value))
    assert named is not None
    top = yaml.safe_load(named.group(1))
    assert top["tiktok"] > 0.02 and top["*"] > 0.1
    select_videos(tmp_path, settings(select=SelectSettings(target=40, top=top)))


def test_no_clean_videos_at_all(tmp_path: Path) -> None:
    write_clean(tmp_path, [], [])
    with pytest.raises(StepError, match="select: there are no clean videos"):
        select_videos(tmp_path, settings())


def test_without_clean_the_line_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="vivant build mimic clean"):
        select_videos(tmp_path, settings())


def test_an_uploader_with_half_of_everything_is_left_to_training(tmp_path: Path) -> None:
    videos = [video(n, **({"uploader": "giant"} if n % 2 else {})) for n in range(200)]
    found = run(tmp_path, videos)
    of_giant = {r["verdict"] for r in found.values() if r["uploader"] == "giant"}
    assert of_giant == {"its uploader is too large, left to training"}
    notes = read_record(tmp_path, "select").notes
    assert any("giant has 50.0% of all videos" in note for note in notes)


def test_each_near_duplicate_group_once_and_few_of_one_uploader(tmp_path: Path) -> None:
    videos = [video(n, dup_group=n // 4, uploader=f"u{n // 8}") for n in range(400)]
    found = run(tmp_path, videos, target=40, per_uploader=1)
    chosen = [r for r in found.values() if r["verdict"] == CHOSEN]
    assert len(chosen) == 40 == len({r["dup_group"] for r in chosen}) == len({r["uploader"] for r in chosen})


def test_what_a_video_lacks_is_the_reason(tmp_path: Path) -> None:
    videos = [
        video(n, topics=[] if n % 4 == 0 else ["x"], uploader="" if n % 4 == 1 else f"u{n}")
        for n in range(240)
    ]
    comments = [c for n, v in enumerate(videos) for c in thread(v, 1 if n % 4 == 2 else 8)]
    found = run(tmp_path, videos, comments, require=("title", "topics"))
    assert found[videos[0]["ref"]]["verdict"] == "no topics"
    assert found[videos[1]["ref"]]["verdict"] == "its uploader is not known"
    assert found[videos[2]["ref"]]["verdict"] == "too few comments"
    counts = read_record(tmp_path, "select").counts[0]
    assert counts.into is not None and counts.out == 20
    assert counts.into - counts.out == sum(counts.why.values())


def candidate(number: int, **changes: Any) -> VideoCandidate:
    fields: dict[str, Any] = {
        "ref": f"y/{number:04d}",
        "score": number / 1000,
        "uploader": f"u{number}",
        "dup_group": number,
        "category": "Food",
        "language": "en",
        "length": "15-60s",
    }
    return VideoCandidate(**{**fields, **changes})


def test_where_all_uploaders_are_too_large_a_share_that_does_is_named(tmp_path: Path) -> None:
    videos = [video(n, uploader=f"u{n % 8}") for n in range(200)]
    with pytest.raises(StepError, match=r"set select\.giant to ([\d.]+), which gives 20") as caught:
        run(tmp_path, videos)
    assert "lower select.target" not in str(caught.value)
    giant = float(str(caught.value).partition("select.giant to ")[2].partition(",")[0])
    assert CHOSEN in {row["verdict"] for row in run(tmp_path / "mended", videos, giant=giant).values()}


def test_strata_get_their_places_and_small_ones_are_not_swamped() -> None:
    pool = [candidate(n, category="Food" if n < 900 else "Craft") for n in range(1000)]
    chosen, why = choose_videos(pool, SelectSettings(target=100, balance=0.5))
    crafts = [c for c in chosen if c.category == "Craft"]
    assert len(chosen) == 100 and len(crafts) == 25, "3 to 1, for 900 to 100"
    assert {c.ref for c in crafts} == {c.ref for c in pool[975:]}, "the highest scores of the stratum"
    assert len(why) == 900
    proportional, _ = choose_videos(pool, SelectSettings(target=100, balance=1.0))
    assert sum(c.category == "Craft" for c in proportional) == 10


def test_a_category_with_one_video_keeps_it() -> None:
    pool = [candidate(n) for n in range(100)] + [candidate(500, category="Lonely")]
    chosen, _ = choose_videos(pool, SelectSettings(target=50))
    assert any(c.category == "Lonely" for c in chosen)


def test_a_language_too_small_for_wrong_options_is_left_out() -> None:
    pool = [candidate(n) for n in range(50)] + [candidate(60 + n, language="is") for n in range(3)]
    chosen, why = choose_videos(pool, SelectSettings(target=40))
    assert {c.language for c in chosen} == {"en"}
    assert why["y/0060"] == "too few in its language (is)"


@pytest.mark.parametrize("balance", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("places", [0, 1, 17, 60, 111, 500])
def test_places_are_all_dealt_out_and_never_more_than_there_are(balance: float, places: int) -> None:
    sizes = {("a", "en", "x"): 100, ("b", "en", "x"): 1, ("c", "en", "x"): 10}
    given = allot_places(sizes, places, balance)
    assert sum(given.values()) == min(places, 111)
    assert all(0 <= given[s] <= sizes[s] for s in sizes)


def test_a_platform_that_no_video_is_from_is_named(tmp_path: Path) -> None:
    videos = [video(n) for n in range(100)]
    named = r"select\.top names TikTok, but all videos are from tiktok, youtube"
    with pytest.raises(StepError, match=named):
        run(tmp_path / "a", videos, top={"TikTok": 0.5})
    run(tmp_path / "b", videos, top={"TikTok": 0.5, "*": 0.5})
    assert re.fullmatch(named, read_record(tmp_path / "b", "select").notes[-1])


def test_the_limit_that_costs_most_is_named_as_its_setting(tmp_path: Path) -> None:
    videos = [video(n, uploader="everyone") for n in range(60)]
    with pytest.raises(StepError, match=r"loosen the limit that costs most \(select\.giant\)"):
        run(tmp_path / "a", videos)
    with pytest.raises(StepError, match=r"\(select\.require\)"):
        run(tmp_path / "b", [video(n, tags=[]) for n in range(60)], require=("tags",))


def test_a_work_folder_may_have_the_letters_of_patterns_in_its_name(tmp_path: Path) -> None:
    videos = [video(n) for n in range(100)]
    odd = run(tmp_path / "crawl [1]* what?", videos)
    assert odd == run(tmp_path / "plain", videos)


def test_the_order_of_the_files_changes_nothing(tmp_path: Path) -> None:
    videos = [video(n) for n in range(150)]
    first = run(tmp_path / "a", videos)
    second = run(tmp_path / "b", videos[::-1])
    assert first == second
