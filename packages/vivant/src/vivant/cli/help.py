"""Help that fits a screen: `--help` shows a command's common options, `--help-all` every option."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

_Function = TypeVar("_Function", bound=Callable[..., Any])
_COLUMN, _WIDEST = 30, 100


class PanelCommand(TyperCommand):
    """A command whose help is plain text in panels. Its hidden options are those that are not common."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(format_command(self, ctx, everything=False))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--help-all" in args:
            typer.echo(format_command(self, ctx, everything=True))
            ctx.exit()
        return super().parse_args(ctx, args)


class PanelGroup(TyperGroup):
    """A command of commands, with help of the same form."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(format_group(self, ctx))


class CommandApp(typer.Typer):
    """A Typer application of such commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(add_completion=False, **{"cls": PanelGroup, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        """Register a command, as Typer does."""
        return super().command(name, **{"cls": PanelCommand, **settings})


def format_command(command: Any, ctx: Any, *, everything: bool) -> str:
    """The help text of a command.

    Args:
        command: A Typer command.
        ctx: Its context.
        everything: Whether options that are not common are shown too.
    """
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    usage = " ".join((ctx.command_path, *map(_format_argument, arguments), "[OPTIONS]"))
    lines = ["", f" Usage: {usage}", "", *_format_text(inspect.getdoc(command.callback) or "", width)]
    lines += [""] if arguments else []
    for param in arguments:
        lines += _format_row(f" {_format_argument(param)}", param.help or "", width)
    panels: dict[str, list[Any]] = {}
    for param in options:
        if everything or not param.hidden:
            panels.setdefault(param.rich_help_panel or "Options", []).append(param)
    for panel, params in panels.items():
        lines += ["", typer.style(f" {panel}", bold=True)]
        for param in params:
            lines += _format_option(param, ctx, width)
    if not everything and any(param.hidden for param in options):
        lines += ["", f" {ctx.command_path} --help-all shows every option."]
    return "\n".join(lines)


def format_group(group: Any, ctx: Any) -> str:
    """The help text of a command of commands: what it is for, and the first paragraph of each."""
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    text = inspect.getdoc(group.callback) if group.callback else group.help
    usage = "[COMMAND]" if group.invoke_without_command else "COMMAND"
    lines = ["", f" Usage: {ctx.command_path} {usage} [OPTIONS]", "", *_format_text(text or "", width)]
    commands = {name: group.get_command(ctx, name) for name in group.list_commands(ctx)}
    commands = {name: command for name, command in commands.items() if command and not command.hidden}
    lines += ["", typer.style(" Commands", bold=True)]
    column = max(map(len, commands)) + 4
    for name, command in commands.items():
        summary = inspect.cleandoc(command.help or "").partition("\n\n")[0]
        lines += _format_row(f"  {name}", summary, width, column)
    options = [param for param in group.params if param.name != "help" and not param.hidden]
    if options:
        lines += ["", typer.style(" Options", bold=True)]
    for param in options:
        lines += _format_option(param, ctx, width)
    return "\n".join([*lines, "", f" {ctx.command_path} COMMAND --help explains a command.", ""])


def _format_text(text: str, width: int) -> list[str]:
    """Paragraphs wrapped; example commands close together, a long one continued as a shell reads it."""
    lines: list[str] = []
    example = False
    for paragraph in text.strip().split("\n\n"):
        previous, example = example, paragraph.lstrip().startswith("vivant ")
        lines += [""] if lines and not (previous and example) else []
        if example:
            lines += [part for line in paragraph.splitlines() for part in _wrap_example(line.strip(), width)]
        else:
            lines += textwrap.wrap(paragraph, width - 2, initial_indent=" ", subsequent_indent=" ")
    return lines


def _wrap_example(command: str, width: int) -> list[str]:
    """A command on one line where it fits; else broken before options and continued with a backslash."""
    if len(command) <= width - 3:
        return [f"   {command}"]
    code, _, comment = command.partition("  #")
    lines = [""]
    for words in code.rstrip().replace(" --", "\n--").splitlines():
        if lines[-1] and len(lines[-1]) + len(words) > width - 7:
            lines[-1] += " \\"
            lines.append(f"    {words}")
        else:
            lines[-1] = f"{lines[-1]} {words}".lstrip() if len(lines) == 1 else f"{lines[-1]} {words}"
    return [f"   #{comment}"] * bool(comment) + [f"   {line}" for line in lines]


def _format_argument(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return str(name) if param.required else f"[{name}]"


def _format_option(param: Any, ctx: Any, width: int) -> list[str]:
    text = param.help or ""
    if param.show_default and param.default not in (None, False, ""):
        text += f" [default: {_format_default(param.default)}]"
    names = ", ".join((*param.opts, *param.secondary_opts))
    left = f"  {names} {_format_metavar(param, ctx)}".rstrip()
    if len(left) > width:  # many choices: they go where text is wrapped
        text = f"{text} One of {_format_metavar(param, ctx).replace('|', ', ')}."
        left = f"  {names} {_name_value(param, ctx)}"
    return _format_row(left, text, width)


def _format_default(value: Any) -> str:
    if value is True:
        return "on"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _format_metavar(param: Any, ctx: Any) -> str:
    if param.is_flag or param.metavar:
        return "" if param.is_flag else str(param.metavar)
    # Typer names a type in angle brackets; of those, choices are worth showing.
    kind = _read_type(param, ctx)
    return kind.strip("<>[]") if "|" in kind else _name_value(param, ctx)


def _read_type(param: Any, ctx: Any) -> str:
    return str(param.display_type(ctx) if hasattr(param, "display_type") else param.make_metavar(ctx))


def _name_value(param: Any, ctx: Any) -> str:
    """`N` for a number, `PATH` for a path; else the option's last word."""
    kind = _read_type(param, ctx).lower().strip("<")
    if kind.startswith(("int", "float")):
        return "N"
    return "PATH" if kind.startswith("path") else str(param.opts[0].rpartition("-")[2].upper())


def _format_row(left: str, text: str, width: int, column: int = _COLUMN) -> list[str]:
    """A name, and beside it what it means."""
    room = max(20, width - column - 1)
    wrapped = [" " * column + line for line in textwrap.wrap(text, room, break_on_hyphens=False)]
    if len(left) + 2 > column or not wrapped:
        return [left, *wrapped]
    return [left + wrapped[0][len(left) :], *wrapped[1:]]
