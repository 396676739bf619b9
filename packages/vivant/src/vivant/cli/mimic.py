"""`vivant mimic`: blind packs of comments, judgements, and data in other shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from vivant.cli import judge_options as j
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, write_tables
from vivant.core.errors import UsageError
from vivant.judging.options import JudgeOptions

app = CommandApp(no_args_is_help=True)

PackPath = Annotated[Path, Argument(metavar="PACK", help="Folder of a pack.")]


@app.callback()
def mimic() -> None:
    """MIMIC-Bench: who passes as human? Packs of comments for blind judging, and what came of it.

    Examples:

        vivant mimic pack runs/a runs/b --data mini --out packs/first

        vivant mimic score packs/first packs/first.people.jsonl --key packs/first.key.jsonl
    """


@app.command()
def pack(
    runs: Annotated[list[Path], Argument(metavar="RUN…", help="Runs of mimic/comment, one a model.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write the pack to.")],
    data: Annotated[
        str | None, Option("--data", metavar="PATH", help="The data that the runs were made with; 'mini'.")
    ] = None,
    human: Annotated[str, Option("--human", help="top5: the five most-liked comments; none.")] = "top5",
    key: Annotated[
        Path | None, Option("--key", help="File for the sealed key. [default: PACK.key.jsonl]")
    ] = None,
    limit: Annotated[
        int | None, Option("--limit", min=1, help="Take at most N videos, drawn by seed.")
    ] = None,
    seed: Annotated[int, Option("--seed", help="For order and names of comments.")] = 0,
) -> None:
    """Build a blind pack: comments of people and models under each video, shuffled, without names.

    Give judges the pack and keep the key: it says who wrote what, and fits this pack alone.

    Example:

        vivant mimic pack runs/a runs/b --data mini --human top5 --out packs/first
    """
    from vivant.benchmarks import registry
    from vivant.benchmarks.mimic.pack_builder import build_pack, parse_human
    from vivant.judging.comment_authors import load_authors

    root = registry.locate(registry.get("mimic"), data)
    report = build_pack(
        load_authors(runs), root, out, key=key, human=parse_human(human), seed=seed, limit=limit
    )
    for note in report.notes:
        print_message(f"Note: {note}")
    print_message(
        f"{report.header.items} comments of {len(report.key.sources)} sources under "
        f"{report.header.videos} videos → {out}"
    )
    print_message(f"Sealed key: {report.key_file} (keep it away from the judges)")


@app.command(name="import")
def import_(
    pack_path: PackPath,
    files: Annotated[
        list[Path], Argument(metavar="FILE…", help="CSV or JSON lines: annotator, item, verdict, realism.")
    ],
    out: Annotated[Path, Option("--out", "-o", help="File of judgements to write (.jsonl).")],
    judge_model: Annotated[
        str | None,
        Option("--judge-model", metavar="NAME", help="These are a model's judgements, not people's."),
    ] = None,
) -> None:
    """Read judgements of a pack and check every row; rows that cannot be used go into a file beside.

    Verdict is human or ai, realism a number from 0 to 5 or empty.

    Example:

        vivant mimic import packs/first answers.csv --out packs/first.people.jsonl
    """
    from vivant.benchmarks.mimic.judgements import count_reasons, import_judgements
    from vivant.benchmarks.mimic.packs import Pack

    read, rejected = import_judgements(files, Pack(pack_path), out, judge_model=judge_model)
    print_message(f"{len(read.judgements)} judgements → {out}")
    if read.repeated:
        print_message(f"Note: {read.repeated} rows say the same again")
    for reason in count_reasons(read.rejected):
        print_message(f"Not taken: {reason}")
    if rejected:
        print_message(f"Rows not taken, with reasons: {rejected}")


@app.command()
@j.with_judges
def judge(
    pack_path: PackPath,
    judges: list[JudgeOptions],
    out: Annotated[Path, Option("--out", "-o", help="File of judgements to write (.jsonl).")],
) -> None:
    """Let a judge model say of every comment whether a person wrote it, and how real it reads.

    The same command again goes on where it stopped. A model's judgements are never mixed with people's.

    Example:

        vivant mimic judge packs/first --judge openai/gpt-4o --out packs/first.gpt-4o.jsonl
    """
    from vivant.benchmarks.mimic.packs import Pack
    from vivant.judging.mimic_packs import judge_pack

    if len(judges) != 1:
        raise UsageError("Name one judge with --judge MODEL; each judge has its own file")
    done = judge_pack(Pack(pack_path), judges[0], out)
    print_message(f"{done.written} judgements by {done.judges.name} → {out}")
    if done.judges.unparsed or done.judges.failed:
        print_message(
            f"{done.judges.unparsed} verdicts could not be read, {done.judges.failed} failed; they "
            "are left out"
        )
    if done.stopped:
        print_message("Stopped. Run the same command to go on.")
        raise typer.Exit(130)


@app.command()
def score(
    pack_path: PackPath,
    judgements: Annotated[
        list[Path], Argument(metavar="JUDGEMENTS…", help="Files that `import` or `judge` wrote.")
    ],
    key: Annotated[Path, Option("--key", help="The pack's sealed key.")],
    form: o.FormatOption = "text",
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Also keep the figures here, for `vivant score --set judged=FILE`."),
    ] = None,
    published: Annotated[
        bool, Option("--published", help="Show the paper's rows beside a mini-edition too.")
    ] = False,
) -> None:
    """Open the key: how often each source passes as human, how real it reads, how far judges agree.

    People and each judge model get a table of their own. With both, another one has the judge's figures corrected by
    people's, where people judged a part.

    Example:

        vivant mimic score packs/first packs/first.people.jsonl --key packs/first.key.jsonl
    """
    import msgspec

    from vivant.analysis.correction.comments import correct_comments
    from vivant.analysis.correction.correction_table import build_correction_table
    from vivant.benchmarks.mimic.packs import Pack, open_key
    from vivant.benchmarks.mimic.panel_tables import build_panel_tables
    from vivant.benchmarks.mimic.panels import compute_outcome

    opened = Pack(pack_path)
    sealed = open_key(key, opened)
    outcome = compute_outcome(opened, sealed, judgements)
    panels = build_panel_tables(outcome, published_rows=published)
    corrections = correct_comments(opened, sealed, judgements)
    if corrections:
        panels.append(build_correction_table(corrections))
    write_tables(panels, form, None)
    if out is not None:
        try:
            out.write_bytes(msgspec.json.format(msgspec.json.encode(outcome), indent=1) + b"\n")
        except OSError as error:
            raise UsageError(f"Cannot write {out}: {error.strerror}") from error
        print_message(f"Figures written to {out}")


@app.command()
def check(
    pack_path: PackPath,
    key: Annotated[Path | None, Option("--key", help="Also check that this key opens it.")] = None,
) -> None:
    """Is a pack whole, and does a key belong to it? Says nothing about who wrote what.

    Example:

        vivant mimic check packs/first --key packs/first.key.jsonl
    """
    from vivant.benchmarks.mimic.packs import Pack, open_key

    opened = Pack(pack_path)
    print_message(
        f"{pack_path}: {opened.header.items} comments under {opened.header.videos} videos, unchanged"
    )
    if key is not None:
        sealed = open_key(key, opened)
        print_message(f"{key}: opens it, {len(sealed.header.sources)} sources")


@app.command()
def convert(
    mapping: Annotated[Path, Argument(metavar="MAPPING", help="YAML: our field ← their column.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write videos.jsonl and items.jsonl to.")],
) -> None:
    """Turn a data set in another shape into the format that `vivant run mimic` reads.

    Paths of video files are relative to the folder written, so let it be the one that holds them.

    Example:

        vivant mimic convert mapping.yaml --out data/mimic
    """
    from vivant.benchmarks.mimic.conversion import convert_dataset as convert_

    videos, items = convert_(mapping, out)
    print_message(
        f"{videos} videos and {items} items → {out}. Check them: vivant data check mimic --data {out}"
    )
