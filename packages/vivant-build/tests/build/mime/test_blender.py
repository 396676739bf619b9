"""Blender missing, of another version, hanging, failing (by stand-ins), and characters on our motions."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from tests.support.processes import is_alive, wait_until
from vivant.core.errors import DataError, UsageError
from vivant_build.mime import ACTIONS, Camera, make_character, perform
from vivant_build.mime.blender import install as installing
from vivant_build.mime.blender import process
from vivant_build.mime.blender.character import TO_BLENDER, Bone, Bones, drive
from vivant_build.mime.blender.process import VARIABLE, BlenderError, find_blender
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.clean import cut
from vivant_build.mime.recording import read_recording
from vivant_build.mime.renderers import Performance, find_renderer
from vivant_build.mime.renderers.blender import Blender
from vivant_build.mime.rotation import Array, from_quaternion, unit
from vivant_build.mime.skeleton import INDEX, JOINTS, OFFSETS, PARENTS, TIPS, Skeleton

SMALL = Camera(width=64, height=48)
MOTION = cut(perform(ACTIONS["Archery001"], 4.0), 3, 6)


# ── stand-ins ────────────────────────────────────────────────────────────────────────────────────

HEAD = """\
#!{python}
import json, os, sys, time
from pathlib import Path
file = Path(sys.argv[-1])
job = json.loads(file.read_text())
def answer(**what):
    file.with_name("answer.json").write_text(json.dumps(what))
    os._exit(0)
if job["task"] == "hello" and {greets}:
    answer(version={version})
"""


Put = Callable[..., Path]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Puts a program in Blender's place: greets with a version, then does what it is told."""

    def put(body: str, version: tuple[int, ...] = (4, 5, 15), greets: bool = True) -> Path:
        program = tmp_path / "blender"
        head = HEAD.format(python=sys.executable, version=list(version), greets=greets)
        program.write_text(head + textwrap.dedent(body))
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv(VARIABLE, str(program))
        process._check_program.cache_clear()
        return program

    yield put
    process._check_program.cache_clear()


def test_a_missing_blender_is_one_line_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BlenderError, match="Blender is not there; run `vivant build mime setup-blender`"):
        find_renderer("cycles")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(BlenderError, match="nothing is no program"):
        find_blender()


def test_another_version_is_refused_by_its_number(stand_in: Put) -> None:
    stand_in("", version=(3, 4, 1))
    with pytest.raises(BlenderError, match=r"is Blender 3\.4\.1; 4\.2 or later and below 5\.0 is needed"):
        find_renderer("workbench")
    stand_in("", version=(4, 3, 2))
    assert find_blender().version == "4.3.2"


