"""A user's own model, in both shapes, and what its mistakes become."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.helpers import questions, vivant
from vivant.core.errors import UsageError, VivantError
from vivant.engine.evaluation import evaluate
from vivant.engine.retry import RetryPolicy
from vivant.models.base import ModelError, ModelOptions
from vivant.models.registry import create


def write(tmp_path: Path, code: str) -> str:
    (tmp_path / "m.py").write_text(code)
    return f"{tmp_path / 'm.py'}:M"


def test_a_batch_model_gets_prompts_and_pictures_in_batches(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        """
class M:
    batch_size = 4
    sizes = []
    def generate(self, prompts, media):
        M.sizes.append(len(prompts))
        assert all(len(pictures) == 1 and pictures[0][:4] == b"\\x89PNG" for pictures in media)
        return [next(line[0] for line in p.splitlines() if line.endswith(". right")) for p in prompts]
""",
    )
    path = questions(tmp_path, 30)
    run = evaluate(str(path), spec, out=str(tmp_path / "run"), concurrency=12)
    assert {score.value for _, _, score in run.scores()[0].rows} == {1.0}
    sizes = sys.modules["vivant_user_m"].M.sizes
    assert sum(sizes) == 30
    assert max(sizes) == 4


def test_an_async_model_gets_the_whole_request(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        """
from vivant.core.types import Picture, Reply
class M:
    async def generate(self, request):
        pictures = [part for turn in request.turns for part in turn.parts if isinstance(part, Picture)]
        assert pictures[0].media_type == "image/png" and (pictures[0].width, pictures[0].height) == (64, 48)
        right = next(option.name for option in request.options if option.text == "right")
        return Reply(text=right, tokens_out=1)
""",
    )
    run = evaluate(str(questions(tmp_path, 5)), spec, out=str(tmp_path / "run"))
    assert {score.value for _, _, score in run.scores()[0].rows} == {1.0}


def test_what_it_raises_costs_the_sample_and_is_logged(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        """
class M:
    batch_size = 1
    def generate(self, prompts, media):
        if "number 2" in prompts[0]:
            raise RuntimeError("out of memory on sample two")
        return ["A"]
""",
    )
    run = evaluate(str(questions(tmp_path, 5, pictures=False)), spec, out=str(tmp_path / "run"))
    failed = [record for record in run.records().values() if record.reply.status == "error"]
    assert [record.id for record in failed] == ["q002"]
    assert failed[0].reply.error == "RuntimeError: out of memory on sample two"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ('raise RuntimeError("no room")', "RuntimeError: no room"),
        ("answers[2] = 7", "TypeError: generate must"),
    ],
)
def test_one_bad_prompt_of_a_batch_costs_its_own_sample_alone(tmp_path: Path, fault: str, error: str) -> None:
    spec = write(
        tmp_path,
        f"""
class M:
    sizes = []
    def generate(self, prompts, media):
        M.sizes.append(len(prompts))
        answers = dict.fromkeys(range(len(prompts)), "A")
        bad = next((place for place, prompt in enumerate(prompts) if "number 2" in prompt), None)
        if bad is not None:
            {fault.replace("[2]", "[bad]")}
        return list(answers.values())
""",
    )
    run = evaluate(str(questions(tmp_path, 6, pictures=False)), spec, out=str(tmp_path / "run"))
    replies = {record.id: record.reply for record in run.records().values()}
    assert max(sys.modules["vivant_user_m"].M.sizes) > 1
    assert [name for name, reply in replies.items() if reply.status != "ok"] == ["q002"]
    assert len(replies) == 6
    assert replies["q002"].error.startswith(error)


@pytest.mark.parametrize("hint", ["", ", retry_after=0.0", ", slow_down=True"])
def test_what_may_pass_is_tried_again_in_a_batch_as_alone(tmp_path: Path, hint: str) -> None:
    spec = write(
        tmp_path,
        f"""
from vivant.models.base import TransientError
class M:
    failures = 0
    def generate(self, prompts, media):
        if M.failures < 2 and any("number 2" in prompt for prompt in prompts):
            M.failures += 1
            raise TransientError("busy"{hint})
        return ["A"] * len(prompts)
