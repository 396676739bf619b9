"""`vivant build mimic`: its world, ingest and clean, and all steps at once. The others stand in build_mimic_tasks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_table
from vivant.core.errors import UsageError
from vivant_build.cli.mimic_options import (
    BaseUrl,
    Config,
    Force,
    Ray,
    Store,
    StoredMedia,
    TopicsBy,
    Work,
    bar,
    print_step,
    run_step,
)
from vivant_build.cli.mimic_tasks import STEPS
from vivant_build.cli.mimic_tasks import app as tasks_app

if TYPE_CHECKING:
    from vivant_build.mimic.crawl_survey import CrawlSurvey

app = CommandApp(no_args_is_help=True)

Sources = Annotated[
    list[Path] | None,
    Argument(
        metavar="SOURCE…",
        help="Folders or files of a crawl: yt-dlp's .info.json, JSON and tables as scrapers write them, "
        "answers of the YouTube Data API, or mappings of other tables (.yaml).",
    ),
]
Media = Annotated[
    Path | None,
    Option("--media", help="Folder that video files lie in. [default: the one that holds the sources]"),
]


MaybeWork = Annotated[
    Path | None, Option("--work", "-w", help="Count what was taken in here instead of reading sources.")
]


@app.callback()
def mimic() -> None:
    """Make a benchmark like MIMIC-Bench from videos' metadata and comments, step by step.

    Examples:

        vivant build mimic world --out crawl --videos 300 --render 50

        vivant build mimic all crawl --work build
    """


@app.command("all")
def everything(
    work: Work,
    sources: Sources = None,
    media: Media = None,
    ray: Ray = "",
    store: Store = "",
    stored_media: StoredMedia = "",
    topics_by: TopicsBy = "",
    base_url: BaseUrl = None,
    config: Config = None,
    force: Force = False,
) -> None:
    """All steps in their order; those that nothing has changed for are passed over.

    Before the first it says what the crawl lacks, and stops if a later step would.

    Example:

        vivant build mimic all crawl --work build --config settings.yaml
    """
    from vivant_build.mimic.cleaning import clean as run_clean
    from vivant_build.mimic.crawl_survey import survey_ingest, survey_sources
    from vivant_build.mimic.ingestion import ingest as run_ingest
    from vivant_build.mimic.settings import read_settings
    from vivant_build.mimic.topics import keeps_topics, make_topics, needs_topics

    settings = read_settings(config)
    if sources:
        _report_survey(survey_sources(sources, settings, media=media, work=work))
        _check_model(work, ray)
        with bar() as progress:
            step = run_ingest(work, sources, settings, progress, media=media, ray=ray, force=force)
        print_step(step)
    if (work / "ingest" / "videos").is_dir():
        _report_survey(survey_ingest(work, settings), brief=bool(sources))
        _check_model(work, ray)
    with bar() as progress:
        step = run_clean(work, settings, progress, ray=ray, store=store, media=stored_media, force=force)
    print_step(step)
    if needs_topics(work, settings) and not force and keeps_topics(work, settings, topics_by):
        print_message(f"topics: kept {work / 'topics'}, as named by a model or reviewed")
    elif needs_topics(work, settings):
        with bar() as progress:
            step = make_topics(work, settings, progress, model=topics_by, base_url=base_url, force=force)
        print_step(step)
    for name, run in STEPS.items():
        with bar() as progress:
            step = run(work, settings, progress, force=force, ray=ray if name == "tasks" else "")
        print_step(step)


def _report_survey(survey: CrawlSurvey, brief: bool = False) -> None:
    """Show what a crawl has; stop where a later step would for want of something. `brief`: only if it stops."""
    if survey.stops or not brief:
        print_table(survey.table())
    if survey.stops:
        raise UsageError(f"a later step would stop for want of {survey.explain()}")


def _check_model(work: Path | None, ray: str = "") -> None:
    """Stop where the step tasks would for want of MiniLM: not if WORK has vectors, or a cluster computes them."""
    from vivant.metrics.minilm import explain_missing
    from vivant_build.mimic.vectors import FOLDER

    if ray or (work is not None and any((work / FOLDER).glob("*.npz"))):
        return
    if missing := explain_missing():
        raise UsageError(f"the step tasks would stop: {missing}")


@app.command()
def check(
    sources: Sources = None, work: MaybeWork = None, media: Media = None, config: Config = None
) -> None:
    """What a crawl lacks for the tasks of the settings, before the first step: topics, likes, comments, files.

    Reads some hundreds of videos of the sources, or counts all that WORK has taken in.

    Example:

        vivant build mimic check crawl/
    """
    from vivant_build.mimic.crawl_survey import survey_ingest, survey_sources
    from vivant_build.mimic.settings import read_settings

    settings = read_settings(config)
    if bool(sources) == (work is not None):
        raise UsageError("check: name the sources of a crawl, or --work WORK of one that was taken in")
    if work is not None:
        _report_survey(survey_ingest(work, settings))
    else:
        _report_survey(survey_sources(sources or [], settings, media=media))
    _check_model(work)
    print_message("Nothing that the settings ask for is missing.")


@app.command()
def ingest(
    work: Work,
    sources: Sources = None,
    media: Media = None,
    download: Annotated[
        Path | None,
        Option("--download", help="A file of addresses: fetch them with yt-dlp first. Needs --accept-terms."),
    ] = None,
    accept_terms: Annotated[
        bool, Option("--accept-terms", help="You have read the platform's terms and may fetch from it.")
    ] = False,
    rate: Annotated[str, Option("--rate", help="Bytes a second at most, as yt-dlp writes them.")] = "2M",
    pause: Annotated[float, Option("--pause", min=0, help="Seconds between two videos.")] = 2.0,
    cookies: Annotated[Path | None, Option("--cookies", help="A cookies file for yt-dlp.")] = None,
    archive: Annotated[
        Path | None, Option("--archive", help="Ids fetched before. [default: WORK/downloaded.txt]")
    ] = None,
    program: Annotated[
        str,
        Option(
            "--yt-dlp", metavar="COMMAND", help="The command to run. [default: the yt-dlp of this Python]"
        ),
    ] = "",
    ray: Ray = "",
    config: Config = None,
    force: Force = False,
) -> None:
    """Take metadata and comments in, take people's names out, and set broken records aside.

    Example:

        vivant build mimic ingest crawl/ --work build

        vivant build mimic ingest --download urls.txt --accept-terms --rate 1M --work build
    """
    from vivant_build.mimic.ingestion import ingest as run
    from vivant_build.mimic.ingestion.download import DownloadRequest
    from vivant_build.mimic.ingestion.download import download as fetch

    taken = list(sources or [])
    if download is not None:
        request = DownloadRequest(
            urls=download,
            accept_terms=accept_terms,
            rate=rate,
            pause=pause,
            cookies=cookies,
            archive=archive,
            program=program,
        )
        taken.append(fetch(request, work))
    run_step(
        lambda settings, progress: run(work, taken, settings, progress, media=media, ray=ray, force=force),
        config,
    )


@app.command()
def clean(
    work: Work,
    ray: Ray = "",
    store: Store = "",
    stored_media: StoredMedia = "",
    config: Config = None,
    force: Force = False,
) -> None:
    """Find languages, leave out spam, copies, unreadable files and videos with too few comments.

    Example:

        vivant build mimic clean --work build
    """
    from vivant_build.mimic.cleaning import clean as run

    run_step(partial(run, work, ray=ray, store=store, media=stored_media, force=force), config)


@app.command()
def restore(
    ids: Annotated[Path, Argument(metavar="IDS", help="An edition's ids.jsonl, as `publish` writes it.")],
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Folder to write to. [default: where `vivant run mimic` looks]"),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only count what would be fetched.")] = False,
    accept_terms: Annotated[
        bool, Option("--accept-terms", help="The platforms' terms allow you to fetch.")
    ] = False,
    cookies: Annotated[Path | None, Option("--cookies", help="A cookies file for yt-dlp.")] = None,
    program: Annotated[
        str,
        Option(
            "--yt-dlp", metavar="COMMAND", help="The command to run. [default: the yt-dlp of this Python]"
        ),
    ] = "",
) -> None:
    """Fetch the videos of an edition that was published as ids, and put its questions together again.

    Example:

        vivant build mimic restore ids.jsonl --accept-terms
    """
    from vivant.benchmarks.registry import data_root
    from vivant_build.mimic.ids_edition import read_ids
    from vivant_build.mimic.ingestion.download import DownloadRequest
    from vivant_build.mimic.restoration import refetch

    folder = out or data_root() / "mimic"
    if dry_run:
        header, videos, items = read_ids(ids)
        print_message(
            f"{header.name}: {len(videos)} videos to fetch and {len(items)} items to put together → {folder}"
        )
        return
    request = DownloadRequest(urls=ids, accept_terms=accept_terms, cookies=cookies, program=program)
    for reason, number in sorted(refetch(ids, folder, request).items()):
        print_message(f"left out, {reason}: {number}")
    print_message(f"Next: vivant data check mimic{'' if out is None else f' --data {out}'}")


@app.command()
def world(
    work: Annotated[
        Path | None, Option("--work", "-w", help="Write WORK/ingest, as if a crawl had been taken in.")
    ] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Write a crawl instead: its files and videos.")
    ] = None,
    form: Annotated[
        Literal["yt-dlp", "tiktok"],
        Option(
            "--form",
            help="With --out: .info.json files as yt-dlp writes them, or lists of videos and comments as TikTok's "
            "site sends them.",
        ),
    ] = "yt-dlp",
    videos: Annotated[int, Option("--videos", min=1, help="How many videos.")] = 2_000,
    comments: Annotated[
        int | None, Option("--comments", help="How many comments. [default: 100 a video]")
    ] = None,
    seed: Annotated[int, Option("--seed", help="Another seed makes another world.")] = 0,
    render: Annotated[int, Option("--render", min=0, help="With --out: draw the first N videos.")] = 0,
    broken: Annotated[
        float, Option("--broken", min=0, max=1, help="With --out: the share of files with an accident.")
    ] = 0.02,
    force: Force = False,
) -> None:
    """Invent a platform of any size to try the pipeline on: habits, topics, copies, spam, languages, accidents.

    Example:

        vivant build mimic world --out crawl --videos 300 --render 50
    """
    from vivant_build.mimic.world import WorldPlan, make_world

    if (work is None) == (out is None):
        raise UsageError(
            "world: say either --work WORK (as if taken in) or --out FOLDER (as a crawler leaves it)"
        )
    plan = WorldPlan(videos=videos, comments=100 * videos if comments is None else comments, seed=seed)
    if work is not None:
        if render:
            raise UsageError("world: --render draws videos beside a crawl; say --out in place of --work")
        with bar() as progress:
            step = make_world(work, plan, progress, force=force)
        print_step(step)
        return
    assert out is not None
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(f"world: {out} is not empty; choose another folder")
    from vivant_build.mimic.steps import explain_errors
    from vivant_build.mimic.world.crawl import write_crawl

    if form == "tiktok":
        from vivant_build.mimic.world.web_items import write_web_crawl

        with explain_errors(out, "world"), bar() as progress:
            write_web_crawl(out, plan, render_first=render, broken=broken > 0, progress=progress)
        print_message(f"Written to {out}: {videos:,} videos in videos.jsonl, their comments in comments.json")
        return
    with explain_errors(out, "world"), bar() as progress:
        happened = write_crawl(out, plan, render_first=render, broken=broken, progress=progress)
    accidents = ", ".join(f"{number} {name}" for name, number in happened.items())
    print_message(f"Written to {out}: {videos:,} files" + (f", of which {accidents}" if accidents else ""))


# After its own, so that the help lists the steps in their order.
app.add_typer(tasks_app)
