"""Run in an environment under test: the help of every command, then some commands, all in one process.

    python install_driver.py FOLDER '[["run", "mime", …], …]'

Prints one JSON line a command: its words, exit code, standard output and error.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any


def list_commands() -> Iterator[list[str]]:
    """Yield the words of every installed command."""
    import typer

    from vivant.cli.main import LazyGroup, app

    def walk(command: Any, words: list[str]) -> Iterator[list[str]]:
        yield words
        names = command.list_commands(None) if hasattr(command, "list_commands") else ()
        for name in names:
            lazy = isinstance(command, LazyGroup)
            child = command.get_command(None, name) if lazy else command.commands[name]
            yield from walk(child, [*words, name])

    yield from walk(typer.main.get_command(app), [])


def run(words: list[str]) -> dict[str, Any]:
    """Run one command as `vivant` does."""
    from vivant.cli.main import main

    out, errors = io.StringIO(), io.StringIO()
    sys.argv = ["vivant", *words]
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        except BaseException:
            traceback.print_exc(file=errors)
            code = 70
    return {"words": words, "code": code or 0, "out": out.getvalue(), "errors": errors.getvalue()}


if __name__ == "__main__":
    folder, commands = sys.argv[1:]
    os.chdir(folder)
    results = [run([*words, "--help"]) for words in list_commands()]
    results += [run(words) for words in json.loads(commands)]
    for result in results:
        print(json.dumps(result))
