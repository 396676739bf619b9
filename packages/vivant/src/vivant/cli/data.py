"""`vivant data`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace
from typer import Argument, Option

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.sources import DataSource, find, load_sources, resolve_folder
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_table
from vivant.core.disk_space import format_size
from vivant.core.errors import DataError, UsageError
from vivant.core.progress import log_progress
from vivant.core.table import Table
from vivant.fetch.hub import fetch_files, find_missing, list_hub_files, unpack_archives
from vivant.fetch.local_copy import copy_data
from vivant.fetch.source_record import read_source_record

app = CommandApp(no_args_is_help=True)


@app.callback()
def data() -> None:
    """Where data are looked for, fetching them, and whether they are whole. A run never downloads anything.

    Examples:

        vivant data list

        vivant data get mmrv

        vivant data check mmrv
    """


def _shorten_home(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


@app.command(name="list")
def list_(
    ask_hub: Annotated[
        bool, Option("--ask", help="Ask the hub for sizes, licences and gates as they are now.")
    ] = False,
) -> None:
    """Each benchmark: where its data are looked for, whether they are there, size, licence, gate.

    Example:

        vivant data list --ask
    """
    body = []
    by_name = load_sources()
    for name in dict.fromkeys(
        [*(n for n in registry.list_benchmarks() if n not in registry.FILE_BENCHMARKS), *by_name]
    ):
        source = by_name.get(name)
        folder = resolve_folder(name, source) if source is not None else registry.data_root() / name
        bundled = mini.root(name)
        body.append(
            (
                name,
                _shorten_home(folder),
                format_size(_size(folder)) if folder.exists() else "no",
                format_size(_size(bundled)) if bundled else "–",
                *_facts(name, source, folder, ask_hub),
            )
        )
    columns = ("name", "looked for in", "there", "mini", "in full", "licence", "gated", "from")
    optional = ("from", "gated", "licence", "in full")
    print_table(Table(title="Data", columns=columns, body=tuple(body), optional=optional))
    print_message(
        "vivant data get NAME fetches; vivant benchmarks show NAME says what each reads. VIVANT_DATA is the data root."
    )


def _facts(name: str, source: DataSource | None, folder: Path, ask_hub: bool) -> tuple[str, str, str, str]:
    """Size, licence, gate and origin: as the hub says, as was fetched, or as is known."""
    if source is None:
        return "–", "–", "–", "your own files"
    origin = ", ".join(repo.id for repo in source.repos)
    if ask_hub:
        try:
            listing = list_hub_files(name, source, record=read_source_record(folder, name))
        except DataError as error:
            print_message(f"{name}: {error}")
            return "not known", "not known", "not known", origin
        licences = "; ".join(dict.fromkeys(listing.licences.values()))
        return format_size(listing.size), licences, "yes" if listing.gated else "no", origin
    stated = "; ".join(dict.fromkeys(read_source_record(folder, name).licences.values())) or source.licence
    return source.size or "–", stated, "yes" if source.gated else "no", origin


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@app.command()
def get(
    name: Annotated[
        str,
        Argument(
            metavar="NAME", help="A benchmark, ./mine.yaml, hub:ORG/NAME, or minilm: see `vivant data list`."
        ),
    ],
    origin: Annotated[
        str | None,
        Option(
            "--from",
            metavar="PATH",
            help="Take what is there: a folder, or s3://…, gs://… through fsspec. Asks no hub.",
        ),
    ] = None,
    link: Annotated[bool, Option("--link", help="With --from: a link to the folder, no copy.")] = False,
    repo: Annotated[
        str | None,
        Option(
            "--repo", metavar="ORG/NAME", help="Another id of the same dataset: a mirror, or your own copy."
        ),
    ] = None,
    revision: Annotated[
        str | None,
        Option("--revision", help="A commit, branch or tag. Default: the one fetched before, or pinned."),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only say what would be fetched, and how large it is.")
    ] = False,
) -> None:
    """Fetch a benchmark's data from the Hugging Face hub, or take them from elsewhere. Resumes by itself.

    Files are checked against the hub's checksums. A token for gated data is read from HF_TOKEN.

    Examples:

        vivant data get mmrv --dry-run

        vivant data get minilm

        vivant data get milebench --from /mnt/shared/MileBench --link
    """
    if origin is None:
        if link:
            raise UsageError("--link goes with --from PATH")
        _fetch(name, revision, dry_run, repo)
        return
    if repo is not None:
        raise UsageError("--repo is the hub's; --from takes what is there")
    if revision is not None:
        raise UsageError("--revision is the hub's; --from takes what is there")
    if origin.endswith(".jsonl"):
        raise UsageError(f"A list of ids is restored with: vivant build mimic restore {shlex.quote(origin)}")
    _take(name, origin, link, dry_run)


def _take(name: str, origin: str, link: bool, dry_run: bool) -> None:
    source = load_sources().get(name)
    folder = (
        resolve_folder(name, source) if source is not None else registry.data_root() / registry.get(name).name
    )
    copy_data(origin, folder, link=link, dry_run=dry_run)
    if dry_run:
        return
    if source is not None and not link:
        unpack_archives(source, folder, log_progress())
    print_message(
        f"There: {folder}" if source is not None and source.folder else f"Next: vivant data check {name}"
    )


def _fetch(name: str, revision: str | None, dry_run: bool, mirror: str | None = None) -> None:
    source = find(name)
    if mirror is not None:
        if len(source.repos) != 1:
            raise UsageError(
                f"{name} comes from {len(source.repos)} repositories; --repo replaces a single one"
            )
        source = replace(source, repos=(replace(source.repos[0], id=mirror),))
    folder = resolve_folder(name, source)
    listing = list_hub_files(name, source, revision, read_source_record(folder, name))
    todo = find_missing(listing, folder)
    for repo in source.repos:
        print_message(
            f"{repo.page} at {listing.revisions[repo.id][:12]}, licence {listing.licences[repo.id]}"
            + (", gated" if listing.gated else "")
        )
    there = (
        [f"{len(listing.files) - len(todo.missing)} are there"]
        if len(todo.missing) < len(listing.files)
        else []
    )
    there += [f"{format_size(todo.arrived)} arrived before"] if todo.arrived else []
    print_message(
        f"{len(todo.missing)} of {len(listing.files)} files to fetch, {format_size(todo.size)} of "
        f"{format_size(listing.size)} → {folder}" + (f" ({', '.join(there)})" if there else "")
    )
    if dry_run:
        return
    fetch_files(listing, todo, log_progress())
    unpack_archives(source, folder, log_progress())
    print_message(f"All files are there and whole: {folder}")
    if source.then:
        print_message(f"Next: {source.then}")


@app.command()
def check(
    name: Annotated[str, Argument(metavar="BENCHMARK", help="A benchmark, or your own: ./mine.yaml.")],
    path: Annotated[
        str | None, Option("--data", metavar="PATH", help="Folder with the data; 'mini' for the bundled.")
    ] = None,
) -> None:
    """Read all samples and open all media; list everything that is missing or broken.

    Example:

        vivant data check mimic --data mini
    """
    from vivant.engine.data_check import check_data

    report = check_data(name, path, log_progress())
    for line in report.contents:
        print_message(line)
    for problem in report.problems:
        print(problem)
    for warning in report.warnings:
        print_message(f"Warning: {warning}")
    if report.problems:
        print_message(f"{len(report.problems)} problem(s).")
        raise typer.Exit(1)
    print_message("No file is broken, but see the warning." if report.warnings else "No problems.")
