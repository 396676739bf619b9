"""Commands in README.md and docs/, and how each is run without a server, a key, an accelerator or a download.

A model on a server is replaced by the baseline `random`, a judge by `heuristic`, a data folder by the mini-edition, a
cluster by this machine, and runs are kept to two samples. What still cannot run is parsed with the real command line,
which refuses unknown commands, options and values; `explain_unrunnable` says why.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from msgspec import Struct

from vivant.cli.main import LazyGroup

ROOT = Path(__file__).resolve().parents[4]
STAND_IN, JUDGE = "random", "heuristic"
_FAR = re.compile(
    r"(openai|gemini|anthropic|transformers|internvl-chat|mimic-chat|vllm|sglang|onnx|replay|\./mine\.py)(-local|-offline)?[/:].*"
)
_DROPPED_WITH_VALUE = {
    *("--base-url", "--model-option", "--executor", "--address", "--image-model", "--image-base-url"),
    *(
        "--models",
        "--timeout",
        "--budget-cost",
        "--prices",
        "--effort",
        "--thinking-budget",
        "--max-thinking",
    ),
}
"""What only a real model or cluster understands."""
_DROPPED = {"--audio", "--native-video", "--batch", "--trust-remote-code", "--link"}
_FILLED = {"--model": STAND_IN, "--judge": JUDGE, "run": "mime/mcq"}
_SERVERS = {("view",), ("serve",), ("study", "serve"), ("study", "preview")}
LONG_REASON = "takes minutes, or needs torch; has tests of its own"
_LONG = {
    ("demo",),
    ("train",),
    ("build", "mimic"),
    ("build", "mime"),
    ("build", "needles"),
}
_NEEDS_PEOPLE = {
    ("study", "person"): "needs answers of people",
    ("study", "release"): "needs a study that is being served",
    ("study", "pay"): "needs answers of people",
    ("study", "backup"): "needs a study that is being served",
    ("study", "link"): "needs a study that is being served",
    ("study", "report"): "needs answers of people",
    ("study", "export"): "needs answers of people",
    ("--labels",): "needs labels of people",
    ("human",): "the mini-editions hold no answers of people",
}
_NETWORK = {("data", "get"), ("models", "check")}
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_-]*(=.*|:.*)?|.*/[A-Z]{2,}(/.*)?")
_MADE = re.compile(r"(runs|studies|packs|answers|submissions)/[^*]+")
_OWN_FILE = re.compile(r".*\.(csv|json|jsonl|yaml|yml|bvh|txt|py|md)$")


class ShownCommand(Struct, frozen=True):
    """One command of a page."""

    page: str
    line: int
    words: tuple[str, ...]
    """Without `vivant` itself."""

    @property
    def text(self) -> str:
        """As a reader would type it."""
        return shlex.join(("vivant", *self.words))


def list_pages() -> list[str]:
    """The READMEs and every page, relative to the root."""
    pages = [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted(ROOT.glob("packages/*/README.md")),
    ]
    return [page.relative_to(ROOT).as_posix() for page in pages]


def list_commands(page: str) -> list[ShownCommand]:
    """Every `vivant …` in a page's code blocks, in order, with continued lines joined."""
    found = []
    for number, line in _code_lines((ROOT / page).read_text(encoding="utf-8")):
        for text in _split_commands(line):
            words = [word.strip("[]") for word in shlex.split(text.partition(" > ")[0], comments=True)]
            found.append(ShownCommand(page, number, tuple(_fill_in(words[1:]))))
    return found


def _fill_in(words: list[str]) -> list[str]:
    """What a reader fills in: "--model …", "runs/…", "run …", "RUN…", "[--by …]"."""
    filled: list[str] = []
    for word in words:
        if word != "…":
            filled.append(f"{word[:-1]}*" if word.endswith("/…") else word.removesuffix("…"))
        elif filled[-1] in _FILLED:
            filled.append(_FILLED[filled[-1]])
        elif filled[-1].startswith("--"):
            filled.pop()
    return [word for word in filled if word]


def _code_lines(text: str) -> Iterator[tuple[int, str]]:
    fence, skipped, pending, begun = "", False, "", 0
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        mark = re.match(r"\s*```(\w*)", line)
        if mark:
            fence = "" if fence else mark[1] or "plain"
            skipped = bool(fence) and _is_marked(lines, number)
            continue
        code = (fence in ("console", "sh", "bash", "shell")) if fence else line.startswith("    ")
        if not code or skipped:
            continue
        begun = begun or number
        pending += " " + line.strip().removeprefix("$ ")
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        yield begun, pending.strip()
        pending, begun = "", 0


