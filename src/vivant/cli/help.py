"""Help that fits a screen: `--help` shows a command's common options, `--help-all` every option."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

_COLUMN, _WIDEST = 30, 100


class PanelCommand(TyperCommand):
    """A command whose help is plain text in panels. Its hidden options are those that are not common."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(format_command(self, ctx, everything=False))


def _print_everything(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(format_command(ctx.command, ctx, everything=True))
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, callback=_print_everything, help="Show every option and exit."),
]


def format_command(command: Any, ctx: Any, *, everything: bool) -> str:
    """The help text of a command.

    Args:
        command: A Typer command.
        ctx: Its context.
        everything: Whether options that are not common are shown too.
    """
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join(
        ["Usage:", ctx.command_path, *(p.metavar or p.name.upper() for p in arguments), "[OPTIONS]"]
    )
    lines = ["", f" {usage}", "", *_format_text(inspect.getdoc(command.callback) or "", width)]
    panels: dict[str, list[Any]] = {}
    for param in command.params:
        if (
            param.param_type_name == "option"
            and param.name != "help_all"
            and (everything or not param.hidden)
        ):
            panels.setdefault(param.rich_help_panel or "Options", []).append(param)
    for panel in panels:
        lines += ["", typer.style(f" {panel}", bold=True)]
        for param in panels[panel]:
            lines += _format_option(param, width)
    if not everything:
        lines += ["", f" {ctx.command_path} --help-all shows every option."]
    return "\n".join(lines)


def _format_text(text: str, width: int) -> list[str]:
    """Paragraphs wrapped; example commands as they are."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += [""] if lines else []
        if paragraph.lstrip().startswith("vivant "):
            lines += [f"   {line.strip()}" for line in paragraph.splitlines()]
        else:
            lines += textwrap.wrap(paragraph, width - 2, initial_indent=" ", subsequent_indent=" ")
    return lines


def _format_option(param: Any, width: int) -> list[str]:
    names = ", ".join((*param.opts, *param.secondary_opts))
    metavar = "" if param.is_flag else param.metavar or param.name.upper()
    left = f"  {names} {metavar}".rstrip()
    text = param.help or ""
    if param.show_default and param.default not in (None, False, ""):
        text += f" [default: {param.default}]"
    room = max(20, width - _COLUMN - 1)
    wrapped = [" " * _COLUMN + line for line in textwrap.wrap(text, room, break_on_hyphens=False)]
    if len(left) + 2 > _COLUMN or not wrapped:
        return [left, *wrapped]
    return [left + wrapped[0][len(left) :], *wrapped[1:]]
