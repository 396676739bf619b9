"""The batches that a run has handed over to a provider.

`batches/<name>.json` in the run's folder says what was handed over, and its id; `batches/<name>.jsonl` has a record
without reply for each request in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.files import write_atomic, write_jsonl
from vivant.core.records import Record
from vivant.runs.directory import RunError
from vivant.runs.log import read_log


class SubmittedBatch(Struct, kw_only=True):
    """One batch, as its state file has it."""

    name: str
    """Ours: unique, and known to the provider where it keeps names."""
    submitted: float
    """Unix time."""
    count: int
    id: str = ""
    """The provider's; empty while it is being handed over."""
    collected: bool = False


class BatchFolder:
    """The batches of one run."""

    def __init__(self, run: Path) -> None:
        self.path = run / "batches"

    def load(self) -> list[SubmittedBatch]:
        """All of them, oldest first."""
        batches = []
        for file in sorted(self.path.glob("*.json")):
            try:
                batches.append(msgspec.json.decode(file.read_bytes(), type=SubmittedBatch))
            except (OSError, msgspec.MsgspecError) as error:
                raise RunError(f"{file} cannot be read: {error}") from error
        return sorted(batches, key=lambda batch: batch.submitted)

    def open(self) -> list[SubmittedBatch]:
        """Those whose answers are not here yet."""
        return [batch for batch in self.load() if not batch.collected]

    def save(self, batch: SubmittedBatch, records: Iterable[Record] | None = None) -> None:
        """Write a state, after the records of its requests."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if records is not None:
                write_jsonl(self.path / f"{batch.name}.jsonl", records)
            write_atomic(self.path / f"{batch.name}.json", msgspec.json.encode(batch))
        except OSError as error:
            raise RunError(f"Cannot write {self.path}: {error.strerror}") from error

    def records(self, batch: SubmittedBatch) -> list[Record]:
        """The records of its requests, without replies."""
        return list(read_log(self.path / f"{batch.name}.jsonl"))

    def forget(self, batch: SubmittedBatch) -> None:
        """Remove one that was never handed over."""
        for suffix in (".json", ".jsonl"):
            (self.path / f"{batch.name}{suffix}").unlink(missing_ok=True)


def make_custom_id(record: Record) -> str:
    """A request's name inside a batch: providers take few signs, and keys hold any. Equal names, equal
    requests."""
    return "v" + hashlib.sha256(f"{record.key}\n{record.fingerprint}".encode()).hexdigest()[:40]


def check_none_under_way(run: Path) -> None:
    """Raise where requests of a run are under way: to ask them again would pay twice."""
    under_way = len(BatchFolder(run).open())
    if under_way:
        raise RunError(
            f"{run}: {under_way} batches are under way at the provider; --batch collects them. "
            f"To ask anew instead, and pay twice, delete {run / 'batches'}"
        )
