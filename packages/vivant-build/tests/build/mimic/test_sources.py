"""Ingest from the YouTube Data API, and by yt-dlp's own download from a server on this machine."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from vivant.core.errors import UsageError
from vivant_build.cli.mimic import app
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.ingestion.download import DownloadRequest, download
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.world.phrases import load_topics
from vivant_build.mimic.world.rendering import render_video

ALONE = PipelineSettings(workers=1)


def table(work: Path, kind: str) -> pl.DataFrame:
    return pl.read_parquet(work / "ingest" / kind / "*.parquet")


def video(name: str, **snippet: Any) -> dict[str, Any]:
    return {
        "kind": "youtube#video",
        "id": name,
        "snippet": {
            "title": "Title",
            "description": "Text",
            "channelId": "UC9",
            "channelTitle": "Somebody",
            "publishedAt": "2025-03-01T10:00:00Z",
            "categoryId": "10",
            "tags": ["a"],
            "defaultAudioLanguage": "es-419",
        }
        | snippet,
        "contentDetails": {"duration": "PT1M3S"},
        "statistics": {"viewCount": "1000", "likeCount": "10", "commentCount": "2"},
        "status": {"license": "creativeCommon"},
        "topicDetails": {"topicCategories": ["https://en.wikipedia.org/wiki/Pop_music"]},
    }


def thread(name: str, of: str, text: str, *replies: str) -> dict[str, Any]:
    def comment(own: str, body: dict[str, Any]) -> dict[str, Any]:
        shared = {"authorDisplayName": "@x", "likeCount": 4, "publishedAt": "2025-03-02T00:00:00Z"}
        return {"kind": "youtube#comment", "id": own, "snippet": shared | body}

    return {
        "kind": "youtube#commentThread",
        "id": name,
        "snippet": {"videoId": of, "topLevelComment": comment(name, {"textDisplay": text})},
        "replies": {
            "comments": [
                comment(f"{name}.{n}", {"textOriginal": reply, "parentId": name})
                for n, reply in enumerate(replies)
            ]
        },
    }


def test_answers_of_the_data_api(tmp_path: Path) -> None:
    folder = tmp_path / "api"
    folder.mkdir()
    answer = {"kind": "youtube#videoListResponse", "items": [video("v1"), video("v2"), {"id": "v3"}]}
    (folder / "videos.json").write_text(json.dumps(answer))
    threads = [
        thread("t1", "v1", "it&#39;s <b>good</b><br>really", "reply"),
        thread("t2", "v2", "plain"),
        thread("t3", "gone", "orphan"),
    ]
    (folder / "comments.jsonl").write_text(
        json.dumps({"items": threads[:2]}) + "\n{torn\n" + json.dumps({"items": threads[2:]}) + "\n"
    )
    step = ingest(tmp_path / "work", [folder], ALONE)
    row = table(tmp_path / "work", "videos").sort("id").row(0, named=True)
    assert (row["ref"], row["category"], row["language"], row["duration"]) == (
        "youtube/v1",
        "Music",
        "es",
        63.0,
    )
    assert (row["views"], row["likes"], row["licence"]) == (1000, 10, "creativeCommon")
    assert row["topics"] == ["Pop music"]
    said = table(tmp_path / "work", "comments").sort("id")
    assert said["text"].to_list() == ["it's good\nreally", "reply", "plain"]
    assert said["reply_to"].to_list() == ["", "t1", ""]
    assert step.record.counts[0].why == {"no snippet": 1, "broken line": 1}
    assert step.record.counts[1].why == {"its video was not taken in": 1}


# ── yt-dlp ──


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    site = tmp_path / "site"
    render_video(load_topics()[0], 1, site / "clip.mp4", size=(64, 48), seconds=1.0)

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(site))

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        worker = threading.Thread(target=running.serve_forever)
        worker.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        worker.join()


def test_nothing_is_fetched_without_the_terms(tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text("http://127.0.0.1:1/x\n")
    with pytest.raises(UsageError, match="--accept-terms"):
        download(DownloadRequest(urls=urls, program="/bin/false"), tmp_path / "work")
    assert not (tmp_path / "work").exists()
    asked = DownloadRequest(urls=tmp_path / "missing.txt", accept_terms=True)
    with pytest.raises(UsageError, match=r"list of addresses .* is not there"):
        download(asked, tmp_path / "work")


def test_yt_dlp_fetches_and_what_it_leaves_is_taken_in(
    tmp_path: Path, server: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("yt_dlp")
    urls = tmp_path / "urls.txt"
    urls.write_text(f"{server}/clip.mp4\n{server}/missing.mp4\n")
    caplog.set_level("INFO", "vivant")
    asked = DownloadRequest(urls=urls, accept_terms=True, pause=0.0)
    folder = download(asked, tmp_path / "work")
    assert any("missing" in line or "404" in line for line in caplog.messages)
    ingest(tmp_path / "work", [folder], ALONE)
    row = table(tmp_path / "work", "videos").row(0, named=True)
    assert (row["platform"], row["id"]) == ("generic", "clip")
    assert (folder / row["file"]).stat().st_size > 0
    assert "generic clip" in (tmp_path / "work" / "downloaded.txt").read_text()


STAND_IN = """
import json, sys
options = sys.argv[1:]
out = options[options.index("--output") + 1]
json.dump(options, open(sys.argv[0] + ".log", "w"))
"""


def test_the_user_s_limits_reach_yt_dlp(tmp_path: Path) -> None:
    program = tmp_path / "stand_in.py"
    program.write_text(STAND_IN)
    urls, cookies = tmp_path / "urls.txt", tmp_path / "cookies.txt"
    urls.write_text("")
    cookies.write_text("")
    asked = DownloadRequest(
        urls=urls,
        accept_terms=True,
        rate="300K",
        pause=7,
        cookies=cookies,
        archive=tmp_path / "had.txt",
        comments=50,
        program=f"{sys.executable} {program}",
    )
    download(asked, tmp_path / "work")
    options = json.loads((tmp_path / "stand_in.py.log").read_text())

    def value(name: str) -> str:
        return str(options[options.index(name) + 1])

    assert value("--limit-rate") == "300K"
    assert value("--sleep-interval") == "7"
    assert value("--cookies") == str(cookies)
    assert value("--download-archive") == str(tmp_path / "had.txt")
    assert value("--batch-file") == str(urls)
    assert "max_comments=50" in value("--extractor-args")
    assert "--write-info-json" in options
    with pytest.raises(UsageError, match="Cannot start"):
        download(DownloadRequest(urls=urls, accept_terms=True, program="/nowhere/yt-dlp"), tmp_path / "work")


# ── the commands ──


def test_commands_from_world_to_clean(tmp_path: Path) -> None:
    runner = CliRunner()
    made = runner.invoke(
        app, ["world", "--out", str(tmp_path / "crawl"), "--videos", "60", "--broken", "0.1"]
    )
    assert made.exit_code == 0, made.output
    again = runner.invoke(app, ["world", "--out", str(tmp_path / "crawl"), "--videos", "9"])
    assert again.exit_code == 1
    assert "is not empty; choose another folder" in str(again.exception)
    work = ["--work", str(tmp_path / "work")]
    taken = runner.invoke(app, ["ingest", str(tmp_path / "crawl"), *work])
    assert taken.exit_code == 0, taken.output
    assert "cut off" in taken.output
    cleaned = runner.invoke(app, ["clean", *work])
    assert cleaned.exit_code == 0, cleaned.output
    again = runner.invoke(app, ["clean", *work])
    assert "nothing has changed" in again.output
    for wrong in (
        ["world"],
        ["world", *work, "--out", "x"],
        ["world", *work, "--render", "3"],
        ["ingest", *work],
    ):
        refused = runner.invoke(app, wrong)
        assert isinstance(refused.exception, UsageError)


def test_misspelt_settings_are_refused(tmp_path: Path) -> None:
    from vivant.core.errors import DataError
    from vivant_build.mimic.settings import read_settings

    file = tmp_path / "settings.yaml"
    file.write_text("clean: {fewest_coments: 3}\n")
    with pytest.raises(DataError, match="fewest_coments"):
        read_settings(file)
    file.write_text("memory: 3GB\nclean: {fewest_comments: 3}\n")
    assert read_settings(file).clean.fewest_comments == 3
