"""Batch endpoints: handed over, waited for, collected; taken up again after the process died at any point."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import questions, vivant
from tests.support.standin import Standin, anthropic, anthropic_says, gemini, gemini_says, openai, openai_says
from vivant.core.errors import UsageError
from vivant.engine.batch_folder import BatchFolder, SubmittedBatch
from vivant.engine.evaluation import evaluate
from vivant.engine.retry import RetryPolicy
from vivant.models.anthropic import Anthropic
from vivant.models.base import ModelError, ModelOptions, TransientError
from vivant.models.batch.anthropic import AnthropicBatches
from vivant.models.batch.base import BatchApi, HttpBatches
from vivant.models.batch.gemini import GeminiBatches
from vivant.models.batch.openai import OpenAIBatches
from vivant.models.gemini import Gemini
from vivant.models.openai import OpenAI
from vivant.runs.directory import RunError
from vivant.runs.log import read_log
from vivant.runs.run import Run

Serve = Callable[..., AbstractContextManager[Standin]]
PROVIDERS: dict[str, tuple[Serve, Callable[[str], dict[str, Any]], str]] = {
    "openai/gpt-4o": (openai, openai_says, "v1"),
    "anthropic/claude-sonnet-4-5": (anthropic, anthropic_says, "v1"),
    "gemini/gemini-2.5-flash": (gemini, gemini_says, "v1beta"),
}


def text_of(body: dict[str, Any]) -> str:
    return msgspec.json.encode(body).decode()


def ask(path: Path, model: str, server: Standin, out: Path, **options: Any) -> Run:
    url = f"http://127.0.0.1:{server.port}/{PROVIDERS[model][2]}"
    options = {"cache": "off", "batch": True, "retry": RetryPolicy(first=0.01), **options}
    return evaluate(str(path), model, out=str(out), base_url=url, **options)


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_batch_is_handed_over_and_its_answers_find_their_samples(tmp_path: Path, model: str) -> None:
    serve, says, _ = PROVIDERS[model]
    path = questions(tmp_path, 5)

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if "number 3?" in text_of(body):
            return {"status": 400, "body": {"error": {"message": "maximum context length is 10"}}}
        number = text_of(body).partition("number ")[2][0]
        return says(f"{'ABCD'[int(number) % 4]}")

    with serve(answer) as server:
        run = ask(path, model, server, tmp_path / "run")
        assert server.requests == []  # nothing was asked one by one
        assert len(server.batches) == 1
    records = run.records()
    assert {r.id: r.reply.text for r in records.values()} == {
        "q000": "A",
        "q001": "B",
        "q002": "C",
        "q003": "",
        "q004": "A",
    }
    assert records["jsonl/mine/q003"].reply.status == "too_long"
    good = records["jsonl/mine/q001"]
    assert good.reply.tokens_in is not None
    assert good.extra == {"batch": next(iter(server.batches))}
    assert [use.path for use in good.media] == ["1.png"]
    assert not BatchFolder(tmp_path / "run").open()


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_run_is_left_and_taken_up_again_without_handing_over_twice(tmp_path: Path, model: str) -> None:
    serve, says, version = PROVIDERS[model]
    path = questions(tmp_path, 3, pictures=False)
    with serve(lambda _: says("A"), hold=True) as server:
        address = f"http://127.0.0.1:{server.port}/{version}"
        given = ["run", str(path), "--model", model, "--base-url", address, "--batch", "-o", "run"]
        process = subprocess.Popen(
            [sys.executable, "-c", "from vivant.cli.main import main; main()", *given],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 600
        while time.monotonic() < until:
            under_way = BatchFolder(tmp_path / "run").open()
            if under_way and under_way[0].id:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 130, errors
        assert "Run the same command to go on" in errors
        with pytest.raises(RunError, match="1 batches are under way at the provider; --batch collects"):
            ask(path, model, server, tmp_path / "run", batch=False)
        server.hold = False
        again = vivant(*given, cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        assert "Batches of this run that are under way: 1." in again.stderr
        assert len(server.batches) == 1
    assert len(list(read_log(tmp_path / "run" / "log.jsonl"))) == 3


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_batch_whose_id_was_never_heard_is_found_again(tmp_path: Path, model: str) -> None:
    serve, says, _ = PROVIDERS[model]
    path = questions(tmp_path, 3, pictures=False)
    with serve(lambda _: says("A"), lose=True) as server:
        run = ask(path, model, server, tmp_path / "run")
        assert len(server.batches) == 1
    assert {r.reply.text for r in run.records().values()} == {"A"}


Submit = Callable[[Any, list[bytes], str], Awaitable[str]]


def break_submissions(
    monkeypatch: pytest.MonkeyPatch, api: type[BatchApi], how: Callable[[int], str]
) -> None:
    """Let tries of handing over fail: `how` says of each, by its number, whether it is `refused`, `broken` on its way,
    or its answer `lost`."""
    submit: Submit = api.submit
    tries: list[str] = []

    async def try_once(self: Any, lines: list[bytes], name: str) -> str:
        tries.append(name)
        fate = how(len(tries))
        if fate == "refused":
            raise TransientError("HTTP 529: Overloaded", slow_down=True)
        if fate == "broken":
            raise TransientError("connection refused")
        id_ = await submit(self, lines, name)
        if fate == "lost":
            raise TransientError("connection reset")
        return id_

    monkeypatch.setattr(api, "submit", try_once)


@pytest.mark.parametrize("fate", ["refused", "broken", "lost"])
def test_a_batch_is_not_taken_for_another_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    """Anthropic's batches have no names, and these two are of one size."""
    path = questions(tmp_path, 4, pictures=False)
    monkeypatch.setattr(AnthropicBatches, "most_requests", 2)
    break_submissions(monkeypatch, AnthropicBatches, {2: fate}.get)  # type: ignore[arg-type]
    with anthropic(lambda _: anthropic_says("A")) as server:
        run = ask(path, "anthropic/claude-sonnet-4-5", server, tmp_path / "run")
        assert len(server.batches) == 2
    assert len(run.records()) == 4


