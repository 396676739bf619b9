"""The step split: the proof is checked here again by other means, over the files."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from tests.support.mimic_build_kit import settings, thread, video, write_clean
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import AuditSettings, PipelineSettings, SelectSettings, SplitSettings
from vivant_build.mimic.split import PROOF, SplitProof, split_videos
from vivant_build.mimic.steps import StepError, read_record


def run(
    work: Path, videos: list[dict[str, Any]], chosen: PipelineSettings | None = None
) -> dict[str, set[str]]:
    """Which videos are where."""
    write_clean(work, videos, [c for v in videos for c in thread(v, 8)])
    chosen = chosen or settings(target=30)
    select_videos(work, chosen)
    split_videos(work, chosen)
    parts: dict[str, set[str]] = {"bench": set(), "train": set(), "out": set()}
    for row in pl.read_parquet(work / "split" / "videos.parquet").to_dicts():
        parts[row["part"]].add(row["ref"])
    return parts


def check_disjoint(parts: dict[str, set[str]], videos: list[dict[str, Any]]) -> None:
    """By plain sets over the clean videos, without the step's own code."""
    by_ref = {v["ref"]: v for v in videos}
    assert set().union(*parts.values()) == set(by_ref)
    for what in ("ref", "uploader", "dup_group"):
        bench, train = ({by_ref[ref][what] for ref in parts[part]} for part in ("bench", "train"))
        assert not bench & train, what


def test_nothing_is_on_both_sides(tmp_path: Path) -> None:
    videos = [video(n, uploader=f"u{n % 90}", dup_group=n // 3) for n in range(600)]
    parts = run(tmp_path, videos)
    assert len(parts["bench"]) == 30 and parts["train"] and parts["out"]
    check_disjoint(parts, videos)


def test_the_proof_says_what_the_files_say(tmp_path: Path) -> None:
    videos = [video(n, uploader=f"u{n % 90}", dup_group=n // 3) for n in range(600)]
    parts = run(tmp_path, videos)
    proof = msgspec.json.decode((tmp_path / "split" / PROOF).read_bytes(), type=SplitProof)
    assert proof.holds and proof.shared == {"videos": 0, "uploaders": 0, "near-duplicate groups": 0}
    assert proof.videos == {part: len(refs) for part, refs in parts.items()}
    for part in ("bench", "train"):
        names = "\n".join(sorted(parts[part])).encode()
        assert proof.digests[part] == hashlib.sha256(names).hexdigest()
    counts = read_record(tmp_path, "split").counts[0]
    assert sum(counts.why.values()) == len(parts["out"])
    assert "Split: nothing is in both" in (tmp_path / "split" / "proof.md").read_text()


def test_half_of_the_data_by_one_uploader_is_stated(tmp_path: Path) -> None:
    videos = [video(n, **({"uploader": "giant"} if n % 2 else {})) for n in range(300)]
    parts = run(tmp_path, videos)
    check_disjoint(parts, videos)
    giant = {v["ref"] for v in videos if v["uploader"] == "giant"}
    assert giant <= parts["train"], "its videos are not lost"
    notes = read_record(tmp_path, "split").notes
    assert "uploader giant has 50.0% of all videos, all in: train" in notes


def test_unknown_uploaders_are_on_neither_side_unless_asked_for(tmp_path: Path) -> None:
    videos = [video(n, **({"uploader": ""} if n % 5 == 0 else {})) for n in range(300)]
    unknown = {v["ref"] for v in videos if not v["uploader"]}
    assert unknown <= run(tmp_path / "a", videos)["out"]
    trusting = settings(target=30, split=SplitSettings(unknown_uploaders="train"))
    assert unknown & run(tmp_path / "b", videos, trusting)["train"]
    proof = msgspec.json.decode((tmp_path / "b" / "split" / PROOF).read_bytes(), type=SplitProof)
    assert not proof.holds, "what is taken on trust is no proof"
    assert any("not proven" in note for note in read_record(tmp_path / "b", "split").notes)


def test_no_training_data_left_is_an_error(tmp_path: Path) -> None:
    videos = [video(n, uploader=f"u{n % 20}") for n in range(400)]
    every = settings(select=SelectSettings(target=60, top={"*": 1.0}, giant=1.0))
    with pytest.raises(StepError, match=r"^split: nothing is left for training.*select\.target"):
        run(tmp_path, videos, every)


def test_few_for_training_names_settings_that_do(tmp_path: Path) -> None:
    videos = [video(n, uploader=f"u{n // 15}", views=1000 * n + 1) for n in range(600)]
    alone = SelectSettings(target=30, top={"*": 1.0}, per_uploader=1)
    few = settings(select=alone, audit=AuditSettings(practice=250))
    parts = run(tmp_path / "few", videos, few)
    (note,) = [note for note in read_record(tmp_path / "few", "split").notes if note.startswith("FEW")]
    assert f"{len(parts['train'])} videos, fewer than the 250 the audit is to practise on" in note
    remedies = re.findall(r"select\.(\w+): (\d+) leaves (\d+)", note)
    assert [name for name, _, _ in remedies] == ["target", "per_uploader"]
    for name, value, left in remedies:
        changed = msgspec.structs.replace(
            few, select=msgspec.structs.replace(few.select, **{name: int(value)})
        )
        assert len(run(tmp_path / name, videos, changed)["train"]) == int(left) >= 250
        assert not any(note.startswith("FEW") for note in read_record(tmp_path / name, "split").notes)


def test_a_second_run_changes_nothing_and_a_new_selection_does(tmp_path: Path) -> None:
    videos = [video(n) for n in range(300)]
    run(tmp_path, videos)
    first = split_videos(tmp_path, settings(target=30))
    assert first.kept
    select_videos(tmp_path, settings(target=31))
    assert not split_videos(tmp_path, settings(target=31)).kept
