"""`vivant train export | recipes | split | judge-data`: before and after a training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message, write_tables

app = CommandApp()


@app.command()
def export(
    checkpoint: Annotated[
        Path, Argument(help="A finished model: …/best or …/last of a training; with --as, a recipe.")
    ],
    out: Annotated[Path, Argument(help="Folder to write.")],
    to: Annotated[str, Option("--to", metavar="FORMAT", help="onnx, or transformers.")] = "onnx",
    weights: Annotated[
        str, Option("--weights", help="For onnx: fp32, or fp16 for files of half the size.")
    ] = "fp32",
    lora: Annotated[
        str, Option("--lora", help="For transformers: merged, or apart as an adapter of peft.")
    ] = "merged",
    trainer: Annotated[
        str | None,
        Option(
            "--as", metavar="FORMAT", help="ms-swift or llama-factory: a recipe's questions and settings."
        ),
    ] = None,
    note: Annotated[str, Option("--note", help="A line to keep with the model: where it comes from.")] = "",
) -> None:
    """Write a model for use without Vivant, or a recipe for another trainer.

    `--to onnx` writes graphs that run with no torch: `--model onnx/FOLDER`. `--to transformers` writes the language
    model, the vision tower and a whole InternVL in classes that `from_pretrained` loads. `--as` is for other trainers.

    Example:

        vivant train export models/mine/best models/mine-onnx --weights fp16

        vivant train export models/mine/best models/mine-hf --to transformers

        vivant train export recipe.yaml swift --as ms-swift
    """
    from vivant.core.errors import unknown_name_error
    from vivant.models.base import require_package

    if trainer is not None:
        from vivant_train.exporting import export_questions
        from vivant_train.settings import load_recipe

        if trainer not in ("ms-swift", "llama-factory"):
            raise unknown_name_error("--as", trainer, ("ms-swift", "llama-factory"))
        recipe, base = load_recipe(checkpoint)
        count = export_questions(recipe, base, out, "ms-swift" if trainer == "ms-swift" else "llama-factory")
        print_message(f"{count} questions and a recipe for {trainer} in {out}")
        return
    if to not in ("onnx", "transformers"):
        raise unknown_name_error("format", to, ("onnx", "transformers"))
    if lora not in ("merged", "apart"):
        raise unknown_name_error("--lora", lora, ("merged", "apart"))
    if weights not in ("fp32", "fp16"):
        raise unknown_name_error("--weights", weights, ("fp32", "fp16"))
    if to == "transformers":
        from vivant_train.exporting import export_transformers

        result = export_transformers(checkpoint, out, lora="apart" if lora == "apart" else "merged")
        missing = f" Without: {', '.join(result.left_out)}." if result.left_out else ""
        print_message(f"{', '.join(result.parts)} in {out}.{missing}")
        return
    require_package("onnxscript", "train", "vivant train export")
    from vivant_train.onnx_export import export_onnx

    settings = export_onnx(checkpoint, out, weights="fp16" if weights == "fp16" else "fp32", note=note)
    size = sum(file.stat().st_size for file in out.expanduser().iterdir())
    print_message(
        f"{settings.parameters / 1e6:.2f} M parameters, {size / 1e6:.1f} MB in {out}. Use it: --model onnx/{out}"
    )


@app.command()
def curves(
    trainings: Annotated[
        list[Path], Argument(metavar="TRAINING…", help="Folders of trainings, finished or under way.")
    ],
    out: Annotated[Path, Option("--out", "-o", help="File to write: .svg, .pdf or .png.")],
    chance: Annotated[
        float | None, Option("--chance", help="Draw this accuracy as a line, e.g. 0.25.")
    ] = None,
) -> None:
    """Draw learning curves: the loss, and each evaluation on the held-out slice.

    Example:

        vivant train curves models/mine models/other --out curves.svg --chance 0.25
    """
    from vivant_train.curves import plot_learning_curves

    plot_learning_curves(trainings, out, chance=chance)
    print_message(f"{out}: {len(trainings)} training(s)")


@app.command()
def recipes(
    name: Annotated[str | None, Argument(help="Print this one.")] = None,
    form: o.FormatOption = "text",
    out: Annotated[Path | None, Option("--out", "-o", help="File to write to.")] = None,
) -> None:
    """List the bundled recipes, or print one to be changed.

    Example:

        vivant train recipes mime-actions --out recipe.yaml
    """
    from vivant.core.errors import UsageError
    from vivant.core.table import Table
    from vivant_train.recipes import get_model_size, load_bundled_recipes, read_recipe_text

    if name is None:
        rows = tuple(
            (each.name, get_model_size(each.text), each.summary) for each in load_bundled_recipes().values()
        )
        write_tables(
            [Table(title="Recipes", columns=("Name", "Model", "What for"), body=rows, rows=())], form, out
        )
        return
    text = read_recipe_text(name)
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise UsageError(f"{out} is there already; name another file")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print_message(f"{out}: name your data in it, then: vivant train mimic-chat --config {out}")


@app.command()
def split(
    benchmark: Annotated[str, Argument(help="As for `vivant run`: mime/mcq.")],
    data: Annotated[str, Option("--data", help="Its folder, or mini.")] = "mini",
    part: Annotated[str, Option("--part", help="train, validation or test.")] = "test",
    by: Annotated[
        str, Option("--by", metavar="FACET", help="The facet whose values are divided.")
    ] = "action",
    sizes: Annotated[str, Option("--sizes", help="Of the three parts.")] = "36,14,36",
    seed: Annotated[int, Option("--seed", help="Another fold.")] = 0,
) -> None:
    """Print the condition that a part of a division is: what `vivant run --where` takes.

    Examples:

        vivant train split mime/mcq --data mini --part test

        vivant run mime/mcq --where "$(vivant train split mime/mcq --data FOLDER --part test)" --model …
    """
    from vivant.benchmarks import registry
    from vivant.core.errors import UsageError, unknown_name_error
    from vivant_train.data.split import SPLIT_PARTS, Split

    chosen_part = next((each for each in SPLIT_PARTS if each == part), None)
    if chosen_part is None:
        raise unknown_name_error("part", part, SPLIT_PARTS)
    counts = [int(text) if text.strip().isdigit() else -1 for text in sizes.split(",")]
    if len(counts) != 3 or min(counts) < 0:
        raise UsageError(f"--sizes {sizes}: three whole numbers are expected, e.g. 36,14,36")
    wanted = Split(part=chosen_part, by=by, sizes=(counts[0], counts[1], counts[2]), seed=seed)
    chosen = registry.select([benchmark], [data], {})
    pool = [
        sample for each in chosen for task in each.tasks for sample in each.benchmark.load(each.root, task)
    ]
    typer.echo(wanted.format_condition(pool))


@app.command("judge-data")
def judge_data(
    runs: Annotated[list[Path], Argument(metavar="RUN…", help="Runs whose answers people have scored.")],
    human: Annotated[Path, Option("--human", help="CSV, JSON or JSON lines: id, score, model.")],
    out: Annotated[Path, Option("--out", "-o", help="File of questions to write.")],
    held_out: Annotated[float, Option("--held-out", help="Share of samples to test on.")] = 0.2,
    seed: Annotated[int, Option("--seed", help="Another seed holds out other samples.")] = 0,
    protocol: o.ProtocolOption = None,
) -> None:
    """Turn people's scores of answers into questions that a judge can learn from.

    Example:

        vivant train judge-data runs/mmie-a runs/mmie-b --human scores.csv --out judge/questions.jsonl

        vivant train mimic-chat --config mmie-judge.yaml
    """
    from vivant.core.errors import UsageError
    from vivant.runs.run import Run
    from vivant_train.judge_data import write_judge_data

    if not 0 < held_out < 1:
        raise UsageError(f"--held-out is {held_out:g}; it must lie between 0 and 1")
    chosen = [Run(path) for path in runs]
    data = write_judge_data(
        chosen, human, out, held_out=held_out, seed=seed, protocol=parse_protocol(protocol)
    )
    print_message(
        f"{data.file}: {data.train} to learn from, {data.test} held out; {data.unscored} answers without a score."
    )