""",
    )
    path = str(questions(tmp_path, 6, pictures=False))
    run = evaluate(path, spec, out=str(tmp_path / "run"), retry=RetryPolicy(first=0.01))
    records = {record.id: record for record in run.records().values()}
    assert len(records) == 6
    assert {record.reply.status for record in records.values()} == {"ok"}
    assert records["q002"].attempts > 1


def test_what_no_request_can_pass_ends_the_run_of_a_batch_model(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        """
from vivant.models.base import ModelError
class M:
    def generate(self, prompts, media):
        raise ModelError("The licence of the weights has ended; renew it")
""",
    )
    with pytest.raises(ModelError, match="The licence of the weights has ended"):
        evaluate(str(questions(tmp_path, 3, pictures=False)), spec, out=str(tmp_path / "run"))


def test_a_wrong_number_of_texts_is_an_error_of_the_batch(tmp_path: Path) -> None:
    spec = write(tmp_path, "class M:\n    def generate(self, prompts, media):\n        return ['A']\n")
    run = evaluate(
        str(questions(tmp_path, 8, pictures=False)), spec, out=str(tmp_path / "run"), concurrency=8
    )
    errors = [record.reply.error for record in run.records().values() if record.reply.status == "error"]
    assert errors
    assert "returned 1 texts for" in errors[0]


def test_one_text_in_place_of_a_list_is_an_error_and_not_letters(tmp_path: Path) -> None:
    spec = write(
        tmp_path, "class M:\n    def generate(self, prompts, media):\n        return 'A' * len(prompts)\n"
    )
    run = evaluate(str(questions(tmp_path, 3, pictures=False)), spec, out=str(tmp_path / "run"))
    replies = [record.reply for record in run.records().values()]
    assert {reply.status for reply in replies} == {"error"}
    assert "return a list with one for each prompt" in replies[0].error


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def broken(:\n", "line 1"),
        ("import nothing_like_this\n", "No module named"),
        ("class Other:\n    def generate(self, p, m): ...\n", "did you mean"),
        ("x = 1\n", "there are none"),
        ("class M:\n    def __init__(self, must): ...\n    def generate(self, p, m): ...\n", "must"),
        ("class M:\n    def generate(self, request): ...\n", "write `def generate(self, prompts, media)`"),
        ("class M:\n    async def generate(self, p, m): ...\n", "write `async def generate(self, request)`"),
    ],
)
def test_a_file_that_does_not_work_is_one_line(tmp_path: Path, code: str, reason: str) -> None:
    spec = write(tmp_path, code).replace(":M", ":Othr" if "Other" in code else ":M")
    with pytest.raises(UsageError) as caught:
        create(spec, ModelOptions())
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_written_example_runs_as_it_is(tmp_path: Path) -> None:
    assert vivant("models", "new", "my_model.py", cwd=tmp_path).returncode == 0
    path = questions(tmp_path, 6)
    result = vivant("run", path, "--model", "./my_model.py:MyModel", "--out", "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "my_model:MyModel" in result.stdout
    again = vivant("models", "new", "my_model.py", cwd=tmp_path)
    assert again.returncode == 1
    assert "exists already" in again.stderr


def test_options_reach_the_class(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        "class M:\n    def __init__(self, say='A'): self.say = say\n"
        "    def generate(self, prompts, media): return [self.say] * len(prompts)\n",
    )
    run = evaluate(
        str(questions(tmp_path, 3, pictures=False)),
        spec,
        out=str(tmp_path / "run"),
        model_options={"say": "B"},
    )
    assert {record.reply.text for record in run.records().values()} == {"B"}


@pytest.mark.parametrize("base", ["", "(Model)"])
def test_a_changed_file_is_another_model(tmp_path: Path, base: str) -> None:
    """Neither its replies nor its run are mixed with those of the code before."""
    code = f"""
from vivant.core.types import Reply
from vivant.models.base import Model
class M{base}:
    cacheable = True
    async def generate(self, request):
        return Reply(text="A")
"""
    path, spec = str(questions(tmp_path, 2)), write(tmp_path, code)
    run = evaluate(path, spec, out=str(tmp_path / "run"))
    assert {record.reply.text for record in run.records().values()} == {"A"}
    again = evaluate(path, spec, out=str(tmp_path / "again"))
    assert all(record.cached for record in again.records().values())
    write(tmp_path, code.replace('"A"', '"B"'))
    with pytest.raises(VivantError, match=r"model\.code: \w+ → \w+"):
        evaluate(path, spec, out=str(tmp_path / "run"))
    other = evaluate(path, spec, out=str(tmp_path / "other"))
    assert {(record.reply.text, record.cached) for record in other.records().values()} == {("B", False)}
