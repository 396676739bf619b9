from collections.abc import Sequence
from statistics import fmean

from vivant import Run, Table
from vivant.benchmarks.base import Protocol


def build_table(runs: Sequence[Run], protocol: Protocol) -> Table:
    body = []
    for run in runs:
        for part in run.scores(protocol):
            words = [len(record.reply.text.split()) for _, record, _ in part.rows if record]
            body.append((run.name, part.task, len(words), fmean(words) if words else None))
    return Table(title="Reply length", columns=("run", "task", "replies", "words"), body=tuple(body))
