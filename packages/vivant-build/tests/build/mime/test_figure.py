"""The built-in look: bodies modelled, dressed, skinned, scanned, lit; and scenes that look photographed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from tests.support.quick_params import mark_most_full
from vivant.core.errors import DataError, UsageError
from vivant_build.mime import (
    ACTIONS,
    CHARACTERS,
    SCENES,
    Camera,
    Character,
    Motion,
    Performance,
    draw_background,
    find_renderer,
    make_character,
    perform,
)
from vivant_build.mime.clean import cut
from vivant_build.mime.figure.body import Build
from vivant_build.mime.figure.dress import Outfit, dress
from vivant_build.mime.figure.layer import FigureLayer
from vivant_build.mime.figure.mesh import ball
from vivant_build.mime.figure.painter import FigurePainter
from vivant_build.mime.figure.scan import EMPTY, Triangles, scan
from vivant_build.mime.figure.skin import Skin, bind, bone_transforms, pose, rest_joints
from vivant_build.mime.figure.texture import plain
from vivant_build.mime.motion_sheet import draw_motion_sheet
from vivant_build.mime.rasterizer import Picture, to_picture
from vivant_build.mime.renderers import DrawnFrame
from vivant_build.mime.skeleton import INDEX, JOINTS
from vivant_build.mime.video import frame_motion

SMALL = (160, 120)


def still(action: str = "Archery001", share: float = 0.5) -> Motion:
    motion = perform(ACTIONS[action], 10.0)
    place = int(share * (len(motion) - 1))
    return cut(motion, place, place + 1)


def model(body: Character) -> Skin:
    assert body.figure is not None
    return bind(dress(body.figure, rest_joints(body.skeleton)))


def draw(body: Character, motion: Motion, camera: Camera, renderer: str = "built-in") -> DrawnFrame:
    return next(iter(find_renderer(renderer).layers(Performance(motion, body), camera)))


def alone(body: Character, motion: Motion, camera: Camera, renderer: str = "built-in") -> Picture:
    return draw(body, motion, camera, renderer).alone(camera.width, camera.height)


def test_scanning_agrees_with_asking_every_triangle_about_every_sample() -> None:
    generator = np.random.default_rng(3)
    x, y = (generator.uniform(-6, 46, (3, 60)).astype(np.float32) for _ in range(2))
    depth = np.broadcast_to(generator.uniform(2, 5, 60), (3, 60)) + generator.uniform(0, 0.2, (3, 60))
    window = (3, 2, 40, 37)
    nearest = scan(Triangles(x, y, depth.astype(np.float32)), window)
    columns, rows = np.meshgrid(np.arange(3, 40) + 0.5, np.arange(2, 37) + 0.5)
    best = np.full(columns.shape, np.inf)
    owner = np.full(columns.shape, -1)
    unsure = np.zeros(columns.shape, bool)
    for n in range(60):
        corners = np.stack([x[:, n], y[:, n], np.ones(3)])
        if abs(np.linalg.det(corners)) < 1e-3:
            continue
        shares = np.linalg.solve(corners, np.stack([columns, rows, np.ones_like(rows)]).reshape(3, -1))
        inside = shares.min(axis=0).reshape(rows.shape)
        here = (depth[:, n] @ shares).reshape(rows.shape)
        unsure |= (np.abs(inside) < 1e-3) | ((inside > 0) & (np.abs(here - best) < 1e-3))
        nearer = (inside > 0) & (here < best)
        best[nearer], owner[nearer] = here[nearer], n
    found = np.where(nearest.keys == EMPTY, -1, nearest.keys & (2**nearest.bits - 1))
    assert (~unsure).mean() > 0.9 and (owner >= 0).mean() > 0.5
    assert np.array_equal(found[~unsure], owner[~unsure])


def test_scanning_nothing_and_what_is_outside_leaves_the_window_empty() -> None:
    nothing = np.zeros((3, 0), np.float32)
    assert (scan(Triangles(nothing, nothing, nothing), (0, 0, 4, 4)).keys == EMPTY).all()
    away = np.array([[100.0], [110.0], [100.0]], np.float32)
    assert (scan(Triangles(away, away[::-1], away), (0, 0, 4, 4)).keys == EMPTY).all()


@pytest.mark.parametrize("name", mark_most_full(CHARACTERS, 4))
def test_a_dressed_body_fills_the_place_of_its_capsules_and_casts_a_shadow(name: str) -> None:
    body, motion = make_character(name), still()
    camera = frame_motion(body.pose(motion), SMALL)
    for angle in (0.0, 90.0, 180.0, 270.0):
        view = replace(camera, angle=angle)
        frame = alone(body, motion, view)
        solid, plain = (alone(body, motion, view, look)[..., 3] > 250 for look in ("built-in", "capsules"))
        assert (solid & plain).sum() / (solid | plain).sum() > 0.6, f"{name} at {angle}° is elsewhere"
        assert not solid[0].any() and not solid[:, 0].any() and not solid[:, -1].any() and not solid[-1].any()
        shadow = (frame[..., 3] > 20) & (frame[..., 3] < 200) & (frame[..., :3].max(axis=-1) == 0)
        assert shadow.sum() > 60
        assert np.flatnonzero(shadow.any(axis=1)).min() > view.horizon


def test_a_body_is_closed_and_every_corner_follows_some_bone() -> None:
    for name in CHARACTERS:
        skin = model(make_character(name))
        assert np.allclose(skin.weights.sum(axis=0), 1.0, atol=1e-5)
        assert np.isfinite(skin.points).all() and np.isfinite(skin.normals).all()
        assert skin.faces.max() < skin.points.shape[1]
        rows, columns = skin.atlas.shape[:2]
        assert skin.spots.min() >= 0 and skin.spots[0].max() < columns and skin.spots[1].max() < rows
        assert 1.2 < skin.areas.sum() < 6.0, "square metres of surface"
        # What the lofts enclose is positive: no piece is turned inside out.
        a, b, c = (skin.points[:, skin.faces[n]].T.astype(float) for n in range(3))
        assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 > 0.03


def test_at_rest_nothing_moves_and_a_bent_elbow_moves_the_forearm_alone() -> None:
    body = make_character("man")
    skin = model(body)
    rest = Motion(
        "rest",
        1.0,
        body.skeleton.offsets[:1] / body.skeleton.scale,
        np.eye(3)[None, None].repeat(len(JOINTS), 1),
    )
    bones = bone_transforms(rest, body.skeleton)[0]
    points, normals = pose(skin, bones)
    assert np.allclose(points, skin.points, atol=1e-5) and np.allclose(normals, skin.normals, atol=1e-5)
    turn = rest.rotations.copy()
    turn[0, INDEX["LeftForeArm"]] = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
    bent, _ = pose(skin, bone_transforms(replace(rest, rotations=turn), body.skeleton)[0])
    joints = rest_joints(body.skeleton)
    moved = np.linalg.norm(bent - points, axis=0) > 1e-4
    assert moved[points[0] > joints["LeftForeArm"][0] + 0.1].all()
    assert not moved[points[0] < joints["LeftForeArm"][0] - 0.1].any()


def test_fingers_bend_twice() -> None:
    body = make_character("man")
    skin = model(body)
    turn = np.eye(3)[None, None].repeat(len(JOINTS), 1)
    turn[0, INDEX["LeftFingers"]] = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
    fist = Motion("fist", 1.0, body.skeleton.offsets[:1] / body.skeleton.scale, turn)
    points, _ = pose(skin, bone_transforms(fist, body.skeleton)[0])
    knuckles = rest_joints(body.skeleton)["LeftFingers"]
    tip = points[:, np.argmax(skin.points[0])]
    assert tip[0] < knuckles[0], "the finger-tips point back to the wrist"


def test_the_same_frame_is_the_same_picture_and_the_model_is_made_once() -> None:
    body, motion = make_character("woman"), still("Boxing001")
    camera = frame_motion(body.pose(motion), SMALL)
    first = alone(body, motion, camera)
    assert np.array_equal(first, alone(make_character("woman"), motion, camera))
    fresh = FigurePainter(camera, model(body)).paint(bone_transforms(motion, body.skeleton)[0])
    assert np.array_equal(first, fresh.alone(*SMALL))


@pytest.mark.parametrize("name", mark_most_full(["man", "heavyweight"], 2))
def test_an_outline_covers_as_much_of_a_pixel_as_in_a_picture_eight_times_as_fine(name: str) -> None:
    body, motion = make_character(name), still("Boxing001", 0.4)
    camera = replace(frame_motion(body.pose(motion), (320, 240)), angle=30.0)
    fine = alone(body, motion, replace(camera, width=2560, height=1920))[..., 3] / 255
    # Above the shadow, alpha is the body's.
    above = slice(0, int(camera.horizon) + 60)
    exact = fine.reshape(240, 8, 320, 8).mean(axis=(1, 3))[above]
    off = np.abs(alone(body, motion, camera)[above, :, 3] / 255 - exact)
    edges = (exact > 0.05) & (exact < 0.95)
    assert edges.sum() > 200
    assert off[edges].mean() < 0.05, "with all or nothing it is 0.26, with four samples 0.09"
    assert off[~edges].mean() < 0.001


def test_an_outline_before_another_part_of_the_body_is_soft_too() -> None:
    motion = still("Boxing001", 0.3)
    body = make_character("man", clothes={"shirt": (250, 250, 250)})
    camera = Camera(width=320, height=240, distance=3.4)
    layer = draw(body, motion, camera)
    assert isinstance(layer, FigureLayer)
    # Both pixels of some pairs show the body: an arm before the trunk.
    within = np.isin(layer.outline.pixels, layer.pixels) & np.isin(layer.outline.neighbours, layer.pixels)
    assert within.sum() > 20
    assert (layer.outline.shares <= 128).all()


def test_a_body_looks_the_same_over_a_background_and_alone() -> None:
    body, motion = make_character("woman"), still("Boxing001")
    camera = frame_motion(body.pose(motion), SMALL)
    layer = draw(body, motion, camera)
    grey = np.full((3, SMALL[1], SMALL[0]), 0.6, np.float32)
    frame = layer.alone(*SMALL).astype(float)
    mixed = frame[..., :3] * frame[..., 3:] / 255 + 153 * (1 - frame[..., 3:] / 255)
    assert np.abs(layer.over(grey, to_picture(grey)) - mixed).max() < 3


def test_edges_join_the_faces_of_a_piece_across_its_seam() -> None:
    skin = bind([(ball(np.array([0.0, 1.0, 0.0]), (0.1, 0.2, 0.3), {"Head": 1.0}), plain((1, 2, 3)))])
    count = skin.faces.shape[1]
    # Euler: a closed surface of triangles has three edges for two faces, each between two of them.
    assert skin.edges.shape[1] == 3 * count // 2
    assert skin.edges[2:].max() < count and (skin.edges[2] != skin.edges[3]).all()


def test_clothes_and_build_change_the_body() -> None:
    motion = still("Waving01")
    camera = frame_motion(make_character("man").pose(motion), SMALL)
    usual = alone(make_character("man"), motion, camera)
    green = alone(make_character("man", clothes={"shirt": (20, 200, 40)}), motion, camera)
    changed = np.abs(usual.astype(int) - green.astype(int))[..., :3].max(axis=-1) > 30
    assert 0.01 < changed.mean() < 0.2
    assert (green[changed][:, 1] > green[changed][:, 0]).mean() > 0.95
    stout = alone(make_character("man", build=1.4), motion, camera)
    assert (stout[..., 3] > 250).sum() > 1.12 * (usual[..., 3] > 250).sum()


def test_a_body_partly_or_wholly_outside_the_picture_is_cut_at_its_edge() -> None:
    body, motion = make_character("man"), still()
    aside = Camera(target=(40.0, 0.9, 0.0), width=SMALL[0], height=SMALL[1])
    assert draw(body, motion, aside).solid == 0
    # A narrower picture with the same focal length is the middle of a wider one; only its border may differ.
    wide = Camera(width=160, height=120, distance=2.4)
    whole, part = (draw(body, motion, replace(wide, width=width)).alone(width, 120) for width in (160, 40))
    assert (part[:, 0, 3] > 250).any() and (part[:, -1, 3] > 250).any()
    off = np.abs(part[:, 1:-1].astype(int) - whole[:, 61:99]).max(axis=-1)
    assert (off > 3).mean() < 0.01


@pytest.mark.parametrize("distance", [1.2, 0.6, 0.1])
def test_a_body_close_to_the_camera_or_around_it_is_drawn_as_far_as_it_is_before_it(distance: float) -> None:
    body, motion = make_character("man"), still()
    layer = draw(body, motion, Camera(distance=distance, width=SMALL[0], height=SMALL[1]))
    assert layer.alone(*SMALL).shape == (120, 160, 4)
    if distance > 1:
        assert layer.solid > 0.2 * 160 * 120


def test_a_jump_leaves_its_shadow_on_the_floor_and_makes_it_fainter() -> None:
    body, motion = make_character("man"), still()
    camera = Camera(width=SMALL[0], height=SMALL[1], distance=7.0)
    high = replace(motion, root=motion.root + np.array([0.0, 0.9, 0.0]))
    darkest = []
    for moment in (motion, high):
        frame = alone(body, moment, camera)
        shade = np.where(frame[..., :3].max(axis=-1) < 8, frame[..., 3], 0)
        assert np.flatnonzero((shade > 12).any(axis=1)).min() > camera.horizon
        darkest.append(int(shade[shade < 240].max()))
    assert darkest[1] < 0.8 * darkest[0]


def test_a_character_of_ones_own_without_a_figure_is_drawn_as_capsules() -> None:
    body, motion = make_character("man"), still()
    camera = frame_motion(body.pose(motion), SMALL)
    bare = replace(body, figure=None)
    assert np.array_equal(alone(bare, motion, camera), alone(body, motion, camera, "capsules"))


def test_outfits_name_what_they_cannot_have() -> None:
    with pytest.raises(UsageError, match="'striped'"):
        Outfit(pattern="stripped")
    with pytest.raises(UsageError, match="'short'"):
        msgspec.convert({"hair": ["shorts"]}, Outfit)
    figure = make_character("man").figure
    assert figure is not None
    with pytest.raises(DataError, match="'cape'"):
        figure.colour("cape")


def test_a_ball_is_as_large_as_it_says() -> None:
    mesh = ball(np.array([0.0, 1.0, 0.0]), (0.1, 0.2, 0.3), {"Head": 1.0}, around=24, rings=15)
    assert np.allclose(np.ptp(mesh.points, axis=0) / 2, [0.1, 0.2, 0.3], rtol=0.06)
    assert ((mesh.points - [0.0, 1.0, 0.0]) * mesh.normals).sum(axis=1).min() > 0
    assert Build().size == 1.0


def test_the_plain_look_keeps_the_name_that_its_videos_bear() -> None:
    assert find_renderer("capsules").identity == "built-in 1"
    assert find_renderer("built-in").identity == "built-in 3"


@pytest.mark.parametrize("name", mark_most_full(SCENES, 6))
def test_a_photographed_scene_shows_what_the_flat_one_shows(name: str) -> None:
    camera = Camera(width=SMALL[0], height=SMALL[1])
    flat, photo = draw_background(name, camera, flat=True), draw_background(name, camera)
    assert 0.005 < np.abs(flat - photo).mean() < 0.12
    assert np.array_equal(photo, draw_background(name, camera))
    # Colours in the large stay; textures are in the small.
    coarse = [planes.reshape(3, 6, 20, 8, 20).mean(axis=(2, 4)) for planes in (flat, photo)]
    assert np.abs(coarse[0] - coarse[1]).mean() < 0.1


def test_what_is_far_is_less_sharp_than_the_floor_at_the_feet() -> None:
    camera = Camera(width=320, height=240)
    flat, photo = (
        draw_background("soccer_field", camera, flat=choice).mean(axis=0) for choice in (True, False)
    )
    goal = (slice(60, 100), slice(100, 220))
    assert np.abs(np.diff(photo[goal], axis=1)).max() < 0.6 * np.abs(np.diff(flat[goal], axis=1)).max()
    grass = (slice(210, 240), slice(0, 320))
    assert np.abs(np.diff(photo[grass], axis=1)).mean() > 3 * np.abs(np.diff(flat[grass], axis=1)).mean()


def test_a_contact_sheet_keeps_somebody_who_walks_away_in_the_middle(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Waving01"], 10.0)
    away = np.linspace([0.0, 0.0, 0.0], [30.0, 0.0, -12.0], len(motion))
    sheets = []
    for number, recording in enumerate((motion, replace(motion, root=motion.root + away))):
        with Image.open(draw_motion_sheet(recording, tmp_path / f"{number}.png")) as picture:
            sheets.append(np.asarray(picture.convert("RGB")).astype(int))
    assert np.array_equal(sheets[0], sheets[1])
    columns = np.flatnonzero((np.abs(sheets[1] - sheets[1][0, 0]).max(axis=-1) > 60).any(axis=0))
    assert columns.min() < 0.12 * sheets[1].shape[1] and columns.max() > 0.88 * sheets[1].shape[1]
