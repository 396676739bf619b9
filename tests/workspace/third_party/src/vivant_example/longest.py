from pathlib import Path

import typer

import vivant

app = typer.Typer(add_completion=False)


@app.command()
def longest(run: Path, count: int = 3) -> None:
    """Print the longest replies of a run."""
    records = vivant.load_run(run).records().values()
    for record in sorted(records, key=lambda record: -len(record.reply.text))[:count]:
        print(f"{record.id}: {record.reply.text}")
