"""Servers that deny, charge, stall and answer oddly: what it costs a sample, and what it costs the run."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine.test_faults import QUICK, ask, number_of, options_for, statuses
from tests.support.fault_server import Act, completion, serving
from tests.support.helpers import logged_messages, picture, questions
from vivant.core.records import Record
from vivant.core.types import Reply
from vivant.engine import waiting
from vivant.engine.budget import ESTIMATED, Meter, RunBudget, read_usage
from vivant.engine.evaluation import evaluate
from vivant.engine.rate_limit import RateLimit
from vivant.engine.reply_cache import ReplyCache
from vivant.engine.retry import RetryPolicy
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.models.base import DeniedError, ModelError
from vivant.runs.log import read_log
from vivant.runs.run import Run


def failing(status: int, message: str, **fields: Any) -> Act:
    return Act(status=status, body=msgspec.json.encode({"error": {"message": message, **fields}}))


# ── one sample, or the run ──


@pytest.mark.parametrize("status", [403, 404])
def test_one_denied_request_costs_its_sample(tmp_path: Path, status: int) -> None:
    path = questions(tmp_path, 12, pictures=False)
    with serving(lambda _n, body: Act(status=status) if number_of(body) in (0, 7) else Act()) as server:
        run = ask(path, server, tmp_path / "run", concurrency=1)
        assert statuses(run) == {"ok": 10, "error": 2}
        assert f"HTTP {status}" in run.records()["jsonl/mine/q007"].reply.error
        # The same when only those are left to ask.
        assert statuses(ask(path, server, tmp_path / "run", concurrency=1)) == {"ok": 10, "error": 2}


def test_denied_before_the_first_success_ends_the_run(tmp_path: Path) -> None:
    path = questions(tmp_path, 30, pictures=False)
    with serving(lambda _n, _b: Act(status=403)) as server:
        with pytest.raises(
            ModelError, match=r"HTTP 403.*: 2 requests were denied, and none was answered\. Check key"
        ):
            ask(path, server, tmp_path / "run", concurrency=1)
        assert len(server.requests) == 2


def test_a_denial_keeps_its_kind_on_the_way_from_another_machine() -> None:
    from vivant.engine.ray_executor import raise_worker_error
    from vivant.engine.ray_worker import RayWorker, WorkerAnswer, WorkerCall

    class Denying:
        async def send(self, _request: Any) -> Reply:
            raise DeniedError("no")

    async def main() -> list[WorkerAnswer]:
        worker = RayWorker()
        worker._executor = Denying()  # type: ignore[assignment]
        worker._prepared[1] = None  # type: ignore[assignment]
        await worker.submit(0, msgspec.msgpack.encode([WorkerCall(number=1, method="send")]))
        return msgspec.msgpack.decode(await worker.collect(), type=list[WorkerAnswer])

    with pytest.raises(DeniedError, match="no"):
        raise_worker_error(asyncio.run(main())[0])


def test_denied_again_and_again_ends_the_run_and_says_how_often(tmp_path: Path) -> None:
    path = questions(tmp_path, 40, pictures=False)
    with serving(lambda number, _b: Act() if number <= 5 else Act(status=404)) as server:
        with pytest.raises(
            ModelError, match=r"10 requests were denied in a row\. Run the same command to go on"
        ):
            ask(path, server, tmp_path / "run", concurrency=1)
        assert len(server.requests) == 15
        server.behave = lambda _n, _b: Act()
        assert statuses(ask(path, server, tmp_path / "run")) == {"ok": 40}


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (failing(402, "Insufficient Balance"), "no credit"),
        (failing(429, "You exceeded your current quota", code="insufficient_quota"), "no credit"),
        (failing(404, "The model `x` does not exist.", code=404), "no such model"),
        (Act(body=b'{"error": {"code": 402, "message": "Insufficient credits"}}'), "no credit"),
    ],
)
def test_what_waiting_cannot_mend_ends_the_run_at_once_and_keeps_the_log(
    tmp_path: Path, act: Act, words: str
) -> None:
    path = questions(tmp_path, 20, pictures=False)
    with serving(lambda number, _b: Act() if number <= 6 else act) as server:
        with pytest.raises(ModelError, match=words):
            ask(path, server, tmp_path / "run", concurrency=1, retry=RetryPolicy())
        assert len(server.requests) == 7
        assert statuses(Run(tmp_path / "run")) == {"ok": 6}
        server.behave = lambda _n, _b: Act()
        assert statuses(ask(path, server, tmp_path / "run")) == {"ok": 20}
    assert len(server.requests) == 7 + 14


def test_refusals_in_servers_own_words_have_their_status(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    acts = [
        failing(403, "requires moderation", metadata={"flagged_input": "…", "reasons": ["violence"]}),
        failing(500, "Context size has been exceeded.", type="server_error"),
        Act(),
    ]
    with serving(lambda _n, body: acts[number_of(body)]) as server:
        run = ask(path, server, tmp_path / "run")
    assert statuses(run) == {"refused": 1, "too_long": 1, "ok": 1}
    assert len(server.requests) == 3


# ── odd answers ──


def test_odd_answers_are_read_or_asked_for_again(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    plain = completion("A")
    asked: Counter[int] = Counter()

    def behave(_number: int, body: dict[str, Any]) -> Act:
        sample = number_of(body)
        asked[sample] += 1
        if sample == 0 and asked[sample] == 1:
            return Act(
                body=b'{"error": {"code": 429, "message": "slow down"}}', headers={"Retry-After": "0.05"}
            )
        return {
            1: Act(status=201, body=plain),
            2: Act(body=b"\xef\xbb\xbf" + plain),
            3: Act(body=plain.replace(b'"A"', b'"A caf\xe9"')),
            4: Act(body=plain.replace(b'"A"', rb'"A \ud83d"').replace(b":10", b":NaN")),
            5: Act(body=plain, headers={"X-Trace": "x" * 60_000}),
        }.get(sample, Act())

    with serving(behave) as server:
        run = ask(path, server, tmp_path / "run")
    records = run.records()
    assert statuses(run) == {"ok": 6}
    assert asked == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    assert [records[f"jsonl/mine/q00{n}"].reply.text for n in (3, 4)] == ["A caf\ufffd", "A \ufffd"]
    assert records["jsonl/mine/q004"].reply.tokens_in is None
    assert len(run.scores()[0].rows) == 6


BROKEN = """
class Broken:
    batch_size = 1

    def generate(self, prompts, media):
        return [self.answer(prompt) for prompt in prompts]

    def answer(self, prompt):
        return {}["weights"] if "number 1?" in prompt else "A"


