"""`vivant study`: the people of a study: their rights, their pay, their places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from vivant.cli.help import CommandApp
from vivant.cli.output import print_message
from vivant.core.errors import UsageError
from vivant_study.cli.serve import Database, Folder

if TYPE_CHECKING:
    from vivant_study.store import StudyStore

app = CommandApp(no_args_is_help=True)
Id = Annotated[
    str,
    Argument(metavar="ID", help="A platform's identifier, a personal link, or a name as exports have it."),
]


def _find(store: StudyStore, name: str) -> Any:
    from vivant_study.store.people import find_participant

    person = find_participant(store, name)
    if person is None:
        raise UsageError(f"Nobody in {store.study} is known as '{name}'; `vivant study who` looks several up")
    return person


@app.command()
def person(
    folder: Folder,
    name: Id,
    export: Annotated[
        Path | None,
        Option("--export", metavar="FILE", help="Write everything that is stored about them, as JSON."),
    ] = None,
    delete: Annotated[
        bool, Option("--delete", help="Remove everything that they gave, in backups too, for good.")
    ] = False,
    database: Database = None,
) -> None:
    """Hand over or delete what a study holds about one person.

    Example:

        vivant study person my-study 5f0c1d2e3a4b5c6d7e8f9a0b --export theirs.json
    """
    from vivant_study.server.serve import check_dependencies

    check_dependencies()
    import msgspec

    from vivant.core.files import write_atomic
    from vivant_study.store import open_store
    from vivant_study.store.removal import delete_person, export_person

    with open_store(folder, database, create=False) as store:
        row = _find(store, name)
        if export is not None:
            if export.exists():
                raise UsageError(f"{export} exists already; name another file")
            text = msgspec.json.format(msgspec.json.encode(export_person(store, row.annotator)), indent=2)
            try:
                write_atomic(export, text)
            except OSError as error:
                raise UsageError(f"Cannot write {export}: {error.strerror}") from error
            print_message(f"Written: {export}")
        if delete:
            problems = delete_person(store, row.annotator)
            print_message(f"{row.annotator}: everything is deleted; the link opens nothing any more")
            if not store.database.sqlite:
                print_message("PostgreSQL's own log and dumps may still hold it: see docs/study-privacy.md")
            for problem in problems:
                print_message(f"Still in the backup {problem.path}: {problem.problem}")
            if problems:
                raise UsageError(f"{len(problems)} backups still hold this person; remove those files")
        elif export is None:
            print_message(f"{row.annotator}\t{row.state}\t{row.outcome}")


@app.command()
def release(
    folder: Folder,
    ids: Annotated[
        list[str] | None,
        Argument(
            metavar="ID…", help="Platform's identifiers, personal links, or names as exports have them."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        Option("--from", metavar="FILE", help="The platform's CSV: its returned and timed-out people."),
    ] = None,
    database: Database = None,
) -> None:
    """Give the unfinished places of people who left the platform to others, at once.

    Example:

        vivant study release my-study 5f0c1d2e3a4b5c6d7e8f9a0b
    """
    from vivant_study.server.serve import check_dependencies

    check_dependencies()
    from vivant_study.payment import LEFT, read_platform_file
    from vivant_study.store import open_store
    from vivant_study.store import people as store_people

    removed = [(name, "said by the organiser") for name in ids or ()]
    if file is not None:
        lines = read_platform_file(file)
        removed += [(line.participant, line.status) for line in lines if line.status.lower() in LEFT]
        print_message(f"{file}: {len(removed) - len(ids or ())} of {len(lines)} people have left")
    elif not removed:
        raise UsageError("Name people, or the platform's file with --from")
    with open_store(folder, database, create=False) as store:
        for name, reason in removed:
            row = store_people.find_participant(store, name)
            if row is None:
                print_message(f"{name}: unknown here")
                continue
            count = store_people.release(store, row.annotator, reason)
            print_message(f"{name}: {count} unfinished places are free")


@app.command()
def pay(
    folder: Folder,
    file: Annotated[
        Path | None,
        Option("--ids", metavar="FILE", help="The platform's CSV, or one identifier a line: whom to list."),
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Write the sheet here (.csv).")] = None,
    bonus_out: Annotated[
        Path | None,
        Option("--bonus-file", help="Write `identifier,amount` lines for a platform's bulk bonuses."),
    ] = None,
    database: Database = None,
) -> None:
    """What each person is to be paid: by how their visit ended, with bonuses, as `payment` in study.yaml says.

    The study keeps hashes alone: the platform's own file says who is who.

    Example:

        vivant study pay my-study --out payment.csv
    """
    from vivant_study.export.tables import write_csv_rows
    from vivant_study.payment import PAY_COLUMNS, compute_payment, list_pay_rows, read_platform_file
    from vivant_study.results import load_results
    from vivant_study.store import open_store
    from vivant_study.store.people import find_participant

    collected = load_results(folder, database)
    payment = collected.loaded.study.payment
    if payment is None:
        raise UsageError(
            f"{folder}/study.yaml has no `payment`; add for example "
            "`payment: {currency: GBP, amounts: {completed: 2.5}}`"
        )
    if bonus_out is not None and file is None:
        raise UsageError("--bonus-file needs the platform's identifiers: name its file with --ids")
    names: dict[str, str] | None = None
    unknown: list[str] = []
    if file is not None:
        names = {}
        with open_store(folder, database, create=False) as store:
            for line in read_platform_file(file):
                row = find_participant(store, line.participant)
                if row is None:
                    unknown.append(line.participant)
                else:
                    names[row.annotator] = line.participant
    lines = compute_payment(collected, names)
    rows = list_pay_rows(lines)
    try:
        if out is not None:
            write_csv_rows(out, PAY_COLUMNS, rows)
            print_message(f"Written: {out}")
        else:
            print(",".join(PAY_COLUMNS))
            for cells in rows:
                print(",".join("" if cell is None else str(cell) for cell in cells))
        if bonus_out is not None:
            paid = [f"{line.participant},{line.bonus:.2f}\n" for line in lines if line.bonus > 0]
            bonus_out.write_text("".join(paid), encoding="utf-8")
            print_message(f"Written: {bonus_out} ({len(paid)} bonuses)")
    except OSError as error:
        raise UsageError(f"Cannot write the sheet: {error.strerror}") from error
    total = sum(line.total for line in lines)
    print_message(f"{len(lines)} people, {total:.2f} {payment.currency} in all".rstrip())
    for name in unknown:
        print_message(f"Not in the study: {name}")


@app.command()
def backup(
    folder: Folder,
    target: Annotated[Path, Argument(metavar="FILE", help="The copy to write.")],
    database: Database = None,
) -> None:
    """Copy a study's SQLite database, also while it is served. People who withdraw later leave the copy too.

    Example:

        vivant study backup my-study backups/monday.db
    """
    from vivant_study.server.serve import check_dependencies

    check_dependencies()
    from vivant_study.store import open_store
    from vivant_study.store.removal import make_backup

    with open_store(folder, database, create=False) as store:
        result = make_backup(store, target)
    print_message(
        f"Written: {result.path}. Keep the file where it is: people who withdraw are removed from it there."
    )
