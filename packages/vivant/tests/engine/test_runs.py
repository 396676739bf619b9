"""A run from its first request to its table: every sample once, through faults, interrupts, kills and torn logs."""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import os
import random
import signal
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support import killed
from tests.support.fault_server import Act, FaultServer, serving
from tests.support.helpers import logged_messages, questions, vivant
from vivant.core.records import Record
from vivant.core.types import Decoding, Reply
from vivant.engine.evaluation import evaluate
from vivant.models.base import ModelError
from vivant.runs.directory import RunError
from vivant.runs.log import LogError, LogWriter, read_log
from vivant.runs.run import Run


def ask(path: Path, server: FaultServer, out: Path, **options: Any) -> Run:
    options.setdefault("cache", "off")
    return evaluate(str(path), "openai/stand-in", out=str(out), base_url=server.url, **options)


def log_lines(run: Path) -> int:
    return (run / "log.jsonl").read_bytes().count(b"\n")


def right_letter(body: dict[str, Any]) -> str:
    """The letter before the choice "right" in a prompt."""
    for piece in body["messages"][-1]["content"]:
        for line in piece.get("text", "").splitlines():
            if line.endswith(". right"):
                return str(line[0])
    raise AssertionError("no choices in the prompt")


def test_every_sample_is_asked_once_and_scored(tmp_path: Path) -> None:
    path = questions(tmp_path, 30)
    with serving(lambda _n, body: Act(right_letter(body))) as server:
        run = ask(path, server, tmp_path / "run", concurrency=8)
    assert len(server.requests) == 30
    rows = run.scores()[0].rows
    assert [score.value for _, _, score in rows] == [1.0] * 30
    assert {record.reply.tokens_in for record in run.records().values()} == {10}


def test_a_picture_is_sent_as_the_bytes_it_is(tmp_path: Path) -> None:
    path = questions(tmp_path, 1)
    with serving(lambda _n, _b: Act()) as server:
        ask(path, server, tmp_path / "run")
    url = next(p for p in server.requests[0]["messages"][0]["content"] if p["type"] == "image_url")
    sent = b64decode(url["image_url"]["url"].partition("base64,")[2])
    assert sent == (tmp_path / "0.png").read_bytes()


def test_options_are_shuffled_by_the_sample_and_the_order_is_logged(tmp_path: Path) -> None:
    path = questions(tmp_path, 40, pictures=False)
    with serving(lambda _n, _b: Act("A")) as server:
        one = ask(path, server, tmp_path / "one", concurrency=1).records()
        two = ask(path, server, tmp_path / "two", concurrency=16).records()
    orders = {key: record.order for key, record in one.items()}
    assert orders == {key: record.order for key, record in two.items()}
    assert len(set(orders.values())) > 10
    for record in one.values():
        texts = ["right", "wrong", "also wrong", "wrong too"]
        assert [option.text for option in record.options] == [texts[i] for i in record.order]


