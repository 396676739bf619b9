"""`vivant study`: making studies, and what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message
from vivant.core.errors import UsageError
from vivant.core.progress import log_progress
from vivant_study.cli.serve import Database, Folder

app = CommandApp(no_args_is_help=True)


@app.command()
def new(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder to make.")],
    kind: Annotated[
        Literal[
            "mcq",
            "free-then-mcq",
            "blind-comments",
            "rating",
            "pairwise",
            "best-worst",
            "sliders",
            "spans",
            "free-follow-up",
        ]
        | None,
        Option("--kind", help="What people do: see docs/studies.md."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        Option(
            "--from",
            metavar="WHAT",
            help="A benchmark (mime, mimic/title), a run (repeat for several) or a pack.",
        ),
    ] = None,
    template: Annotated[
        Literal["mime", "mmrv"] | None,
        Option("--template", help="A published experiment with its design, instead of --kind and --from."),
    ] = None,
    data: o.Data = None,
    where: o.Where = None,
    limit: Annotated[
        int | None, Option("--limit", min=1, help="Take at most N items, drawn by seed.")
    ] = None,
    seed: Annotated[int, Option("--seed", help="For --limit, sides, and all orders.")] = 0,
    share: Annotated[
        int | None,
        Option(
            "--items-per-participant", min=1, help="How many one person judges. [default: 20, or what fits]"
        ),
    ] = None,
    judgements: Annotated[
        int | None, Option("--judgements-per-item", min=1, help="From how many people. [default: 3]")
    ] = None,
    balance: Annotated[
        list[str] | None,
        Option("--balance", metavar="FACET", help="Spread each person's items over its values; repeat."),
    ] = None,
    training: Annotated[
        int, Option("--training", min=0, help="Items that everybody gets first, with feedback; not counted.")
    ] = 0,
    checks: Annotated[int, Option("--checks", min=0, help="Attention checks that each person gets.")] = 0,
    time_limit: Annotated[int | None, Option("--time-limit", min=1, help="Seconds for an item.")] = None,
    language: Annotated[
        list[str] | None, Option("--language", help="en, zh; repeat. The first is the default one.")
    ] = None,
    title: Annotated[str, Option("--title", help="What participants see at the top.")] = "",
    question: Annotated[
        str, Option("--question", help="Asked of every item, instead of its own words.")
    ] = "",
    key: Annotated[
        Path | None,
        Option("--key", help="The pack's sealed key, so that the report can say who passes as human."),
    ] = None,
    reference: Annotated[
        bool, Option("--reference", help="Show raters the data's reference answer, where there is one.")
    ] = False,
    odd_options: Annotated[
        bool,
        Option(
            "--keep-odd-options",
            help="Keep questions with an empty option or a repeated wrong option.",
        ),
    ] = False,
    platform: Annotated[
        Literal["prolific", "mturk", "cloudresearch", "sona", "other"] | None,
        Option("--platform", help="Where participants are recruited: writes its return links, to be edited."),
    ] = None,
    copy: Annotated[bool, Option("--copy", help="Copy media instead of linking them.")] = False,
    transcode: Annotated[
        bool, Option("--transcode", help="Copy videos that some browsers do not play as MP4 (H.264).")
    ] = False,
) -> None:
    """Make a study: items, key, instructions, consent, questions, in files to be edited before it is served.

    Examples:

        vivant study new studies/mime --kind free-then-mcq --from mime --balance angle --checks 2

        vivant study new studies/blind --kind blind-comments --from packs/first --key packs/first.key.jsonl

        vivant study new studies/paper --template mime

        vivant study new studies/duel --kind pairwise --from runs/a --from runs/b
    """
    from vivant_study.default_texts import LANGUAGES
    from vivant_study.make import StudySpec, make_study
    from vivant_study.make.templates import find_template

    design = find_template(template) if template else None
    if design is not None and (kind is not None or origin):
        raise UsageError("--template says what the study is made from; leave --kind and --from out")
    if design is None and (kind is None or not origin):
        raise UsageError(
            "Say with --kind and --from what the study asks, or name a published one with --template"
        )
    spec = StudySpec(
        kind=design.kind if design else kind or "mcq",
        origin=(design.origin,) if design else tuple(origin or ()),
        data=tuple(data or ()),
        where=(*(design.where if design else ()), *(where or ())),
        limit=limit,
        seed=seed,
        key=key,
        items_per_participant=share or (design.items_per_participant if design else None),
        judgements_per_item=judgements or (design.judgements_per_item if design else 3),
        template=template or "",
        training=training,
        balance=tuple(name for entry in balance or () for name in entry.split(",")),
        checks=checks,
        time_limit=time_limit,
        languages=tuple(language or LANGUAGES),
        title=title,
        question=question,
        reference=reference,
        odd_options=odd_options,
        platform=platform,
        copy=copy,
        transcode=transcode,
    )
    result = make_study(folder, spec)
    for note in result.notes:
        print_message(f"Note: {note}")
    each = result.study.judgements_per_item
    print_message(
        f"{result.items} items, {each} judgement{'' if each == 1 else 's'} each, "
        f"{result.study.items_per_participant} per participant: {result.places} participants → {folder}"
    )
    print_message(
        f"Next: edit {folder}/consent.{result.study.languages[0]}.md (it must name you), look over the other files, "
        f"then: vivant study check {folder}; vivant study serve {folder}"
    )


@app.command()
def check(
    folder: Folder,
    media: Annotated[bool, Option("--media/--no-media", help="Also open every media file.")] = True,
) -> None:
    """Everything that is wrong with a study, before anybody sees it: items, texts, media, balance, key.

    Example:

        vivant study check studies/mime
    """
    from vivant_study.check import check_study

    result = check_study(folder, media=media, progress=log_progress())
    for fault in result.faults:
        print_message(fault)
    for note in result.notes:
        print_message(f"Note: {note}")
    if result.faults:
        raise UsageError(
            f"{folder}: {len(result.faults)} fault{'s' if len(result.faults) > 1 else ''}; mend and check again"
        )
    print_message(f"{folder}: {result.summary}")


@app.command()
def export(
    folder: Folder,
    database: Database = None,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder to write. [default: DIR/exports/TIME]")
    ] = None,
    form: Annotated[
        list[str] | None,
        Option("--format", help="jsonl, csv, parquet, label-studio or jspsych; repeat. [default: jsonl]"),
    ] = None,
    only_counted: Annotated[
        bool,
        Option("--only-counted", help="Leave out excluded people, unfinished items and attention checks."),
    ] = False,
) -> None:
    """Write every judgement, one a line, and the people; and what the benchmarks themselves read.

    MIME: human_eval.jsonl. Packs: judgements for `vivant mimic score`. Ratings: scores for `vivant judge-check`.
    Choices: a run of the model `human`, for tables, comparisons and the report.

    Example:

        vivant study export studies/mime
    """
    import time

    from vivant_study.export import export_study
    from vivant_study.results import load_results

    target = out or folder / "exports" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    done = export_study(load_results(folder, database), target, form or ("jsonl",), only_counted=only_counted)
    for file in done.files:
        print_message(f"Written: {file}")
    print_message(f"{done.judgements} judgements of {done.people} people → {target}")
    for hint in done.hints:
        print_message(f"Next, {hint}")


@app.command(name="import")
def import_(
    folder: Folder,
    files: Annotated[list[Path], Argument(metavar="FILE…", help="human_eval.jsonl")],
    form: Annotated[Literal["mime"], Option("--as", metavar="FORMAT", help="The format of the files.")],
    data: Annotated[
        str | None, Option("--data", metavar="PATH", help="MIME's data, for facets and videos.")
    ] = None,
    database: Database = None,
) -> None:
    """Take in judgements that were collected elsewhere. A folder that is no study yet becomes one.

    Example:

        vivant study import studies/mime human_eval.jsonl --as mime
    """
    from vivant_study.mime_import import import_mime

    done = import_mime(folder, files, data, database)
    for note in done.notes:
        print_message(f"Note: {note}")
    print_message(
        f"{done.judgements} judgements of {done.people} people on {done.items} items ({form}) → {folder}"
    )
    print_message(f"Next: vivant study report {folder}; vivant study export {folder}")


@app.command()
def exclude(
    folder: Folder,
    annotator: Annotated[str, Argument(help="As the report and the exports name them.")],
    reason: Annotated[str, Option("--reason", help="Kept, and shown in the report.")] = "",
    undo: Annotated[bool, Option("--undo", help="Let them count again.")] = False,
    database: Database = None,
) -> None:
    """Let a person's judgements not count, and give their places to others. Nothing is deleted.

    Example:

        vivant study exclude studies/mime p07 --reason "answered at random"
    """
    from vivant_study.loading import load_study
    from vivant_study.store import open_store

    if undo == bool(reason.strip()):
        raise UsageError("Give a reason with --reason, or take an exclusion back with --undo")
    load_study(folder)
    with open_store(folder, database, create=False) as store:
        names = [person.annotator for person in store.people() if person.annotator.startswith(annotator)]
        # The first characters do, as reports print them, where they are one person's.
        chosen = names[0] if len(names) == 1 else annotator
        store.exclude(chosen, "" if undo else reason.strip())
    print_message(f"{chosen} {'counts again' if undo else 'is excluded'}: vivant study report {folder}")


@app.command()
def report(
    folder: Folder,
    database: Database = None,
    by: o.By = None,
    form: o.FormatOption = "text",
    out: Annotated[
        Path | None, Option("--out", "-o", help="Write an HTML page here (.html), or the tables.")
    ] = None,
) -> None:
    """What came of a study: progress, results with intervals, agreement, times, people to be looked at, exclusions.

    Example:

        vivant study report studies/mime --by angle --out report.html
    """
    from vivant.cli.output import write_tables
    from vivant_study.report.page import list_tables, write_page
    from vivant_study.report.study import build_study_report
    from vivant_study.results import load_results

    facets = [name for entry in by or () for name in entry.split(",")]
    built = build_study_report(load_results(folder, database), facets)
    if out is not None and out.suffix in (".html", ".htm"):
        write_page(built, out)
        print_message(f"Written to {out}. Open it in any browser.")
        return
    write_tables(list_tables(built), form, out)
    for line in built.findings:
        print_message(line)
