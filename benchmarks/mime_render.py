"""Making MIME: drawing, encoding, and many jobs, by CPU time, so that a busy machine disturbs little.

- Drawing, built-in renderer over a background at 640×480. Limit: ≥ 60 frames a second per core. Peers: the plain
  capsules, in turns; and Blender Workbench with the same dressed body, camera and motion, where VIVANT_BLENDER or the
  path has a Blender.
- Encoding 150 frames of 640×480 against the ffmpeg command line at the same settings. Limit: ≤ 1.3 × its time.
- Jobs: a part of 86 actions × 10 variants × 5 s at 30 frames a second, stopped and resumed: the memory of the
  process that renders must stay flat (limit: ≤ 1.1 × from the first ten jobs to the last ten); nothing is made twice.

    python -m benchmarks.mime_render [jobs]
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import msgspec

from vivant.core.errors import VivantError
from vivant_build.mime import ACTIONS, draw_background, make_character, perform
from vivant_build.mime.clean import cut
from vivant_build.mime.edition import Edition
from vivant_build.mime.jobs import plan_jobs, run_jobs
from vivant_build.mime.local_executor import LocalRenderExecutor
from vivant_build.mime.plan import Staging
from vivant_build.mime.plan_file import OwnAction, Specification
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.renderers import Performance, find_renderer
from vivant_build.mime.rendering import fit_length
from vivant_build.mime.video import encode, frame_motion, render_frames

FASTEST, SLOWER, GROWTH = 60.0, 1.3, 1.1
SIZE = (640, 480)
ROUNDS = 5


def cpu(who: int = resource.RUSAGE_SELF) -> float:
    """User and system seconds so far, of this process or of those that it has waited for."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def verdict(fine: bool) -> str:
    """How a limit was met."""
    return "ok" if fine else "MISSED"


def drawing() -> list[Picture]:
    """Frames per second of a core; returns 150 frames for encoding."""
    motion = fit_length(perform(ACTIONS["Archery001"], 30.0), 150)
    frames: list[Picture] = []
    for avatar in ("man", "woman", "spacesuit"):
        body = make_character(avatar)
        camera = frame_motion(body.pose(motion), SIZE)
        background = draw_background("gym", camera)
        rates: dict[str, list[float]] = {"built-in": [], "capsules": []}
        for _ in range(ROUNDS):
            for look in rates:
                began = cpu()
                made = list(render_frames(Performance(motion, body), camera, background, look))
                rates[look].append(len(made) / (cpu() - began))
                frames = frames or made
        best, plain = (max(values) for values in rates.values())
        print(
            f"built-in, {avatar} at 640×480: {best:.0f} frames a second per core (limit ≥ {FASTEST:.0f}) "
            f"{verdict(best >= FASTEST)}; {best / plain:.2f} × the plain capsules' {plain:.0f}"
        )
    return frames


def against_blender() -> None:
    """The same dressed body by both, alpha and shadow included, without start-up."""
    motion = cut(fit_length(perform(ACTIONS["Archery001"], 30.0), 150), 60, 72)
    body = make_character("man")
    camera = replace(frame_motion(body.pose(motion), SIZE), angle=30.0)
    performance = Performance(motion, body)
    try:
        blender = find_renderer("workbench")
    except VivantError as error:
        print(f"peer, Blender Workbench: not here ({error})")
        return
    began = cpu()
    ours = sum(1 for _ in find_renderer("built-in").layers(performance, camera)) / (cpu() - began)
    # Blender's start, import and first frame are left out by taking 12 frames less 2.
    spent = []
    for count in (2, 12):
        before = cpu(resource.RUSAGE_CHILDREN)
        part = Performance(cut(motion, 0, count), body)
        assert sum(1 for _ in islice(blender.layers(part, camera), count)) == count
        spent.append(cpu(resource.RUSAGE_CHILDREN) - before)
    theirs = 10 / (spent[1] - spent[0])
    print(
        f"peer, {blender.identity}: {theirs:.1f} frames a second per core; built-in {ours:.0f}: "
        f"{ours / theirs:.0f} times as many"
    )


