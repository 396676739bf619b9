"""`vivant board`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from typer import Argument, Exit, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp, PanelGroup
from vivant.cli.output import parse_protocol, print_message, print_table
from vivant.core.errors import UsageError
from vivant.core.table import Table
from vivant.core.yaml_files import read_yaml
from vivant.reporting.board.checking import check_submission
from vivant.reporting.board.entries import BoardConfig, find_folders, gather_sources
from vivant.reporting.board.folder import check_folder
from vivant.reporting.board.site import write_board
from vivant.reporting.board.submission import Submission, Weights, write_submission
from vivant.reporting.board.template import write_repository
from vivant.runs.run import choose_common_protocol, load_run


class _BoardGroup(PanelGroup):
    """Takes runs where a command is expected: `vivant board runs/ --out site` builds the site."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["build", *args]
        return super().resolve_command(ctx, args)


app = CommandApp(cls=_BoardGroup, no_args_is_help=True, context_settings={"ignore_unknown_options": True})
BoardFile = Annotated[
    Path | None,
    Option("--board", help="board.yaml: title, description, editions and names that the board takes."),
]


@app.callback()
def board() -> None:
    """Make a leaderboard of runs and submissions: a static site, every score recomputed from its log.

    Example:

        vivant board runs/mime-* --out site

        vivant board submit runs/mine --out submissions/mine --by "A. Researcher" --weights open

        vivant board check submissions/mine

        vivant board new my-board --title "Mimed actions"
    """


@app.command("build")
def build(
    runs: Annotated[list[Path], Argument(metavar="RUN…", help="Runs and submissions, or folders of them.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder of the site.")],
    title: Annotated[str, Option("--title", help="The leaderboard's title. [default: Leaderboard]")] = "",
    board_file: BoardFile = None,
    logs: Annotated[bool, Option("--logs", help="Copy questions and replies into the site too.")] = False,
    protocol: o.ProtocolOption = None,
) -> None:
    """Write the site: index.html, a page per model, board.json, board.csv, one folder per submission.

    Example:

        vivant board build runs/mime-* --out site
    """
    config = _read_config(board_file)
    if title:
        config = msgspec.structs.replace(config, title=title)
    check_folder(out, [folder for path in runs for folder in find_folders(path)])
    sources, refused = gather_sources(runs, parse_protocol(protocol), config)
    page = write_board(sources, out, config, include_logs=logs, refused=refused)
    for line in refused:
        print_message(f"Refused: {line}")
    noun = "submission" if len(sources) == 1 else "submissions"
    print_message(
        f"Written to {page} ({len(sources)} {noun}). Open it in any browser, or copy {out} to a web server."
    )


@app.command("submit")
def submit(
    run: Annotated[Path, Argument(metavar="RUN", help="The run to submit.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder of the submission.")],
    name: Annotated[
        str,
        Option("--name", help="The model, as the board shows it: its own name, or what board.yaml grants."),
    ] = "",
    by: Annotated[str, Option("--by", metavar="NAME", help="Who contributes it.")] = "",
    link: Annotated[str, Option("--link", help="A page about the model: https://…")] = "",
    weights: Annotated[
        str, Option("--weights", metavar="open|closed", help="Can the model's weights be downloaded?")
    ] = "not stated",
    digest_only: Annotated[
        bool, Option("--digest-only", help="Leave out questions and replies; state their digests.")
    ] = False,
    protocol: o.ProtocolOption = None,
) -> None:
    """Make a submission of a run: one folder with manifest, scores, log and digests.

    Example:

        vivant board submit runs/mine --out submissions/mine --by "A. Researcher" --weights open
    """
    loaded = load_run(run)
    statement = Submission(
        name=name or loaded.model,
        protocol=choose_common_protocol([loaded], parse_protocol(protocol)),
        contributor=by,
        link=link,
        weights=_parse_weights(weights),
    )
    write_submission(loaded, out, statement, include_log=not digest_only)
    print_message(
        f"Written to {out}. Check it: vivant board check {out}" + (f" --run {run}" if digest_only else "")
    )


@app.command("check")
def check(
    submission: Annotated[Path, Argument(metavar="SUBMISSION", help="Folder of the submission.")],
    run: Annotated[
        Path | None, Option("--run", help="The run, where the submission holds only the digest of its log.")
    ] = None,
    data: Annotated[
        list[str] | None,
        Option("--data", metavar="NAME=FOLDER", help="A benchmark's data, to compare the questions with."),
    ] = None,
    board_file: BoardFile = None,
) -> None:
    """Recompute a submission from its log. Refuses what cannot be recomputed, or comes out otherwise.

    Example:

        vivant board check submissions/mine
    """
    config = _read_config(board_file)
    result = check_submission(submission, run, _parse_data(data or []), config.check_edition, config.names)
    if not result.passed:
        for problem in result.problems:
            print_message(f"{submission.name}: {problem}")
        print_message("Refused.")
        raise Exit(1)
    print_table(
        Table(
            title=f"{submission.name}: recomputed from its log",
            columns=("task", "score", "95 % interval", "n", "errors", "data"),
            body=tuple(
                (
                    row.task,
                    row.value,
                    f"{row.interval[0]:.1f} – {row.interval[1]:.1f}" if row.interval else "–",
                    row.n,
                    row.errors,
                    result.data.get(row.task, ""),
                )
                for row in result.rows
            ),
            notes=result.notes,
        )
    )
    print_message("Accepted: every score was recomputed from the log, and agrees.")


@app.command("new")
def new(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="The folder to make.")],
    title: Annotated[str, Option("--title", help="The leaderboard's title.")] = "Leaderboard",
) -> None:
    """Make the repository of a leaderboard: settings, an action that checks submissions, a page for a hub Space.

    Example:

        vivant board new my-board --title "Mimed actions"
    """
    for file in write_repository(folder, title):
        print_message(f"Written: {file}")


def _read_config(file: Path | None) -> BoardConfig:
    return BoardConfig() if file is None else read_yaml(file, BoardConfig, empty=BoardConfig())


def _parse_weights(text: str) -> Weights:
    for value in ("open", "closed", "not stated"):
        if text == value:
            return value
    raise UsageError(f"--weights {text}: write open or closed")


def _parse_data(entries: list[str]) -> dict[str, Path]:
    folders: dict[str, Path] = {}
    for entry in entries:
        name, equals, path = entry.partition("=")
        if not equals or not Path(path).exists():
            raise UsageError(f"--data {entry}: write NAME=FOLDER, with a folder that exists")
        folders[name] = Path(path)
    return folders
