"""The bundled actions: enough of them, each its own, varied by seed, on firm feet, exported as they are."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.helpers import vivant
from vivant.core.errors import DataError, UsageError, VivantError
from vivant_build.mime import gallery
from vivant_build.mime.bvh import load_bvh
from vivant_build.mime.choreography import ACTIONS, perform
from vivant_build.mime.foot_sliding import SLIDING, measure_sliding
from vivant_build.mime.library import TABLE, export_motions
from vivant_build.mime.motion import Motion
from vivant_build.mime.plan import VARIANTS
from vivant_build.mime.retarget import read_bvh, retarget
from vivant_build.mime.rotation import Array
from vivant_build.mime.scenes import SCENES
from vivant_build.mime.skeleton import INDEX, STATURE, Skeleton
from vivant_build.mime.take import Variation, vary

FIXED = {"Archery001", "Bowling003", "Weightlifting001"}
"""Reached for at full stretch by everybody; their takes differ in all but amplitude."""


def _joints(motion: Motion) -> Array:
    place, _ = motion.joints(Skeleton())
    return place - place[:1, :1] * [1.0, 0.0, 1.0]


def test_there_are_sports_music_chores_and_gestures() -> None:
    assert len(ACTIONS) >= 36
    kinds = Counter(action.category for action in ACTIONS.values())
    assert set(kinds) == {"sport", "music", "chore", "daily", "gesture"} and min(kinds.values()) >= 4
    labels = [label for action in ACTIONS.values() for label in action.labels]
    assert len(set(labels)) == len(labels), "a label that two actions share has two right answers"
    for action in ACTIONS.values():
        assert action.scene in SCENES
        assert not any("|" in label or label != label.strip().lower() for label in action.labels)


@pytest.mark.parametrize("name", ACTIONS)
def test_feet_that_stand_do_not_slide(name: str) -> None:
    found = measure_sliding(perform(ACTIONS[name], 30.0))
    if name == "Bowling003":
        # A bowler's trailing foot is drawn behind the other while the ball is let go.
        assert found.foot == "Right" and found.at > 1.0
    else:
        assert found.worst <= SLIDING, f"{found.foot} foot at {found.at:.2f} s slides {found.worst:.3f} m"


@pytest.mark.parametrize("name", ACTIONS)
def test_takes_of_one_action_differ_as_people_do(name: str) -> None:
    action = ACTIONS[name]
    usual = perform(action, 15.0)
    quick = perform(action, 15.0, Variation(tempo=1.2))
    assert len(quick) == pytest.approx(len(usual) / 1.2, abs=1)
    wide = perform(action, 15.0, Variation(amplitude=1.08))
    narrow = perform(action, 15.0, Variation(amplitude=0.92))
    changed = np.abs(_joints(wide) - _joints(narrow)).max() > 0.004
    assert changed == (name not in FIXED), "amplitude changes nothing"
    hands = {vary(seed, "x", name, may_mirror=action.may_mirror).mirrored for seed in range(30)}
    assert hands == ({False, True} if action.may_mirror else {False})
    tempos = {round(vary(seed, "x", name, may_mirror=False).tempo, 6) for seed in range(10)}
    assert len(tempos) == 10


def test_a_left_hander_does_it_with_the_other_hand() -> None:
    hand = {}
    for mirrored in (False, True):
        place, _ = perform(ACTIONS["Saluting01"], 15.0, Variation(mirrored=mirrored)).joints(Skeleton())
        hand[mirrored] = {side: place[:, INDEX[f"{side}Hand"], 1].max() for side in ("Left", "Right")}
    assert hand[False]["Right"] > 1.4 > hand[False]["Left"]
    assert hand[True]["Left"] > 1.4 > hand[True]["Right"]


@pytest.mark.full
def test_exported_motions_come_back_as_they_were(tmp_path: Path) -> None:
    seen: list[str] = []
    made = export_motions(tmp_path, fps=10.0, progress=lambda n, total, _: seen.append(f"{n}/{total}"))
    assert seen[-1] == f"{len(ACTIONS)}/{len(ACTIONS)}"
    table = json.loads((tmp_path / TABLE).read_text())["motions"]
    assert [entry["name"] for entry in table] == list(ACTIONS)
    assert {path.name for path in tmp_path.iterdir()} == {TABLE, *(entry["file"] for entry in table)}
    for entry in made:
        action = ACTIONS[entry.name]
        assert (entry.labels, entry.category) == (action.labels, action.category)
        motion, again = perform(action, 10.0), read_bvh(tmp_path / entry.file)
        assert again.fps == 10.0 and len(again) == entry.frames == len(motion)
        assert np.allclose(again.rotations, motion.rotations, atol=1e-5), entry.name
        # The place on the stage may shift; the path may not change.
        assert np.ptp(again.root - motion.root, axis=0).max() < 1e-5, entry.name


def test_actors_are_exported_in_their_own_size_and_hand(tmp_path: Path) -> None:
    made = export_motions(tmp_path, actions=["Waving01", "Piano002"], actors=["j", "n"], fps=10.0, seed=3)
    assert [entry.file for entry in made] == [
        *("Waving01_j.bvh", "Waving01_n.bvh", "Piano002_j.bvh", "Piano002_n.bvh"),
    ]
    assert len({entry.stature for entry in made}) == 2 and len({entry.tempo for entry in made}) == 4
    for entry in made:
        found = retarget(load_bvh(tmp_path / entry.file), "x")
        assert found.stature == pytest.approx(100 * STATURE * entry.stature, rel=1e-3)
    first = (tmp_path / "Waving01_n.bvh").read_bytes()
    export_motions(tmp_path, actions=["Waving01"], actors=["n"], fps=10.0, seed=3)
    assert (tmp_path / "Waving01_n.bvh").read_bytes() == first
    export_motions(tmp_path, actions=["Waving01"], actors=["n"], fps=10.0, seed=4)
    assert (tmp_path / "Waving01_n.bvh").read_bytes() != first


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not from 1 to 240"):
        export_motions(tmp_path, fps=0)
    with pytest.raises(UsageError, match=r"letters or digits, not '\.\./x'"):
        export_motions(tmp_path, actors=["../x"])
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        export_motions(tmp_path / "file" / "motions")
    said = vivant("build", "mime", "motions", "--out", "m", "--actions", "Wawing01", cwd=tmp_path)
    assert said.returncode == 1
    assert "did you mean 'Waving01'?" in said.stderr and said.stderr.count("\n") == 1


def test_the_command_writes_the_chosen_ones(tmp_path: Path) -> None:
    said = vivant(
        *("build", "mime", "motions", "--out", "m", "--actions", "Flute01,Cello01", "--actors", "j"),
        *("--fps", "12"),
        cwd=tmp_path,
    )
    assert said.returncode == 0, said.stderr
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["Cello01_j.bvh", "Flute01_j.bvh", TABLE]


@pytest.mark.full
def test_the_gallery_shows_every_action_and_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "FPS", 2.0)
    monkeypatch.setattr(gallery, "_SIZE", (32, 32))
    few = {action.category: action for action in ACTIONS.values()}
    monkeypatch.setattr(gallery, "ACTIONS", {a.name: a for a in (*few.values(), ACTIONS[gallery.SHOWN])})
    monkeypatch.setattr(gallery, "VARIANTS", VARIANTS[::4])
    clips = gallery.make_gallery(tmp_path / "clips", tmp_path / "page.md")
    assert len(clips) == len(few) + 1 + len(VARIANTS[::4]) + 2
    page = (tmp_path / "page.md").read_text()
    for clip in clips:
        assert f"clips/{clip.file}" in page
        with Image.open(tmp_path / "clips" / clip.file) as picture:
            assert getattr(picture, "n_frames", 1) >= 4, "it moves"


def test_the_gallery_can_show_one_shot_by_every_renderer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "RENDERERS", ("built-in", "capsules"))
    with Image.open(gallery.draw_looks(tmp_path / "looks.png")) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    assert pixels.shape == (480, 640, 3), "two bodies by two renderers"
    assert np.abs(pixels[:, :320] - pixels[:, 320:]).mean() > 4, "they look different"
    page = gallery.format_gallery([], "clips", looks=True)
    assert "## Renderers" in page and f"clips/{gallery.LOOKS}" in page and "--looks" in page
    assert "## Renderers" not in gallery.format_gallery([], "clips")


def test_without_blender_the_gallery_of_renderers_is_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVANT_BLENDER", str(tmp_path / "none"))
    with pytest.raises(VivantError, match="none is no program"):
        gallery.make_gallery(tmp_path / "clips", looks=True)
    assert not (tmp_path / "clips").exists()


def test_the_gallery_in_the_docs_is_complete_and_small() -> None:
    docs = Path(__file__).parents[5] / "docs"
    page = (docs / "mime-gallery.md").read_text()
    assert all(f"images/mime/{name}.webp" in page for name in ACTIONS)
    shown = re.findall(r"images/mime/([\w.-]+)", page.split("## Sports")[1])
    assert sorted(shown) == sorted(path.name for path in (docs / "images" / "mime").iterdir())
    assert sum((docs / "images" / "mime" / name).stat().st_size for name in shown) < 3_000_000
