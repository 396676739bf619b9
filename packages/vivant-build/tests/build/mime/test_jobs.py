"""Rendering as jobs: resumed, killed, on a full disk, by several workers, on a cluster."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support import pool_tasks
from tests.support.held_render import FINISHED
from tests.support.helpers import vivant
from tests.support.processes import is_alive, list_children, wait_until
from vivant.core import files
from vivant.core.errors import DataError, VivantError
from vivant.core.files import lock_file
from vivant.core.worker_pool import ProcessPool
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.check import check_folder
from vivant_build.mime.choreography import ACTIONS, perform
from vivant_build.mime.clean import cut
from vivant_build.mime.edition import Edition, stage
from vivant_build.mime.jobs import (
    LOCK,
    FailedRender,
    RenderJob,
    build,
    do_job,
    format_duration,
    plan_jobs,
    run_jobs,
)
from vivant_build.mime.local_executor import LocalRenderExecutor
from vivant_build.mime.plan_file import Specification
from vivant_build.mime.render_index import INDEX_FILE, RenderedVideo, RenderIndex

SMALL: dict[str, Any] = {
    "drop": 0,
    "width": 64,
    "height": 48,
    "fps": 4.0,
    "effort": "ultrafast",
    "actions": ("Waving01", "Drinking01", "Hammering01", "TennisServe001"),
    "variants": "mime",
}
SPEC = msgspec.convert(SMALL, Specification)


@pytest.fixture(scope="module")
def edition() -> Edition:
    return Edition(SPEC, tuple(stage(SPEC)))


@pytest.fixture
def few(edition: Edition) -> Edition:
    """Four videos."""
    blank = msgspec.structs.replace(SPEC, variants=SPEC.shown[:1])
    return Edition(blank, edition.stagings)


class Counting:
    """Works here and counts; stops after some jobs, as if it had been ended."""

    def __init__(self, stop_after: int = 10_000, error: Exception | None = None) -> None:
        self.done: list[str] = []
        self._stop_after = stop_after
        self._error = error

    def run(
        self, jobs: Sequence[RenderJob], out: Path
    ) -> Generator[RenderedVideo | FailedRender, None, None]:
        for result in LocalRenderExecutor(1).run(jobs, out):
            if len(self.done) == self._stop_after:
                raise self._error or KeyboardInterrupt
            self.done.append(result.file)
            yield result


def videos(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("[!.]*.mp4"))


def list_halves(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if files.is_temporary(path)]


def test_a_stopped_run_goes_on_where_it_was(few: Edition, tmp_path: Path) -> None:
    first = Counting(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        run_jobs(few, tmp_path, tmp_path / "out", first)
    assert not (tmp_path / "out" / "metadata.jsonl").exists(), "metadata say that all is there"
    second = Counting()
    outcome = run_jobs(few, tmp_path, tmp_path / "out", second)
    # The third was made when the run was stopped, and not yet noted: it is made again.
    assert (outcome.total, outcome.kept, outcome.made, outcome.failed) == (4, 2, 2, ())
    assert set(first.done).isdisjoint(second.done) and outcome.metadata is not None
    third = Counting()
    assert run_jobs(few, tmp_path, tmp_path / "out", third).kept == 4 and third.done == []


def test_a_second_run_in_a_folder_waits_its_turn(few: Edition, tmp_path: Path) -> None:
    busy = DataError("busy")
    with (
        lock_file(tmp_path / LOCK, busy),
        pytest.raises(DataError, match=r"Another run is making videos in .*; wait for it"),
    ):
        run_jobs(few, tmp_path, tmp_path, LocalRenderExecutor(1))
    assert not list(tmp_path.glob("*.mp4")), "it has touched nothing"
    assert run_jobs(few, tmp_path, tmp_path, LocalRenderExecutor(1)).metadata is not None, (
        "nothing stays locked"
    )


def test_a_readme_of_somebody_else_is_not_written_over(few: Edition, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("mine")
    with pytest.raises(DataError, match=r"README\.md is not of an edition and would be lost"):
        run_jobs(few, tmp_path, tmp_path, Counting())
    assert readme.read_text() == "mine"


def test_what_is_done_is_known_by_its_content(few: Edition, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_jobs(few, tmp_path, out, Counting())
    names = videos(out)
    # Copied (another time), cut short, replaced by as many other bytes, gone.
    os.utime(out / names[0], ns=(1, 1))
    (out / names[1]).write_bytes((out / names[1]).read_bytes()[:-50])
    whole = (out / names[2]).read_bytes()
    (out / names[2]).write_bytes(b"x" * len(whole))
    (out / names[3]).unlink()
    again = Counting()
    run_jobs(few, tmp_path, out, again)
    assert sorted(again.done) == names[1:]
    assert (out / names[2]).read_bytes() == whole, "the same frames give the same bytes"


def test_a_torn_index_costs_its_last_line_alone(few: Edition, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_jobs(few, tmp_path, out, Counting())
    index = out / INDEX_FILE
    index.write_bytes(index.read_bytes()[:-30])
    again = Counting()
    assert run_jobs(few, tmp_path, out, again).kept == 3 and len(again.done) == 1
    assert len(index.read_bytes().splitlines()) == 5


def test_only_what_a_changed_plan_changes_is_made_anew(few: Edition, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_jobs(few, tmp_path, out, Counting())
    stagings = tuple(msgspec.structs.replace(s, labels=("another name",)) for s in few.stagings)
    renamed = Counting()
    run_jobs(Edition(few.specification, stagings), tmp_path, out, renamed)
    assert renamed.done == [] and "another name" in (out / "metadata.jsonl").read_text()
    better = msgspec.structs.replace(few.specification, quality=12)
    with pytest.raises(KeyboardInterrupt):
        run_jobs(Edition(better, few.stagings), tmp_path, out, Counting(stop_after=1))
    assert not (out / "metadata.jsonl").exists(), "not all is there as planned"
    sharper = Counting()
    run_jobs(Edition(better, few.stagings), tmp_path, out, sharper)
    assert len(sharper.done) == 3


def test_videos_of_a_choreography_that_changed_are_made_anew(
    few: Edition, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = [job.fingerprint for job in plan_jobs(few, tmp_path, "capsules")]
    renamed = {name: msgspec.structs.replace(action, labels=("x",)) for name, action in ACTIONS.items()}
    monkeypatch.setattr("vivant_build.mime.jobs.ACTIONS", renamed)
    assert [job.fingerprint for job in plan_jobs(few, tmp_path, "capsules")] == before, "labels are not drawn"
    longer = {name: msgspec.structs.replace(action, seconds=9.0) for name, action in ACTIONS.items()}
    monkeypatch.setattr("vivant_build.mime.jobs.ACTIONS", longer)
    assert not set(before) & {job.fingerprint for job in plan_jobs(few, tmp_path, "capsules")}


def test_a_full_disk_is_one_line_and_leaves_nothing_half(
    few: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    second = few.shots[1].file
    # Whatever is written under the second video's hidden name finds no room.
    part = out / f".{second}.tmp"
    name_temporary = files._temporary_path
    monkeypatch.setattr(
        files,
        "_temporary_path",
        lambda path, ending: part if path.name == second else name_temporary(path, ending),
    )

    class Filling(LocalRenderExecutor):
        def run(
            self, jobs: Sequence[RenderJob], folder: Path
        ) -> Generator[RenderedVideo | FailedRender, None, None]:
            part.symlink_to("/dev/full")
            return super().run(jobs, folder)

    with pytest.raises(DataError, match="is full: 1 of 4 videos are there and whole, none is half") as caught:
        run_jobs(few, tmp_path, out, Filling())
    assert "\n" not in str(caught.value)
    assert videos(out) == [few.shots[0].file] and not list_halves(out)
    assert run_jobs(few, tmp_path, out, Counting()).kept == 1

    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(DataError, match="is full: 1 of 4"):
        run_jobs(few, tmp_path, tmp_path / "other", Counting(stop_after=1, error=full))


def test_single_failures_do_not_stop_the_others(few: Edition, tmp_path: Path) -> None:
    jobs = plan_jobs(few, tmp_path, "x")
    broken = msgspec.structs.replace(jobs[0], shot=msgspec.structs.replace(jobs[0].shot, scene="nowhere"))
    failed = do_job(broken, tmp_path)
    assert isinstance(failed, FailedRender) and "nowhere" in failed.error

    class Half(LocalRenderExecutor):
        def run(
            self, jobs: Sequence[RenderJob], out: Path
        ) -> Generator[RenderedVideo | FailedRender, None, None]:
            for number, result in enumerate(super().run(jobs, out)):
                yield FailedRender(file=result.file, error="lightning") if number == 1 else result

    outcome = run_jobs(few, tmp_path, tmp_path / "out", Half())
    assert [f.error for f in outcome.failed] == ["lightning"] and outcome.made == 3
    assert outcome.metadata is None and not (tmp_path / "out" / "metadata.jsonl").exists()


def test_the_time_left_is_told(few: Edition, tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    run_jobs(few, tmp_path, tmp_path / "out", Counting(), lambda *now: told.append(now))
    assert [now[:2] for now in told] == [(n, 4) for n in (1, 2, 3, 4)]
    assert told[-1][2].endswith("0:00 left")
    assert (format_duration(59.6), format_duration(3725)) == ("1:00", "1:02:05")


def test_workers_make_the_same_videos(few: Edition, tmp_path: Path) -> None:
    run_jobs(few, tmp_path, tmp_path / "one", LocalRenderExecutor(1))
    run_jobs(few, tmp_path, tmp_path / "two", LocalRenderExecutor(2))
    assert videos(tmp_path / "one") == videos(tmp_path / "two") != []
    for name in [*videos(tmp_path / "one"), "metadata.jsonl", "plan.json"]:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_task_that_kills_its_workers_is_given_up_and_the_others_are_done(tmp_path: Path) -> None:
    tasks = [(number, str(tmp_path)) for number in range(8)]
    pool = ProcessPool[tuple[int, str], int](2, pool_tasks.kill_worker)
    results = {task[0]: result for task, result in pool.run(tasks)}
    assert results == {number: None if number == 3 else number * number for number in range(8)}


def test_no_task_is_lost_when_a_worker_dies_while_a_result_is_looked_at(tmp_path: Path) -> None:
    tasks = [(number, str(tmp_path)) for number in range(9)]
    results: list[int | None] = []
    for _, result in ProcessPool[tuple[int, str], int](2, pool_tasks.kill_worker_later).run(tasks):
        if not results:
            (tmp_path / "received").touch()
            wait_until(lambda: (tmp_path / "met").exists(), 600)
            time.sleep(0.5)  # the pool notices the death
        results.append(result)
    assert sorted(results, key=str) == list(range(9))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pool_maps_in_the_order_of_the_tasks(workers: int) -> None:
    done: list[int] = []
    assert ProcessPool[int, int](workers, pool_tasks.square).map(range(5), done.append) == [0, 1, 4, 9, 16]
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_a_pool_that_loses_its_workers_says_so(tmp_path: Path) -> None:
    with pytest.raises(VivantError, match="2 worker processes died"):
        ProcessPool[tuple[int, str], int](2, pool_tasks.kill_worker, attempts=2).map(
            [(3, str(tmp_path)), (4, str(tmp_path))]
        )


@pytest.mark.full
def test_a_killed_render_leaves_no_half_video_and_resumes(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    variants = [{"avatar": "man", "background": name} for name in ("blank", "aligned", "misaligned")]
    plan.write_bytes(msgspec.json.encode({**SMALL, "variants": variants}))
    out = tmp_path / "out"
    script = "import sys; from tests.support.held_render import run; run(*sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(plan), "--out", str(out), "--workers", "2"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: out.is_dir() and len(videos(out)) >= FINISHED and list_halves(out), 600)
        workers = list_children(process.pid)
    finally:
        process.kill()
        process.wait()
    assert FINISHED <= len(videos(out)) < 12
    faults = [line for line in check_folder(out).lines if not line.endswith(": it is missing")]
    assert faults == ["metadata.jsonl: it is missing; rendering has not ended"]
    # Workers do not outlive the one that gave them work; what they had begun is swept away on resuming.
    wait_until(lambda: not any(map(is_alive, workers)), 600)
    assert list_halves(out)
    noted = sum(b'"video"' in line for line in (out / INDEX_FILE).read_bytes().splitlines())
    before = {name: (out / name).stat().st_mtime_ns for name in videos(out)}
    again = vivant("build", "mime", "render", plan, "--out", out, "--workers", "1", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert f"{12 - noted} videos made, {noted} were there" in again.stderr
    assert 0 < noted <= len(before)
    assert sum((out / name).stat().st_mtime_ns == at for name, at in before.items()) == noted
    assert check_folder(out).lines == () and not list_halves(out)


def test_an_index_knows_where_the_plans_files_are(few: Edition, tmp_path: Path) -> None:
    run_jobs(few, tmp_path, tmp_path / "out", Counting())
    index = RenderIndex(tmp_path / "out")
    made = index.find(few.shots[0].file)
    assert index.root == tmp_path and made is not None
    assert made.frames == 9 and made.least > 0.02


@pytest.mark.parametrize(("frames", "seconds"), [(1, 2.0), (3, None)])
def test_a_recording_of_a_single_picture_is_refused(
    tmp_path: Path, frames: int, seconds: float | None
) -> None:
    motion = cut(perform(ACTIONS["Waving01"], 30.0), 0, frames)
    write_bvh(motion, tmp_path / "still.bvh")
    still = {"name": "W", "motion": "still.bvh", "labels": ["waving"], "background": "gym"}
    plan = {**SMALL, "seconds": seconds, "actions": [{**still, "distractors": ["a", "b", "c"]}]}
    spec = msgspec.convert({**plan, "variants": [{"background": "blank"}]}, Specification)
    with pytest.raises(VivantError, match=r"still\.bvh: 0\.\d\d s of motion are a single picture at 4"):
        build(spec, tmp_path / "out", root=tmp_path)
    assert videos(tmp_path / "out") == []


def test_a_bad_picture_is_refused_before_anything_is_rendered(tmp_path: Path) -> None:
    (tmp_path / "here.png").write_text("no picture")
    spec = msgspec.convert({**SMALL, "backgrounds": {"here": {"file": "here.png"}}}, Specification)
    with pytest.raises(VivantError, match=r"here\.png: not a picture"):
        build(spec, tmp_path / "out", root=tmp_path)
    assert videos(tmp_path / "out") == []


@pytest.mark.full
@pytest.mark.filterwarnings("default")
@pytest.mark.xdist_group("ray")
def test_a_cluster_makes_the_same_videos(
    few: Edition, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("ray")
    from vivant_build.mime.ray_executor import RayRenderExecutor

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    (tmp_path / "wall.png").write_bytes(_wall())
    spec = msgspec.convert({**SMALL, "backgrounds": {"wall": {"file": "wall.png"}}}, Specification)
    spec = msgspec.structs.replace(
        spec, variants=(msgspec.structs.replace(SPEC.shown[0], background="wall", name=""),)
    )
    there = Edition(spec, few.stagings)
    with caplog.at_level("INFO", "vivant"):
        outcome = run_jobs(there, tmp_path, tmp_path / "ray", RayRenderExecutor())
    assert outcome.made == 4 and "cores" in caplog.messages[0]
    run_jobs(there, tmp_path, tmp_path / "here", LocalRenderExecutor(1))
    for name in videos(tmp_path / "here"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert run_jobs(there, tmp_path, tmp_path / "ray", Counting()).kept == 4


def _wall() -> bytes:
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    Image.new("RGB", (64, 48), (90, 120, 60)).save(buffer, "PNG")
    return buffer.getvalue()
