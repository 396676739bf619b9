"""Made-up runs and submissions for the tests of the leaderboard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from typer.testing import CliRunner

from tests.support.view_kit import choice_samples, make_records, write_run
from vivant.cli.main import app
from vivant.core.errors import VivantError
from vivant.core.types import Reply
from vivant.reporting.board.submission import Submission, digest_evidence, write_submission
from vivant.runs.run import Run
from vivant.runs.settings import digest


def run_command(*arguments: str) -> Any:
    """The command line, in this process."""
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, VivantError):
        result.stderr_bytes += f"vivant: {result.exception}".encode()
    return result


def make_run(
    folder: Path,
    right: int,
    model: str,
    n: int = 60,
    errors: int = 0,
    tasks: Sequence[str] = ("jsonl/made",),
) -> Run:
    """A run of made-up tasks whose manifest states the digests of its questions, as a real one does."""
    asked = {task: choice_samples(n, task) for task in tasks}
    samples = [sample for own in asked.values() for sample in own]
    replies = [Reply(text="B" if number < right else "C") for number in range(n - errors)]
    replies += [Reply(status="error", error="HTTP 503")] * errors
    run = write_run(folder, samples, make_records(samples, replies * len(tasks)), model=model)
    data = {task: digest(own)[:16] for task, own in asked.items()}
    settings = msgspec.structs.replace(run.manifest.settings, data=data)
    manifest = msgspec.structs.replace(
        run.manifest, settings=settings, fingerprint=settings.fingerprint(), command=""
    )
    run.dir.manifest_file.write_bytes(msgspec.json.encode(manifest))
    return Run(folder)


def submit(tmp_path: Path, name: str = "mine", right: int = 40, *, include_log: bool = True) -> Path:
    run = make_run(tmp_path / "runs" / name, right, name)
    stated = Submission(name=name, protocol="strict", contributor="Ann", weights="open")
    return write_submission(run, tmp_path / "subs" / name, stated, include_log=include_log)


def restate(folder: Path) -> None:
    """State the digests that the files have now, as somebody would who wants to cheat."""
    file = folder / "submission.json"
    content = json.loads(file.read_text())
    content["digests"] = digest_evidence(folder)
    file.write_text(json.dumps(content))


def claim_more(folder: Path) -> None:
    rows = json.loads((folder / "scores.json").read_text())
    rows[0]["value"] += 5
    (folder / "scores.json").write_text(json.dumps(rows))
