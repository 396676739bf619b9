"""`vivant study`."""

from __future__ import annotations

from vivant.cli.help import CommandApp
from vivant_study.cli.data import app as data_app
from vivant_study.cli.people import app as people_app
from vivant_study.cli.serve import app as serve_app

app = CommandApp(no_args_is_help=True)
app.add_typer(data_app)
app.add_typer(serve_app)
app.add_typer(people_app)


@app.callback()
def study() -> None:
    """Ask people: design a study, serve it, export and report what came of it. The key stays home.

    Examples:

        vivant study new studies/mime --template mime

        vivant study check studies/mime

        vivant study serve studies/mime
    """
