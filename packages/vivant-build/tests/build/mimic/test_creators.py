"""One creator on two platforms: linked by name, handle and profile link where asked; the proof says what it covers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vivant_build.mimic.cleaning import clean
from vivant_build.mimic.creator_links import MOST_SHARING
from vivant_build.mimic.ingestion import ingest
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import (
    AuditSettings,
    CleanSettings,
    PipelineSettings,
    SelectSettings,
    SplitSettings,
)
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.steps import StepError, read_record

CHOSEN = {
    "clean": CleanSettings(fewest_comments=1),
    "select": SelectSettings(
        target=6, top={"youtube": 1.0, "*": 0.0}, fewest_comments=1, fewest_in_language=1, giant=1.0
    ),
}


def info(number: int, platform: str, views: int, **changes: Any) -> dict[str, Any]:
    words = (
        "kiln",
        "glaze",
        "wheel",
        "clay",
        "vase",
        "teapot",
        "slip",
        "sieve",
        "bowl",
        "plate",
        "brush",
        "oven",
    )
    subject = f"{words[number % 12]} {words[number // 12 % 12]}"
    return {
        "id": f"{platform[:2]}{number:04d}", "extractor_key": platform, "view_count": views, "like_count": 3,
        "title": f"My {subject} in the morning, part {number}",
        "description": f"Here the {subject} comes out and number {number} is done",
        "comments": [{"id": f"c{number}", "parent": "root", "text": f"a lovely {subject} on day {number}"}],
    } | changes  # fmt: skip


def write(folder: Path, infos: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    for content in infos:
        (folder / f"{content['id']}.info.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Six creators at the top of one site; three of them are on the other too, by name, by handle and by link."""
    top = [
        info(
            n,
            "Youtube",
            10_000 + n,
            channel_id=f"UC{n}",
            channel=f"Maker Number {n}",
            uploader_id=f"@maker_number_{n}",
        )
        for n in range(6)
    ]
    top[2]["description"] += " https://www.tiktok.com/@quite.another/"
    rest = [
        info(20, "TikTok", 10, channel_id="MS20", uploader="makernumber0", channel="Zero Clips"),
        info(21, "TikTok", 11, channel_id="MS21", uploader="someoneelse", channel="MAKER NUMBER 1"),
        info(22, "TikTok", 12, channel_id="MS22", uploader="quite.another", channel="Third Person"),
        info(23, "TikTok", 13, channel_id="MS23", uploader="nobodyknown", channel="Fourth Person"),
        *(info(30 + n, "TikTok", n, channel_id=f"MS3{n}", channel="Official Clips") for n in range(MOST_SHARING + 2)),
    ]  # fmt: skip
    top[5]["channel"] = "Official Clips"
    return write(tmp_path / "crawl", [*top, *rest])


def build(work: Path, crawl: Path, split: SplitSettings) -> tuple[dict[str, str], dict[str, Any]]:
    chosen = PipelineSettings(**CHOSEN, split=split)  # type: ignore[arg-type]
    ingest(work, [crawl], chosen)
    clean(work, chosen)
    select_videos(work, chosen)
    split_videos(work, chosen)
    rows = pl.read_parquet(work / "split" / "videos.parquet").to_dicts()
    proof = json.loads((work / "split" / "proof.json").read_text())
    return {row["ref"].partition("/")[2]: row["why"] or row["part"] for row in rows}, proof


def test_creators_on_another_platform_leave_training(crawl: Path, tmp_path: Path) -> None:
    parts, proof = build(tmp_path / "work", crawl, SplitSettings(creators="across platforms"))
    assert [parts[f"Yo{n:04d}"] for n in range(6)] == ["bench"] * 6
    elsewhere = "its creator is in the benchmark on another platform"
    assert [parts[f"Ti00{n}"] for n in (20, 21, 22)] == [elsewhere] * 3
    assert parts["Ti0023"] == "train"
    assert {parts[f"Ti003{n}"] for n in range(5)} == {"train"}, "a name that many have links nobody"
    assert proof["creators"]["linked"] and proof["creators"]["shared"] == 0
    assert proof["creators"]["groups"] == 3
    text = (tmp_path / "work" / "split" / "proof.md").read_text()
    assert "| creators (uploaders linked across platforms) | 6 | 9 | 0 | 3 |" in text
    assert "3 have several uploaders" in text and "Accounts that share nothing are not covered" in text


def test_by_default_uploaders_count_one_by_one_and_the_proof_says_so(crawl: Path, tmp_path: Path) -> None:
    parts, proof = build(tmp_path / "work", crawl, SplitSettings())
    assert parts["Ti0020"] == parts["Ti0021"] == parts["Ti0022"] == "train"
    assert proof["creators"]["shared"] == 3 and proof["creators"]["parts"]["bench"] == 6
    text = (tmp_path / "work" / "split" / "proof.md").read_text()
    assert "3 of 6 of the benchmark seem to train under another account" in text
    assert "| creators (uploaders linked across platforms, not kept apart) | 6 | 12 | 3 | 0 |" in text
    assert "some creators with several accounts are" in text
    assert "FEW FOR TRAINING" not in text
    notes = " ".join(json.loads((tmp_path / "work" / "split" / "step.json").read_text())["notes"])
    assert (
        "FEW FOR TRAINING: 12 videos, fewer than the 4,000 the audit is to practise on (audit.practice)"
        in notes
    )
    assert "No setting that was tried on this crawl leaves 4,000" in notes
    assert "set audit.practice: 12" in notes


def test_few_for_training_names_the_linked_creators_as_one_remedy(crawl: Path, tmp_path: Path) -> None:
    across = SplitSettings(creators="across platforms")
    chosen = PipelineSettings(**CHOSEN, split=across, audit=AuditSettings(practice=12))  # type: ignore[arg-type]
    build(tmp_path / "work", crawl, across)
    split_videos(tmp_path / "work", chosen, force=True)
    (note,) = [note for note in read_record(tmp_path / "work", "split").notes if note.startswith("FEW")]
    assert "9 videos, fewer than the 12 the audit is to practise on" in note
    assert (
        "split.creators: by platform (who has accounts on several is then not kept apart) leaves 12" in note
    )


def test_names_stay_out_of_what_is_written(crawl: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "work", [crawl], PipelineSettings())
    content = pl.read_parquet(tmp_path / "work" / "ingest" / "creators.parquet")
    assert set(content["kind"]) == {"name or handle", "link to a profile"}
    flat = " ".join(content["uploader"].to_list() + content["key"].to_list())
    assert "maker" not in flat and "quite" not in flat


def test_linking_without_names_is_refused(crawl: Path, tmp_path: Path) -> None:
    build(tmp_path / "work", crawl, SplitSettings())
    (tmp_path / "work" / "ingest" / "creators.parquet").unlink()
    chosen = PipelineSettings(**CHOSEN, split=SplitSettings(creators="across platforms"))  # type: ignore[arg-type]
    with pytest.raises(StepError, match="ingest has noted no names; run ingest again"):
        split_videos(tmp_path / "work", chosen)
