"""The engine against servers, disks and people that misbehave: nothing lost, nothing doubled, nothing guessed."""

from __future__ import annotations

import ctypes
import os
import random
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fault_server import Act, FaultServer, serving
from tests.helpers import questions, vivant
from vivant.engine.log import LogError, LogWriter, read_log
from vivant.engine.retry import RetryPolicy
from vivant.evaluation import Options, evaluate, prepare, run_plan
from vivant.models.base import ModelError, ModelOptions
from vivant.runs import Run
from vivant.types import Record, Reply

QUICK = RetryPolicy(first=0.02, most=0.2, probe=0.1)


def ask(path: Path, server: FaultServer, out: Path, *, timeout: float = 600.0, **options: Any) -> Run:
    options = {"cache": "off", "retry": QUICK, **options}
    model = ModelOptions(base_url=server.url, timeout=timeout)
    return evaluate(str(path), "openai/stand-in", out=str(out), model_options=model, **options)


def number_of(body: dict[str, Any]) -> int:
    return int(str(body["messages"]).partition("number ")[2].partition("?")[0])


def statuses(run: Run) -> Counter[str]:
    return Counter(record.reply.status for record in run.records().values())


# ── the server ──


FAULTS: tuple[Callable[[], Act], ...] = (
    lambda: Act(status=429),
    lambda: Act(status=429, headers={"Retry-After": "0.05"}),
    lambda: Act(status=500),
    lambda: Act(status=503),
    lambda: Act(break_connection=True),
    lambda: Act(body=b"{not json"),
    lambda: Act(body=b'{"choices": []}'),
    lambda: Act(half_stream=True),
    lambda: Act(stall=True),
    lambda: Act(hang=True),
)


@pytest.mark.parametrize("seed", range(3))
def test_any_mix_of_faults_leaves_one_true_record_a_sample(tmp_path: Path, seed: int) -> None:
    path = questions(tmp_path, 80, pictures=False)
    chance = random.Random(seed)
    final = {
        n: chance.choice(("ok", "ok", "ok", "refused", "truncated", "too_long", "error")) for n in range(80)
    }
    troubles = {n: [chance.choice(FAULTS) for _ in range(chance.randrange(3))] for n in range(80)}
    asked: Counter[int] = Counter()

    def behave(_number: int, body: dict[str, Any]) -> Act:
        sample = number_of(body)
        asked[sample] += 1
        if asked[sample] <= len(troubles[sample]):
            return troubles[sample][asked[sample] - 1]()
        return {
            "ok": Act(f"the answer to {sample}"),
            "refused": Act(finish="content_filter"),
            "truncated": Act("and so on and", finish="length"),
            "too_long": Act(status=400, body=b'{"error": {"message": "maximum context length is 10"}}'),
            "error": Act(status=422),
        }[final[sample]]

    with serving(behave) as server:
        run = ask(path, server, tmp_path / "run", concurrency=40, timeout=0.5)
    records = run.records()
    assert len(list(read_log(tmp_path / "run" / "log.jsonl"))) == len(records) == 80
    for record in records.values():
        sample = int(record.id[1:])
        assert record.reply.status == final[sample]
        # On a busy machine a good answer may come too late, and be asked for again.
        assert record.attempts == asked[sample] >= len(troubles[sample]) + 1
        if final[sample] == "ok":
            assert record.reply.text == f"the answer to {sample}"
    scored = run.scores("strict")[0].rows
    assert len(scored) == 80
    assert Counter(score.status for _, _, score in scored)["missing"] == sum(
        status in ("refused", "too_long", "error") for status in final.values()
    )


def test_a_server_that_fails_for_good_costs_its_sample_alone(tmp_path: Path) -> None:
    path = questions(tmp_path, 12, pictures=False)
    with serving(lambda _n, body: Act(status=500) if number_of(body) == 5 else Act()) as server:
        run = ask(path, server, tmp_path / "run")
    assert statuses(run) == {"ok": 11, "error": 1}
    assert "tried 6 times" in run.records()["jsonl/mine/q005"].reply.error


def test_a_server_that_only_fails_ends_the_run_instead_of_failing_everything(tmp_path: Path) -> None:
    path = questions(tmp_path, 400, pictures=False)
    with serving(lambda _n, _b: Act(status=500)) as server:
        with pytest.raises(ModelError, match=r"20 samples in a row were given up\. Run the same command"):
            ask(path, server, tmp_path / "run", concurrency=4)
        assert len(Run(tmp_path / "run").records()) < 60
        server.behave = lambda _n, _b: Act()
        run = ask(path, server, tmp_path / "run", concurrency=32)
    assert statuses(run) == {"ok": 400}


