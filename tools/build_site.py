"""Build the site: the pages of docs/, a command reference and an API reference that the code itself states.

    python tools/build_site.py [--strict] [--serve]

`--strict` makes every warning an error: a link, an anchor or a page that does not exist. `--serve` shows the site and
leaves it open. The result is in site/.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import typer
import yaml

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "site"
NAV = "nav.yaml"
_LEFT_OVER = "How-to"
_COPIES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages that belong to the repository's root, and their names on the site."""
_API = {
    "Evaluate and read runs": ("vivant", None),
    "Write a benchmark": (
        "vivant.benchmarks.base",
        ("Benchmark", "TaskInfo", "Prompt", "PromptContext", "ScoreSettings", "ScoredRun"),
    ),
    "Write a benchmark of multiple-choice questions": (
        "vivant.benchmarks.multiple_choice",
        ("MultipleChoice",),
    ),
    "Write a backend": (
        "vivant.models.base",
        ("Model", "Capabilities", "ModelOptions", "TransientError", "ModelError"),
    ),
    "Types": (
        "vivant.core.types",
        ("Sample", "Message", "Option", "Request", "Reply", "Record", "Score", "FramePolicy", "Decoding"),
    ),
    "Tables": ("vivant.core.table", ("Table", "Row", "render")),
    "Hooks": ("vivant.hooks", ("Command", "ReportSection", "People", "list_hooks", "load_hook")),
}


# ── navigation ───────────────────────────────────────────────────────────────────────────────────


def plan_navigation(sections: dict[str, list[str]], pages: list[str]) -> dict[str, list[str]]:
    """The pages of each section, in order; every page stands in exactly one place.

    Args:
        sections: Names and patterns by section, as docs/nav.yaml has them.
        pages: All pages, relative to the folder of pages.
    """
    named = {entry for entries in sections.values() for entry in entries}
    placed: set[str] = set()
    planned: dict[str, list[str]] = {}
    for section, entries in sections.items():
        planned[section] = []
        for entry in entries:
            matches = (
                [entry]
                if entry in pages
                else [page for page in pages if fnmatch(page, entry) and page not in named]
            )
            planned[section] += [page for page in matches if page not in placed]
            placed.update(matches)
    planned.setdefault(_LEFT_OVER, []).extend(page for page in pages if page not in placed)
    return planned


def list_pages(folder: Path) -> list[str]:
    """All pages below a folder, and notebooks' Markdown."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


# ── generated pages ──────────────────────────────────────────────────────────────────────────────


def write_command_reference() -> str:
    """Every command of the four packages, from the declarations that the command line itself uses."""
    from vivant import hooks
    from vivant.cli.main import COMMANDS, PANELS, LazyGroup

    commands = COMMANDS | {name: hooks.load_hook(hooks.COMMANDS, name) for name in hooks.PRODUCTS}
    group = LazyGroup(name="vivant")
    context = typer.Context(group)
    lines = [
        "# Commands",
        "",
        "Made from the code when the site is built. `vivant COMMAND --help` shows the same in the terminal.",
        "",
    ]
    for panel in PANELS:
        lines += [f"## {panel}", ""]
        for name, entry in commands.items():
            if entry.panel == panel:
                for words, command in _walk(group.get_command(context, name), ("vivant", name)):
                    lines += _describe_command(words, command, entry.help)
    return "\n".join(lines) + "\n"


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _walk(child, (*words, name))


def _describe_command(words: tuple[str, ...], command: Any, summary: str) -> Iterator[str]:
    yield f"### {' '.join(words)}"
    yield ""
    yield from _format_help(inspect.cleandoc(command.help or summary))
    children = getattr(command, "commands", {})
    if children:
        yield "Commands: " + ", ".join(f"[{name}](#{'-'.join((*words, name))})" for name in children)
        yield ""
    rows = [
        _describe_parameter(parameter)
        for parameter in command.params
        if parameter.name not in ("help", "help_all")
    ]
    if rows:
        yield "| argument or option | default | |"
        yield "|---|---|---|"
        yield from rows
        yield ""


def _format_help(text: str) -> Iterator[str]:
    """A command's help, with its examples as code."""
    code = False
    for line in text.replace("\f", "").splitlines():
        example = line.lstrip().startswith("vivant ")
        if example != code and (line.strip() or not code):
            yield "\n```" if example else "```\n"
            code = example
        if line.strip() or not code:
            yield line.strip() if code else _escape(line.strip())
    yield "```\n" if code else ""


