"""`vivant items`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message, write_tables
from vivant.cli.parsing import split_values
from vivant.core.optional_packages import require_package
from vivant.hooks import load_people_hook

app = CommandApp()


@app.command()
def items(
    runs: o.Runs,
    kind: Annotated[
        list[str] | None,
        Option(
            "--kind", metavar="KIND", help="Only findings of this kind, e.g. suspect-key; repeat for several."
        ),
    ] = None,
    limit: Annotated[int, Option("--limit", min=1, help="Show so many items with findings.")] = 20,
    jsonl: Annotated[
        Path | None,
        Option("--jsonl", metavar="FILE", help="Write every item with figures, findings and answers."),
    ] = None,
    figure: Annotated[
        Path | None,
        Option("--figure", metavar="FILE", help="Draw difficulty against discrimination (.svg …)."),
    ] = None,
    study: Annotated[
        Path | None,
        Option("--study", metavar="DIR", help="Write a study that asks people about the suspects."),
    ] = None,
    judgements: Annotated[
        int, Option("--judgements-per-item", min=1, help="From how many people, in the study.")
    ] = 5,
    where: o.Where = None,
    protocol: o.ProtocolOption = None,
    form: o.FormatOption = "text",
    out: o.OutFile = None,
) -> None:
    """Look at the items through many runs: difficulty, discrimination, suspect keys, duplicates, give-aways.

    Runs with --control say what is solved without media; runs of the model `human` say how far people agree, and what
    accuracy can be reached. Findings are reasons to look at an item; --study asks people.

    Examples:

        vivant items runs/* --jsonl items.jsonl --figure items.svg

        vivant items runs/* --kind suspect-key --study studies/suspects
    """
    from vivant.reporting.item_analysis import items as analyse

    if study is not None:
        load_people_hook()
    if figure is not None:
        require_package("matplotlib", "figures", "--figure")

    result = analyse(runs, split_values(kind), where or (), protocol=parse_protocol(protocol))
    write_tables(result.tables(limit), form, out)
    if jsonl is not None:
        print_message(f"{result.write(jsonl)} items → {jsonl}")
    if figure is not None:
        result.draw(figure)
        print_message(f"Drawn: {figure}")
    if study is not None:
        from vivant.analysis.items.item_study import write_item_study

        written = write_item_study(result.analyses, study, result.kinds, judgements)
        for note in written.notes:
            print_message(f"Note: {note}")
        print_message(
            f"{written.items} items, {judgements} judgements each: {written.places} participants → {study}"
        )
        print_message(
            f"Next: vivant study check {study}; vivant study serve {study}; vivant study export {study}"
        )