def test_what_a_provider_refused_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's batch of the same size, made at the same time, would be waited for."""
    path = questions(tmp_path, 2, pictures=False)
    other = {"requests": [{"custom_id": "x", "params": {}}] * 2, "created_at": "2999-01-01T00:00:00Z"}
    break_submissions(monkeypatch, AnthropicBatches, {1: "refused"}.get)  # type: ignore[arg-type]
    with anthropic(lambda _: anthropic_says("A")) as server:
        server.batches["msgbatch_other"] = other
        run = ask(path, "anthropic/claude-sonnet-4-5", server, tmp_path / "run")
    assert len(run.records()) == 2


def test_a_batch_is_looked_for_before_every_new_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = questions(tmp_path, 2, pictures=False)
    break_submissions(monkeypatch, OpenAIBatches, {1: "broken", 2: "lost"}.get)  # type: ignore[arg-type]
    with openai(lambda _: openai_says("A")) as server:
        run = ask(path, "openai/gpt-4o", server, tmp_path / "run")
        assert len(server.batches) == 1, "nothing is paid twice"
    assert len(run.records()) == 2


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_process_that_died_while_handing_over_leaves_a_trace_that_is_followed(
    tmp_path: Path, model: str
) -> None:
    serve, says, _ = PROVIDERS[model]
    path = questions(tmp_path, 2, pictures=False)
    with serve(lambda _: says("A")) as server:
        ask(path, model, server, tmp_path / "run")
        folder = BatchFolder(tmp_path / "run")
        batch = folder.load()[0]
        # As if killed after the provider had the batch, and before its id was noted.
        folder.save(msgspec.structs.replace(batch, id="", collected=False))
        (tmp_path / "run" / "log.jsonl").write_bytes(b"")
        run = ask(path, model, server, tmp_path / "run")
        assert len(server.batches) == 1
        assert len(run.records()) == 2
        # As if killed before the provider had it.
        lost = SubmittedBatch(name="vivant-none", submitted=time.time() + 9999, count=1)
        folder.save(lost, folder.records(batch)[:1])
        log = (tmp_path / "run" / "log.jsonl").read_bytes().splitlines(keepends=True)
        (tmp_path / "run" / "log.jsonl").write_bytes(log[1])
        run = ask(path, model, server, tmp_path / "run")
        assert len(server.batches) == 2
    assert len(run.records()) == 2
    assert {b.name for b in folder.load()} >= {batch.name}
    assert "vivant-none" not in {b.name for b in folder.load()}


