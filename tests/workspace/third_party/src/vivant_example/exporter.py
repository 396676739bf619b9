import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vivant import Run
from vivant.benchmarks.base import Protocol


def export_csv(run: Run, folder: Path, protocol: Protocol, values: Mapping[str, Any]) -> list[Path]:
    path = folder / "replies.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "reply", "score"))
        for part in run.scores(protocol, values):
            for sample, record, score in part.rows:
                writer.writerow((sample.id, record.reply.text if record else "", score.value))
    return [path]
