"""Full disks, read-only folders, several processes: the log stays whole, and each is one line."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import Act, serving
from tests.support.helpers import questions, vivant
from vivant.core.records import Record
from vivant.core.types import Reply
from vivant.engine.evaluation import evaluate
from vivant.runs.log import LogError, LogWriter, read_log
from vivant.runs.run import Run


def limited(size: int) -> Callable[[], None]:
    """For a child process: no file may grow beyond this, as on a disk that fills up."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def run_limited(size: int, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from vivant.cli.main import main; main()", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=limited(size),
    )


def test_a_disk_that_fills_up_during_the_run_leaves_a_whole_log_and_one_line(tmp_path: Path) -> None:
    path = questions(tmp_path, 300, pictures=False)
    command = ("run", path, "--model", "first", "--out", "run")
    full = run_limited(100_000, *command, cwd=tmp_path)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "Cannot write run/log.jsonl" in full.stderr.splitlines()[-1]
    assert "the log is whole up to here" in full.stderr.splitlines()[-1]
    log = tmp_path / "run" / "log.jsonl"
    assert log.read_bytes().endswith(b"\n")
    kept = len(list(read_log(log)))
    assert 10 < kept < 300
    again = vivant(*command, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert f"{kept} of 300 samples are done" in again.stderr
    assert len(Run(tmp_path / "run").records()) == 300


def test_a_disk_that_is_full_before_the_run_is_one_line_and_can_be_tried_again(tmp_path: Path) -> None:
    path = questions(tmp_path, 300, pictures=False)
    full = run_limited(20_000, "run", path, "--model", "first", "--out", "run", cwd=tmp_path)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "Cannot write the run directory run: File too large" in full.stderr.splitlines()[-1]
    assert not list((tmp_path / "run").glob("*.tmp"))
    again = vivant("run", path, "--model", "first", "--out", "run", cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_a_disk_that_is_full_when_scores_are_written_keeps_the_old_ones(tmp_path: Path) -> None:
    path = questions(tmp_path, 300, pictures=False)
    assert vivant("run", path, "--model", "first", "--out", "run", cwd=tmp_path).returncode == 0
    scores = tmp_path / "run" / "scores" / "paper.jsonl"
    before = scores.read_bytes()
    full = run_limited(len(before) // 2, "score", "run", cwd=tmp_path)
    assert full.returncode == 1
    assert "Cannot write scores in run: File too large" in full.stderr.splitlines()[-1]
    assert scores.read_bytes() == before
    assert not list(scores.parent.glob("*.tmp"))
    assert vivant("score", "run", cwd=tmp_path).returncode == 0


def test_a_full_disk_for_the_reply_cache_costs_one_warning(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    with serving(lambda _n, _b: Act("a long answer " * 400)) as server:
        command = ("run", path, "--model", "openai/x", "--base-url", server.url, "--out", "run")
        os.environ["VIVANT_CACHE"], kept = str(tmp_path / "cache"), os.environ["VIVANT_CACHE"]
        try:
            full = run_limited(400_000, *command, cwd=tmp_path)
        finally:
            os.environ["VIVANT_CACHE"] = kept
    assert full.returncode == 0, full.stderr
    assert "Traceback" not in full.stderr
    warnings = [line for line in full.stderr.splitlines() if "replies.sqlite cannot be used" in line]
    assert len(warnings) == 1 and "goes on without it" in warnings[0]
    assert "jsonl/mine" in full.stdout and len(Run(tmp_path / "run").records()) == 60


def heed_permissions() -> None:
    """For a child process of root's: give up the right to write where permissions forbid it."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_a_run_directory_that_may_only_be_read_is_one_line_and_can_be_tabled(tmp_path: Path) -> None:
    path = questions(tmp_path, 20, pictures=False)
    run = tmp_path / "run"
    evaluate(str(path), "first", out=str(run))
    lines = (run / "log.jsonl").read_bytes().splitlines(keepends=True)
    (run / "log.jsonl").write_bytes(b"".join(lines[:10]))
    for place in (run / "log.jsonl", run):
        place.chmod(place.stat().st_mode & ~0o222)

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from vivant.cli.main import main; main()", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=heed_permissions if os.geteuid() == 0 else None,
        )

    try:
        refused = call("run", str(path), "--model", "first", "--out", "run")
        assert refused.returncode == 1
        assert refused.stderr.splitlines()[-1] == "vivant: Cannot write run/log.jsonl: Permission denied"
        elsewhere = call("run", str(path), "--model", "first", "--out", "run/inner")
        assert "Cannot write the run directory run/inner: Permission denied" in elsewhere.stderr
        table = call("table", "run")
        assert table.returncode == 0, table.stderr
        assert "jsonl/mine" in table.stdout
        assert not (run / "scores").exists()
    finally:
        run.chmod(0o755)
    assert (run / "log.jsonl").read_bytes() == b"".join(lines[:10])


def test_two_starts_of_one_run_never_mix(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    started: list[subprocess.Popen[str]] = []

    def behave(_number: int, _body: dict[str, Any]) -> Act:
        # The one that writes is kept at it until the others have seen that it does.
        beside = len(started) < 3 or sum(process.poll() is None for process in started) > 1
        return Act(status=429, headers={"Retry-After": "0.1"}) if beside else Act()

    with serving(behave) as server:
        command = [sys.executable, "-c", "from vivant.cli.main import main; main()", "run", str(path)]
        command += ["--model", "openai/x", "--base-url", server.url, "--out", "run", "--cache", "off"]
        for seed in (0, 0, 1):
            again = [*command, "--seed", str(seed)]
            started.append(subprocess.Popen(again, cwd=tmp_path, stderr=subprocess.PIPE, text=True))
        ends = [process.communicate(timeout=600)[1] for process in started]
    codes = sorted(process.returncode for process in started)
    assert codes == [0, 1, 1]
    for process, said in zip(started, ends, strict=True):
        assert "Traceback" not in said
        if process.returncode:
            last = said.splitlines()[-1]
            assert (
                "Another process is writing run/log.jsonl" in last
                or "holds a run with other settings" in last
            )
    run = Run(tmp_path / "run")
    assert len(list(read_log(tmp_path / "run" / "log.jsonl"))) == len(run.records()) == 60
    winner = next(i for i, process in enumerate(started) if process.returncode == 0)
    assert run.manifest.settings.seed == (0, 0, 1)[winner]
    assert len(server.served) == 60


def test_what_a_killed_start_leaves_behind_is_taken_over(tmp_path: Path) -> None:
    path = questions(tmp_path, 5, pictures=False)
    run = tmp_path / "run"
    run.mkdir()
    (run / "log.jsonl").touch()
    (run / "samples.jsonl.123.tmp").write_text("{")
    assert len(evaluate(str(path), "first", out=str(run)).records()) == 5
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("text")
    with pytest.raises(Exception, match="is not empty and not a run"):
        evaluate(str(path), "first", out=str(tmp_path / "thesis"))
    assert [file.name for file in (tmp_path / "thesis").iterdir()] == ["chapter.tex"]


def test_dropping_records_keeps_the_others_to_the_byte_and_holds_none(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with LogWriter(log) as writer:
        for number in range(50):
            failed = number % 7 == 0
            reply = Reply(status="error" if failed else "ok", text=f"ä{number}")
            writer.append(Record(key=f"t/{number}", task="t", id=str(number), reply=reply))
        lines = log.read_bytes().splitlines(keepends=True)
        told: list[str] = []
        kept = writer.drop(
            lambda record: record.reply.status == "error", lambda record: told.append(record.key)
        )
        expected = [line for number, line in enumerate(lines) if number % 7]
        assert log.read_bytes() == b"".join(expected)
        assert told == [f"t/{n}" for n in range(50) if n % 7]
        assert len(kept) == len(told) and all(key in kept for key in told) and "t/0" not in kept
        with pytest.raises(LogError, match="Another process"):
            LogWriter(log)
        writer.append(Record(key="t/0", task="t", id="0", reply=Reply()))
    assert len(list(read_log(log))) == len(expected) + 1
