"""`vivant build mime`: the plan, rendering, checking, Blender."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_table
from vivant.core.errors import UsageError
from vivant.core.progress import log_progress
from vivant_build.cli.mime_data import app as data_app

if TYPE_CHECKING:
    from vivant_build.mime.plan_file import Specification

app = CommandApp(no_args_is_help=True)
# Without a name: its commands stand beside those of this file.
app.add_typer(data_app)

Plan = Annotated[Path, Argument(metavar="FILE", help="A plan in YAML, or `mini` for the bundled one.")]
Out = Annotated[Path, Option("--out", "-o", help="Folder to write to.")]
Workers = Annotated[
    int | None, Option("--workers", min=1, help="Processes. [default: one per core]", show_default=False)
]
Preset = Annotated[
    str | None, Option("--preset", help="Variants by name in place of the plan's: mime is the paper's ten.")
]
RendererName = Annotated[
    str | None, Option("--renderer", help="built-in, capsules, cycles or workbench, in place of the plan's.")
]


@app.callback()
def mime() -> None:
    """Make MIME: motions put on characters, over backgrounds, seen from angles, as videos.

    Examples:

        vivant build mime plan mini

        vivant build mime render mini --out mine
    """


@app.command()
def plan(file: Plan, preset: Preset = None, renderer: RendererName = None) -> None:
    """Show what a plan would render: videos, frames, time and disk. Renders nothing but a few frames to measure.

    Example:

        vivant build mime plan mini
    """
    from vivant_build.mime.estimate import build_plan_table, estimate_render

    spec, root = _plan(file, preset, renderer)
    print_table(build_plan_table(spec, estimate_render(spec, root, str(file)), str(file)))


@app.command()
def render(
    file: Plan,
    out: Out,
    preset: Preset = None,
    renderer: RendererName = None,
    workers: Workers = None,
    executor: Annotated[
        Literal["local", "ray"], Option("--executor", help="This machine, or a Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None,
        Option("--address", help="Of the Ray cluster. [default: RAY_ADDRESS, or one started here]"),
    ] = None,
) -> None:
    """Render all videos of a plan; run it again to resume. What is there and whole is kept.

    Example:

        vivant build mime render plan.yaml --out mine --workers 2

        vivant run mime --data mine --model random
    """
    from vivant_build.mime.bad_frames import format_count
    from vivant_build.mime.edition import Edition, stage
    from vivant_build.mime.jobs import RenderExecutor, count_workers, run_jobs

    spec, root = _plan(file, preset, renderer)
    render_executor: RenderExecutor
    if executor == "ray":
        from vivant_build.mime.ray_executor import RayRenderExecutor

        render_executor = RayRenderExecutor(address)
    else:
        if address is not None:
            raise UsageError("--address names a Ray cluster; add --executor ray")
        from vivant_build.mime.local_executor import LocalRenderExecutor

        render_executor = LocalRenderExecutor(workers or count_workers())
    edition = Edition(spec, tuple(stage(spec, source=str(file))))
    try:
        outcome = run_jobs(edition, root, out, render_executor, log_progress())
    except KeyboardInterrupt:
        print_message(f"Stopped; the videos in {out} are whole. Run the same command to go on.")
        raise typer.Exit(130) from None
    for failure in outcome.failed[:20]:
        print_message(f"not made: {failure.error}")
    if outcome.metadata is None:
        raise UsageError(
            f"{len(outcome.failed)} of {outcome.total} videos could not be made; mend what is named above and "
            "run the same command again"
        )
    existing = f", {outcome.kept} were there" if outcome.kept else ""
    print_message(
        f"{format_count(outcome.made, 'video')} made{existing}: {out}. Check them: vivant build mime check {out}"
    )
    print_message(f"Run it: vivant run mime --data {out} --model random")


@app.command()
def check(
    folder: Annotated[Path, Argument(metavar="DIR", help="A folder that `render` made.")],
    workers: Workers = None,
) -> None:
    """Verify every video against the plan: frames, rate, size, decoding, even times, no sound, a person in view.

    Example:

        vivant build mime check mine
    """
    from vivant_build.mime.check import check_folder
    from vivant_build.mime.jobs import count_workers

    report = check_folder(folder, workers=workers or count_workers(), progress=log_progress())
    for line in report.lines:
        print(line)
    if report.lines:
        raise UsageError(report.summary(folder))
    print_message(f"{report.videos} videos, {report.frames:,} frames: all as planned.")


@app.command()
def sheet(
    folder: Annotated[Path, Argument(metavar="DIR", help="A folder that `render` made.")],
    out: Annotated[Path, Option("--out", "-o", help="The picture: .jpg or .png.")],
    action: Annotated[str | None, Option("--action", help="All variants of this action.")] = None,
    variant: Annotated[
        str | None, Option("--variant", help="All actions in this variant. [default: the plan's first]")
    ] = None,
    frames: Annotated[int, Option("--frames", min=1, max=32, help="Pictures of each video.")] = 8,
) -> None:
    """Draw strips of frames below each other: all actions in one variant, or all variants of one action.

    Example:

        vivant build mime sheet mine --action Archery001 --out archery.jpg
    """
    from vivant_build.mime.contact_sheet import draw_sheet

    print_message(f"Written to {draw_sheet(folder, out, action=action, variant=variant, frames=frames)}")


@app.command(name="try")
def try_clips(
    folder: Annotated[Path, Argument(metavar="DIR", help="A folder that `render` made.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder for the study, the models' runs and the count.")],
    model: Annotated[
        list[str] | None,
        Option("--model", "-m", help="Let this model name the clips, too; repeat. See `vivant models`."),
    ] = None,
    base_url: Annotated[
        str | None, Option("--base-url", help="Address of an OpenAI-compatible server.")
    ] = None,
    variant: Annotated[
        str | None, Option("--variant", help="The clips to show. [default: the plan's first variant]")
    ] = None,
    people: Annotated[int, Option("--people", min=1, help="Answers wanted of each clip.")] = 5,
    least: Annotated[
        float, Option("--least", help="Share of right names below which an action is doubtful.")
    ] = 0.5,
    form: o.FormatOption = "text",
) -> None:
    """Find out whether people and models can name the clips: a blind study, free-form runs, and a count by action.

    Run it again when people have answered: it counts anew.

    Example:

        vivant build mime try mine --out naming --model random
    """
    from vivant.cli.output import write_tables
    from vivant.engine.evaluation import evaluate
    from vivant.models.base import ModelOptions
    from vivant.models.registry import create
    from vivant_build.mime import naming

    variant_name = naming.choose_variant(folder, variant)
    for name in model or []:  # a misspelt model should not leave a study behind
        begun = naming.name_model_folder(out, name).exists()
        create(name, ModelOptions(base_url=base_url, needs_key=not begun))
    new = naming.make_naming_study(folder, out, variant_name, people=people)
    if new is not None:
        print_message(f"A blind study of {new.items} clips ({variant_name}) is in {out / naming.STUDY}.")
        for note in new.notes:
            print_message(f"Note: {note}.")
        print_message(f"Let people name them: vivant study serve {out / naming.STUDY}")
    for name in model or []:
        target = naming.name_model_folder(out, name)
        evaluate(
            naming.TASK,
            name,
            base_url=base_url,
            data=str(folder),
            where=f"variant={variant_name}",
            out=target,
        )
    result = naming.count_names(folder, out, least=least)
    if not result.actions:
        for note in result.notes:
            print_message(f"Note: {note}.")
        return
    write_tables([naming.build_naming_table(result)], form, None)
    for source in dict.fromkeys(entry.source for entry in result.doubtful):
        names = sorted(entry.action for entry in result.doubtful if entry.source == source)
        print_message(
            f"By {source}, fewer than {least:.0%} name {len(names)}: {', '.join(names)}. Improve or drop them."
        )
    if not result.doubtful:
        print_message(f"At least {least:.0%} name each action.")


@app.command(name="setup-blender")
def setup_blender(
    again: Annotated[bool, Option("--again", help="Install anew where there is one.")] = False,
) -> None:
    """Install Blender as a Python module, in an environment of its own below the cache; needs 1 GB.

    Example:

        vivant build mime setup-blender
    """
    from vivant_build.mime.blender.install import install

    print_message(install(again=again))


@app.command()
def mini(out: Out, workers: Workers = None) -> None:
    """Render the mini-edition anew: mimed actions in ten variants each.

    Example:

        vivant build mime mini --out mini-new
    """
    from vivant_build.mime import MINI, build
    from vivant_build.mime.jobs import count_workers

    build(MINI, out, log_progress(), workers=workers or count_workers())
    print_message(f"Written to {out}. Run it: vivant run mime --data {out} --model random")


def _plan(file: Path, preset: str | None, renderer: str | None) -> tuple[Specification, Path]:
    """A plan with what the command line changes in it, and the folder that its paths are relative to."""
    import msgspec

    from vivant_build.mime.plan_file import check_plan, load_plan

    spec = load_plan(file)
    root = file.resolve().parent
    named = {"variants": preset, "renderer": renderer}
    changes = {name: value for name, value in named.items() if value is not None}
    if changes:
        spec = msgspec.structs.replace(spec, **changes)
        check_plan(spec, str(file), root)
    return spec, root
