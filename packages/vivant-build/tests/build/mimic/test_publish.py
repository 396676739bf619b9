"""The steps pool, train and publish: folders that loader and trainer read, files that check out."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml

from tests.support.mimic_build_kit import Words, build_all, settings, video, with_few_planted_texts
from vivant.benchmarks.mimic import Mimic
from vivant.benchmarks.mimic.format import Comment, MimicVideo, iter_items, iter_videos
from vivant.benchmarks.mimic.names import MIMICKING, THINKING
from vivant_build.mimic.comment_pool import choose_comments
from vivant_build.mimic.data_cards import render_card
from vivant_build.mimic.ids_edition import read_ids
from vivant_build.mimic.publication import publish
from vivant_build.mimic.settings import (
    IngestSettings,
    PipelineSettings,
    PoolSettings,
    PublishSettings,
    TaskSettings,
    TrainSettings,
)
from vivant_build.mimic.steps import StepError, begin_step, read_record
from vivant_build.mimic.training_set import QA, TrainingPair, make_training_set
from vivant_build.mimic.video_records import VideoRecord

CHOSEN = settings(
    target=48,
    publish=PublishSettings(name="Kit edition", licence="cc-by-4.0", contact="kit@example.org"),
    train=TrainSettings(shard_bytes=60_000),
)


@pytest.fixture(scope="module", autouse=True)
def _few_planted_texts() -> Iterator[None]:
    with with_few_planted_texts():
        yield


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with everything in it, for 200 videos that all have files."""
    work = build_all(tmp_path_factory.mktemp("publish"), [video(n) for n in range(200)], CHOSEN)
    make_training_set(work, CHOSEN)
    return work


# ── the full edition ──


def test_the_loader_reads_it_and_the_checker_finds_nothing(work: Path) -> None:
    full = work / "publish" / "full"
    report = Mimic().data.check(Mimic(), full)
    assert report.problems == ()
    for task in THINKING:
        assert len(Mimic().load(full, task)) == 48
    assert len(Mimic().load(full, MIMICKING)) == 48


def test_checksums_hold_for_every_file(work: Path) -> None:
    for edition in ("full", "ids"):
        folder = work / "publish" / edition
        sums = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
        there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        assert set(sums) == there - {"SHA256SUMS"}
        for name, digest in sums.items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_card_and_data_sheet_say_what_is_in_it(work: Path) -> None:
    full = work / "publish" / "full"
    card, sheet = (full / "README.md").read_text(), (full / "DATASHEET.md").read_text()
    head = yaml.safe_load(card.split("---")[1])
    assert head["license"] == "cc-by-4.0" and head["language"] == ["en"]
    assert head["size_categories"] == ["n<1K"]
    assert "48 videos" in card and "kit@example.org" in card
    for words in ("not among the top of its platform", "views 1", "Uploaders are hashes", "Known limits"):
        assert words in sheet
    assert (full / "proof.json").is_file() and (full / "audit.md").is_file()


def test_the_head_of_a_card_is_yaml_whatever_name_and_languages_are(work: Path) -> None:
    named = settings(publish=PublishSettings(name='Videos: "mine"', licence="other"))
    videos = [
        msgspec.structs.replace(line, language=language)
        for (_, line), language in zip(iter_videos(work / "publish" / "full"), ("no", "en"), strict=False)
    ]
    head = yaml.safe_load(render_card(work, named, videos, []).split("---")[1])
    assert head["pretty_name"] == 'Videos: "mine"' and head["language"] == ["en", "no"]