def test_requests_for_less_are_obeyed_as_often_as_it_takes(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    asked: Counter[int] = Counter()

    def behave(_number: int, body: dict[str, Any]) -> Act:
        asked[number_of(body)] += 1
        return Act(status=429) if asked[number_of(body)] <= 12 else Act()

    with serving(behave) as server:
        run = ask(path, server, tmp_path / "run")
    assert statuses(run) == {"ok": 6}
    assert {record.attempts for record in run.records().values()} == {13}


def test_a_server_that_dies_and_comes_back_costs_nothing(tmp_path: Path) -> None:
    path = questions(tmp_path, 150, pictures=False)
    said: list[str] = []
    with serving(lambda _n, _b: Act(delay=0.02)) as server:
        options = options_for(path, server, tmp_path / "run", concurrency=8)

        def restart() -> None:
            for _ in range(2):
                before = len(server.requests)
                while len(server.requests) < before + 30:
                    time.sleep(0.005)
                server.die()
                time.sleep(0.5)
                server.start()

        restarting = threading.Thread(target=restart)
        restarting.start()
        run_plan(prepare(options), options, said.append)
        restarting.join()
    assert statuses(Run(tmp_path / "run")) == {"ok": 150}
    assert any("waiting up to 300 s for it to come back" in sentence for sentence in said)


def test_a_server_that_stays_away_ends_the_run_and_nothing_is_recorded_for_it(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    with serving(lambda _n, _b: Act(delay=0.02)) as server:
        threading.Thread(target=_die_after, args=(server, 20)).start()
        impatient = RetryPolicy(first=0.02, most=0.2, probe=0.1, outage=0.6)
        with pytest.raises(ModelError, match=r"No server answers .*for 0\.6 s\. Run the same command"):
            ask(path, server, tmp_path / "run", concurrency=4, retry=impatient)
        answered = Run(tmp_path / "run").records()
        assert {record.reply.status for record in answered.values()} == {"ok"}
        assert len(answered) < 60
        server.start()
        assert statuses(ask(path, server, tmp_path / "run")) == {"ok": 60}


def _die_after(server: FaultServer, requests: int) -> None:
    while len(server.requests) < requests:
        time.sleep(0.005)
    server.die()


def options_for(path: Path, server: FaultServer, out: Path, **more: Any) -> Options:
    return Options(
        selectors=(str(path),),
        model="openai/stand-in",
        out=str(out),
        model_options=ModelOptions(base_url=server.url),
        **{"cache": "off", "retry": QUICK, **more},
    )


# ── the user's machine ──


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
        timeout=60,
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
    assert f"{kept} of 300 samples are there already" in again.stderr
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


def test_a_full_disk_for_the_response_cache_is_one_line(tmp_path: Path) -> None:
    path = questions(tmp_path, 200, pictures=False)
    with serving(lambda _n, _b: Act("a long answer " * 400)) as server:
        command = ("run", path, "--model", "openai/x", "--base-url", server.url, "--out", "run")
        os.environ["VIVANT_CACHE"], kept = str(tmp_path / "cache"), os.environ["VIVANT_CACHE"]
        try:
            full = run_limited(400_000, *command, cwd=tmp_path)
        finally:
            os.environ["VIVANT_CACHE"] = kept
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "replies.sqlite cannot be used" in full.stderr.splitlines()[-1]
    assert "--cache off does without" in full.stderr.splitlines()[-1]
    assert all(record.reply.status == "ok" for record in read_log(tmp_path / "run" / "log.jsonl"))


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
    with serving(lambda _n, _b: Act(delay=0.02)) as server:
        command = [sys.executable, "-c", "from vivant.cli.main import main; main()", "run", str(path)]
        command += ["--model", "openai/x", "--base-url", server.url, "--out", "run", "--cache", "off"]
        started = [
            subprocess.Popen([*command, "--seed", str(seed)], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
            for seed in (0, 0, 1)
        ]
        ends = [process.communicate(timeout=60)[1] for process in started]
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
    assert len(server.requests) == 60


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
        assert kept == set(told) == {f"t/{n}" for n in range(50) if n % 7}
        with pytest.raises(LogError, match="Another process"):
            LogWriter(log)
        writer.append(Record(key="t/0", task="t", id="0", reply=Reply()))
    assert len(list(read_log(log))) == len(expected) + 1
