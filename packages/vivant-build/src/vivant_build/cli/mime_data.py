"""`vivant build mime`: motions, labels and the dataset; mounted beside rendering by `build_mime`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message
from vivant.cli.parsing import split_values
from vivant.core.errors import UsageError
from vivant.core.progress import log_progress

if TYPE_CHECKING:
    from vivant_build.mime.labels import Merge
    from vivant_build.mime.recording_folder import FolderOutcome

app = CommandApp(no_args_is_help=True)

Out = Annotated[Path, Option("--out", "-o", help="Folder to write to.")]
Seed = Annotated[int, Option("--seed", help="Another seed makes other choices.")]


@app.command()
def motions(
    out: Out,
    actions: Annotated[
        list[str] | None, Option("--actions", help="Names, with commas. [default: all]")
    ] = None,
    actors: Annotated[
        list[str] | None,
        Option(
            "--actors", help="Write each action once for each of these: they differ in size, hand and tempo."
        ),
    ] = None,
    fps: Annotated[float, Option("--fps", help="Frames a second.")] = 30.0,
    seed: Seed = 29,
) -> None:
    """Write the bundled motions as BVH, with their labels, accepted answers and categories.

    Example:

        vivant build mime motions --out motions --actors j,n --fps 60
    """
    from vivant_build.mime.library import TABLE, export_motions

    files = export_motions(
        out,
        actions=split_values(actions or []),
        actors=split_values(actors or []),
        fps=fps,
        seed=seed,
        progress=log_progress(),
    )
    print_message(f"{len(files)} motions and {TABLE} written to {out}")


@app.command()
def clean(
    source: Annotated[
        Path,
        Argument(
            metavar="IN",
            help="A recording, or a folder of them: .bvh, .fbx, .amc, .mvnx, .npz (AMASS), .glb, .gltf, .vrma, "
            "Motive's .csv, or keypoints as .json, .jsonl, .csv, .npy, .trc or .skeleton. A folder that OpenPose wrote "
            "is one recording.",
        ),
    ],
    out: Annotated[Path, Argument(metavar="OUT", help="Where the result is written: a .bvh, or a folder.")],
    fps: Annotated[float | None, Option("--fps", help="Resample to this rate. [default: kept]")] = None,
    loop: Annotated[bool, Option("--loop", help="Cut to the best loop and close it.")] = False,
    trim: Annotated[bool, Option("--trim/--no-trim", help="Cut still parts off the ends.")] = True,
    in_place: Annotated[
        bool, Option("--in-place", help="Keep somebody who walks on the spot, as on a treadmill.")
    ] = False,
    keep_heading: Annotated[
        bool, Option("--keep-heading", help="Do not turn somebody who faces away to the camera.")
    ] = False,
    lock_feet: Annotated[
        bool | None,
        Option(
            "--lock-feet/--keep-feet",
            help="Hold standing feet in their places, or leave them as recorded. [default: hold those of keypoints]",
        ),
    ] = None,
    joints: Annotated[
        Path | None, Option("--joints", help="YAML with OUR_JOINT: JOINT_OF_THE_FILE, for unknown names.")
    ] = None,
    animation: Annotated[
        str | None,
        Option(
            "--animation", help="Which one of a glTF or FBX file that holds several; a folder OUT gets each."
        ),
    ] = None,
    source_fps: Annotated[
        float | None,
        Option("--source-fps", help="Rate of a recording that states none (keypoints, a BVH without one)."),
    ] = None,
    video_size: Annotated[
        str | None,
        Option(
            "--video-size",
            help="WIDTHxHEIGHT of the video, for landmarks that are shares of its sides (keypoints).",
        ),
    ] = None,
    unit: Annotated[
        float | None,
        Option(
            "--unit", help="Metres of the file's unit, where nobody is as tall as its figure in a usual one."
        ),
    ] = None,
    sheet: Annotated[
        bool, Option("--sheet/--no-sheet", help="Draw a contact sheet beside the result (.jpg).")
    ] = True,
) -> None:
    """Clean a recording up into BVH: T-poses and still ends cut, feet checked, loops closed; says what it found.

    Look at the contact sheet: it shows at a glance whether the recording was read rightly. Of a folder every recording
    is cleaned; one that is refused is named and costs only itself.

    Example:

        vivant build mime clean raw/sawing.bvh motions/sawing.bvh --fps 30
    """
    from vivant_build.mime.clean import CleaningReport, clean_file
    from vivant_build.mime.openpose import holds_openpose
    from vivant_build.mime.recording import list_animations
    from vivant_build.mime.recording_folder import choose_target, clean_folder

    size = None if video_size is None else _parse_size(video_size)

    def clean_one(recording: Path, target: Path, name: str | None = animation) -> CleaningReport:
        return clean_file(
            recording,
            target,
            fps=fps,
            ends=trim,
            loop=loop,
            in_place=in_place,
            keep_heading=keep_heading,
            hold_feet=lock_feet,
            joints=joints,
            animation=name,
            source_fps=source_fps,
            unit=unit,
            video_size=size,
            sheet=target.with_suffix(".jpg") if sheet else None,
        )

    def report(lines: list[str]) -> None:
        for line in lines:
            print_message(line)

    single = (
        source.is_dir() or out.suffix == ".bvh" or animation is not None or len(list_animations(source)) < 2
    )
    if single and (not source.is_dir() or holds_openpose(source)):
        target = choose_target(source, out)
        report(clean_one(source, target).lines())
        print_message(f"Written to {target}" + (f"; look at {target.with_suffix('.jpg')}" if sheet else ""))
        return
    _report_folder(clean_folder(source, out, clean_one, report, animation=animation), out, sheet)


def _report_folder(outcome: FolderOutcome, out: Path, sheet: bool) -> None:
    """What became of a folder of recordings; fails where one was refused."""
    from vivant_build.mime.bad_frames import format_count

    for reason in outcome.refusals():
        print_message(f"refused: {reason}")
    if outcome.others:
        count = format_count(len(outcome.others), "file")
        names = ", ".join(file.name for file in outcome.others[:6])
        more = " …" if len(outcome.others) > 6 else ""
        print_message(f"passed over, since it holds no motion: {names}{more} ({count})")
    total = len(outcome.cleaned) + len(outcome.refused)
    hint = "; look at the pictures beside them" if sheet and outcome.cleaned else ""
    print_message(f"{len(outcome.cleaned)} of {format_count(total, 'recording')} written to {out}{hint}")
    if outcome.refused:
        raise UsageError(f"{len(outcome.refused)} of {total} recordings were refused, for the reasons above")


def _parse_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)[x×](\d+)", text.strip())
    if match is None or not int(match[1]) or not int(match[2]):
        raise UsageError(f"--video-size is WIDTHxHEIGHT in pixels, 1920x1080 say, not '{text}'")
    return int(match[1]), int(match[2])


@app.command()
def consolidate(
    source: Annotated[
        Path,
        Argument(
            metavar="LABELS",
            help="CSV or JSONL with item, annotator, label; or a study's judgements (JSONL).",
        ),
    ],
    out: Out,
    confirm: Annotated[
        Path | None, Option("--confirm", help="A merges.yaml in which a person has decided.")
    ] = None,
    page: Annotated[str, Option("--page", help="Of a study: the page that asked for the label.")] = "",
    agree: Annotated[int, Option("--agree", help="Annotators who must agree …")] = 2,
    of: Annotated[int, Option("--of", help="Number of people who look at each take.")] = 3,
    near: Annotated[
        float, Option("--near", help="Cosine from which labels of one take are proposed as one.")
    ] = 0.6,
    ask: Annotated[
        bool | None, Option("--ask/--no-ask", help="Decide on merges here and now. [default: on a terminal]")
    ] = None,
) -> None:
    """Keep the takes that blind annotators agree on; near-equal labels are merged where a person says so.

    Example:

        vivant build mime consolidate labels.csv --out kept

        vivant build mime consolidate labels.csv --out kept --confirm kept/merges.yaml
    """
    import sys

    from vivant.cli.output import print_table
    from vivant.metrics.similarity import load_encoder
    from vivant_build.mime import consolidate as work
    from vivant_build.mime.labels import read_labels

    reading = read_labels(source, page)
    if confirm is None:
        work.check_overwrite(out)
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if ask and not terminal:
        raise UsageError(
            "--ask needs a terminal; without one, decide in the file of merges and use --confirm"
        )
    wanted = confirm is None and (terminal if ask is None else ask)
    merges = work.settle_merges(
        reading, load_encoder(), confirmed=confirm, near=near, ask=_ask_merge if wanted else None
    )
    outcome = work.consolidate(reading, merges, agree=agree, of=of, source=str(confirm or "The merges"))
    files = work.write_consolidation(outcome, out, confirmed=confirm)
    print_table(work.report(outcome))
    print_message(f"Written: {', '.join(map(str, files))}")
    if outcome.undecided:
        file = confirm or out / work.MERGES
        print_message(
            f"{outcome.undecided} proposed merges await a person: decide in {file}, then --confirm {file}"
        )


def _ask_merge(merge: Merge) -> bool | None:
    """One proposal to a person at the terminal; an empty answer leaves it open."""
    others = ", ".join(f"'{label}'" for label in merge.labels)
    while True:
        question = f"Is {others} the same as '{merge.into}'? (nearness {merge.similarity:.2f}) [y/n/skip]"
        answer = typer.prompt(question, default="skip", show_default=False, err=True).strip().lower()
        if answer in ("y", "yes", "n", "no", "skip"):
            return None if answer == "skip" else answer.startswith("y")


@app.command()
def backgrounds(
    plan: Annotated[
        Path | None,
        Option("--plan", help="Review the choices of this plan; `mini` and `all` are bundled ones."),
    ] = None,
    pictures: Annotated[
        Path | None,
        Option("--pictures", help="A folder of pictures, each with a YAML file of words beside it."),
    ] = None,
    override: Annotated[
        Path | None, Option("--override", help="An alignment.yaml in which a person changed choices.")
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Folder for the review of a plan.")] = None,
    form: o.FormatOption = "text",
) -> None:
    """List backgrounds; or review which fit the actions of a plan, which do not, and the wrong options.

    Example:

        vivant build mime backgrounds --plan plan.yaml --pictures photos --out review

        vivant build mime backgrounds --plan plan.yaml --override review/alignment.yaml --out review2
    """
    from vivant.cli.output import write_tables
    from vivant_build.mime import background_alignment as align

    own_pictures = align.read_pictures(pictures) if pictures is not None else None
    if plan is None:
        if override is not None or out is not None:
            raise UsageError("--override and --out go with --plan: they are about the choices of a plan")
        write_tables([align.build_background_table(own_pictures)], form, None)
        return
    from vivant.metrics.similarity import load_encoder

    spec, root = align.open_plan(plan)
    if override is not None:
        spec = align.override(
            align.add_pictures(spec, own_pictures), align.read_overrides(override), str(override)
        )
    spec, choices = align.propose(spec, load_encoder(), own_pictures)
    write_tables([align.review(spec, choices)], form, None)
    if out is not None:
        files = align.write_review(spec, choices, out, root, log_progress())
        print_message(
            f"Written: {', '.join(map(str, files))}. Render it: vivant build mime render {files[1]} --out DIR"
        )


@app.command()
def dataset(
    folder: Annotated[
        Path, Argument(metavar="DIR", help="A folder that `render` made, or a dataset to push.")
    ],
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder of the dataset. [default: DIR-dataset]")
    ] = None,
    seed: Seed = 29,
    licence: Annotated[str, Option("--licence", help="As hubs name it, e.g. cc-by-4.0.")] = "",
    title: Annotated[str, Option("--title", help="Title of the data sheet.")] = "",
    workers: Annotated[
        int | None, Option("--workers", min=1, help="Processes. [default: one per core]")
    ] = None,
    to: Annotated[
        str, Option("--push", metavar="OWNER/NAME", help="Push it to this hub repository; needs HF_TOKEN.")
    ] = "",
    public: Annotated[bool, Option("--public", help="Let everybody see a new repository.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Push without asking on a terminal.")] = False,
) -> None:
    """Make a dataset of rendered videos: two sizes, splits by action, a data sheet, checksums; and push it.

    Example:

        vivant build mime dataset mine --out mine-dataset --licence cc-by-4.0

        vivant build mime dataset mine-dataset --push OWNER/NAME
    """
    import sys

    from vivant.core.checksums import SUMS
    from vivant_build.mime.dataset import make_dataset
    from vivant_build.mime.jobs import count_workers

    if (folder / SUMS).is_file():
        if not to:
            raise UsageError(
                f"{folder} is a finished dataset; push it with --push OWNER/NAME, or name other videos"
            )
        target = folder
    else:
        target = out or folder.with_name(folder.name + "-dataset")
        result = make_dataset(
            folder,
            target,
            seed=seed,
            licence=licence,
            title=title,
            workers=workers or count_workers(),
            progress=log_progress(),
        )
        sizes = ", ".join(f"{name} {width}×{height}" for name, (width, height) in result.editions.items())
        print_message(f"{result.videos} videos of {len(result.splits)} actions in {target}: {sizes}")
        print_message(
            f"Run it: vivant run mime --data {target / list(result.editions)[-1]} --where split=test --model random"
        )
    if not to:
        return
    from vivant.fetch.hub_push import prepare_push, push

    ready = prepare_push(target, to, private=not public)
    print_message(ready.line())
    if sys.stdin.isatty() and sys.stderr.isatty() and not yes and not typer.confirm("Go on?", err=True):
        raise typer.Exit(1)
    print_message(f"Pushed: {push(ready)}")


@app.command()
def gallery(
    out: Out,
    page: Annotated[
        Path | None, Option("--page", help="Also write the Markdown page that shows them.")
    ] = None,
    looks: Annotated[
        bool, Option("--looks", help="Also draw one shot by every renderer; Blender must be there.")
    ] = False,
) -> None:
    """Draw every action, the ten variants of one, takes and bodies as small moving pictures (WebP).

    Example:

        vivant build mime gallery --out pictures --page gallery.md
    """
    from vivant_build.mime.gallery import make_gallery

    clips = make_gallery(out, page, log_progress(), looks=looks)
    size = sum((out / clip.file).stat().st_size for clip in clips)
    print_message(f"{len(clips)} clips, {size / 1e6:.1f} MB, in {out}")
