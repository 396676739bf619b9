"""Commands that the documentation shows are commands that exist, with options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from vivant.cli.main import COMMANDS, LazyGroup

DOCS = Path(__file__).resolve().parents[2] / "docs"


def commands(page: str) -> list[str]:
    """Every `vivant …` in the page's code, joined where a line goes on in the next, without remarks."""
    text = re.sub(r"\\\n\s*", " ", (DOCS / page).read_text(encoding="utf-8"))
    text = re.sub(r"(entrypoint: >-)\n\s+(.*)\n\s+(--)", r"\1\n \2 \3", text)
    shown = re.findall(r"^\s*(?:srun |\$ |.* -- +)?(vivant [^#\n`]*)", text, re.MULTILINE)
    return [*shown, *re.findall(r"`(vivant [^`\n]+)`", text)]


def options_of(command: Any) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


SERVERS = sorted(page.relative_to(DOCS).as_posix() for page in (DOCS / "servers").glob("*.md"))


@pytest.mark.parametrize("page", ["data.md", "faults.md", "clusters.md", "video.md", *SERVERS])
def test_every_command_shown_exists(page: str) -> None:
    group = LazyGroup(name="vivant")
    context = typer.Context(group)
    found = commands(page)
    assert len(found) >= (2 if page in SERVERS else 4)
    for line in found:
        words = shlex.split(line.replace("…", ""))[1:]
        assert words[0] in COMMANDS, line
        command = group.get_command(context, words.pop(0))
        if hasattr(command, "commands") and words and not words[0].startswith("-"):
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        for word in words:
            if word.startswith("-"):
                assert word.partition("=")[0] in options_of(command), f"{line}: {word}"


def test_the_job_for_kubernetes_is_yaml_that_names_one_version() -> None:
    text = (DOCS / "clusters.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    job = yaml.safe_load(block)
    assert job["kind"] == "RayJob"
    assert job["spec"]["entrypoint"].startswith("vivant run ")
    assert f"rayproject/ray:{job['spec']['rayClusterSpec']['rayVersion']}-" in text
