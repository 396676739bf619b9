"""The bundled mini-edition of MIME: whole, rebuildable, fair in its options, a person in every picture."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from minis.mime import main
from tests.support.quick_params import mark_most_full
from tests.support.rebuilt_video import assert_rebuilt
from vivant import mini
from vivant.benchmarks.mime import Mime
from vivant.benchmarks.mime import names as mime_names
from vivant.core.errors import DataError, UsageError
from vivant.metrics.similarity import load_encoder
from vivant_build.mime import (
    MINI,
    SCENES,
    VARIANTS,
    Specification,
    build,
    draw_background,
    make_character,
    perform,
    stage,
)
from vivant_build.mime.choreography import find_action
from vivant_build.mime.edition import Edition, format_metadata, plan_document
from vivant_build.mime.jobs import do_job, plan_jobs
from vivant_build.mime.plan import Staging, plan_shots
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.render_index import RenderedVideo
from vivant_build.mime.rendering import choose_variation
from vivant_build.mime.semantic_choice import TOO_CLOSE, Similarities, choose_distractors, choose_misaligned
from vivant_build.mime.video import frame_motion, read_frames

COLUMNS = [
    *("action", "angle", "avatar", "background_config", "background_name", "distractors", "label"),
    *("sample_id", "s3_url", "type", "split", "file_name", "config_name"),
]
ROOT = mini.root("mime") or Path("missing")


@cache
def stagings() -> tuple[Staging, ...]:
    return tuple(stage(MINI))


@cache
def rows() -> tuple[dict[str, str], ...]:
    return tuple(json.loads(line) for line in (ROOT / "metadata.jsonl").read_text().splitlines())


@cache
def video(name: str) -> tuple[Picture, ...]:
    return tuple(read_frames(ROOT / name))


def test_metadata_and_plan_are_rebuilt_byte_for_byte() -> None:
    decided = list(stagings())
    assert format_metadata(MINI, decided) == (ROOT / "metadata.jsonl").read_bytes()
    assert plan_document(MINI, decided) == (ROOT / "plan.json").read_bytes()


def test_it_is_small_enough_to_be_bundled_and_holds_nothing_else() -> None:
    files = {path.name for path in ROOT.iterdir()}
    assert files == {row["file_name"] for row in rows()} | {"metadata.jsonl", "plan.json", "README.md"}
    assert sum(path.stat().st_size for path in ROOT.iterdir()) < 4_000_000


def test_metadata_looks_like_the_released_one() -> None:
    assert len(rows()) == len(MINI.actions) * 10 >= 150
    assert {"Soccer003", "Fishing001", "Violin002"} < {row["action"] for row in rows()}
    for row in rows():
        assert list(row) == COLUMNS
        assert all(isinstance(value, str) for value in row.values())
        assert row["sample_id"] == hashlib.sha256(row["file_name"].encode()).hexdigest()[:8]
        parts = row["avatar"], row["action"], f"angle{row['angle']}", row["background_name"]
        assert row["file_name"] in {f"{parts[0]}_{a}_{parts[1]}_{parts[2]}_{parts[3]}.mp4" for a in "jn"}
    assert len({row["sample_id"] for row in rows()}) == len(rows())
    counts = Counter(row["config_name"] for row in rows())
    assert counts == dict.fromkeys(mime_names.VARIANTS, len(MINI.actions))
    assert any("|" in row["label"] for row in rows()) and not all("|" in row["label"] for row in rows())


def test_the_loader_reads_it_as_it_reads_the_original() -> None:
    benchmark = Mime()
    samples = benchmark.load(ROOT, "mime/mcq")
    assert len(samples) == len(rows())
    assert {sample.facets["variant"] for sample in samples} == {variant.name for variant in VARIANTS}
    assert all(len(sample.options) == 4 for sample in samples)
    kept = [sample for sample in samples if benchmark.keep(sample, "few-shot")]
    assert len(kept) == len(rows()) - 30


def test_no_wrong_option_is_near_a_right_answer() -> None:
    near = Similarities(load_encoder(), [text for s in stagings() for text in (*s.labels, *s.distractors)])
    every = {label for s in stagings() for label in s.labels}
    for staging in stagings():
        assert len(set(staging.distractors)) == 3 and set(staging.distractors) <= every - set(staging.labels)
        assert near.best(staging.labels, staging.distractors) < TOO_CLOSE
        for one, other in itertools.combinations(staging.distractors, 2):
            assert near.best([one], [other]) < TOO_CLOSE, (
                "two options that mean one thing give themselves away"
            )


def test_the_misaligned_background_fits_another_action() -> None:
    fits = {s.action: s.aligned for s in stagings()}
    for staging in stagings():
        assert staging.misaligned != staging.aligned
        assert staging.misaligned in fits.values()
    assert len({s.misaligned for s in stagings()}) >= 5
    chosen = {s.action: s.misaligned for s in stagings()}
    assert chosen["Swimming001"] not in {"lake_shore", "fishing_pier"}, "people swim there as well"
    assert {chosen[name] for name in ("Piano002", "PlayingAGuitar002", "Violin002")}.isdisjoint(
        {"living_room"}
    )


class Words:
    """An encoder for tests: texts that share words are near."""

    def encode(self, texts: list[str] | tuple[str, ...]) -> NDArray[np.float32]:
        known = sorted({word for text in texts for word in text.split()})
        array = np.array([[word in text.split() for word in known] for text in texts], np.float32)
        return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


LABELS = {
    "A": ("playing red piano", "piano"),
    "B": ("playing red drums",),
    "C": ("red fox",),
    "D": ("blue sky",),
    "E": ("green sea", "wide sea"),
    "F": ("old tree",),
}


def _near() -> Similarities:
    texts = [label for group in LABELS.values() for label in group] + ["hall", "field", "shore"]
    return Similarities(Words(), texts)  # type: ignore[arg-type]


def test_near_labels_are_dropped_first_and_the_draw_is_seeded_by_the_action() -> None:
    for seed in range(30):
        chosen = choose_distractors("A", LABELS, _near(), seed=seed, drop=2)
        assert "playing red drums" not in chosen, "too close in meaning"
        assert "red fox" not in chosen, "one of the two nearest"
        assert not {"green sea", "wide sea"} <= set(chosen), "both are names of one action"
    draws = {choose_distractors("A", LABELS, _near(), seed=seed, drop=0) for seed in range(30)}
    assert len(draws) > 3
    # Neither the order of actions nor what is drawn for others changes a draw.
    turned = dict(reversed(LABELS.items()))
    assert choose_distractors("A", turned, _near(), seed=7, drop=1) == choose_distractors(
        "A", LABELS, _near(), seed=7, drop=1
    )


def test_too_few_labels_are_reported() -> None:
    with pytest.raises(DataError, match="'A' has only 2 of 3 wrong options left"):
        choose_distractors("A", LABELS, _near(), seed=0, drop=4)
    with pytest.raises(DataError, match="all backgrounds fit action 'A'"):
        choose_misaligned("A", LABELS, dict.fromkeys(LABELS, "hall"), {"hall": ("hall",)}, _near(), seed=0)


def test_a_plan_without_videos_is_refused() -> None:
    with pytest.raises(UsageError, match="no videos"):
        plan_shots([])


@pytest.mark.parametrize("action", mark_most_full(MINI.actions, len(MINI.actions)))
def test_every_video_decodes_and_shows_a_person_before_its_background(action: str) -> None:
    staging = next(s for s in stagings() if s.action == action)
    variation = choose_variation(MINI, staging)
    motion = perform(find_action(action), MINI.fps, variation)
    camera = frame_motion(make_character("man", variation.stature).pose(motion), (MINI.width, MINI.height))
    seen: dict[str, NDArray[np.int16]] = {}
    for row in (row for row in rows() if row["action"] == action):
        frames = video(row["file_name"])
        assert len(frames) == len(motion)
        assert frames[0].shape == (MINI.height, MINI.width, 3)
        view = replace(camera, angle=float(row["angle"]))
        empty = draw_background(row["background_name"], view, flat=True)
        backdrop = np.rint(empty * 255).astype(np.int16).transpose(1, 2, 0)
        middle = frames[len(frames) // 2].astype(np.int16)
        body = np.abs(middle - backdrop).max(axis=-1) > 40
        assert 0.02 < body.mean() < 0.4, f"{row['file_name']}: {body.mean():.3f} of the picture is a person"
        ys, xs = np.nonzero(body)
        assert abs(np.median(xs) / MINI.width - 0.5) < 0.3 and 0.2 < np.median(ys) / MINI.height < 0.85
        assert np.abs(middle[:8] - backdrop[:8]).mean() < 12, "the background is the one stated"
        moved = np.abs(frames[0].astype(np.int16) - middle).max(axis=-1) > 40
        assert moved.mean() > 0.003, f"{row['file_name']} stands still"
        seen[row["config_name"]] = middle
    assert len(seen) == 10
    for one, other in itertools.combinations(seen, 2):
        assert np.mean(np.abs(seen[one] - seen[other]).max(axis=-1) > 40) > 0.01, (
            f"{one} and {other} look alike"
        )
    video.cache_clear()


@pytest.mark.full
@pytest.mark.parametrize(
    "action,variant",
    [("Sweeping01", "base+blank@0"), ("Archery001", "adversarial+aligned@0")],
)
def test_a_video_made_again_is_the_bundled_one(action: str, variant: str, tmp_path: Path) -> None:
    staging = next(staging for staging in stagings() if staging.action == action)
    (job,) = (
        job for job in plan_jobs(Edition(MINI, (staging,)), ROOT, "capsules") if job.shot.variant == variant
    )
    made = do_job(job, tmp_path)
    assert isinstance(made, RenderedVideo), made
    assert_rebuilt(tmp_path / made.file, ROOT / made.file)


def test_an_edition_of_ones_own_is_built_whole(tmp_path: Path) -> None:
    spec = Specification(
        actions=("Waving01", "Drinking01", "Hammering01", "TennisServe001"),
        actors=("x",),
        drop=0,
        width=64,
        height=48,
        fps=4.0,
        effort="ultrafast",
        variants=VARIANTS[:3],
    )
    done: list[str] = []
    metadata = build(spec, tmp_path / "own", lambda n, total, name: done.append(f"{n}/{total} {name}"))
    assert len(done) == 12 and done[-1].startswith("12/12 ")
    lines = [json.loads(line) for line in metadata.read_text().splitlines()]
    assert all((tmp_path / "own" / line["file_name"]).is_file() for line in lines)
    plan = msgspec.json.decode((tmp_path / "own" / "plan.json").read_bytes())
    assert msgspec.convert(plan["specification"], Specification) == spec
    assert len(read_frames(tmp_path / "own" / lines[7]["file_name"])) in range(8, 13)
    assert "Waving01" in (tmp_path / "own" / "README.md").read_text()
    assert {line["background_name"] for line in lines} <= {"blank", *SCENES}


def test_a_folder_that_cannot_be_written_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main([str(tmp_path / "file" / "mini")]) == 1
    message = capsys.readouterr().err
    assert "cannot be written" in message and message.count("\n") == 1
    assert main([]) == 2