def _describe_parameter(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        names = [getattr(parameter, "metavar", None) or parameter.name.upper()]
    default = parameter.default
    shown = "" if callable(default) or default in (None, False, (), [], "") else f"`{default}`"
    if getattr(parameter, "required", False):
        shown = "required"
    text = _escape(getattr(parameter, "help", None) or "")
    return f"| {' '.join(f'`{name}`' for name in names)} | {shown} | {text} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def write_api_reference() -> str:
    """What `import vivant` offers and what plug-ins build on, by the docstrings."""
    lines = [
        "# Python",
        "",
        "Made from the docstrings when the site is built. `import vivant` loads a part when it is first used.",
        "",
    ]
    for title, (module_name, names) in _API.items():
        module = importlib.import_module(module_name)
        lines += [f"## {title}", ""]
        for name in names or module.__all__:
            path = _find_home(getattr(module, name, None))
            if path:
                lines += [f"::: {path}", ""]
    return "\n".join(lines) + "\n"


def _find_home(value: Any) -> str:
    """Where something is defined; empty for what has no documentation of its own."""
    if not inspect.isclass(value) and not inspect.isfunction(value):
        return ""
    return f"{value.__module__}.{value.__qualname__}"


# ── the build ────────────────────────────────────────────────────────────────────────────────────


def prepare(source: Path, target: Path) -> Path:
    """Copy docs/ and add what is generated; returns the configuration to build with."""
    shutil.rmtree(target, ignore_errors=True)
    pages = target / "docs"
    shutil.copytree(source / "docs", pages, ignore=shutil.ignore_patterns(NAV))
    for name, copy in _COPIES.items():
        text = (source / name).read_text(encoding="utf-8")
        (pages / copy).write_text(text.replace("](docs/", "]("), encoding="utf-8")
    (pages / "reference" / "cli.md").write_text(write_command_reference(), encoding="utf-8")
    (pages / "reference" / "python.md").write_text(write_api_reference(), encoding="utf-8")
    for page in pages.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_localise_links(text, page.relative_to(pages)), encoding="utf-8")
    sections = yaml.safe_load((source / "docs" / NAV).read_text(encoding="utf-8"))
    navigation = plan_navigation(sections, list_pages(pages))
    config = yaml.safe_load((source / "mkdocs.yml").read_text(encoding="utf-8"))
    config |= {
        "docs_dir": str(pages),
        "site_dir": str(source / "site"),
        "nav": [{section: files} for section, files in navigation.items() if files],
    }
    config["plugins"][1]["mkdocstrings"]["handlers"]["python"]["paths"] = [
        str(path) for path in sorted(source.glob("packages/*/src"))
    ]
    file = target / "mkdocs.yml"
    file.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return file


def _localise_links(text: str, page: Path) -> str:
    """Links to files beside docs/ lead to the site's copy of them; where there is none, they become plain text."""
    up = "../" * (len(page.parts) - 1)

    def replace(match: re.Match[str]) -> str:
        label, target, anchor = match[1], match[2], match[3] or ""
        if target in _COPIES:
            return f"[{label}]({up}{_COPIES[target]}{anchor})"
        return f"[{label}]({up}index.md)" if target == "README.md" else label

    return re.sub(rf"\[([^\]]*)\]\({re.escape(up)}\.\./([^)#\s]+)(#[^)]*)?\)", replace, text)


def main() -> None:
    """Build, or serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--strict", action="store_true", help="every warning is an error")
    parser.add_argument("--serve", action="store_true", help="show the site on this machine")
    arguments = parser.parse_args()
    config = prepare(ROOT, BUILD)
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "serve" if arguments.serve else "build",
        "--config-file",
        str(config),
    ]
    command += ["--strict"] * arguments.strict
    command += [] if arguments.serve else ["--quiet"]
    # The theme's advertisement for its successor is no warning about these pages.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    sys.exit(subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode)


if __name__ == "__main__":
    main()
