"""Models that look answers up or make them by rule, likelihoods, and the check of a model."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.helpers import questions, vivant
from tests.support.standin import openai, openai_says
from vivant.core.errors import UsageError
from vivant.core.generated_images import encode_image
from vivant.engine.evaluation import evaluate
from vivant.engine.retry import RetryPolicy
from vivant.models.base import ModelOptions
from vivant.models.check import ModelCheck, check_model
from vivant.models.likelihood import option_likelihoods
from vivant.models.registry import create
from vivant.runs.run import Run

# ── replay of a run ──


def test_a_run_is_replayed_from_its_log(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    first = evaluate(str(path), "random", out=str(tmp_path / "first"))
    again = evaluate(str(path), f"replay/{tmp_path / 'first'}", out=str(tmp_path / "again"))
    said = {key: record.reply.text for key, record in first.records().items()}
    assert {key: record.reply.text for key, record in again.records().items()} == said
    assert again.manifest.model == "replay/first"


def test_a_question_that_was_put_otherwise_is_not_replayed(tmp_path: Path) -> None:
    path = questions(tmp_path, 8, pictures=False)
    evaluate(str(path), "first", out=str(tmp_path / "first"), limit=6)
    for changed in ({"seed": 1}, {"style": "cot"}):
        name = next(iter(changed))
        run = evaluate(str(path), f"replay/{tmp_path / 'first'}", out=str(tmp_path / name), **changed)
        errors = [record.reply.error for record in run.records().values()]
        assert any("put jsonl/mine/q" in error and "otherwise" in error for error in errors)
        assert any("has no answer to" in error for error in errors) or name == "style"


def test_pictures_of_a_replayed_run_come_along(tmp_path: Path) -> None:
    path = questions(tmp_path, 1)
    (tmp_path / "draws.py").write_text(
        "from pathlib import Path\n"
        "from vivant.core.types import Reply, Text\n"
        "from vivant.core.generated_images import encode_image\n"
        "class Draws:\n"
        "    async def generate(self, request):\n"
        f"        data = Path({str(tmp_path / '0.png')!r}).read_bytes()\n"
        "        return Reply(text='A', parts=(Text('A'), encode_image(data)))\n"
    )
    evaluate(str(path), f"{tmp_path / 'draws.py'}:Draws", out=str(tmp_path / "first"))
    run = evaluate(str(path), f"replay/{tmp_path / 'first'}", out=str(tmp_path / "again"))
    part: Any = next(iter(run.records().values())).reply.parts[1]
    assert (tmp_path / "again" / part.path.removeprefix("run:")).read_bytes() == (
        tmp_path / "0.png"
    ).read_bytes()
    assert encode_image((tmp_path / "0.png").read_bytes()).path.startswith("data:image/png")


# ── scripted ──

SCRIPT = """
- {key: jsonl/mine/q001, text: B}
- {contains: "number 2?", status: refused, error: not today}
- {contains: "number 3?", fail: 2, text: C}
- {contains: "number 4?", status: truncated, text: "A or", thinking: hm}
- {text: A}
"""


def test_a_script_answers_refuses_and_fails_as_it_is_told(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    (tmp_path / "s.yaml").write_text(SCRIPT)
    run = evaluate(
        str(path), f"scripted/{tmp_path / 's.yaml'}", out=str(tmp_path / "run"), retry=RetryPolicy(first=0.01)
    )
    said = {r.id: (r.reply.status, r.reply.text, r.attempts) for r in run.records().values()}
    assert said == {
        "q000": ("ok", "A", 1),
        "q001": ("ok", "B", 1),
        "q002": ("refused", "", 1),
        "q003": ("ok", "C", 3),
        "q004": ("truncated", "A or", 1),
        "q005": ("ok", "A", 1),
    }


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("- {tekst: A}", "Unknown field 'tekst'"),
        ("- {status: fine}", "Invalid enum value 'fine'"),
        ("text: A", "is a list of rules"),
        ("- [", "is a list of rules"),
    ],
)
def test_a_script_that_cannot_be_read_is_named(tmp_path: Path, script: str, words: str) -> None:
    (tmp_path / "s.yaml").write_text(script)
    with pytest.raises(UsageError, match=words):
        create(f"scripted/{tmp_path / 's.yaml'}")
    with pytest.raises(UsageError, match="cannot be read"):
        create(f"scripted/{tmp_path / 'none.yaml'}")


def test_a_request_that_no_rule_fits_is_an_error(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    (tmp_path / "s.yaml").write_text("- {key: other, text: A}")
    run = evaluate(str(path), f"scripted/{tmp_path / 's.yaml'}", out=str(tmp_path / "run"))
    assert "no rule of scripted/s fits" in next(iter(run.records().values())).reply.error


# ── likelihoods from a server ──


def token(text: str, **others: float) -> dict[str, Any]:
    top = [{"token": name.replace("_", " "), "logprob": value} for name, value in others.items()]
    return {"token": text, "logprob": 0.0, "top_logprobs": top}


def test_options_are_weighed_where_the_model_names_one() -> None:
    names = ["A", "B", "C"]
    written = [token("[["), token("B", B=-0.2, A=-2.0, x=-4.0), token("]]")]
    assert option_likelihoods(written, names) == (-2.0, -0.2, None)
    together = option_likelihoods([token(" A", A=-1.0, _A=-1.0, B=-3.0)], names)
    assert together[0] == pytest.approx(-1.0 + math.log(2))
    evasive = [token("The", The=-0.1, C=-5.0), token("cat", cat=-0.1)]
    assert option_likelihoods(evasive, names) == (None, None, -5.0)
    assert option_likelihoods([token("cat", cat=-0.1)], names) == ()
    assert option_likelihoods([], names) == ()


def weighed(path: Path, out: Path, answer: Any, **options: Any) -> tuple[Run, list[dict[str, Any]]]:
    with openai(answer) as server:
        run = evaluate(
            str(path),
            "openai/m",
            out=out,
            cache="off",
            answer_by="loglik",
            base_url=f"http://127.0.0.1:{server.port}/v1",
            **options,
        )
    return run, server.requests


def test_the_likeliest_option_is_the_answer_and_all_weights_are_logged(tmp_path: Path) -> None:
    path = questions(tmp_path, 1)
    content = [token("A", A=-1.0, B=-0.5, D=-3.0)]
    run, sent = weighed(
        path, tmp_path / "run", lambda _: openai_says("A", "length", logprobs={"content": content})
    )
    record = next(iter(run.records().values()))
    assert (record.reply.status, record.reply.text) == ("ok", "B")
    assert record.reply.likelihoods == (-1.0, -0.5, None, -3.0)
    assert (sent[0]["logprobs"], sent[0]["top_logprobs"], sent[0]["max_tokens"]) == (True, 20, 16)
    assert run.manifest.settings.model["options"] == "loglik"


def test_a_reply_that_names_no_option_is_left_as_it_is(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    content = [token("Hm", Hm=-0.1)]
    run, _ = weighed(path, tmp_path / "run", lambda _: openai_says("Hm", logprobs={"content": content}))
    reply = next(iter(run.records().values())).reply
    assert (reply.status, reply.text, reply.likelihoods) == ("ok", "Hm", ())


def test_a_server_without_logprobs_is_an_error_of_the_sample(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    run, _ = weighed(path, tmp_path / "run", lambda _: openai_says("A"))
    assert "sends no logprobs" in next(iter(run.records().values())).reply.error


def test_backends_that_report_no_likelihoods_say_so(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    result = vivant("run", path, "--model", "random", "--answer-by", "loglik", cwd=tmp_path)
    assert result.returncode == 1
    assert "random does not report likelihoods; leave out --answer-by loglik" in result.stderr
    with pytest.raises(UsageError, match="does not report likelihoods"):
        weighed(path, tmp_path / "run", lambda _: openai_says("A"), model_options={"reasoning": "true"})


def test_questions_without_options_are_asked_as_always(tmp_path: Path) -> None:
    path = tmp_path / "free.jsonl"
    path.write_text('{"id": 1, "question": "Who?", "answers": ["me"]}\n')
    run, sent = weighed(path, tmp_path / "run", lambda _: openai_says("me"))
    assert next(iter(run.records().values())).reply.text == "me"
    assert "logprobs" not in sent[0]


# ── checking ──


def check(server: Any, **values: Any) -> ModelCheck:
    options = ModelOptions(base_url=f"http://127.0.0.1:{server.port}/v1", values=values)
    return asyncio.run(check_model(create("openai/m", options)))


def test_a_model_is_checked_with_text_with_a_picture_and_with_weights(tmp_path: Path) -> None:
    with openai(lambda _: openai_says("B")) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        result = vivant("models", "check", "openai/m", "--base-url", url, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("answers, and named the right colour") == 2
    assert "10, 1" in result.stdout and "gpt-test" in result.stdout
    assert "no: http://127.0.0.1" in result.stdout  # it sends no logprobs, whatever its name promises
    text, picture, weighed = server.requests
    assert isinstance(text["messages"][0]["content"], str)
    assert picture["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert weighed["logprobs"] is True


def test_what_a_check_finds_is_told_apart() -> None:
    with openai(lambda _: openai_says("A")) as server:
        assert check(server).text.verdict == "answers, but named another colour"
        server.answer = lambda _: openai_says("", finish="length")
        thinking = check(server)
        assert thinking.text.verdict.startswith("no answer: cut off before one began; give a run room")
        assert not thinking.passed
        server.answer = lambda _: openai_says("It is", finish="length")
        assert check(server).text.verdict == "answers, but was cut off at the token limit"

        def text_fails(body: Any) -> Any:
            plain = isinstance(body["messages"][0]["content"], str)
            return (
                {"status": 422, "body": {"error": {"message": "no such field"}}}
                if plain
                else openai_says("B")
            )

        server.answer = text_fails
        half = check(server)
        assert half.text.verdict == "error: HTTP 422: no such field" and not half.passed
        assert half.picture is not None and half.picture.passed
        server.answer = lambda _: {"status": 401, "body": {"error": {"message": "who are you?"}}}
        before = len(server.requests)
        hopeless = check(server)
        assert "refuses the key" in hopeless.text.verdict and hopeless.picture is None
        assert len(server.requests) == before + 1


def test_likelihoods_are_claimed_only_where_they_came_back() -> None:
    alternatives = [{"token": "B", "logprob": -0.1}, {"token": "A", "logprob": -3.0}]

    def answer(body: Any) -> Any:
        reply = openai_says("B")
        if body.get("logprobs"):
            reply["choices"][0]["logprobs"] = {"content": [{"token": "B", "top_logprobs": alternatives}]}
        return reply

    with openai(answer) as server:
        assert check(server).likelihood_verdict == "yes"
        assert check(server, reasoning="true").likelihood_verdict == "no"


def test_the_list_of_models_says_what_is_missing(tmp_path: Path) -> None:
    without = {"OPENAI_API_KEY": "", "GEMINI_API_KEY": ""}
    listed = vivant("models", cwd=tmp_path, env=without).stdout
    assert "no: GEMINI_API_KEY is not set" in listed
    assert "only with --base-url: OPENAI_API_KEY is" in listed
    there = vivant("models", cwd=tmp_path, env={**without, "GEMINI_API_KEY": "x"}).stdout
    assert "GEMINI_API_KEY is not set" not in there
