"""The edition of ids: it holds nobody's words, and the benchmark can be made from it again."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.mimic_build_kit import build_all, settings, thread, video
from vivant.benchmarks.mimic import Mimic
from vivant.benchmarks.mimic.format import iter_items, iter_videos
from vivant.cli.main import app
from vivant.core.errors import DataError, VivantError
from vivant_build.mimic.ids_edition import FILE, hash_text, read_ids, video_url

STANDIN = """
import json, pathlib, shutil, sys
asked = dict(zip(sys.argv[1:], sys.argv[2:]))
platform = pathlib.Path(sys.argv[0]).parent / "platform"
out = pathlib.Path(asked["--output"]).parent.parent
for line in pathlib.Path(asked["--batch-file"]).read_text().split():
    name = line.replace("=", "/").rpartition("/")[2]
    info = platform / f"{name}.info.json"
    if not info.exists():
        print(f"ERROR: {name} is not available", flush=True)
        continue
    folder = out / json.loads(info.read_text())["extractor_key"]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(info, folder)
    shutil.copy(platform / f"{name}.mp4", folder)
"""
"""Stands in for yt-dlp: what a platform still has is copied from a folder."""


class World:
    """A published benchmark, and the platforms that its videos came from."""

    def __init__(self, root: Path) -> None:
        self.videos = [video(n) for n in range(120)]
        self.work = build_all(root, self.videos, settings(target=24))
        self.ids = self.work / "publish" / "ids" / FILE
        self.platform = root / "platform"
        self.platform.mkdir()
        script = root / "standin.py"
        script.write_text(STANDIN)
        self.command = shlex.join([sys.executable, str(script)])
        for one in self.videos:
            (self.platform / f"{one['id']}.info.json").write_text(json.dumps(info(one)))
            (self.platform / f"{one['id']}.mp4").write_bytes((root / "media" / one["file"]).read_bytes())


def info(one: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A video as yt-dlp describes it."""
    comments = [
        {"id": c["id"], "text": c["text"], "like_count": c["likes"], "parent": "root"}
        for c in thread(one, 103)
    ]
    return {
        "id": one["id"],
        "title": one["title"],
        "description": one["description"],
        "extractor_key": {"youtube": "Youtube", "tiktok": "TikTok"}[one["platform"]],
        "channel_id": one["uploader"],
        "tags": one["tags"],
        "categories": [one["category"]],
        "duration": one["duration"],
        "ext": "mp4",
        "comments": comments,
        **changes,
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("ids"))


def said(done: Any) -> str:
    return f"{done.output}{done.exception or ''}"


def get(world: World, data: Path, *flags: str, ids: Path | None = None) -> Any:
    arguments = [
        "build",
        "mimic",
        "restore",
        str(ids or world.ids),
        "--yt-dlp",
        world.command,
        *flags,
    ]
    return CliRunner().invoke(app, arguments, env={"VIVANT_DATA": str(data)})


def test_no_title_description_tag_or_comment_is_in_it(world: World) -> None:
    text = world.ids.read_text(encoding="utf-8")
    for _, line in iter_videos(world.work / "publish" / "full"):
        assert line.title not in text and line.description not in text
        assert not any(comment.text in text for comment in line.comments)
        assert line.uploader not in text
    header, videos, items = read_ids(world.ids)
    assert header.mentions == "remove" and len(videos) == 24 and len(items) == 24 * 7


def test_the_same_benchmark_comes_back(world: World, tmp_path: Path) -> None:
    done = get(world, tmp_path, "--accept-terms")
    assert done.exit_code == 0, done.output
    full = world.work / "publish" / "full"
    again = tmp_path / "mimic"
    assert [item for _, item in iter_items(again)] == [item for _, item in iter_items(full)]
    assert Mimic().data.check(Mimic(), again).problems == ()
    assert (again / "missing.jsonl").read_text() == ""


def test_what_is_gone_or_changed_is_left_out_and_counted(world: World, tmp_path: Path) -> None:
    _, asked, _ = read_ids(world.ids)
    gone, changed, quiet = asked[0].id, asked[1].id, asked[2].id
    kept = {}
    for name in (gone, changed, quiet):
        path = world.platform / f"{name}.info.json"
        kept[path] = path.read_text()
    one = {v["id"]: v for v in world.videos}
    (world.platform / f"{gone}.info.json").unlink()
    (world.platform / f"{changed}.info.json").write_text(
        json.dumps(info(one[changed], title="Another title"))
    )
    fewer = [c for c in info(one[quiet])["comments"] if c["like_count"] > 1]
    (world.platform / f"{quiet}.info.json").write_text(json.dumps(info(one[quiet], comments=fewer)))
    try:
        done = get(world, tmp_path, "--accept-terms")
    finally:
        for path, text in kept.items():
            path.write_text(text)
    assert done.exit_code == 0, done.output
    assert "23 of 24 videos" in done.output and "is not available" in done.output
    lines = (tmp_path / "mimic" / "missing.jsonl").read_text().splitlines()
    missing = Counter(json.loads(line)["reason"] for line in lines)
    assert missing["could not be fetched"] == 1 and missing["its video is gone"] == 7
    assert missing["the words of an option are gone or have changed"] >= 4
    assert Mimic().data.check(Mimic(), tmp_path / "mimic").problems == ()
    # Back on the platform, it is fetched by the same command another day.
    later = get(world, tmp_path, "--accept-terms")
    assert later.exit_code == 0 and "24 of 24 videos and 168 of 168 items" in later.output


def test_nothing_is_fetched_without_a_word_on_the_terms(world: World, tmp_path: Path) -> None:
    done = get(world, tmp_path)
    assert isinstance(done.exception, VivantError) and "--accept-terms" in said(done)
    assert not (tmp_path / "mimic" / "videos.jsonl").exists()


def test_a_dry_run_only_says(world: World, tmp_path: Path) -> None:
    done = get(world, tmp_path, "--dry-run")
    assert done.exit_code == 0 and "24 videos to fetch and 168 items" in done.output
    assert not (tmp_path / "mimic").exists()


@pytest.mark.parametrize("content", ["", "{", '{"id": "x"}\n', '{"type": "header", "format": "other"}\n'])
def test_other_files_are_refused_by_line(world: World, tmp_path: Path, content: str) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=r"ids\.jsonl"):
        read_ids(path)
    done = get(world, tmp_path, "--accept-terms", ids=path)
    assert isinstance(done.exception, VivantError)


def test_the_command_that_restores_lists_of_ids_is_named(world: World, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["data", "get", "mmrv", "--from", str(world.ids)], env={"VIVANT_DATA": str(tmp_path)}
    )
    assert isinstance(done.exception, VivantError)
    assert f"restored with: vivant build mimic restore {world.ids}" in said(done)


def test_addresses_carry_no_names() -> None:
    named = "https://www.tiktok.com/@somebody/video/7"
    assert video_url("tiktok", "7", named) == "https://www.tiktok.com/@_/video/7"
    assert video_url("elsewhere", "7", named) == ""
    assert video_url("elsewhere", "7", "https://videos.example/7") == "https://videos.example/7"


def test_the_check_knows_a_text_by_its_plain_form() -> None:
    assert hash_text("Hello,  World!") == hash_text("hello world") != hash_text("hello worlds")
