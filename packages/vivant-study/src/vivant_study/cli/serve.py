"""`vivant study`: serving them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message

app = CommandApp(no_args_is_help=True)

Folder = Annotated[Path, Argument(metavar="DIR", help="The study's folder.")]
Database = Annotated[
    str | None,
    Option(
        "--database",
        metavar="URL",
        envvar="VIVANT_STUDY_DATABASE",
        help="Where answers lie: postgresql://user@host/name or sqlite:///file.db. [default: DIR/study.db]",
    ),
]
Host = Annotated[str, Option("--host", help="Another address than this machine's own is open to others.")]
Public = Annotated[
    str,
    Option(
        "--url",
        metavar="ADDRESS",
        help="The address that participants open, where a reverse proxy stands before this server; "
        "a path in it becomes the prefix of all pages: https://lab.example/study.",
    ),
]


@app.command()
def serve(
    folder: Folder,
    database: Database = None,
    host: Host = "127.0.0.1",
    port: o.Port = 8770,
    url: Public = "",
    admin_token_file: Annotated[
        Path | None,
        Option(
            "--admin-token-file", help="File with the token of the admin page. [default: DIR/admin.token]"
        ),
    ] = None,
    anonymous: Annotated[
        bool,
        Option("--anonymous", help="Let the open link in whoever has it, without a platform's identifiers."),
    ] = False,
    placeholder_consent: Annotated[
        bool,
        Option("--placeholder-consent", help="Serve although the consent text names nobody yet: for trials."),
    ] = False,
) -> None:
    """Serve a study to its participants. Every answer is on the disk before it is acknowledged.

    Example:

        vivant study serve my-study
    """
    from vivant_study.server.serve import serve as start

    start(
        folder,
        database=database,
        host=host,
        port=port,
        public=url,
        admin_file=admin_token_file,
        anonymous=anonymous,
        placeholder_consent=placeholder_consent,
        ready=_print_link,
    )


@app.command()
def preview(folder: Folder, host: Host = "127.0.0.1", port: o.Port = 8771) -> None:
    """Go through a study as a participant does. Nothing is recorded.

    Example:

        vivant study preview my-study
    """
    from vivant_study.server.serve import serve as start

    start(folder, host=host, port=port, preview=True, ready=_print_link)


@app.command()
def link(
    folder: Folder,
    count: Annotated[int, Option("-n", "--count", min=1, max=10_000, help="How many.")] = 1,
    database: Database = None,
    url: Public = "",
) -> None:
    """Make personal links, one a line. Each is shown once: the study keeps only a hash of it.

    Example:

        vivant study link my-study -n 20 --url https://lab.example/study > links.txt
    """
    from vivant_study.loading import load_study
    from vivant_study.server.serve import check_dependencies, read_address

    check_dependencies()
    from vivant_study.store import open_store
    from vivant_study.store.people import invite

    load_study(folder)
    with open_store(folder, database) as store:
        address = url.rstrip("/") or read_address(store)
        for token in invite(store, count):
            print(f"{address}/join/{token}")


@app.command()
def who(
    folder: Folder,
    ids: Annotated[
        list[str], Argument(metavar="ID…", help="The recruiting platform's identifiers, or whole links.")
    ],
    database: Database = None,
) -> None:
    """How exports name the people whom you know by a platform's identifier or by a personal link, and how far they are.

    Example:

        vivant study who my-study 5f0c1d2e3a4b5c6d7e8f9a0b
    """
    from vivant_study.server.serve import check_dependencies

    check_dependencies()
    from vivant_study.store import open_store
    from vivant_study.store.people import find_participant

    with open_store(folder, database, create=False) as store:
        for name in ids:
            person = find_participant(store, name)
            print(f"{name}\t{person.annotator}\t{person.state}" if person else f"{name}\t\tunknown")


@app.command()
def upgrade(folder: Folder, database: Database = None) -> None:
    """Bring a database of an older version to this one. Make a copy first.

    Example:

        vivant study upgrade my-study
    """
    from vivant_study.server.serve import check_dependencies

    check_dependencies()
    from vivant_study.store import schema
    from vivant_study.store.database import Database as Opened
    from vivant_study.store.database import database_url

    opened = Opened(database_url(folder, database))
    try:
        before = schema.read_version(opened)
        schema.upgrade(opened)
        print_message(f"{opened.display_url}: version {before or 'none'} is now {schema.newest_version()}")
    finally:
        opened.close()


def _print_link(what: str, address: str) -> None:
    lines = {
        "person": f"A link for one person, to click or to send:\n  {address}",
        "more": f"More of them: vivant study link {address}",
        "used": f"The first personal link is used; make more: vivant study link {address}",
        "anonymous": f"Open link, for whoever has it:\n  {address}",
        "open": f"Open link for a recruiting platform, which fills in its identifiers:\n  {address}",
        "admin": f"Admin page: {address}",
        "token": f"Its token is in {address}    (Ctrl-C ends the server)",
        "preview": f"Open {address}    (nothing is recorded; Ctrl-C ends it)",
        "plain": "Note: cookies and answers travel unencrypted; put a reverse proxy with HTTPS before this "
        "server and name its address with --url",
    }
    print_message(lines[what])