def test_collecting_goes_on_after_a_kill_in_its_midst(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    with openai(lambda _: openai_says("A")) as server:
        ask(path, "openai/gpt-4o", server, tmp_path / "run")
        log = tmp_path / "run" / "log.jsonl"
        whole = log.read_bytes()
        log.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]) + b'{"key": "torn')
        folder = BatchFolder(tmp_path / "run")
        folder.save(msgspec.structs.replace(folder.load()[0], collected=False))
        ask(path, "openai/gpt-4o", server, tmp_path / "run")
        assert len(server.batches) == 1
    keys = [record.key for record in read_log(log)]
    assert len(keys) == len(set(keys)) == 6


def test_what_failed_in_a_batch_is_handed_over_again(tmp_path: Path) -> None:
    path = questions(tmp_path, 4, pictures=False)
    broken = {"status": 500, "body": {"error": {"message": "internal"}}}
    good = False

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return openai_says("A") if good or "number 2?" not in text_of(body) else broken

    with openai(answer) as server:
        first = ask(path, "openai/gpt-4o", server, tmp_path / "run")
        failed = [r for r in first.records().values() if r.reply.status == "error"]
        assert [r.id for r in failed] == ["q002"]
        assert "HTTP 500: internal" in failed[0].reply.error
        good = True
        second = ask(path, "openai/gpt-4o", server, tmp_path / "run")
        assert len(server.batches) == 2
        assert server.files[server.batches["batch_1"]["input_file_id"]].count(b"\n") == 1
    assert {r.reply.status for r in second.records().values()} == {"ok"}


