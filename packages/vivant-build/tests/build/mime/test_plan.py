"""Plans of MIME as files: what they say, what is refused, and what they would cost."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from tests.support.helpers import vivant
from vivant import mini
from vivant.core.errors import UsageError, VivantError
from vivant_build.mime import ACTIONS, MINI, VARIANTS, load_plan, make_character, perform, stage, write_bvh
from vivant_build.mime.clean import cut
from vivant_build.mime.edition import Edition, format_metadata, read_edition
from vivant_build.mime.estimate import estimate_render
from vivant_build.mime.jobs import load_setup, plan_jobs
from vivant_build.mime.plan import plan_shots
from vivant_build.mime.plan_file import OwnAction, Specification
from vivant_build.mime.renderers import Performance, find_renderer
from vivant_build.mime.rendering import (
    fit_length,
    load_background,
    load_body,
    render_shot,
    set_up_action,
)
from vivant_build.mime.video import read_frames

OWN = """
actions:
  - {name: Waving01, misaligned: gym, distractors: [driving a car, sawing wood, swimming]}
  - name: Juggling001
    motion: juggling.bvh
    labels: [juggling, juggling balls]
    background: circus
    misaligned: gym
    distractors: [rowing a boat, playing piano, bowling]
    actor: n
    heading: 30
avatars:
  tall: {body: woman, size: 1.1, build: 1.3, clothes: {shirt: "#c02020"}}
backgrounds:
  circus: {file: circus.png, description: a circus ring, fits: [juggling, taming lions]}
variants:
  - {avatar: man, background: misaligned}
  - {avatar: tall, background: aligned, angle: 45}
  - {avatar: man, background: street, angle: 10, name: outdoors}
