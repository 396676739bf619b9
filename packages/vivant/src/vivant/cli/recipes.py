"""`vivant recipes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from vivant.benchmarks.recipes import FIELDS, NOT_STATED, RowRecipe, find_recipe, has_recipes, load_recipes
from vivant.benchmarks.registry import list_benchmarks
from vivant.cli.help import CommandApp, PanelGroup
from vivant.cli.output import print_message, print_table
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.table import Table


class _RecipeGroup(PanelGroup):
    """Takes the name of a benchmark where a command is expected: `vivant recipes mime` lists its recipes."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["list", *args]
        return super().resolve_command(ctx, args)


app = CommandApp(cls=_RecipeGroup, no_args_is_help=True)
Name = Annotated[str, Argument(metavar="BENCHMARK", help="mime, mmrv, milebench or mmie.")]


@app.callback()
def recipes() -> None:
    """How each published row was asked, as recipes for `vivant run --recipe`.

    vivant recipes mime
    vivant recipes show mime paper/gpt-4o-mini
    vivant recipes wording mime --repo CLONE --out mime-wording.yaml
    """


def _check(benchmark: str) -> str:
    if not has_recipes(benchmark):
        raise unknown_name_error("benchmark with recipes", benchmark, filter(has_recipes, list_benchmarks()))
    return benchmark


@app.command("list")
def list_recipes(benchmark: Name) -> None:
    """List the recipes of a benchmark: one for each published row.

    Example:

        vivant recipes list mime
    """
    content = load_recipes(_check(benchmark))
    body = tuple(
        (name.removeprefix("paper/"), recipe.status, _summary(recipe))
        for name, recipe in content.recipes.items()
    )
    print_table(
        Table(
            title=f"Recipes of {benchmark}, from {content.repository} at {content.commit[:7]} ({content.date})",
            columns=("paper/…", "status", "frames, reply limit"),
            body=body,
        )
    )
    print_message(
        f"One in full: vivant recipes show {benchmark} NAME    use it: vivant run {benchmark} --recipe paper/NAME"
    )


def _summary(recipe: RowRecipe) -> str:
    """The settings that rows differ in most, as short as can be."""
    sets = recipe.sets
    frames = next((f"{name} {sets[name]:g}" for name in ("frames", "fps", "every") if name in sets), "")
    frames = "video" if sets.get("video_as") == "native" else frames
    limit = f"{sets['max_tokens']} tokens" if isinstance(sets.get("max_tokens"), int) else ""
    limit = "no limit" if sets.get("max_tokens") == "server" else limit
    return ", ".join(filter(None, (frames, limit)))


@app.command("show")
def show_recipe(
    benchmark: Name, recipe: Annotated[str, Argument(metavar="NAME", help="E.g. paper/gpt-4o-mini.")]
) -> None:
    """Show a recipe in full: what the original states, where, and which options do the same.

    Example:

        vivant recipes show mime paper/gpt-4o-mini
    """
    content = load_recipes(_check(benchmark))
    chosen = find_recipe(benchmark, recipe)
    lines = [
        chosen.name,
        f"Row: {chosen.row}, {chosen.style}. Status: {chosen.status}.",
        f"Read from https://github.com/{content.repository} at {content.commit[:7]} ({content.date}).",
        "",
    ]
    for field, title in FIELDS.items():
        stated = chosen.fields.get(field)
        if stated is None and field == "judge":
            continue
        lines += _wrap(f"{title}:", NOT_STATED if stated is None else stated.stated)
        if stated is not None and stated.sets:
            lines += _wrap("", _options(stated.sets))
        if stated is not None and stated.source:
            lines += _wrap("", f"source: {stated.source}")
    if chosen.wording:
        lines += _wrap("wording keys:", ", ".join(dict.fromkeys(chosen.wording.values())))
    if chosen.scoring:
        lines += _wrap("scored with:", ", ".join(f"--set {k}={v}" for k, v in chosen.scoring.items()))
    lines += ["", "What a run by this recipe still does otherwise:"] if chosen.differs else []
    for difference in chosen.differs:
        lines += _wrap("  -", difference, 4)
    commands = _commands(chosen, content.repository)
    typer.echo("\n".join([*lines, *(["", commands] if commands else [])]))


