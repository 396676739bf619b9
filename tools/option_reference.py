"""Write what is derived from the declarations of options: `evaluate`'s signature, the types of its arguments
(`engine/run_arguments.py`) and `docs/reference/options.md`.

python tools/option_reference.py            write them
python tools/option_reference.py --check    exit with 1 where one is out of date
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from vivant.core import types as core_types
from vivant.core.option_specs import DeclaredOption, list_declared_options
from vivant.engine import options as run_options
from vivant.engine.options import RunOptions
from vivant.judging.options import JudgeOptions
from vivant.models import request_limits

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "packages" / "vivant" / "src" / "vivant"
SOURCE = KERNEL / "engine" / "evaluation.py"
ARGUMENTS = KERNEL / "engine" / "run_arguments.py"
PAGE = ROOT / "docs" / "reference" / "options.md"
_POSITIONAL = ("selectors", "model")
_ALIASES = {
    core_types.Control: "Control",
    request_limits.OnTooLarge: "OnTooLarge",
    run_options.CacheUse: "CacheUse",
    run_options.ExecutorName: "ExecutorName",
    run_options.AnswerBy: "AnswerBy",
}


def format_type(kind: Any) -> str:
    """A type as source code writes it."""
    if kind in _ALIASES:
        return _ALIASES[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " | ".join(map(format_type, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(_quote, arguments))}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(format_type, arguments))}]"
    if kind is Any:
        return "Any"
    return "None" if kind is types.NoneType else str(kind.__name__)


def _quote(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def format_signature(options: Iterable[DeclaredOption]) -> str:
    """`evaluate`'s first lines, up to its docstring."""
    lines = []
    for option in options:
        if option.name not in _POSITIONAL and "    *," not in lines:
            lines.append("    *,")
        default = "" if option.required else f" = {_quote(option.argument_default)}"
        lines.append(f"    {option.name}: {format_type(option.argument_type)}{default},")
    return "\n".join(["def evaluate(", *lines, ") -> Run:"])


def format_arguments(options: Iterable[DeclaredOption]) -> str:
    """The `Args:` of its docstring."""
    lines = ["Args:"]
    for option in options:
        text = re.sub(r"--([a-z-]+)", lambda match: f"`{match[1].replace('-', '_')}`", option.spec.help)
        default = f" Default: {option.spec.default}." if option.spec.default else ""
        lines += textwrap.wrap(
            f"{option.name}: {text}{default}", 108, initial_indent="    ", subsequent_indent="        "
        )
    return "\n".join(lines)


def update_source(source: str) -> str:
    """The module with `evaluate`'s signature and `Args:` as the declarations have them."""
    options = list(list_declared_options(RunOptions).values())
    (function,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == "evaluate"
    )
    end = function.body[0].end_lineno
    docstring = inspect.cleandoc(ast.get_docstring(function) or "").split("Args:")[0].strip()
    document = f'"""{docstring}\n\n{format_arguments(options)}\n"""'
    lines = source.splitlines()
    head = [*format_signature(options).splitlines(), *textwrap.indent(document, "    ").splitlines()]
    return "\n".join([*lines[: function.lineno - 1], *head, *lines[end:]]) + "\n"


_FRAMES = ("frames", "fps", "every", "max_frames")


def format_argument_types() -> str:
    """The module with the arguments of `evaluate` as types, for functions that pass them on."""
    options = [o for name, o in list_declared_options(RunOptions).items() if name not in _POSITIONAL]
    sweep = [f"    {o.name}: {format_type(o.argument_type)}" for o in options if o.name not in _FRAMES]
    frames = [f"    {o.name}: {format_type(o.argument_type)}" for o in options if o.name in _FRAMES]
    return (
        "\n".join(
            [
                *_ARGUMENTS_HEAD.strip().splitlines(),
                "",
                *sweep,
                *_ARGUMENTS_NEXT.rstrip().splitlines(),
                "",
                *frames,
            ]
        )
        + "\n"
    )


_ARGUMENTS_HEAD = '''
"""The arguments of `vivant.evaluate` as types. Written by `make reference` from `engine/options.py`; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from vivant.core.types import Control, Decoding, FramePolicy
from vivant.engine.options import AnswerBy, CacheUse, ExecutorName
from vivant.engine.retry import RetryPolicy
from vivant.models.request_limits import OnTooLarge


class SweepArguments(TypedDict, total=False):
    """What `vivant.sweep` takes besides benchmarks, model and numbers of frames."""

'''
_ARGUMENTS_NEXT = '''

class RunArguments(SweepArguments, total=False):
    """What `vivant.evaluate` takes besides benchmarks and model."""

'''


def format_page() -> str:
    """The reference page, in Markdown."""
    lines = [
        "# Options of a run",
        "",
        "Every option of `vivant run`, `vivant plan` and `vivant sweep`, and every argument of `vivant.evaluate`.",
        "Written by `make reference` from `packages/vivant/src/vivant/engine/options.py`; do not edit.",
        "",
        "*Part of the run* says whether the option decides what is asked. Two runs that differ in such an option have",
        "different fingerprints and directories; the others can change when a run is resumed. `vivant run --help`",
        "shows the options marked •, `vivant run --help-all` all of them.",
    ]
    options = list_declared_options(RunOptions).values()
    for panel in dict.fromkeys(option.spec.panel for option in options):
        head = "| option | Python | default | meaning | part of the run |"
        lines += ["", f"## {panel}", "", head, "|---|---|---|---|---|"]
        lines += [_format_row(option) for option in options if option.spec.panel == panel]
    lines += ["", "## Judges", ""]
    lines += [
        "For answers that a judge scores; in Python, `vivant.judge(run, [vivant.JudgeOptions(…)])`.",
        "",
    ]
    lines += ["| option | Python | default | meaning |", "|---|---|---|---|"]
    lines += [_format_row(option, recorded=False) for option in list_declared_options(JudgeOptions).values()]
    return "\n".join(lines) + "\n"


def _format_row(option: DeclaredOption, *, recorded: bool = True) -> str:
    spec = option.spec
    metavar = _escape(spec.metavar or "|".join(option.choices))
    flags = ", ".join(f"`{flag}`" for flag in (option.flag, spec.short) if flag)
    shown = f"{flags} {metavar}".strip() if flags else spec.metavar
    mark = " •" if spec.common else ""
    named = _escape(f"`{option.name}: {format_type(option.argument_type)}`")
    cells = [f"{shown or '–'}{mark}", named, _format_default(option), _escape(spec.help)]
    if recorded:
        cells.append("yes" if spec.records else "no")
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def _format_default(option: DeclaredOption) -> str:
    if option.required:
        return "required"
    if option.spec.default:
        return _escape(option.spec.default)
    if option.default is None or option.default == () or isinstance(option.default, Mapping | msgspec.Struct):
        return "–"
    return (
        {True: "yes", False: "no"}[option.default]
        if isinstance(option.default, bool)
        else str(option.default)
    )


def main() -> None:
    """Write, or check."""
    source = SOURCE.read_text(encoding="utf-8")
    new = {SOURCE: update_source(source), ARGUMENTS: format_argument_types(), PAGE: format_page()}
    if "--check" in sys.argv:
        stale = [
            str(path.relative_to(ROOT))
            for path, text in new.items()
            if not path.exists() or path.read_text(encoding="utf-8") != text
        ]
        if stale:
            sys.exit(f"Out of date, run python tools/option_reference.py: {', '.join(stale)}")
        return
    for path, text in new.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
