"""The front door of vivant_build.privacy: the example in its README works, and help texts don't pay for it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.resources import files

import pytest

from vivant_build import privacy

README = (files("vivant_build.privacy") / "README.md").read_text(encoding="utf-8")


def test_the_example_in_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(example, {})
    assert ast.literal_eval(capsys.readouterr().out) == ast.literal_eval(example.rpartition("#")[2].strip())


def test_the_readme_lists_every_module() -> None:
    modules = {path.name.removesuffix(".py") for path in files("vivant_build.privacy").iterdir()}
    rows = re.findall(r"^\| (`.*?) \|", README, re.MULTILINE)
    listed = re.findall(r"`(\w+)`", " ".join(rows))
    assert sorted(listed) == sorted(
        name for name in modules if name.islower() and name.isidentifier() and name[0] != "_"
    )


def test_the_front_door_is_small() -> None:
    assert len(privacy.__all__) <= 12
    assert all(getattr(privacy, name).__doc__ for name in privacy.__all__)


@pytest.mark.parametrize("arguments", [["--help"], ["build", "--help"], ["build", "mimic", "--help"]])
def test_help_does_not_import_it(arguments: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['vivant', *{arguments}]\n"
        "from vivant.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not [name for name in sys.modules if name.startswith('vivant_build.privacy')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