def test_what_is_said_of_a_step_is_what_it_did_whatever_the_settings_are_now(
    work: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "work"
    shutil.copytree(work, copy)
    with begin_step(copy, "ingest", [], {"ingest": IngestSettings(mentions="hash")}, force=True):
        pass
    shutil.copyfile(work / "ingest" / "media.txt", copy / "ingest" / "media.txt")
    publish(copy, PipelineSettings(tasks=TaskSettings(description_characters=9)), force=True)
    sheet = (copy / "publish" / "full" / "DATASHEET.md").read_text()
    assert "the top 50% (*) of a platform" in sheet and "@-mentions: hashed" in sheet
    header, *_ = read_ids(copy / "publish" / "ids" / "ids.jsonl")
    assert (header.description_characters, header.mentions) == (400, "hash")


def test_missing_video_files_are_said(work: Path, tmp_path: Path) -> None:
    copy = tmp_path / "work"
    shutil.copytree(work, copy)
    (copy / "ingest" / "media.txt").write_text(f"{tmp_path}\n")
    publish(copy, CHOSEN, force=True)
    assert any("48 of 48 video files are not at hand" in note for note in read_record(copy, "publish").notes)


@pytest.mark.full
def test_a_second_run_writes_the_same_bytes(work: Path) -> None:
    sums = [work / "publish" / edition / "SHA256SUMS" for edition in ("full", "ids")]
    shards = sorted((work / "train" / "shards").iterdir())
    before = [path.read_bytes() for path in (*sums, *shards)]
    make_training_set(work, CHOSEN, force=True)
    publish(work, CHOSEN, force=True)
    assert [path.read_bytes() for path in (*sums, *shards)] == before


# ── the pool ──


def test_the_pool_has_the_five_most_liked_of_each(work: Path) -> None:
    by_ref = {line.ref: line for _, line in iter_videos(work / "tasks")}
    for _, line in iter_videos(work / "pool"):
        assert len(line.comments) == 5
        most = sorted((c.likes or 0 for c in by_ref[line.ref].comments), reverse=True)[:5]
        assert [c.likes for c in line.comments] == most


def test_what_cannot_be_shown_is_left_out_of_the_pool() -> None:
    said = [
        ("gut", "de", 9),
        ("🔥🔥", "en", 8),
        ("x" * 400, "en", 7),
        ("fine words", "en", None),
        ("good one", "en", 1),
    ]
    comments = tuple(Comment(id=str(n), text=text, likes=likes) for n, (text, _, likes) in enumerate(said))
    line = MimicVideo(platform="p", id="v", language="en", comments=comments)
    left: Counter[str] = Counter()
    kept = choose_comments(VideoRecord(line, None, "", tuple(s[1] for s in said)), PoolSettings(), left)
    assert [c.text for c in kept] == ["good one"]
    assert set(left) == {
        "in another language than its video",
        "without a word",
        "longer than 300 characters",
        "likes not known",
    }


# ── the training set ──


def test_the_training_set_is_a_folder_of_the_same_format(work: Path) -> None:
    folder = work / "train"
    assert Mimic().data.check(Mimic(), folder).problems == ()
    bench = {line.ref for _, line in iter_videos(work / "tasks")}
    trained = {line.ref for _, line in iter_videos(folder)}
    assert trained and not trained & bench
    items = Counter(item.task for _, item in iter_items(folder))
    assert set(items) == {*THINKING, MIMICKING} and items[MIMICKING] == len(trained)
    for sample in Mimic().load(folder, MIMICKING):
        assert len(sample.extra["human"]) == 5


def test_pairs_name_the_right_letter(work: Path) -> None:
    items = {item.id: item for _, item in iter_items(work / "train")}
    pairs = [
        msgspec.json.decode(line, type=TrainingPair)
        for line in (work / "train" / QA).read_bytes().splitlines()
    ]
    assert len(pairs) == len(items)
    letters: Counter[str] = Counter()
    for pair in pairs:
        if pair.task == MIMICKING:
            assert pair.answer == pair.references[0] and "Leave a comment" in pair.prompt
            continue
        item = items[pair.id]
        right = " ".join(item.options[item.key or 0].text.split())
        assert f"\n{pair.answer}. {right}\n" in pair.prompt
        letters[pair.answer] += 1
    assert set(letters) == set("ABCD") and min(letters.values()) > 0.15 * letters.total()


def test_shards_are_bounded(work: Path) -> None:
    shards = sorted((work / "train" / "shards").glob("*.tar"))
    assert len(shards) > 2
    for shard in shards:
        with tarfile.open(shard) as archive:
            names = archive.getnames()
            assert {Path(n).suffix for n in names} == {".json", ".mp4"} and len(names) % 2 == 0
            assert all(member.mtime == 0 and member.uid == 0 for member in archive)
            sizes = sum(member.size for member in archive)
        assert sizes <= 60_000 or len(names) == 2


def test_the_training_set_can_be_a_sample(work: Path, tmp_path: Path) -> None:
    copy = tmp_path / "work"
    shutil.copytree(work, copy)
    small = msgspec.structs.replace(CHOSEN, train=TrainSettings(videos=32, meaning=True))
    make_training_set(copy, small, encoder=Words())
    assert len(list(iter_videos(copy / "train"))) == 32


def test_an_edition_with_personal_data_is_refused(work: Path, tmp_path: Path) -> None:
    copy = tmp_path / "work"
    shutil.copytree(work, copy)
    report = msgspec.json.decode((copy / "publish" / "full" / "privacy.json").read_bytes())
    assert report["missed"] <= 0.01 and report["held"] == 0 and report["texts"] > 48
    path = copy / "pool" / "videos.jsonl"
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    for line in lines:
        for comment in line["comments"]:
            comment["text"] = "call me: 202-555-0143"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    with pytest.raises(StepError, match="texts to be published hold personal data"):
        publish(copy, CHOSEN, force=True)
