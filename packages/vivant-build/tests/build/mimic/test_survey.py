"""What a crawl lacks is said before the first step, with the remedy; nothing is spent on what must stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.helpers import vivant
from vivant_build.mimic.crawl_survey import CrawlSurvey, survey_ingest, survey_sources
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.settings import PipelineSettings, SelectSettings, TaskSettings, TopicSettings


def info(number: int, comments: int = 120, **changes: Any) -> dict[str, Any]:
    """A file as yt-dlp writes it: no topics."""
    thread = [
        {
            "id": f"c{number}-{place}",
            "parent": "root",
            "text": f"says number {place} of them",
            "like_count": place,
        }
        for place in range(comments)
    ]
    return {
        "id": f"v{number:04d}", "extractor_key": "Youtube", "title": f"Bowl number {number}", "description": "Clay",
        "channel_id": f"UC{number % 50}", "tags": ["pottery"], "categories": ["Howto & Style"], "duration": 60,
        "view_count": 1000 + number, "like_count": number, "comment_count": comments, "comments": thread or None,
    } | changes  # fmt: skip


def write_crawl(folder: Path, infos: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    for content in infos:
        (folder / f"{content['id']}.info.json").write_text(json.dumps(content))
    return folder


def shares(survey: CrawlSurvey) -> dict[str, tuple[int, bool]]:
    return {f.demand.name: (round(100 * f.having / max(f.total, 1)), f.stops) for f in survey.fields}


def test_a_whole_crawl_of_yt_dlp_lacks_only_topics_which_are_made(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [info(n) for n in range(80)])
    survey = survey_sources([crawl], PipelineSettings())
    assert not survey.stops
    assert shares(survey)["topics"] == (0, False)
    assert shares(survey)["100 comments"] == (100, False)
    assert any("topics: the step topics makes them" in note for note in survey.table().notes)


def test_fewer_videos_than_the_benchmark_asks_for_are_said_and_stop_the_build(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [info(n, comments=1) for n in range(30)])
    early = survey_sources([crawl], PipelineSettings())
    assert shares(early)["videos"] == (1, False) and any(
        note.startswith("videos: ") for note in early.table().notes
    )
    ingest(tmp_path / "work", [crawl], PipelineSettings(workers=1))
    counted = survey_ingest(tmp_path / "work", PipelineSettings())
    assert "videos (30 for a benchmark of 4,000; lower select.target" in counted.explain()
    enough = survey_ingest(tmp_path / "work", PipelineSettings(select=SelectSettings(target=30)))
    assert shares(enough)["videos"] == (100, False)


@pytest.mark.parametrize(
    ("changes", "settings", "name", "remedy"),
    [
        ({"comments": 0, "comment_count": 120}, PipelineSettings(), "5 comments", "--write-comments"),
        ({"categories": None}, PipelineSettings(), "category", "leave category out of tasks.tasks"),
        ({"tags": None}, PipelineSettings(), "tags", "leave tag out of tasks.tasks"),
        ({"channel_id": None}, PipelineSettings(), "uploader", "select.uploaders: any"),
        (
            {"view_count": None, "like_count": None},
            PipelineSettings(),
            "views or likes",
            "crawl the videos' counts",
        ),
        ({}, PipelineSettings(topics=TopicSettings(make="never")), "topics", "set topics.make"),
    ],
)
def test_what_will_stop_a_step_is_named_with_its_remedy(
    changes: dict[str, Any], settings: PipelineSettings, name: str, remedy: str, tmp_path: Path
) -> None:
    crawl = write_crawl(tmp_path / "crawl", [info(n, **changes) for n in range(60)])
    survey = survey_sources([crawl], settings)
    assert name in {field.demand.name for field in survey.stops}
    assert remedy in survey.explain()


def test_a_task_that_is_not_asked_for_stops_nothing(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [info(n, comments=30) for n in range(60)])
    assert [f.demand.name for f in survey_sources([crawl], PipelineSettings()).stops] == ["100 comments"]
    without = PipelineSettings(tasks=TaskSettings(tasks=("title", "comment-match")))
    assert not survey_sources([crawl], without).stops


def test_only_the_videos_that_selection_would_choose_count(tmp_path: Path) -> None:
    """Comment popularity needs a hundred comments under the videos at the top, not under all."""
    infos = [info(n, comments=120 if n >= 160 else 10) for n in range(200)]
    crawl = write_crawl(tmp_path / "crawl", infos)
    chosen = PipelineSettings(select=SelectSettings(target=20, top={"*": 0.2}))
    survey = survey_sources([crawl], chosen)
    assert shares(survey)["100 comments"] == (20, False)
    ingest(tmp_path / "work", [crawl], chosen)
    assert shares(survey_ingest(tmp_path / "work", chosen))["100 comments"] == (20, False)


def test_a_large_table_is_read_only_at_its_beginning(tmp_path: Path) -> None:
    lines = [json.dumps(info(n, comments=2)) for n in range(3000)]
    (tmp_path / "crawl.jsonl").write_text("\n".join(lines))
    survey = survey_sources([tmp_path / "crawl.jsonl"], PipelineSettings())
    assert survey.videos == 600


def test_a_file_of_many_videos_counts_beside_many_files_of_one(tmp_path: Path) -> None:
    """Half of the crawl lies in a table without categories or comments, after 400 files that have them."""
    crawl = write_crawl(tmp_path / "crawl", [info(n, comments=6) for n in range(400)])
    table = "id,video_description,username,view_count,like_count,comment_count\n"
    rows = (f"{7301234567890123000 + n},Bowl {n} #clay,potter{n % 9},{n},{n},0\n" for n in range(400))
    (crawl / "research.csv").write_text(table + "".join(rows))
    survey = survey_sources([crawl], PipelineSettings())
    assert survey.videos == 600
    assert shares(survey)["category"] == (50, False)
    assert survey.lacking["tiktok"] == ("category", "duration", "5 comments")
    assert "tiktok: none has category, duration, 5 comments" in survey.table().notes


def test_hints_follow_the_settings(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [info(n, categories=None) for n in range(60)])
    notes = survey_sources([crawl], PipelineSettings(tasks=TaskSettings(tasks=("title",)))).table().notes
    assert "category: category is not in tasks.tasks" in notes
    assert "topics: topic is not in tasks.tasks" in notes
    assert not any("leave" in note or "makes them" in note for note in notes)


def test_all_stops_before_the_first_step(tmp_path: Path) -> None:
    write_crawl(tmp_path / "crawl", [info(n, comments=3) for n in range(60)])
    done = vivant("build", "mimic", "all", "crawl", "--work", "work", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "vivant: a later step would stop for want of 5 comments (0% of"
    )
    assert "needed for" in done.stdout
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("command", [("all", "crawl", "--work", "work"), ("check", "crawl")])
def test_a_missing_sentence_model_is_said_before_the_first_step(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_crawl(tmp_path / "crawl", [info(n) for n in range(60)])
    monkeypatch.setenv("VIVANT_MINILM", str(tmp_path / "nothing"))
    done = vivant("build", "mimic", *command, cwd=tmp_path)
    assert done.returncode == 1
    assert "needed for" in done.stdout
    assert "the step tasks would stop: VIVANT_MINILM is" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "work").exists()


def test_check_says_that_nothing_is_missing(tmp_path: Path) -> None:
    write_crawl(tmp_path / "crawl", [info(n) for n in range(60)])
    done = vivant("build", "mimic", "check", "crawl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "Nothing that the settings ask for is missing."
    neither = vivant("build", "mimic", "check", cwd=tmp_path)
    assert neither.returncode != 0 and "name the sources of a crawl, or --work WORK" in neither.stderr