def _options(sets: Any) -> str:
    """Options as the command line has them."""
    from vivant.core.option_specs import list_declared_options
    from vivant.engine.options import RunOptions

    declared = list_declared_options(RunOptions)
    words: list[str] = []
    for name, value in sets.items():
        flag = declared[name].flag
        if isinstance(value, dict):
            words += [f"{flag} {key}={entry}" for key, entry in value.items()]
        else:
            words.append(flag if value is True else f"{flag} {value}")
    return " ".join(words)


def _commands(recipe: RowRecipe, repository: str) -> str:
    """What to type for a run by the recipe."""
    name = recipe.benchmark
    file = f"{name}-wording.yaml"
    lines = [
        f"  git clone https://github.com/{repository}",
        f"  vivant recipes wording {name} --repo {repository.rpartition('/')[2]} --out {file}",
    ]
    if name == "mmie":
        lines += [
            f"  vivant run {name} --answers DIR --judge internvl-chat/MMIE/MMIE-Score \\",
            f"      --judge-option trust_remote_code=true --judge-prompts {file}",
        ]
    elif recipe.wording or recipe.sets:
        words = [f"  vivant run {name} --recipe {recipe.name}"]
        if "model" not in recipe.sets:
            words.append("--model NAME")
        elif any(word in recipe.state("model") for word in ("server", "address")):
            words.append("--base-url URL")
        if recipe.wording:
            words.append(f"--prompts {file}")
        text = " ".join(words)
        lines.append(text if len(text) < 80 else " ".join(words[:-1]) + f" \\\n      {words[-1]}")
    return "\n".join(lines if recipe.wording else lines[2:])


def _wrap(left: str, text: str, indent: int = 16) -> list[str]:
    """A name and beside it a text, within 80 columns."""
    import textwrap

    wrapped = textwrap.wrap(" ".join(text.split()), 79 - indent, break_on_hyphens=False) or [""]
    first = left.ljust(indent) + wrapped[0] if len(left) < indent else f"{left}\n{' ' * indent}{wrapped[0]}"
    return [first, *(" " * indent + line for line in wrapped[1:])]


@app.command()
def wording(
    benchmark: Name,
    repo: Annotated[
        Path,
        Option(
            "--repo", metavar="CLONE", help="Your clone of the original repository. Nothing in it is run."
        ),
    ],
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="FILE", help="[default: BENCHMARK-wording.yaml]")
    ] = None,
) -> None:
    """Read the original prompts out of your own clone of a repository, for --prompts and --judge-prompts.

    The texts belong to their authors, so Vivant does not bring them along. Files are parsed, never executed.

    vivant recipes wording mime --repo mime --out mime-wording.yaml
    """
    from vivant.benchmarks.official_wording import read_wording, write_wording

    content = load_recipes(_check(benchmark))
    result = read_wording(benchmark, repo)
    file = out or Path(f"{benchmark}-wording.yaml")
    if file.is_dir():
        raise UsageError(f"--out {file} is a folder; name a file")
    write_wording(benchmark, result, file)
    print_message(
        f"{len(result.texts)} texts of {content.repository} at {result.commit[:7] or 'an unknown commit'} → {file}"
    )
    if not result.commit:
        print_message(f"Note: {repo} is no git clone, so the commit is not known.")
    if result.changed:
        print_message(
            f"Note: {len(result.changed)} texts differ from those at {content.commit[:7]}, which the recipes were read "
            f"from; the first is {result.changed[0]}. Check out that commit to ask as the published rows did."
        )
    option = "--judge-prompts" if benchmark == "mmie" else "--recipe paper/NAME --prompts"
    print_message(f"Use it: vivant run {benchmark} {option} {file}")