def test_one_on_the_path_is_found(stand_in: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    program = stand_in("")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PATH", str(program.parent))
    found = find_blender()
    assert found.command[0] == str(program) and "--factory-startup" in found.command


def test_a_blender_that_hangs_is_ended_with_all_it_started(stand_in: Put, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    stand_in(
        f"""
        import subprocess
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        Path({str(mark)!r}).write_text(str(child.pid))
        time.sleep(3600)
        """
    )
    for limit in (1, 10, 100):
        with pytest.raises(BlenderError, match=rf"frame 0 was not drawn within {limit} s; Blender was ended"):
            list(Blender("workbench", limit=limit).layers(Performance(MOTION, make_character("man")), SMALL))
        if mark.exists():  # on a busy machine it takes long to start another process
            break
    child = int(mark.read_text())
    wait_until(lambda: not is_alive(child), 600)


def test_an_fbx_file_of_several_animations_is_converted_once(
    stand_in: Put, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The stand-in gives back BVH files as Blender's own task does, and counts how often it is asked."""
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    for name in ("Drinking01", "Waving01"):
        write_bvh(perform(ACTIONS[name], 10.0), tmp_path / f"{name}.bvh")
    stand_in(
        f"""
        import shutil
        folder = Path({str(tmp_path)!r})
        with open(folder / "asked", "a") as asked:
            asked.write("x")
        shutil.copy(folder / "Drinking01.bvh", Path(job["out"]) / "0.bvh")
        shutil.copy(folder / "Waving01.bvh", Path(job["out"]) / "1.bvh")
        answer(animations={{"Drink": "0.bvh", "Wave": "1.bvh"}})
        """
    )
    (tmp_path / "robot.fbx").write_bytes(b"FBX")
    with pytest.raises(UsageError, match=r"robot\.fbx: it holds 2 animations \(Drink, Wave\)"):
        read_recording(tmp_path / "robot.fbx")
    for name, action in (("Drink", "Drinking01"), ("Wave", "Waving01")):
        assert len(read_recording(tmp_path / "robot.fbx", animation=name).motion) == len(
            perform(ACTIONS[action], 10.0)
        )
    assert (tmp_path / "asked").read_text() == "x"


def test_a_blender_that_never_greets_is_ended(stand_in: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_HELLO", 1.0)
    stand_in("time.sleep(3600)", greets=False)
    with pytest.raises(BlenderError, match="gave no answer within 1 s and was ended"):
        find_blender()


def test_a_blender_that_dies_leaves_its_last_words(stand_in: Put) -> None:
    stand_in("print('out of everything', flush=True); os._exit(11)")
    with pytest.raises(BlenderError, match="ended with code 11 and no answer: out of everything"):
        list(Blender("cycles").layers(Performance(MOTION, make_character("man")), SMALL))
    stand_in("answer(error='RuntimeError: no device')")
    with pytest.raises(BlenderError, match="Blender failed: RuntimeError: no device"):
        list(Blender("cycles").layers(Performance(MOTION, make_character("man")), SMALL))
    stand_in("answer(refused='it holds no skeleton')")
    with pytest.raises(DataError, match=r"robot\.fbx: it holds no skeleton"):
        robot = Path(os.environ[VARIABLE]).with_name("robot.fbx")
        robot.write_bytes(b"FBX")
        list(Blender("cycles").layers(Performance(MOTION, robot), SMALL))


DRAWS = """
    frames = Path(job["frames"])
    import zlib, struct
    def png(path):
        w, h = job["width"], job["height"]
        rows = b"".join(b"\\0" + bytes((200, 40, 40, 255 if 20 < x < 40 else 0)[c] for x in range(w) for c in range(4))
                        for _ in range(h))
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        path.write_bytes(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 6, 0, 0, 0))
                         + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    for n in range({count}):
        png(frames / "part.png")
        (frames / "part.png").replace(frames / f"{{n:06d}}.png")
    answer(frames={count})
"""


def test_frames_come_back_as_layers_and_missing_ones_are_counted(stand_in: Put) -> None:
    stand_in(textwrap.dedent(DRAWS.format(count=3)))
    layers = list(Blender("cycles").layers(Performance(MOTION, make_character("man")), SMALL))
    assert len(layers) == 3
    picture = layers[0].alone(64, 48)
    assert tuple(picture[10, 30]) == (200, 40, 40, 255) and picture[10, 50, 3] == 0
    assert (layers[0].left, layers[0].solid) == (21, 19 * 48)
    # Workbench casts no shadow on a floor; the built-in renderer's lies under its frames.
    shaded = next(Blender("workbench").layers(Performance(MOTION, make_character("man")), SMALL)).alone(
        64, 48
    )
    assert tuple(shaded[10, 30]) == (200, 40, 40, 255) and 0 < shaded[40:, 42:, 3].max() < 200
    stand_in(textwrap.dedent(DRAWS.format(count=2)))
    with pytest.raises(BlenderError, match="Blender drew 2 of 3 frames"):
        list(Blender("cycles").layers(Performance(MOTION, make_character("man")), SMALL))


def test_setting_up_says_the_size_first_and_leaves_nothing_half(
    stand_in: Put,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    program = stand_in("")
    assert "Blender 4.5.15 is there already" in installing.install()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PATH", "")
    calls: list[list[str]] = []

    def pretend(command: list[str], what: str) -> None:
        calls.append(command)
        target = process.environment_python(process.environment_folder())
        target.parent.mkdir(parents=True, exist_ok=True)
        if "pip" in command:
            assert command[-1] == f"bpy=={process.PINNED}"
            shutil.copy(program, target)
            if len(calls) > 2:
                raise BlenderError(f"{what}: no matching distribution")

    monkeypatch.setattr(installing, "_call", pretend)
    with caplog.at_level("INFO", "vivant"):
        assert "is ready" in installing.install()
    assert "950 MB" in caplog.messages[0] and str(tmp_path / "cache") in caplog.messages[0]
    with pytest.raises(BlenderError, match="no matching distribution"):
        installing.install(again=True)
    assert not process.environment_folder().exists()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5))
    with pytest.raises(BlenderError, match="make room"):
        installing.install()


# ── characters ───────────────────────────────────────────────────────────────────────────────────


def as_character(hanging: float = 0.0, unit_size: float = 1.0, renamed: str = "") -> Bones:
    """Our own skeleton as a character: Blender's axes, its own unit, arms hanging, one bone under another name."""
    rest = np.zeros((len(JOINTS), 3))
    turn: Array = np.eye(3)
    for joint in range(1, len(JOINTS)):
        offset = OFFSETS[joint]
        side = 1.0 if JOINTS[joint].startswith("Left") else -1.0
        if JOINTS[joint].endswith(("ForeArm", "Hand", "Fingers")):
            angle = np.radians(-side * hanging)
            turn = np.array(
                [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
            )
            offset = turn @ offset
        rest[joint] = rest[PARENTS[joint]] + offset
    rest[:] += OFFSETS[0]
    rolled = from_quaternion(unit([0.5, 0.5, 0.1, 0.7]))
    place = rest @ TO_BLENDER.T * unit_size
    bones = []
    for n, name in enumerate(JOINTS):
        tip = TIPS.get(name, np.array([0.0, 0.0, 0.0])) @ TO_BLENDER.T * unit_size
        if name.endswith("Fingers"):
            tip = TO_BLENDER @ (turn @ TIPS[name]) * unit_size
        bones.append(
            Bone(
                "mixamorig:" + (name if name != renamed else "Tentacle"),
                PARENTS[n],
                (float(place[n, 0]), float(place[n, 1]), float(place[n, 2])),
                (float(place[n, 0] + tip[0]), float(place[n, 1] + tip[1]), float(place[n, 2] + tip[2])),
                tuple((float(a), float(b), float(c)) for a, b, c in rolled),
            )
        )
    world = np.eye(4)
    return Bones(tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in world), tuple(bones))


def posed(bones: Bones, turns: Array, places: Array, hips: str, scale: float) -> Array:
    """Where Blender puts the heads of the bones: its own rule for pose bones, written down again."""
    frames = len(turns)
    matrices = np.zeros((frames, len(bones.bones), 4, 4))
    rests = np.zeros((len(bones.bones), 4, 4))
    for n, bone in enumerate(bones.bones):
        rests[n] = np.eye(4)
        rests[n, :3, :3], rests[n, :3, 3] = np.array(bone.rest), bone.head
        basis = np.broadcast_to(np.eye(4), (frames, 4, 4)).copy()
        basis[:, :3, :3] = from_quaternion(turns[:, n])
        if bone.name == hips:
            basis[:, :3, 3] = places
        if bone.parent < 0:
            matrices[:, n] = rests[n] @ basis
        else:
            matrices[:, n] = matrices[:, bone.parent] @ np.linalg.inv(rests[bone.parent]) @ rests[n] @ basis
    return np.asarray(matrices[:, :, :3, 3] * scale)


@pytest.mark.parametrize("hanging,unit_size", [(0.0, 1.0), (45.0, 100.0)])
def test_a_character_takes_our_poses_whatever_its_rest_and_unit(hanging: float, unit_size: float) -> None:
    motion = perform(ACTIONS["Archery001"], 6.0)
    bones = as_character(hanging, unit_size)
    driven = drive(bones, motion, 1.0, "robot.fbx")
    places = posed(bones, driven.turns, driven.places, driven.hips, driven.scale) @ TO_BLENDER
    ours, _ = motion.joints(Skeleton())
    assert np.abs(places[:, INDEX["Hips"]] - ours[:, INDEX["Hips"]]).max() < 1e-6
    for joint in ("Head", "LeftHand", "RightFingers", "LeftFoot", "RightToe"):
        assert np.abs(places[:, INDEX[joint]] - ours[:, INDEX[joint]]).max() < 1e-5, joint


def test_a_character_without_a_bone_that_is_needed_is_refused_by_name() -> None:
    bones = as_character(renamed="RightLeg")
    # Where a name fails, the shape of the skeleton tells the bone.
    expected = drive(as_character(), MOTION, 1.0, "robot.fbx").turns
    assert np.allclose(drive(bones, MOTION, 1.0, "robot.fbx").turns, expected, atol=1e-6)
    # Without a shin, nothing tells where the knee is.
    knees = {
        bone.name.removesuffix("Foot"): bone.parent for bone in bones.bones if bone.name.endswith("Foot")
    }
    flat = [
        msgspec.structs.replace(bone, head=bones.bones[knees[bone.name.removesuffix(part)]].head)
        if (part := next((p for p in ("Foot", "Toe") if bone.name.endswith(p)), ""))
        else bone
        for bone in bones.bones
    ]
    with pytest.raises(DataError, match=r"robot\.fbx: no joint can be taken for RightLeg"):
        drive(Bones(bones.world, tuple(flat)), MOTION, 1.0, "robot.fbx")