def _is_marked(lines: list[str], start: int) -> bool:
    """Whether the page itself says under a block why it is not run: `<!-- not run: REASON -->`."""
    end = next((i for i in range(start, len(lines)) if lines[i].strip() == "```"), len(lines))
    return end + 1 < len(lines) and re.match(r"<!-- not run: .{10,} -->", lines[end + 1]) is not None


def _split_commands(line: str) -> Iterator[str]:
    """The commands on a line, without what is said beside them after two spaces."""
    match = re.match(
        r"(?:[A-Z_]+=\S+ +)*(?:srun .*?|ray job submit .*? -- +|accelerate launch .*? -m +)?(vivant [a-z-].*)",
        line,
    )
    if match is None:
        return
    parts = re.split(r" {2,}(?=vivant )", match[1])
    for part in parts:
        command = re.split(r" {2,}(?![-./])(?!\S+[./]\S)", part.replace("vivant run  ", "vivant run "))[0]
        yield re.sub(r" {2,}", " ", re.split(r"\s#\s", command)[0])


def find_command(words: tuple[str, ...]) -> tuple[Any, tuple[str, ...], list[str]]:
    """The command that words name, its name, and the arguments after it."""
    command: Any = LazyGroup(name="vivant")
    context = typer.Context(command)
    name: list[str] = []
    rest = list(words)
    while rest:
        child = command.get_command(context, rest[0]) if hasattr(command, "get_command") else None
        if child is None:
            break
        command = child
        name.append(rest.pop(0))
    return command, tuple(name), rest


def parse_command(command: ShownCommand) -> None:
    """Parse as the command line does; raises what the user would be told."""
    found, name, rest = find_command(command.words)
    assert name, f"{command.page}, line {command.line}: there is no `vivant {command.words[0]}`"
    found.make_context(" ".join(name), rest, resilient_parsing=False)


def explain_unrunnable(command: ShownCommand, folder: Path) -> str:
    """Why a command cannot be executed in a folder; empty where it can."""
    name = find_command(command.words)[1]
    for reason, group in (
        ("serves until it is stopped", _SERVERS),
        (LONG_REASON, _LONG),
        ("needs the network", _NETWORK),
        ("reads a clone of the benchmark's own repository", {("recipes", "wording")}),
    ):
        if any(name[: len(entry)] == entry for entry in group):
            return reason
    for shown, reason in _NEEDS_PEOPLE.items():
        if name[:2] == shown or (len(shown) == 1 and shown[0] in command.words):
            return reason
    for word in localise(command):
        if _PLACEHOLDER.fullmatch(word) and not (folder / word).exists():
            return f"{word} is the reader's own"
        if word.startswith("runs/") and "*" in word and not any(folder.glob(word)):
            return f"{word} is made with another model than the stand-in"
        if _MADE.fullmatch(word) and not (folder / word).exists() and not _is_output(command, word):
            return f"{word} is made by a command that cannot run here"
        if (
            _OWN_FILE.fullmatch(word)
            and name[-1] != "new"
            and not (folder / word).exists()
            and not _is_output(command, word)
        ):
            return f"{word} is a file of the reader's own"
    return ""


def _is_output(command: ShownCommand, word: str) -> bool:
    index = command.words.index(word) if word in command.words else 0
    return index > 0 and command.words[index - 1] in (
        "-o",
        "--out",
        "--flips",
        "--jsonl",
        "--study",
        "--template",
        "--write",
        "new",
    )


def localise(command: ShownCommand) -> list[str]:
    """The command with stand-ins for what is not here."""
    words: list[str] = []
    rest = list(command.words)
    while rest:
        word = rest.pop(0)
        if word in _DROPPED:
            continue
        if word in _DROPPED_WITH_VALUE:
            rest[:1] = []
        elif word in ("--model", "-m") and rest and (_FAR.fullmatch(rest[0]) or rest[0] == "…"):
            rest[0] = STAND_IN
            words.append(word)
        elif word in ("--judge", "--label-judge") and rest:
            rest[:1] = [] if word in words else [JUDGE]  # a stand-in can be named once
            words += [] if word in words else [word]
        elif word == "--data" and rest and not any(other.endswith(".py") for other in words):
            rest[0] = "mini"
            words.append(word)
        elif word == "--limit" and rest:
            rest[:1] = []
        elif word in ("--out", "-o") and rest:
            rest[0] = rest[0].lstrip("/")
            words.append(word)
        else:
            words.append(word)
    if words[0] in ("run", "plan", "sweep"):
        if "--model" not in words and "-m" not in words and "--answers" not in words:
            words += ["--model", STAND_IN]
        words += ["--limit", "2"]
    return words