class BrokenToo:
    async def generate(self, request):
        return {}["weights"] if "number 1?" in request.text else "A"
"""


@pytest.mark.parametrize("name", ["Broken", "BrokenToo"])
def test_an_exception_in_a_users_model_keeps_its_traceback_in_the_log(tmp_path: Path, name: str) -> None:
    path = questions(tmp_path, 3, pictures=False)
    (tmp_path / "mine.py").write_text(BROKEN)
    run = evaluate(str(path), f"{tmp_path}/mine.py:{name}", out=str(tmp_path / "run"))
    failed = run.records()["jsonl/mine/q001"].reply
    assert statuses(run) == {"ok": 2, "error": 1}
    assert failed.error == "KeyError: 'weights'"
    assert "Traceback" in failed.traceback and 'return {}["weights"]' in failed.traceback


# ── waiting and stopping ──


def test_a_waiting_run_says_what_it_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LONG", 0.2)
    path = questions(tmp_path, 4, pictures=False)

    def behave(number: int, _body: dict[str, Any]) -> Act:
        return Act(status=429, headers={"Retry-After": "0.3"}) if number <= 4 else Act()

    with serving(behave) as server, logged_messages() as messages:
        ask(path, server, tmp_path / "run")
    told = [message for message in messages if "HTTP 429" in message]
    assert len(told) == 1  # of four samples that wait
    assert "Waiting: retry 1 at " in told[0] and ":" in told[0].rpartition(" at ")[2]


def test_short_pauses_are_told_once_nothing_was_answered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    from vivant.models.base import TransientError

    clock = [100.0]
    monkeypatch.setattr("vivant.engine.waiting.time.monotonic", lambda: clock[0])
    notices = waiting.WaitNotices()
    with logged_messages() as messages:
        for _ in range(60):
            clock[0] += 1
            notices.note_retry(TransientError("there answered HTTP 500: no"), 1.0, 3)
    assert len(messages) == 2  # after 10 s of silence, and 30 s later
    assert messages[0].startswith("there answered HTTP 500: no. Trying again: retry 3 at ")


def test_a_stop_does_not_wait_for_the_users_own_rates(tmp_path: Path) -> None:
    """Ctrl-C with `--rpm 5` takes the time of the requests under way."""
    path = questions(tmp_path, 40, pictures=False)

    def interrupt() -> None:
        while len(server.requests) < 5:
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)

    with serving(lambda _n, _b: Act(delay=0.1)) as server:
        options = options_for(path, server, tmp_path / "run", rpm=5)
        thread = threading.Thread(target=interrupt)
        thread.start()
        with logged_messages() as messages:
            outcome = run_plan(plan_run(options), options)
        thread.join()
    assert outcome.stopped and outcome.done == 5 == len(server.requests)
    assert any("--rpm and --tpm hold requests back; the next goes at " in message for message in messages)


def test_whoever_waits_for_a_rate_is_let_go_when_the_run_stops() -> None:
    async def main() -> list[Any]:
        rates = RateLimit(rpm=1)
        first = await rates.enter(1)
        others = [asyncio.create_task(rates.enter(1)) for _ in range(5)]
        await asyncio.sleep(0.01)
        rates.stop()
        return [first is not None, *await asyncio.wait_for(asyncio.gather(*others), 600)]

    assert asyncio.run(main()) == [True, None, None, None, None, None]


# ── budgets ──


def test_a_token_budget_holds_over_resumes_though_the_server_reports_nothing(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    spent: list[int] = []

    def behave(_number: int, body: dict[str, Any]) -> Act:
        text = "word " * 200
        spent.append(len(str(body["messages"])) // 4 + len(text) // 4)
        return Act(text, tokens=None)

    budget = 6_000
    with serving(behave) as server:
        for _ in range(4):
            options = options_for(
                path, server, tmp_path / "run", budget_tokens=budget, max_tokens=300, concurrency=2
            )
            outcome = run_plan(plan_run(options), options)
            assert outcome.stopped
    records = list(read_log(tmp_path / "run" / "log.jsonl"))
    assert len(records) == len(server.requests)
    assert all(record.extra[ESTIMATED][1] == 250 for record in records)
    assert 0.7 * budget < sum(spent) <= budget


def test_a_record_that_holds_no_usage_is_counted_by_its_texts() -> None:
    from vivant.core.records import MediaUse
    from vivant.core.types import Message, Text

    record = Record(
        key="t/1",
        task="t",
        id="1",
        messages=(Message("user", (Text("a" * 400),)),),
        media=(MediaUse("video", "v.mp4", times=(0.0, 1.0)),),
        reply=Reply(text="b" * 40),
    )
    usage = read_usage(record)
    assert (usage.sent, usage.written) == (100 + 2_000, 10)
    meter = Meter(RunBudget(tokens=10_000))
    meter.recall(record)
    assert meter.spent == usage.total


# ── the reply cache ──


@pytest.fixture
def cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "replies.sqlite"


def run_cached(path: Path, out: Path) -> tuple[Run, list[str], int]:
    with serving(lambda _n, _b: Act()) as server, logged_messages() as messages:
        run = ask(path, server, out, cache="always", retry=QUICK)
    return run, [message for message in messages if "cache" in message], len(server.requests)


def test_a_cache_that_is_no_database_costs_one_warning(tmp_path: Path, cache_file: Path) -> None:
    path = questions(tmp_path, 40, pictures=False)
    cache_file.parent.mkdir()
    cache_file.write_bytes(b"this is no database " * 500)
    run, warnings, _ = run_cached(path, tmp_path / "run")
    assert statuses(run) == {"ok": 40} and len(run.scores()[0].rows) == 40
    assert len(warnings) == 1 and "--cache off" in warnings[0] and "goes on without it" in warnings[0]


def test_a_cache_in_a_place_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, cache_file: Path
) -> None:
    path = questions(tmp_path, 3, pictures=False)
    cache_file.parent.write_bytes(b"a file where the folder should be")
    # The media cache needs the folder; text alone does not.
    run, warnings, _ = run_cached(path, tmp_path / "run")
    assert statuses(run) == {"ok": 3} and len(warnings) == 1


def test_a_disk_that_fills_up_costs_one_warning(
    tmp_path: Path, cache_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = questions(tmp_path, 80, pictures=False)
    opened = sqlite3.connect

    def tiny(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = opened(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 3")  # then SQLite says "database or disk is full"
        return connection

    monkeypatch.setattr(sqlite3, "connect", tiny)
    run, warnings, _ = run_cached(path, tmp_path / "run")
    assert statuses(run) == {"ok": 80}
    assert len(warnings) == 1 and "full" in warnings[0]
    assert cache_file.exists()


def test_a_cache_that_may_only_be_read_is_read(cache_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ReplyCache(cache_file)
    cache.put("f", Reply(text="kept"))
    cache.close()

    def refuse(_path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("vivant.engine.reply_cache._connect", refuse)
    with logged_messages() as messages:
        cache = ReplyCache(cache_file)
        kept = cache.get("f")
        cache.put("g", Reply(text="lost"))
        cache.close()
    assert kept == Reply(text="kept")
    assert len(messages) == 1 and "can be read but not written" in messages[0]


def test_a_damaged_entry_is_asked_again(cache_file: Path) -> None:
    cache = ReplyCache(cache_file)
    cache._db.execute("INSERT INTO replies(fingerprint, reply) VALUES ('f', '{\"status\": 7}')")
    assert cache.get("f") is None
    cache.close()


def test_a_failure_on_a_cut_picture_names_the_file(tmp_path: Path) -> None:
    picture(tmp_path / "p.png")
    data = (tmp_path / "p.png").read_bytes()
    (tmp_path / "p.png").write_bytes(data[:40])
    (tmp_path / "q.jsonl").write_text('{"p": "p.png", "q": "What?", "a": "x"}\n')
    (tmp_path / "mine.yaml").write_text(
        "name: cutpicture\nsource: {files: q.jsonl}\n"
        "columns: {question: q, image: p, answers: a}\nscorer: exact\n"
    )
    (tmp_path / "model.py").write_text(
        "class Broken:\n    async def generate(self, request):\n        raise OSError('cannot identify image')\n"
    )
    run = evaluate(str(tmp_path / "mine.yaml"), f"{tmp_path / 'model.py'}:Broken", out=str(tmp_path / "run"))
    (record,) = run.dir.records().values()
    assert record.reply.status == "error"
    assert record.reply.error.startswith("p.png cut short, fetch again: ")
    assert "cannot identify image" in record.reply.error
