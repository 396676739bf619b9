"""Each command once as a user starts it, in a process of its own. Everything else is tested in the tests' process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace.test_install_matrix import KERNEL
from vivant.cli.main import COMMANDS
from vivant.hooks import PRODUCTS

USES: dict[str, list[str]] = {
    **{words[0]: words for words in reversed(KERNEL)},
    "demo": ["demo", "--help"],
    "sweep": ["sweep", "mmrv", "--data", "mini", "--model", "random", "--limit", "2", "--frames", "2,4"],
    "subset": ["subset", "make", "--help"],
    "watch": ["watch", "--help"],
    "import": ["import", "--help"],
    "serve": ["serve", "--help"],
    "view": ["view", "runs", "--export", "site"],
    "reasoning": ["reasoning", "--help"],
    "figures": ["figures", "runs/first", "--out", "drawn"],
    "publish": ["publish", "runs/first", "--to", "dataset"],
    "mimic": ["mimic", "check", "--help"],
    "study": ["study", "new", "study", "--kind", "mcq", "--from", "mime", "--data", "mini", "--limit", "4"],
    "build": ["build", "needles", "--lengths", "0", "--depths", "0", "--out", "needles"],
    "train": ["train", "recipes"],
}
"""A small use of each command; its help where a use needs minutes, a server or people, and has tests of its own."""


@pytest.mark.parametrize("command", [*COMMANDS, *PRODUCTS])
def test_a_command_in_a_process(command: str, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "vivant", *USES[command]],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr[-2000:]
    assert done.stdout or done.stderr
