"""`vivant train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message
from vivant_train.cli import use

app = CommandApp(no_args_is_help=True)
app.add_typer(use.app)


@app.callback()
def train() -> None:
    """Train MIMIC-Chat, the video language model that MIMIC-Bench brings.

    Example:

        vivant train mimic-chat --config recipe.yaml --out models/mine
    """
    from vivant.models.base import require_package

    for module in ("torch", "transformers", "peft", "accelerate", "tensorboard"):
        require_package(module, "train", "vivant train")


@app.command("mimic-chat")
def mimic_chat(
    config: Annotated[Path, Option("--config", "-c", help="The recipe, a YAML file: see docs/train.md.")],
    resume: Annotated[
        bool, Option("--resume", help="Go on from the last checkpoint, with the same losses.")
    ] = False,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder to write to, instead of the recipe's.")
    ] = None,
    seed: Annotated[int | None, Option("--seed", help="Instead of the recipe's.")] = None,
) -> None:
    """Train a model by a recipe.

    Example:

        vivant train mimic-chat --config recipe.yaml --out models/mine

        vivant run mimic/thinking --data FOLDER --model mimic-chat/models/mine/best --frames 16
    """
    import msgspec

    from vivant_train.accelerator import is_main_process
    from vivant_train.evaluation import format_run_command
    from vivant_train.settings import load_recipe
    from vivant_train.trainer import train as run

    recipe, base = load_recipe(config)
    changes = {
        name: value for name, value in (("out", out and str(out)), ("seed", seed)) if value is not None
    }
    recipe = msgspec.structs.replace(recipe, **changes)
    result = run(recipe, base, resume=resume)
    if not is_main_process():
        return
    if not result.finished:
        print_message(f"Stopped after {result.steps} steps. Go on with the same command and --resume")
        return
    accuracy = "" if result.accuracy is None else f", {result.accuracy:.1%} on the held-out slice"
    folder = result.best or result.model
    print_message(f"{result.steps} steps{accuracy}. Use it:\n{format_run_command(recipe, base, folder)}")


@app.command()
def features(
    config: Annotated[Path, Option("--config", "-c", help="The recipe whose videos are to be encoded.")],
) -> None:
    """Encode every video of a recipe once; its later trainings then cost only what learns.

    Works where the backbones are frozen and the temporal branch learns on top of them (`init: features` or `video`).
    Run it again to go on. `accelerate launch -m vivant train features …` shares the videos out over several devices.

    Example:

        vivant train features --config recipe.yaml

        vivant train mimic-chat --config recipe.yaml
    """
    from vivant.core.progress import log_progress
    from vivant_train.accelerator import is_main_process
    from vivant_train.feature_extraction import write_features
    from vivant_train.settings import load_recipe

    recipe, base = load_recipe(config)
    report = log_progress()
    result = write_features(recipe, base, lambda done, total: report(done, total, "videos encoded"))
    failed = f"; {result.failed} cannot be used" if result.failed else ""
    if is_main_process():
        print_message(
            f"{result.written} videos encoded, {result.present} were there already{failed}: {result.folder}"
        )


@app.command()
def sizes(
    config: Annotated[
        Path | None, Option("--config", "-c", help="Predict the memory that this recipe needs on a card.")
    ] = None,
    card: Annotated[float, Option("--card", min=1, help="With --config: gigabytes of the card.")] = 80,
    devices: Annotated[int, Option("--devices", min=1, help="With --config: cards that share it.")] = 1,
    form: o.FormatOption = "text",
    out: Annotated[Path | None, Option("--out", "-o", help="File to write to.")] = None,
) -> None:
    """What each size has in parameters, and needs in memory and arithmetic; nothing is downloaded.

    With --config: what a recipe needs at its peak, activations included. A recipe that does not fit is refused.

    Example:

        vivant train sizes --config recipe.yaml --card 24
    """
    from vivant.cli.output import write_tables
    from vivant_train.model_size import make_sizes_table

    if config is not None:
        from vivant_train.memory import make_memory_table
        from vivant_train.settings import load_recipe

        recipe, _ = load_recipe(config)
        write_tables([make_memory_table(recipe, card, devices)], form, out)
        return
    write_tables([make_sizes_table()], form, out)
