"""Test that a missing package is one line that says how to install it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vivant.cli import main as cli
from vivant.core.optional_packages import find_extra
from vivant.hooks import Hook, describe_error


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("starlette.applications", "web"),
        ("polars", "parquet"),
        ("matplotlib.pyplot", "figures"),
        ("ray", "ray"),
        ("torch", "transformers"),
        ("diffusers", "diffusers"),
        ("mlflow", "trackers"),
        ("vivant_study", "study"),
        ("sqlalchemy.orm", "study"),
        ("duckdb", "build"),
        ("onnxscript", "train"),
        ("my_own_module", None),
        ("yt_dlp", None),
    ],
)
def test_the_smallest_extra_that_brings_a_module_is_named(module: str, extra: str | None) -> None:
    assert find_extra(module) == extra


def fail(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Run a command that imports a module that isn't there."""

    def broken(**_: object) -> None:
        raise ModuleNotFoundError(f"No module named '{module}'", name=module)

    monkeypatch.setattr(cli, "app", broken)
    monkeypatch.setattr(sys, "argv", ["vivant", "-q", "view", "runs"])
    cli.main()


def test_a_missing_module_of_a_known_extra_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        fail(monkeypatch, "starlette.routing")
    assert stop.value.code == 1
    assert capsys.readouterr().err == (
        "vivant: view needs the package 'starlette'. Install it with: pip install 'vivant[web]'\n"
    )


def test_a_module_that_a_hook_needs_names_its_extra() -> None:
    error = ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy.orm")
    assert describe_error(error) == (
        "it needs the package 'sqlalchemy'. Install it with: pip install 'vivant[study]'"
    )
    assert describe_error(ModuleNotFoundError("No module named 'mine'", name="mine")).startswith(
        "ModuleNotFound"
    )


def test_a_choice_that_does_not_exist_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["vivant", "run", "mime", "--model", "random", "--executor", "slurm"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == (
        "vivant: Invalid value for '--executor': 'slurm' is not one of 'local', 'ray' (see `vivant run --help`)\n"
    )


def test_any_other_missing_module_is_a_defect_and_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ModuleNotFoundError):
        fail(monkeypatch, "vivant.no_such_module")


def test_help_lists_what_is_installed_and_how_to_add_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = Hook("vivant.commands", "study", "vivant_study.commands:STUDY", Path())
    monkeypatch.setattr("vivant.hooks._read_hooks", lambda _: [hook])
    monkeypatch.setattr(sys, "argv", ["vivant", "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    out = capsys.readouterr().out
    assert "\n   study       " in out and "\n   train       " not in out
    assert " Not installed: build, train. Add one with: pip install 'vivant[build]'" in out
