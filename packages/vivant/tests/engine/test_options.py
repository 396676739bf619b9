"""Options are declared once: the library's signature, the manifest and the reference page follow."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tests.support.helpers import questions
from vivant.core.errors import UsageError
from vivant.core.option_specs import list_declared_options
from vivant.core.types import Decoding, FramePolicy
from vivant.engine.evaluation import evaluate
from vivant.engine.option_parsing import make_options
from vivant.engine.options import RunOptions
from vivant.engine.run_planning import create_model, plan_run
from vivant.runs.settings import RunSettings

OPTIONS = list_declared_options(RunOptions)
ROOT = Path(__file__).resolve().parents[4]


def test_every_field_is_declared_with_help_and_panel() -> None:
    assert set(OPTIONS) == set(RunOptions.__struct_fields__)
    for option in OPTIONS.values():
        assert option.spec.help.endswith(".") and option.spec.panel, option.name


def test_the_signature_of_evaluate_is_that_of_the_declarations() -> None:
    parameters = inspect.signature(evaluate).parameters
    hints = get_type_hints(evaluate)
    assert list(parameters) == list(OPTIONS)
    for name, option in OPTIONS.items():
        assert hints[name] == option.argument_type, name
        expected = inspect.Parameter.empty if option.required else option.argument_default
        assert parameters[name].default == expected, name
    documented = inspect.getdoc(evaluate) or ""
    assert all(f"\n    {name}: " in documented for name in OPTIONS)


def test_what_is_derived_is_up_to_date() -> None:
    command = [sys.executable, "tools/option_reference.py", "--check"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_settings_in_the_manifest_come_from_options() -> None:
    recorded = {option.spec.records for option in OPTIONS.values()} - {""}
    assert recorded == set(RunSettings.__struct_fields__)


CHANGES: dict[str, Any] = {
    "model_options": {"detail": "low"},
    "video_as": "native",
    "base_url": "http://127.0.0.1:8/v1",
    "timeout": 5.0,
    "on_too_large": "refuse",
    "limit": 1,
    "where": "half=first",
    "limits": {"max_context_len": 9},
    "control": "blind",
    "repeat": 2,
    "permute": 2,
    "seed": 1,
    "prompts": {"choices.zero-shot": "Which?"},
    "frames": 4,
    "fps": 2.0,
    "every": 3,
    "longest_side": 100,
    "spread": "middles",
    "jpeg_quality": 75,
    "audio": True,
    "max_tokens": 9,
    "temperature": 0.5,
    "answer_by": "loglik",
    "decoding": Decoding(top_p=0.5),
    "concurrency": 2,
    "rpm": 5,
    "tpm": 5,
    "cache": "off",
    "keep_errors": True,
    "batch": True,
    "budget_cost": 1.0,
    "budget_tokens": 5,
    "budget_time": "30m",
    "prices": "p.yaml",
    "workers": 1,
    "executor": "ray",
}


def test_an_option_changes_the_fingerprint_where_its_declaration_says_so(tmp_path: Path) -> None:
    path = questions(tmp_path, 4, pictures=False)
    common: dict[str, Any] = {"selectors": path, "model": "openai/x", "base_url": "http://127.0.0.1:9/v1"}

    def fingerprint(**change: Any) -> str:
        return plan_run(make_options(**{**common, **change})).plan.settings.fingerprint()

    plain = fingerprint()
    for name, value in CHANGES.items():
        changed = fingerprint(**{name: value}) != plain
        assert changed == bool(OPTIONS[name].spec.records), name


def test_one_string_is_one_value_and_never_its_letters() -> None:
    options = make_options(selectors="mime", model="random", data=Path("mini"), where="variant=a")
    assert (options.selectors, options.data, options.where) == (("mime",), ("mini",), ("variant=a",))
    several = make_options(selectors=["mime", "mmrv"], model="random", data=("mime=a", Path("b")))
    assert (several.selectors, several.data) == (("mime", "mmrv"), ("mime=a", "b"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limt": 3}, "Unknown option 'limt'; did you mean 'limit'"),
        ({"control": "blnd"}, "Unknown control 'blnd'; did you mean 'blind'"),
        ({"limit": "20"}, r"Expected `int \| null`, got `str` - at `\$\.limit`"),
        ({"repeat": 0}, "--repeat 0: must be at least 1"),
        ({"frames": 4, "fps": 1.0}, "Choose one of --frames, --fps and --every"),
        ({"max_frames": 4}, "--max-frames goes with --fps or --every"),
        ({"fps": 0.0}, "--fps 0.0: must be above 0"),
        ({"address": "auto"}, "add --executor ray"),
        ({"every_start": "kth"}, "--every-start goes with --every"),
        ({"spread": "middle"}, "Unknown spread 'middle'; did you mean 'middles'"),
        ({"jpeg_quality": 101}, "--jpeg-quality 101: must be at most 100"),
        ({"budget_time": "soon"}, "--budget-time soon: write seconds"),
    ],
)
def test_a_mistake_in_an_option_is_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_options(selectors="mime", model="random", **values)


def test_what_is_said_outright_goes_over_a_whole_policy(tmp_path: Path) -> None:
    decoding = Decoding(max_tokens=5, top_p=0.5)
    options = make_options(selectors="mime", model="random", decoding=decoding, max_tokens=9, every=4)
    assert options.decoding_settings == Decoding(max_tokens=9, top_p=0.5)
    assert options.frame_policy == FramePolicy(select="every", every=4)
    models = tmp_path / "models.yaml"
    models.write_text("mine: {model_name: openai/x, gen_kwargs: {max_new_tokens: 7}, max_context_len: 9}\n")
    named = make_options(selectors="mime", model="mine", models=models, temperature=0.5)
    assert (named.model, named.limits) == ("openai/x", {"max_context_len": 9})
    assert named.decoding_settings == Decoding(max_tokens=7, temperature=0.5)


def test_limits_can_be_left_to_the_server(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    options = make_options(
        selectors=path,
        model="openai/x",
        base_url="http://127.0.0.1:9/v1",
        max_tokens="server",
        temperature="server",
    )
    job = next(plan_run(options).plan.jobs())
    assert (job.decoding.max_tokens, job.decoding.temperature) == (None, None)
    usual = make_options(selectors=path, model="openai/x", base_url="http://127.0.0.1:9/v1")
    assert next(plan_run(usual).plan.jobs()).decoding.max_tokens


@pytest.mark.parametrize(
    ("model", "temperature"),
    [("openai/gpt-5-mini", None), ("anthropic/claude-opus-5-5", None), ("openai/gpt-4o", 0.0)],
)
def test_a_temperature_that_is_not_sent_is_not_recorded(
    tmp_path: Path, model: str, temperature: float | None
) -> None:
    options = make_options(selectors=questions(tmp_path, 1, pictures=False), model=model)
    plan = plan_run(options, needs_key=False).plan
    assert plan.settings.decoding.temperature == temperature
    assert next(plan.jobs()).decoding.temperature == temperature


def test_frames_are_described_in_full_by_options() -> None:
    options = make_options(
        selectors="mime", model="random", every=30, every_start="kth", longest_side=512, jpeg_quality=75
    )
    expected = FramePolicy(select="every", every=30, every_start="kth", longest_side=512, quality=75)
    assert options.frame_policy == expected


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        ("openai/gpt-5-mini", {"temperature": 0.7}, "takes no temperature; leave out --temperature"),
        ("anthropic/claude-opus-5-5", {"temperature": 0.7}, "takes no temperature"),
        ("openai/gpt-5-mini", {"decoding": Decoding(stop=("\n",))}, "takes no stop"),
        ("anthropic/claude-sonnet-4-5", {"decoding": Decoding(seed=3)}, "takes no seed"),
        ("openai/gpt-5-mini", {"temperature": 0.0}, ""),
        ("openai/gpt-5-mini", {"temperature": "server"}, ""),
        ("openai/gpt-4o", {"temperature": 0.7, "decoding": Decoding(stop=("\n",), seed=3)}, ""),
        ("anthropic/claude-sonnet-4-5", {"temperature": 0.7}, ""),
    ],
)
def test_settings_that_a_model_cannot_be_told_are_refused_where_the_user_gives_them(
    model: str, given: dict[str, Any], words: str
) -> None:
    options = RunOptions(selectors=("mime",), model=model, base_url="http://127.0.0.1:9/v1", **given)
    if not words:
        assert create_model(options).name == model
        return
    with pytest.raises(UsageError, match=words):
        create_model(options)


def test_benchmarks_without_a_common_style_are_named() -> None:
    """A run has one style: the message says which benchmark lacks it, and what to do."""
    with pytest.raises(
        UsageError, match="mmie has no style 'zero-shot', in which mime is asked by default; run mmie by"
    ):
        plan_run(make_options(selectors=["mime", "mmie"], model="random", data="mini"))