def test_faults_are_retried_and_end_in_one_true_record_each(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    seen: dict[str, int] = {}

    def behave(_number: int, body: dict[str, Any]) -> Act:
        text = str(body["messages"])
        seen[text] = seen.get(text, 0) + 1
        kind = int(text.partition("number ")[2].partition("?")[0]) % 10
        if seen[text] == 1:
            if kind == 0:
                return Act(status=429, headers={"Retry-After": "0"})
            if kind == 1:
                return Act(status=500)
            if kind == 2:
                return Act(break_connection=True)
            if kind == 3:
                return Act(body=b"{not json")
            if kind == 4:
                return Act(body=b'{"no": "choices"}')
        if kind == 5:
            return Act(finish="content_filter")
        if kind == 6:
            return Act("thinking and thinking", finish="length")
        if kind == 7:
            return Act(status=400, body=b'{"error": {"message": "maximum context length is 10"}}')
        if kind == 8:
            return Act(status=422)
        return Act(right_letter_of_text(body))

    with serving(behave) as server:
        run = ask(path, server, tmp_path / "run", concurrency=8)
    records = run.records()
    assert len(records) == 60
    assert log_lines(tmp_path / "run") == 60
    statuses = {int(r.id[1:]) % 10: r.reply.status for r in records.values()}
    assert statuses == {
        0: "ok",
        1: "ok",
        2: "ok",
        3: "ok",
        4: "ok",
        5: "refused",
        6: "truncated",
        7: "too_long",
        8: "error",
        9: "ok",
    }
    assert all(r.attempts == 2 for r in records.values() if int(r.id[1:]) % 10 <= 4)
    rows = run.scores("strict")[0].rows
    assert sum(score.status == "missing" for _, _, score in rows) == 18
    assert sum(score.status == "unparsed" for _, _, score in rows) == 6


def right_letter_of_text(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    return next(line[0] for line in text.splitlines() if line.endswith(". right"))


def test_a_failed_sample_is_asked_again_on_resume_and_stands_once(tmp_path: Path) -> None:
    path = questions(tmp_path, 10, pictures=False)
    with serving(lambda n, _b: Act(status=422) if n <= 3 else Act("A")) as server:
        first = ask(path, server, tmp_path / "run", concurrency=1)
        assert sum(r.reply.status == "error" for r in first.records().values()) == 3
        second = ask(path, server, tmp_path / "run", concurrency=1)
    assert {r.reply.status for r in second.records().values()} == {"ok"}
    assert log_lines(tmp_path / "run") == 10
    assert len(server.requests) == 13


def test_a_server_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    path = questions(tmp_path, 5, pictures=False)
    result = vivant("run", path, "--model", "openai/x", "--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert result.returncode == 1
    assert "No server answers at http://127.0.0.1:9/v1" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_a_wrong_key_ends_the_run_and_keeps_what_was_answered(tmp_path: Path) -> None:
    path = questions(tmp_path, 20, pictures=False)
    with serving(lambda n, _b: Act("A") if n <= 5 else Act(status=401)) as server:
        with pytest.raises(ModelError, match="refuses the key"):
            ask(path, server, tmp_path / "run", concurrency=1)
        assert len(Run(tmp_path / "run").records()) == 5


def test_the_key_reaches_the_server_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = questions(tmp_path, 3, pictures=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret\n")
    with serving(lambda n, _b: Act(status=422) if n == 1 else Act("A")) as server:
        ask(path, server, tmp_path / "run")
        assert {request["authorization"] for request in server.requests} == {"Bearer sk-very-secret"}
    for file in (tmp_path / "run").rglob("*"):
        if file.is_file():
            assert b"sk-very-secret" not in file.read_bytes(), file


def test_a_password_in_the_address_is_not_recorded(tmp_path: Path) -> None:
    path = questions(tmp_path, 2, pictures=False)
    with serving(lambda _n, _b: Act("A")) as server:
        address = server.url.replace("://", "://me:hunter2@") + "?token=hunter3"
        result = vivant("run", path, "--model", "openai/x", "--base-url", address, "-o", "run", cwd=tmp_path)
    assert result.returncode in (0, 1)
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"hunter" not in file.read_bytes(), file
    assert "hunter" not in result.stderr + result.stdout


def test_the_server_is_asked_less_when_it_says_so(tmp_path: Path) -> None:
    path = questions(tmp_path, 80, pictures=False)

    def behave(number: int, _body: dict[str, Any]) -> Act:
        return Act(status=429, headers={"Retry-After": "0.2"}) if number <= 16 else Act("A", delay=0.02)

    with serving(behave) as server:
        run = ask(path, server, tmp_path / "run", concurrency=16)
    assert {r.reply.status for r in run.records().values()} == {"ok"}


def test_identical_requests_are_answered_from_the_cache(tmp_path: Path) -> None:
    path = questions(tmp_path, 12)
    with serving(lambda _n, _b: Act("A")) as server:
        ask(path, server, tmp_path / "one", cache="auto")
        again = ask(path, server, tmp_path / "two", cache="auto")
        assert len(server.requests) == 12
        assert all(record.cached for record in again.records().values())
        ask(path, server, tmp_path / "three", cache="auto", decoding=Decoding(temperature=0.7))
        assert len(server.requests) == 24
        ask(path, server, tmp_path / "four", cache="auto", decoding=Decoding(temperature=0.7))
        assert len(server.requests) == 36


def test_a_changed_picture_is_another_request(tmp_path: Path) -> None:
    from tests.support.helpers import picture

    path = questions(tmp_path, 1)
    with serving(lambda _n, _b: Act("A")) as server:
        ask(path, server, tmp_path / "one", cache="auto")
        picture(tmp_path / "0.png", (0, 255, 0))
        ask(path, server, tmp_path / "two", cache="auto")
        assert len(server.requests) == 2


def test_other_settings_in_the_same_directory_are_refused_with_the_difference(tmp_path: Path) -> None:
    path = questions(tmp_path, 4, pictures=False)
    evaluate(str(path), "first", out=str(tmp_path / "run"))
    with pytest.raises(RunError, match=r"seed: 0 → 1"):
        evaluate(str(path), "first", out=str(tmp_path / "run"), seed=1)
    with pytest.raises(RunError, match=r"model\.model: first → random"):
        evaluate(str(path), "random", out=str(tmp_path / "run"))
    assert len(Run(tmp_path / "run").records()) == 4


def test_an_interrupt_stops_cleanly_and_the_same_command_goes_on(tmp_path: Path) -> None:
    path = questions(tmp_path, 200, pictures=False)
    command = [sys.executable, "-c", "from vivant.cli.main import main; main()", "run", str(path)]
    with serving(lambda _n, _b: Act("A", delay=0.05)) as server:
        command += [
            "--model",
            "openai/x",
            "--base-url",
            server.url,
            "--out",
            "run",
            "-j",
            "4",
            "--cache",
            "off",
        ]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        while len(server.requests) < 20:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 130
        assert "Run the same command to go on" in errors
        assert "Traceback" not in errors
        logged = log_lines(tmp_path / "run")
        assert logged == len(server.requests) < 200
        finished = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
        )
    assert finished.returncode == 0, finished.stderr
    assert f"{logged} of 200 samples are done" in finished.stderr
    assert len(server.requests) == 200


def test_killed_at_fifty_random_moments_the_log_is_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    path = questions(tmp_path, 500, pictures=False)
    chance = random.Random(5)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.killed", "vivant.media", "vivant.models.openai"])
    lengths: list[int] = []
    with serving(lambda _n, body: Act(right_letter_of_text(body), delay=0.01)) as server:

        def start(name: str) -> multiprocessing.process.BaseProcess:
            process = context.Process(target=killed.run, args=(str(path), server.url, str(tmp_path / name)))
            process.start()
            return process

        for _ in range(50):
            process = start("killed")
            # Any moment: while it reads the questions, writes the manifest, resumes, asks, logs.
            target = len(server.requests) + chance.randrange(1, 24)
            deadline = time.monotonic() + (chance.uniform(0.0, 0.1) if chance.random() < 0.3 else 600)
            while len(server.requests) < target and process.is_alive() and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
            process.join()
            assert process.exitcode == -signal.SIGKILL
            log = tmp_path / "killed" / "log.jsonl"
            lengths.append(log.read_bytes().count(b"\n") if log.exists() else 0)
        for name in ("killed", "whole"):
            process = start(name)
            process.join(600)
            assert process.exitcode == 0
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 20
    assert lengths[-1] < 500

    def content(name: str) -> dict[str, Any]:
        found = {}
        for record in read_log(tmp_path / name / "log.jsonl"):
            assert record.key not in found
            plain = msgspec.to_builtins(record)
            for timing in ("started", "seconds", "attempts"):
                plain.pop(timing, None)
            found[record.key] = plain
        return found

    assert len(content("whole")) == 500
    assert content("killed") == content("whole")


def test_a_torn_last_line_is_dropped_and_asked_again(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    run = evaluate(str(path), "first", out=str(tmp_path / "run"))
    log = tmp_path / "run" / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    assert len(run.records()) == 5
    assert len(evaluate(str(path), "first", out=str(tmp_path / "run")).records()) == 6
    assert log.read_bytes().count(b"\n") == 6


def test_a_broken_line_inside_the_log_is_named(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    evaluate(str(path), "first", out=str(tmp_path / "run"))
    log = tmp_path / "run" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + b'{"key": 3}\n' + lines[2])
    with logged_messages() as messages:
        assert len(Run(tmp_path / "run").records()) == 2, "the others are not lost"
    assert any("log.jsonl, line 2 is not a record" in message for message in messages)


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log.jsonl"), pytest.raises(LogError, match="Another process"):
        LogWriter(tmp_path / "log.jsonl")


def test_a_full_disk_leaves_the_log_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(key="t/1", task="t", id="1", reply=Reply(text="x"))
    real = os.pwrite
    with LogWriter(tmp_path / "log.jsonl") as log:
        log.append(record)
        monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, data[:10], at))
        with pytest.raises(LogError, match="disk is full"):
            log.append(record)
    assert [r.key for r in read_log(tmp_path / "log.jsonl")] == ["t/1"]
    assert (tmp_path / "log.jsonl").read_bytes().endswith(b"\n")


def test_a_missing_picture_is_refused_or_costs_its_sample(tmp_path: Path) -> None:
    path = questions(tmp_path, 5)
    (tmp_path / "3.png").unlink()
    (tmp_path / "4.png").write_bytes(b"<html>not found</html>")
    with serving(lambda _n, _b: Act("A")) as server:
        command = ("run", path, "--model", "openai/x", "--base-url", server.url, "--out", "run")
        refused = vivant(*command, cwd=tmp_path)
        assert refused.returncode == 1 and not (tmp_path / "run").exists()
        (line,) = refused.stderr.splitlines()
        assert "1 of 5 media files are missing" in line and "--task-option missing=keep" in line
        result = vivant(*command, "--task-option", "missing=keep", cwd=tmp_path)
    assert result.returncode == 1
    assert "1 of 5 media files are missing" in result.stderr
    records = Run(tmp_path / "run").records()
    assert {r.id: r.reply.status for r in records.values() if r.reply.status != "ok"} == {
        "q003": "error",
        "q004": "error",
    }
    assert "3.png" in records["jsonl/mine/q003"].reply.error
    assert "4.png" in records["jsonl/mine/q004"].reply.error
    assert len(server.requests) == 3