def test_an_answer_that_never_came_is_an_error_of_its_sample(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    with openai(lambda _: openai_says("A")) as server:
        dropped = server.answer

        def answer(body: dict[str, Any]) -> dict[str, Any]:
            return {**dropped(body), "choices": []} if "number 1?" in text_of(body) else dropped(body)

        server.answer = answer
        run = ask(path, "openai/gpt-4o", server, tmp_path / "run")
    assert {r.id: r.reply.status for r in run.records().values()} == {
        "q000": "ok",
        "q001": "error",
        "q002": "ok",
    }


def test_odd_lines_among_the_results_cost_no_more_than_their_samples(tmp_path: Path) -> None:
    """Half of a surrogate pair, where a reply was cut in an emoji; bytes that are no UTF-8; half of a line."""
    path = questions(tmp_path, 4, pictures=False)
    with openai(lambda _: openai_says("A ~")) as server:
        content = server.files

        class Odd(dict[str, bytes]):
            def __getitem__(self, name: str) -> bytes:
                data = content[name]
                if not name.endswith("-out"):
                    return data
                lines = data.split(b"\n")
                lines[0] = lines[0].replace(b"~", b"\\ud83d")
                lines[1] = lines[1].replace(b"~", b"\xff")
                lines[2] = lines[2][:-20]
                return b"\n".join(lines)

            def __setitem__(self, name: str, data: bytes) -> None:
                content[name] = data

        server.files = Odd()
        run = ask(path, "openai/gpt-4o", server, tmp_path / "run")
    texts = {record.id: record.reply.text for record in run.records().values()}
    assert texts == {"q000": "A ~", "q001": "", "q002": "A \ufffd", "q003": "A \ufffd"}
    assert "ended without an answer" in run.records()["jsonl/mine/q001"].reply.error


def test_a_batch_is_split_at_the_providers_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = questions(tmp_path, 7, pictures=False)
    monkeypatch.setattr(OpenAIBatches, "most_requests", 3)
    with openai(lambda _: openai_says("A")) as server:
        run = ask(path, "openai/gpt-4o", server, tmp_path / "run")
    assert sorted(data.count(b"\n") for name, data in server.files.items() if name.startswith("file-")) == [
        1,
        3,
        3,
    ]
    assert len(run.records()) == 7


def test_a_batch_that_the_provider_cannot_read_ends_the_run_with_its_words(tmp_path: Path) -> None:
    path = questions(tmp_path, 2, pictures=False)
    with openai(lambda _: openai_says("A"), verdict="failed") as server:
        with pytest.raises(ModelError, match="failed: unknown model in line 1"):
            ask(path, "openai/gpt-4o", server, tmp_path / "run")
        assert not BatchFolder(tmp_path / "run").open()
        server.verdict = "ACTIVE"
        assert len(ask(path, "openai/gpt-4o", server, tmp_path / "run").records()) == 2


def test_a_batch_that_the_provider_has_forgotten_is_named_with_its_file(tmp_path: Path) -> None:
    path = questions(tmp_path, 2, pictures=False)
    with openai(lambda _: openai_says("A")) as server:
        ask(path, "openai/gpt-4o", server, tmp_path / "run")
        folder = BatchFolder(tmp_path / "run")
        batch = msgspec.structs.replace(folder.load()[0], id="batch_99", collected=False)
        folder.save(batch)
        (tmp_path / "run" / "log.jsonl").write_bytes(b"")
        server.batches["batch_99"] = {"input_file_id": "gone"}
        server.verdict = "forgotten"
        with pytest.raises(ModelError, match=f"delete .*{batch.name}.json to hand it over again"):
            ask(path, "openai/gpt-4o", server, tmp_path / "run")
        (folder.path / f"{batch.name}.json").unlink()
        server.verdict = "ACTIVE"
        assert len(ask(path, "openai/gpt-4o", server, tmp_path / "run").records()) == 2


def test_replies_of_a_batch_serve_the_cache(tmp_path: Path) -> None:
    path = questions(tmp_path, 3)
    with openai(lambda _: openai_says("A")) as server:
        ask(path, "openai/gpt-4o", server, tmp_path / "one", cache="auto")
        again = ask(path, "openai/gpt-4o", server, tmp_path / "two", cache="auto")
        assert len(server.batches) == 1
        ask(path, "openai/gpt-4o", server, tmp_path / "three", cache="auto", batch=False)
    assert server.requests == []
    assert all(record.cached for record in again.records().values())


def test_a_missing_picture_costs_its_sample_and_is_not_sent(tmp_path: Path) -> None:
    path = questions(tmp_path, 3)
    (tmp_path / "1.png").unlink()
    with openai(lambda _: openai_says("A")) as server:
        run = ask(path, "openai/gpt-4o", server, tmp_path / "run", task_options={"missing": "keep"})
    assert server.files["file-0"].count(b"\n") == 2
    assert "1.png" in run.records()["jsonl/mine/q001"].reply.error


def test_what_does_not_go_with_batches_is_refused(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    with openai(lambda _: openai_says("A")) as server:
        for options, words in (
            ({"rpm": 5}, "leave out --rpm"),
            ({"executor": "ray"}, "leave out --executor ray"),
            ({"answer_by": "loglik"}, "no batch endpoint"),
        ):
            with pytest.raises(UsageError, match=words):
                ask(path, "openai/gpt-4o", server, tmp_path / "run", **options)
    with pytest.raises(UsageError, match="random has no batch endpoint"):
        evaluate(str(path), "random", out=str(tmp_path / "run"), batch=True)
    assert not (tmp_path / "run").exists()


def cut_off(_: dict[str, Any]) -> dict[str, Any]:
    """The reply of a model whose thoughts took all of its room."""
    reply = openai_says("")
    reply["choices"][0]["finish_reason"] = "length"
    return reply


def test_nothing_is_handed_over_where_the_first_replies_are_cut_off(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    prices = tmp_path / "prices.yaml"
    prices.write_text("as_of: '2026-11'\nmodels: {openai/gpt-5-mini: {input: 1000, output: 1000000}}\n")
    with openai(cut_off) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        given = ["run", str(path), "--model", "openai/gpt-5-mini", "--base-url", url, "--batch", "-o", "run"]
        stopped = vivant(*given, "--prices", str(prices), cwd=tmp_path)
        assert stopped.returncode == 3, stopped.stderr
        assert "the first 5 replies were cut off before an answer began" in " ".join(stopped.stderr.split())
        assert "--thinking-tokens 65536" in stopped.stderr
        assert "USD (prices of 2026-11)" in stopped.stderr  # what it cost all the same
        assert len(server.requests) == 5
        assert server.batches == {}
        server.answer = lambda _: openai_says("A")
        again = vivant(*given, "--thinking-tokens", "65536", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        assert len(server.requests) == 10  # asked again, with more room
        assert len(server.batches) == 1
    records = list(read_log(tmp_path / "run" / "log.jsonl"))
    assert len({record.key for record in records}) == len(records) == 60
    assert sum("batch" in record.extra for record in records) == 55


def test_a_batch_whose_replies_are_all_cut_off_says_what_to_do(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    with openai(cut_off) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        given = ["run", str(path), "--model", "openai/gpt-5-mini", "--base-url", url, "--batch", "-o", "run"]
        stopped = vivant(*given, cwd=tmp_path)
        assert server.requests == []  # so few are handed over at once
    assert stopped.returncode == 3, stopped.stderr
    assert "the first 6 replies were cut off before an answer began" in " ".join(stopped.stderr.split())


def test_a_refusal_of_every_request_shows_before_anything_is_handed_over(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    failure = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with openai(lambda _: {"status": 429, "body": failure}) as server:
        with pytest.raises(ModelError, match="quota"):
            ask(path, "openai/gpt-4o", server, tmp_path / "run")
        assert server.batches == {}


def test_the_key_stays_out_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = questions(tmp_path, 1, pictures=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "very-secret")
    with anthropic(lambda _: anthropic_says("A")) as server:
        ask(path, "anthropic/claude-sonnet-4-5", server, tmp_path / "run")
    assert {headers["x-api-key"] for headers in server.headers} == {"very-secret"}
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"very-secret" not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "error", "HTTP 529: Overloaded"),
        (
            {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"},
            "too_long",
            "HTTP 400",
        ),
        (
            {"type": "request_too_large", "message": "Request exceeds the maximum size"},
            "too_long",
            "HTTP 413",
        ),
        ({"type": "api_error", "message": "Internal server error"}, "error", "HTTP 500"),
    ],
)
def test_what_failed_in_a_batch_of_anthropics_has_its_true_status(
    error: dict[str, str], status: str, words: str
) -> None:
    model = Anthropic("claude-sonnet-4-5", ModelOptions(base_url="http://127.0.0.1:9/v1"))
    result = {"type": "errored", "error": {"type": "error", "error": error}}
    reply = AnthropicBatches(model).read_result(result)
    assert reply.status == status and words in reply.error


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        ({"code": 13, "message": "An internal error has occurred."}, "error", "HTTP 500: An internal"),
        ({"code": 8, "message": "Resource has been exhausted."}, "error", "HTTP 429"),
        ({"code": 3, "message": "Request has too many images: 4000."}, "too_long", "HTTP 400"),
        ({"code": 400, "message": "Request has too many images: 4000."}, "too_long", "HTTP 400"),
    ],
)
def test_what_failed_in_a_batch_of_geminis_has_its_true_status(
    error: dict[str, Any], status: str, words: str
) -> None:
    """Errors inside a batch have the codes of gRPC."""
    model = Gemini("gemini-2.5-flash", ModelOptions(base_url="http://127.0.0.1:9/v1beta"))
    reply = GeminiBatches(model)._reply({"key": "a", "error": error})
    assert reply.status == status and words in reply.error


OLDER: dict[str, tuple[Callable[[], HttpBatches], dict[str, Any], dict[str, Any], str]] = {
    "openai": (
        lambda: OpenAIBatches(OpenAI("gpt-4o", ModelOptions(base_url="http://127.0.0.1:9/v1"))),
        {"data": [{"id": "new"}], "has_more": True, "last_id": "new"},
        {"data": [{"id": "old", "metadata": {"vivant": "mine"}}], "has_more": False},
        "&after=new",
    ),
    "anthropic": (
        lambda: AnthropicBatches(Anthropic("claude", ModelOptions(base_url="http://127.0.0.1:9/v1"))),
        {"data": [], "has_more": True, "last_id": "new"},
        {"data": [{"id": "old", "request_counts": {"processing": 2}, "created_at": "2026-01-01T00:00:00Z"}]},
        "&after_id=new",
    ),
    "gemini": (
        lambda: GeminiBatches(Gemini("gemini", ModelOptions(base_url="http://127.0.0.1:9/v1beta"))),
        {"operations": [{"name": "new"}], "nextPageToken": "t"},
        {"operations": [{"name": "old", "metadata": {"displayName": "mine"}}]},
        "&pageToken=t",
    ),
}


@pytest.mark.parametrize("provider", OLDER)
def test_a_batch_is_found_behind_a_hundred_newer_ones(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others of the account may have handed over many since; one that is not found is paid twice."""
    make, first, second, query = OLDER[provider]
    batches = make()

    async def get(path: str) -> dict[str, Any]:
        return second if path.endswith(query) else first

    monkeypatch.setattr(batches._client, "get", get)
    assert asyncio.run(batches.find("mine", 0.0, 2)) == ["old"]
