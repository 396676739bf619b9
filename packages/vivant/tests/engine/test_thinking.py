"""Runs of models that think: room besides the answer, replies cut off before an answer, resuming with more room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import thinking_kit as kit
from tests.support.helpers import logged_messages, questions
from tests.support.standin import Answer, Standin, gemini, openai
from vivant.core.errors import UsageError
from vivant.core.table import render
from vivant.engine.evaluation import evaluate
from vivant.engine.option_parsing import make_options
from vivant.engine.retry import RetryPolicy
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.reporting.usage import describe_usage
from vivant.runs.directory import RunError
from vivant.runs.overview import build_overview
from vivant.runs.run import Run

THINKER = "openai/Qwen/Qwen3-VL-8B-Thinking"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[Standin, str]]:
    with openai(answer) as server:
        yield server, f"http://127.0.0.1:{server.port}/v1"


def run_thinker(path: Path, url: str, **options: Any) -> Any:
    """The outcome of a run, one request at a time."""
    made = make_options(
        selectors=str(path), model=THINKER, base_url=url, concurrency=1, cache="off", **options
    )
    prepared = plan_run(made)
    return run_plan(prepared, made), Run(prepared.out)


def counts(run: Run, protocol: Any = None) -> tuple[int, int, int, int]:
    (row,) = build_overview([run], protocol).rows
    return row.n, row.errors, row.unparsed, row.truncated


@pytest.mark.parametrize("model", ["openai/gpt-5-mini", "openai/o4-mini", THINKER])
def test_the_leading_models_answer_mime_with_its_own_limits(model: str, tmp_path: Path) -> None:
    answer = kit.vllm("A") if model == THINKER else kit.gpt5("A")
    with serving(answer) as (_, url):
        run = evaluate("mime/mcq", model, data="mini", limit=6, base_url=url, out=tmp_path / "run")
    assert counts(run) == (6, 0, 0, 0)


def test_gemini_answers_mime_with_its_own_limits(tmp_path: Path) -> None:
    with gemini(kit.gemini_thinker("A")) as server:
        url = f"http://127.0.0.1:{server.port}/v1beta"
        run = evaluate(
            "mime/mcq",
            "gemini/gemini-3-pro-preview",
            data="mini",
            limit=6,
            base_url=url,
            out=tmp_path / "run",
        )
    assert counts(run) == (6, 0, 0, 0)
    record = next(iter(run.records().values()))
    assert (record.reply.thinking, record.reply.tokens_thinking, record.server) == ("Hm.", kit.THOUGHTS, url)
    assert f"{6 * kit.THOUGHTS:,} thoughts" in describe_usage(run)


def test_a_run_whose_first_replies_are_all_cut_off_stops_with_a_remedy(tmp_path: Path) -> None:
    path = questions(tmp_path, 12, pictures=False)
    with serving(kit.vllm(thoughts=40_000)) as (server, url):
        outcome, run = run_thinker(path, url)
        assert outcome.stopped and outcome.cut_off and len(server.requests) == 5
        assert "Give more with --thinking-tokens 65536" in outcome.reason
        assert "--no-thinking" not in outcome.reason  # this model cannot
        assert counts(run) == (0, 7, 0, 5)
        with logged_messages() as messages:
            outcome, again = run_thinker(path, url, thinking_tokens=65_536)
        assert "room for thoughts raised from 32,768 to 65,536 tokens" in " ".join(messages)
    assert again.dir.path == run.dir.path and not outcome.stopped
    assert counts(again) == (12, 0, 0, 0)


def test_replies_that_end_in_thoughts_within_their_limit_are_not_called_cut_off(tmp_path: Path) -> None:
    path = questions(tmp_path, 12, pictures=False)
    message = {"role": "assistant", "content": "<think>Let me see. The picture"}
    reply = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"completion_tokens": 9}}
    with serving(lambda _body: reply) as (server, url):
        outcome, run = run_thinker(path, url)
        assert outcome.stopped and len(server.requests) == 5
    assert "the first 5 replies ended while the model was thinking" in outcome.reason
    assert "cut off" not in outcome.reason and "--thinking-tokens" not in outcome.reason
    assert next(iter(run.records().values())).reply.error == "ended while it was thinking"


def test_only_what_was_cut_off_is_asked_again(tmp_path: Path) -> None:
    path = questions(tmp_path, 8, pictures=False)
    short, long = kit.vllm(thoughts=10), kit.vllm(thoughts=40_000)
    turn = iter(range(100))
    with serving(lambda body: (long if next(turn) % 4 == 3 else short)(body)) as (_, url):
        outcome, run = run_thinker(path, url, out=tmp_path / "run")
    assert not outcome.stopped and counts(run) == (6, 0, 0, 2)
    with serving(short) as (server, url):
        run_thinker(path, url, out=tmp_path / "run")
        assert server.requests == []  # the same room would give the same
        _, run = run_thinker(path, url, out=tmp_path / "run", thinking_tokens=50_000)
        assert len(server.requests) == 2
        assert run.manifest.settings.model["thinking"] == {"room": 50_000}
        assert run.manifest.fingerprint == run.manifest.settings.fingerprint()
        with pytest.raises(RunError, match=r"model.thinking.room: 50000 → 9000"):
            run_thinker(path, url, out=tmp_path / "run", thinking_tokens=9_000)
    assert counts(run) == (8, 0, 0, 0)


def test_an_unknown_model_that_thinks_is_given_room_when_told(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    with serving(kit.vllm(thoughts=200)) as (_, url):
        options: dict[str, Any] = {
            "selectors": str(path),
            "model": "openai/mine",
            "base_url": url,
            "concurrency": 1,
        }
        made = make_options(**options)
        prepared = plan_run(made)
        outcome = run_plan(prepared, made)
        assert outcome.cut_off and "--thinking-tokens 32768" in outcome.reason
        run = evaluate(**options, thinking_tokens=32_768)
    assert run.dir.path == prepared.out and counts(run) == (6, 0, 0, 0)


def test_replies_without_an_answer_have_their_own_column(tmp_path: Path) -> None:
    path = questions(tmp_path, 4, pictures=False)
    turn = iter(range(9))
    replies = [
        kit.vllm(thoughts=10),
        kit.vllm(thoughts=40_000),
        kit.vllm("A long answer " * 40, thoughts=32_768),
    ]
    with serving(lambda body: replies[min(2, next(turn))](body)) as (_, url):
        _, run = run_thinker(path, url)
    # Cut off after an answer began: read by the paper's protocol, unparsed in the strict one, as ever.
    assert counts(run, "strict") == (3, 0, 2, 1)
    table = build_overview([run])
    assert "truncated" in table.columns
    for form in ("csv", "latex", "markdown", "text"):
        assert "truncated" in render(table, form)
    assert any("not part of n" in note for note in table.notes)


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="--no-thinking goes without"):
        make_options(selectors="mime", model="openai/gpt-5", no_thinking=True, effort="low")


def test_a_model_that_answers_through_responses_alone_does_so_in_batches(tmp_path: Path) -> None:
    path = questions(tmp_path, 3)
    with serving(kit.gpt5("B")) as (server, url):
        run = evaluate(
            str(path),
            "openai/gpt-5-pro",
            base_url=url,
            batch=True,
            cache="off",
            retry=RetryPolicy(first=0.01),
        )
    assert counts(run) == (3, 0, 0, 0)
    assert next(iter(server.batches.values()))["endpoint"] == "/v1/responses"
    assert {(record.reply.thinking, record.server) for record in run.records().values()} == {("Hm.", url)}
