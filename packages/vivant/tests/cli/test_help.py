"""Help as a user meets it: every command of every group, at eighty columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

from vivant.cli.main import app


def list_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that is not hidden, groups before what they hold."""
    yield path, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        inner = command.get_command(None, name)
        if not inner.hidden:
            yield from list_commands(inner, (*path, name))


def read_help(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}, prog_name="vivant")
    assert result.exit_code == 0, arguments
    return result.output


def test_the_help_of_every_command_fits_the_screen_and_has_an_example_that_is_right() -> None:
    commands = dict(list_commands(typer.main.get_command(app)))
    assert len(commands) > 50
    faults: list[str] = []
    for path in commands:
        text = read_help(*path, "--help")
        faults += [f"{path}: {line}" for line in text.splitlines() if len(line) > 80]
        examples = re.findall(r"^   vivant .*(?:\\\n.*)*", text, re.MULTILINE)
        if path and not any(example.split()[1 : 1 + len(path)] == list(path) for example in examples):
            faults.append(f"{path} has no example")
        faults += [f"{path}: {word}" for word in re.findall(r"\[\[\w+\]\]", text)]
        for param in commands[path].params:
            if param.param_type_name == "argument":
                faults += [f"{path}: {param.name} has no help"] * (not param.help)
                faults += [f"{path}: {param.name} is one of several"] * (
                    param.nargs == -1 and "…" not in text
                )
        for example in examples:
            words = example.replace("\\\n", " ").split()[1:]
            called = next(
                tuple(words[:length]) for length in (3, 2, 1, 0) if tuple(words[:length]) in commands
            )
            known = {
                flag for param in commands[called].params for flag in (*param.opts, *param.secondary_opts)
            }
            unknown = {word for word in words if word.startswith("--")} - known
            # A board and a list of recipes take the options of their main command.
            if unknown and called not in (("board",), ("recipes",)):
                faults.append(f"{path}: {called} has no {unknown}")
    assert faults == []