def encoding(frames: list[Picture], folder: Path) -> None:
    """The same raw frames by PyAV and by the ffmpeg command line, one thread, crf 23, preset medium."""
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        print("peer, the ffmpeg command line: not here")
        return
    raw = b"".join(frame.tobytes() for frame in frames)
    (folder / "raw.rgb").write_bytes(raw)
    command = [
        *(
            ffmpeg,
            "-loglevel",
            "error",
            "-y",
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-s",
            "640x480",
            "-r",
            "30",
        ),
        *(
            "-i",
            str(folder / "raw.rgb"),
            "-c:v",
            "libx264",
            "-threads",
            "1",
            "-crf",
            "23",
            "-preset",
            "medium",
        ),
        *("-pix_fmt", "yuv420p", "-g", "300", "-movflags", "+faststart", str(folder / "peer.mp4")),
    ]
    pairs = []
    for _ in range(ROUNDS):
        began = cpu()
        encode(frames, folder / "ours.mp4", 30.0)
        mine = cpu() - began
        began = cpu(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        pairs.append((mine, cpu(resource.RUSAGE_CHILDREN) - began))
    mine, theirs = (min(values) for values in zip(*pairs, strict=True))
    sizes = [(folder / name).stat().st_size for name in ("ours.mp4", "peer.mp4")]
    ratio = mine / theirs
    print(
        f"encoding {len(frames)} frames: {mine:.2f} s CPU, {sizes[0]:,} bytes; peer, the "
        "ffmpeg command line: "
        f"{theirs:.2f} s, {sizes[1]:,} bytes"
    )
    print(f"ratio {ratio:.2f} (limit {SLOWER}) {verdict(ratio <= SLOWER)}")


def large_plan() -> Edition:
    """86 actions × the paper's ten variants, 5 s each: the bundled motions under several names."""
    bundled = list(ACTIONS)
    actions = tuple(
        OwnAction(name=f"Take{n:03d}", motion=bundled[n % len(bundled)], misaligned="street")
        for n in range(86)
    )
    spec = Specification(actions=actions, seconds=5.0)
    stagings = tuple(
        Staging(
            action=action.name,
            actor="j",
            labels=action.labels,
            distractors=("a", "b", "c"),
            aligned=action.background,
            misaligned="kitchen" if action.background == "street" else action.misaligned,
        )
        for action in spec.cast
    )
    return Edition(spec, stagings)


def resident() -> float:
    """Megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def jobs(folder: Path, count: int) -> None:
    """A part of the large plan in this process, stopped half-way and resumed."""
    whole = large_plan()
    began = time.perf_counter()
    planned = plan_jobs(whole, folder, "built-in")
    print(
        f"{len(planned)} jobs, {len(planned) * 150:,} frames planned in {time.perf_counter() - began:.2f} s"
    )
    part = Edition(
        msgspec.structs.replace(whole.specification, actions=whole.specification.actions[: count // 10]),
        whole.stagings[: count // 10],
    )
    held: list[float] = []

    def note(done: int, *_: object) -> None:
        held.append(resident())
        if done == count // 2 and len(held) == done:
            raise KeyboardInterrupt

    spent = cpu()
    try:
        run_jobs(part, folder, folder / "out", LocalRenderExecutor(1), note)
    except KeyboardInterrupt:
        print(f"stopped after {len(held)} videos")
    outcome = run_jobs(part, folder, folder / "out", LocalRenderExecutor(1), note)
    spent = cpu() - spent
    # The stopped job's line was written before the stop: nothing was made twice.
    assert outcome.kept == count // 2 and outcome.total == count and not outcome.failed
    growth = max(held[-10:]) / max(held[:10])
    print(
        f"{count} videos of 150 frames, {spent / count / 150 * 1000:.1f} ms CPU a frame with "
        "encoding and examining: "
        f"all 129,000 frames would take {spent / count * 860 / 3600:.1f} hours of a core"
    )
    print(
        f"memory: {max(held[:10]):.0f} MB in the first ten jobs, {max(held[-10:]):.0f} MB in the last ten; "
        f"ratio {growth:.2f} (limit {GROWTH}) {verdict(growth <= GROWTH)}"
    )
    began, clock = cpu(), time.perf_counter()
    again = run_jobs(part, folder, folder / "out", LocalRenderExecutor(1))
    assert (again.kept, again.made) == (count, 0)
    print(
        f"restart: {again.kept} videos known to be whole after {time.perf_counter() - clock:.2f} s "
        f"({cpu() - began:.2f} s CPU), metadata written again"
    )


def main() -> None:
    """All of it; some minutes."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as name:
        frames = drawing()
        against_blender()
        encoding(frames, Path(name))
        del frames
        jobs(Path(name), count // 10 * 10)


if __name__ == "__main__":
    main()