width: 96
height: 64
fps: 6
"""


def write(folder: Path, text: str = OWN) -> Path:
    """A plan with the files that it names."""
    write_bvh(perform(ACTIONS["Drinking01"], 12.0), folder / "juggling.bvh")
    Image.fromarray(np.full((40, 60, 3), (200, 60, 40), np.uint8)).save(folder / "circus.png")
    file = folder / "plan.yaml"
    file.write_text(text)
    return file


def test_a_recording_that_changes_within_a_process_is_read_again(tmp_path: Path) -> None:
    action = OwnAction(
        name="Mine",
        motion="m.bvh",
        labels=("mine",),
        background="gym",
        misaligned="street",
        distractors=("a", "b", "c"),
    )
    spec = Specification(actions=(action,), seconds=0.4, fps=10.0, width=96, height=96)
    setups = []
    for time, name in enumerate(("Drinking01", "Waving01"), 1):
        write_bvh(perform(ACTIONS[name], 12.0), tmp_path / "m.bvh")
        os.utime(tmp_path / "m.bvh", (time, time))
        (job, *_) = plan_jobs(Edition(spec, tuple(stage(spec))), tmp_path, None)
        setups.append(load_setup(job))
        assert load_setup(job) is setups[-1]
    assert not np.array_equal(setups[0].motion.rotations, setups[1].motion.rotations)


def test_a_plan_of_ones_own_brings_actions_avatars_and_backgrounds(tmp_path: Path) -> None:
    spec = load_plan(write(tmp_path))
    assert [v.name for v in spec.shown] == ["base+misaligned@0", "tall+aligned@45", "outdoors"]
    waving, juggling = spec.cast
    assert waving.labels == ACTIONS["Waving01"].labels and waving.background == "street"
    assert juggling.labels == ("juggling", "juggling balls")
    # What is stated needs no model of meaning.
    shots = plan_shots(stage(msgspec.structs.replace(spec, actions=spec.actions[1:])), spec.shown)
    assert [shot.file for shot in shots] == [
        "man_n_Juggling001_angle0_gym.mp4",
        "tall_n_Juggling001_angle45_circus.mp4",
        "man_n_Juggling001_angle10_street.mp4",
    ]


def test_own_files_reach_the_frames(tmp_path: Path) -> None:
    spec = load_plan(write(tmp_path))
    (staging,) = stage(msgspec.structs.replace(spec, actions=spec.actions[1:]))
    scene = set_up_action(spec, staging, tmp_path)
    recorded = perform(ACTIONS["Drinking01"], 12.0)
    assert scene.motion.fps == 6.0 and len(scene.motion) == round(recorded.seconds * 6)
    shot = plan_shots([staging], spec.shown)[1]
    frames = list(render_shot(spec, scene, shot, find_renderer("built-in"), tmp_path))
    assert len(frames) == len(scene.motion)
    assert frames[0].shape == (64, 96, 3) and tuple(frames[0][0, 0]) == (200, 60, 40), "the picture is behind"
    red = np.mean([(f[..., 0] > 120) & (f[..., 1] < 50) & (f[..., 2] < 50) for f in frames])
    assert red > 0.005, "the shirt is red"
    usual, own = make_character("woman"), load_body(spec, "tall", 1.0, tmp_path)
    assert not isinstance(own, Path)
    assert own.skeleton.scale == pytest.approx(1.1 * usual.skeleton.scale)
    assert own.capsules[0].r1 == pytest.approx(1.1 * 1.3 * usual.capsules[0].r1)


def test_a_cross_is_every_avatar_before_every_background_from_every_angle(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "actions: [Waving01]\nvariants: {avatars: [man, woman], backgrounds: [blank, gym], angles: [0, 45]}\n",
    )
    shown = load_plan(file).shown
    assert len(shown) == 8 and {v.angle for v in shown} == {0, 45}
    assert shown[0].name == "base+blank@0" and shown[-1].name == "woman+gym@45"


def test_the_preset_is_the_papers_ten(tmp_path: Path) -> None:
    assert load_plan(write(tmp_path, "actions: [Waving01]\nvariants: mime\n")).shown == VARIANTS
    assert load_plan(Path("mini")) == MINI and MINI.shown == VARIANTS


@pytest.mark.parametrize(
    "text,message",
    [
        ("acton: [Waving01]", "Unknown field 'acton'; did you mean 'actions'"),
        ("actions: [{name: W, motin: Waving01}]", "did you mean 'motion'"),
        ("actions: [Wavin01]", "Unknown action 'Wavin01'; did you mean 'Waving01'"),
        ("actions: []", "nothing to render"),
        ("actions: [Waving01]\nvariants: []", "nothing to render"),
        ("actions: [Waving01, Waving01]", "'Waving01' stands there twice"),
        ("actions: [Waving01]\nvariants: mimi", "did you mean 'mime'"),
        ("actions: [Waving01]\nvariants: [{avatar: men}]", "Unknown avatar 'men'; did you mean 'man'"),
        ("actions: [Waving01]\nvariants: [{avatr: man}]", "did you mean 'avatar'"),
        ("actions: [Waving01]\nvariants: {backgrounds: [gymn]}", "did you mean 'gym'"),
        ("actions: [Waving01]\nvariants: [{angle: 360}]", "not from 0 to 359"),
        ("actions: [{name: X, motion: gone.bvh, labels: [x], background: gym}]", r"gone\.bvh"),
        ("actions: [{name: X, motion: juggling.bvh, background: gym}]", "no labels"),
        ("actions: [{name: X, motion: juggling.bvh, labels: [x]}]", "no background"),
        ("actions: [{name: W, motion: Waving01, labels: ['a|b']}]", r"has a \| in it"),
        ("actions: [{name: a/b, motion: Waving01}]", "letters and digits"),
        (
            "actions: [{name: W, motion: Waving01, labels: [a], distractors: [A!, b, c]}]",
            "also one of its distractors",
        ),
        ("actions: [{name: Waving01, distractors: [a]}]", "has 1 distractors; give 3, or none"),
        ("actions: [{name: Waving01, distractors: [a, b, B.]}]", "'B.' of 'Waving01' stands there twice"),
        ("actions: [{name: Waving01, distractors: [a, b, ' ']}]", "says nothing"),
        ("actions: [{name: Waving01, actor: x/../y}]", "the actor 'x/../y' of 'Waving01' should be"),
        ("actions: [{name: Waving01, heading: .nan}]", "the heading nan of 'Waving01'"),
        ("actions: [Waving01]\nwidth: 33", "even numbers"),
        ("actions: [Waving01]\ncrop: [1280, 720]", "cannot be cut"),
        ("actions: [Waving01]\nfps: 0", "fps"),
        ("actions: [Waving01]\nseconds: 0", "seconds"),
        ("actions: [Waving01]\nquality: 99", "quality"),
        ("actions: [Waving01]\neffort: mediun", "did you mean 'medium'"),
        ("actions: [Waving01]\nrenderer: cycle", "did you mean 'cycles'"),
        ("actions: [Waving01]\nactors: [a_b]", "actors"),
        ("actions: [Waving01]\navatars: {bot: {}}", "either `file:`"),
        ("actions: [Waving01]\navatars: {man: {body: man}}", "needs another name"),
        ("actions: [Waving01]\navatars: {bot: {file: gone.fbx}}", r"gone\.fbx"),
        ("actions: [Waving01]\navatars: {bot: {file: circus.png}}", "none of"),
        (
            "actions: [Waving01]\navatars: {bot: {body: man, clothes: {shrt: '#112233'}}}",
            "did you mean 'shirt'",
        ),
        ("actions: [Waving01]\navatars: {bot: {body: man, clothes: {shirt: red}}}", "not a colour"),
        ("actions: [Waving01]\nbackgrounds: {here: {file: gone.png}}", r"gone\.png"),
        ("actions: [Waving01]\nbackgrounds: {gym: {file: circus.png}}", "needs another name"),
        ("actions: [Waving01", "not YAML"),
        ("just words", "Expected `object`"),
    ],
)
def test_what_is_wrong_with_a_plan_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text + "\n")
    with pytest.raises(VivantError, match=message) as caught:
        load_plan(file)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)


def test_two_videos_of_one_name_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    same = OWN.replace("background: street, angle: 10", "background: gym")
    done = vivant("build", "mime", "plan", str(write(tmp_path, same)), cwd=tmp_path)
    assert done.returncode == 1
    assert "man_j_Waving01_angle0_gym.mp4 twice" in done.stderr and "'misaligned' and 'gym'" in done.stderr
    spec = load_plan(tmp_path / "plan.yaml")
    with pytest.raises(UsageError, match="twice"):
        plan_jobs(Edition(spec, tuple(stage(spec))), tmp_path, "built-in")
    cased = OWN.replace("name: Juggling001", "name: WAVING01").replace("actor: n", "actor: j")
    with pytest.raises(UsageError, match="rename one of the actions"):
        plan_shots(stage(load_plan(write(tmp_path, cased))), VARIANTS[:1])


def test_a_character_file_needs_blender(tmp_path: Path) -> None:
    (tmp_path / "robot.glb").write_bytes(b"glTF")
    with pytest.raises(VivantError, match="which Blender draws; set `renderer: cycles`"):
        load_plan(write(tmp_path, "actions: [Waving01]\navatars: {bot: {file: robot.glb}}\n"))
    with pytest.raises(VivantError, match="which Blender draws"):
        scene = set_up_action(MINI, stage(MINI)[0], tmp_path)
        next(
            find_renderer("built-in").layers(Performance(scene.motion, tmp_path / "robot.glb"), scene.camera)
        )


def test_videos_last_as_long_as_the_plan_says() -> None:
    motion = perform(ACTIONS["Rowing01"], 20.0)
    assert np.array_equal(fit_length(motion, 10).root, motion.root[:10])
    long = fit_length(motion, 150)
    assert len(long) == 150
    step = np.linalg.norm(np.diff(long.root, axis=0), axis=1)
    usual = np.linalg.norm(np.diff(motion.root, axis=0), axis=1).max()
    assert step.max() < 2 * usual + 0.01, "no jump where a round passes into the next"


def test_frames_are_cut_from_the_middle(tmp_path: Path) -> None:
    staging = stage(MINI)[0]
    wide = msgspec.structs.replace(MINI, width=128, height=72, crop=(64, 48), fps=2.0)
    assert wide.size == (64, 48)
    scene = set_up_action(wide, staging, tmp_path)
    shot = plan_shots([staging])[3]
    frame = next(render_shot(wide, scene, shot, find_renderer("built-in"), tmp_path))
    assert frame.shape == (48, 64, 3)
    whole = load_background(wide, shot.scene, scene.camera, tmp_path)
    middle = np.asarray(whole * 255).transpose(1, 2, 0)[:, 16:112].mean(axis=(0, 1))
    assert np.abs(frame.mean(axis=(0, 1)) - middle).max() < 20


def test_counts_are_exact_and_time_and_disk_are_estimated(tmp_path: Path) -> None:
    spec = load_plan(write(tmp_path))
    cost = estimate_render(spec, tmp_path)
    scenes = [
        set_up_action(spec, s, tmp_path)
        for s in stage(msgspec.structs.replace(spec, actions=spec.actions[1:]))
    ]
    waving = len(perform(ACTIONS["Waving01"], 6.0))
    assert cost.videos == 6
    assert abs(cost.frames - 3 * (len(scenes[0].motion) + waving)) <= 6  # tempo varies by actor
    assert cost.seconds > 0 and cost.bytes > 1000


def test_the_plan_command_shows_counts_and_refuses_in_one_line(tmp_path: Path) -> None:
    shown = vivant("build", "mime", "plan", write(tmp_path), "--preset", "mime", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for word in ("20 of 96×64", "base+blank@270", "Waving01, Juggling001", "frames", "on one core", "MB"):
        assert word in shown.stdout
    refused = vivant("build", "mime", "plan", write(tmp_path, "actions: [Wave]\n"), cwd=tmp_path)
    assert refused.returncode == 1 and refused.stderr.count("\n") == 1 and "Waving01" in refused.stderr


def test_the_plan_command_refuses_what_render_would(tmp_path: Path) -> None:
    """Two actions have too few labels for three wrong options: said before anything is drawn, by both commands."""
    few = write(tmp_path, "actions: [Waving01, Drinking01]\n")
    for command in (("plan", few), ("render", few, "--out", tmp_path / "out")):
        refused = vivant("build", "mime", *command, cwd=tmp_path)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1
        assert f"{few}: action 'Waving01' has only 0 of 3 wrong options left" in refused.stderr
    assert not (tmp_path / "out").exists()
    (tmp_path / "plan.yaml").write_text(OWN)
    (tmp_path / "juggling.bvh").write_text("HIERARCHY\nROOT\n")
    refused = vivant("build", "mime", "plan", tmp_path / "plan.yaml", cwd=tmp_path)
    assert refused.returncode == 1 and "juggling.bvh" in refused.stderr


def test_an_edition_survives_its_file() -> None:
    edition = Edition(MINI, tuple(stage(MINI)))
    assert msgspec.json.decode(msgspec.json.encode(edition), type=Edition) == edition


def test_the_mini_edition_comes_out_of_its_plan() -> None:
    """Labels and options byte for byte; a frame of some actions, in other variants each, to the eye."""
    root = mini.root("mime") or Path("missing")
    spec = load_plan(Path("mini"))
    edition = Edition(spec, tuple(stage(spec)))
    assert format_metadata(spec, edition.stagings) == (root / "metadata.jsonl").read_bytes()
    assert read_edition(root) == edition
    renderer = find_renderer(spec.renderer)
    for place, staging in enumerate(edition.stagings[:5]):
        shot = plan_shots([staging], spec.shown)[place % 10]
        scene = set_up_action(spec, staging, root)
        number = len(scene.motion) * 2 // 3
        still = replace(scene, motion=cut(scene.motion, number, number + 1))
        bundled = read_frames(root / shot.file)
        assert len(bundled) == len(scene.motion), shot.file
        (made,) = render_shot(spec, still, shot, renderer, root)
        gap = np.abs(made.astype(int) - bundled[number].astype(int))
        # What encoding costs where a scene is busy.
        assert gap.mean() < 5.0 and np.quantile(gap, 0.995) < 55, (shot.file, gap.mean())
