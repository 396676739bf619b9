"""`vivant`: one lazily loaded file a command, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer import Option
from typer.core import TyperGroup


class CommandEntry(NamedTuple):
    """A command before its module is imported."""

    module: str
    help: str
    panel: str


EVALUATE, ANALYSE, PEOPLE, MAKE, SET_UP = "Evaluate", "Analyse", "People", "Make", "Set up"
COMMANDS = {
    "demo": CommandEntry("demo", "Run a bundled model and two baselines, and show the table.", EVALUATE),
    "run": CommandEntry("run", "Evaluate a model on benchmarks; run it again to resume.", EVALUATE),
    "plan": CommandEntry("plan", "Show what `run` would send, and what it costs; sends nothing.", EVALUATE),
    "sweep": CommandEntry(
        "sweep", "Score against the number of frames, in one table and one figure.", EVALUATE
    ),
    "subset": CommandEntry(
        "subset", "A few samples that predict the score on all, from past runs.", EVALUATE
    ),
    "watch": CommandEntry("watch", "Evaluate a training's checkpoints as they appear.", EVALUATE),
    "import": CommandEntry("import_", "Turn a prediction file into a run.", EVALUATE),
    "serve": CommandEntry("serve", "Offer a model to other tools, as an OpenAI-compatible server.", EVALUATE),
    "score": CommandEntry("score", "Score runs again, with other settings or another protocol.", ANALYSE),
    "table": CommandEntry("table", "Tables of runs: text, CSV, Markdown, LaTeX, JSON.", ANALYSE),
    "report": CommandEntry("report", "One HTML file: what was found, tables, figures, settings.", ANALYSE),
    "board": CommandEntry("board", "A leaderboard of runs as a static site; check submissions.", ANALYSE),
    "compare": CommandEntry("compare", "Runs against each other, sample by sample, with tests.", ANALYSE),
    "items": CommandEntry("items", "Which items are hard, suspect, ambiguous or given away.", ANALYSE),
    "rank": CommandEntry("rank", "Who is first, how sure that is, and what to ask next.", ANALYSE),
    "view": CommandEntry("view", "Look at runs in the browser, sample by sample.", ANALYSE),
    "reasoning": CommandEntry("reasoning", "What models reason about, and how they go wrong.", ANALYSE),
    "audit": CommandEntry("audit", "Where published figures do not add up, with the arithmetic.", ANALYSE),
    "figures": CommandEntry("figures", "Draw the figures of the benchmarks: SVG, PDF or PNG.", ANALYSE),
    "judge": CommandEntry("judge", "Plan which judgements by people to ask for next.", ANALYSE),
    "judge-check": CommandEntry("judge_check", "How good is a judge? Its scores beside people's.", ANALYSE),
    "export": CommandEntry("export", "Write a run in a benchmark's native files.", ANALYSE),
    "publish": CommandEntry(
        "publish", "Give results to a hub, a model's card, W&B, MLflow, TensorBoard.", ANALYSE
    ),
    "mimic": CommandEntry(
        "mimic", "Who passes as human? Blind packs of comments, judgements, scores.", PEOPLE
    ),
    "study": CommandEntry("study", "Ask people: baselines, blind tests, ratings, in the browser.", PEOPLE),
    "build": CommandEntry("build", "Make benchmarks: mimed actions, users' videos, fresh needles.", MAKE),
    "train": CommandEntry("train", "Train MIMIC-Chat, a video language model of your own.", MAKE),
    "benchmarks": CommandEntry("benchmarks", "What can be evaluated: tasks, styles, facets, tables.", SET_UP),
    "recipes": CommandEntry(
        "recipes", "How each published row was asked; read the original prompts.", SET_UP
    ),
    "models": CommandEntry("models", "Which models can be evaluated: backends, and what each needs.", SET_UP),
    "data": CommandEntry("data", "Where data are looked for; fetch them, check them.", SET_UP),
    "cache": CommandEntry("cache", "What the caches hold, and making room.", SET_UP),
}


class LazyGroup(TyperGroup):
    """Lists commands from the table above and imports a command's module when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f"vivant.cli.{entry.module}")
        command: Any = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from vivant.core.errors import unknown_name_error

            raise unknown_name_error("command", args[0], COMMANDS, "(see `vivant --help`)")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        # Typer's own rendering loads Rich's Markdown, tracebacks and more: twice the time of all the rest.
        out = [
            "",
            " Usage: vivant COMMAND [OPTIONS]",
            "",
            *(f" {line}" for line in (self.help or "").strip().splitlines()),
        ]
        for panel in dict.fromkeys(entry.panel for entry in COMMANDS.values()):
            out += ["", typer.style(f" {panel}", bold=True)]
            out += [f"   {name:<12}{e.help}" for name, e in COMMANDS.items() if e.panel == panel]
        out += ["", typer.style(" Options, before COMMAND", bold=True)]
        options: list[Any] = [param for param in self.params if param.name != "help"]
        out += [f"   {', '.join(p.opts):<15}{p.help}" for p in options]
        out += ["", " vivant COMMAND --help explains a command.", ""]
        typer.echo("\n".join(out))


# Click's own class, of which some versions of Typer bring a copy.
_UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(cls=LazyGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from vivant import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def root(
    quiet: bool = Option(False, "--quiet", "-q", help="Print results, warnings and errors only."),
    verbose: bool = Option(False, "--verbose", "-v", help="Print details too."),
    _version: bool = Option(
        False, "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
    ),
) -> None:
    """Evaluate multimodal models on images, video and long interleaved contexts.

    Start with `vivant demo`; then:
    vivant run mime --data mini --model openai/NAME --base-url URL
    """
    from vivant.cli.output import print_log

    print_log(quiet=quiet, verbose=verbose)


def main() -> None:
    """Entry point: a user's mistake is one line on standard error and exit code 1."""
    from vivant.core.errors import VivantError

    try:
        code = app(prog_name="vivant", standalone_mode=False)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
        else:
            print(f"vivant: {_describe_usage(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.Abort:
        print("vivant: stopped", file=sys.stderr)
        sys.exit(1)
    except VivantError as error:
        if os.environ.get("VIVANT_DEBUG"):
            raise
        print(f"vivant: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # `vivant table … | head`: the reader has gone, and that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _describe_usage(error: Any) -> str:
    """What is wrong with the words of a command, in the form of all other mistakes."""
    near = getattr(error, "possibilities", None)
    text = f"{error.message}; did you mean {near[0]}?" if near else error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "vivant"
    return f"{text} (see `{command} --help`)"
