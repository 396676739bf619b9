"""The metrics of a training: log lines, rows of CSV files, curves for TensorBoard."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vivant.core.files import write_atomic

logger = logging.getLogger("vivant")

STEP_COLUMNS = (
    "step",
    "epoch",
    "loss",
    "learning_rate",
    "gradient_norm",
    "tokens",
    "answer_tokens",
    "seconds",
    "waited",
)
EVALUATION_COLUMNS = ("step", "accuracy", "samples", "errors", "unparsed", "seconds")


class MetricsWriter:
    """Writes for the main process. Rows of steps that a resumed training takes again are dropped first."""

    def __init__(self, out: Path, start: int, log_every: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._log_every = log_every
        self._steps = _reopen_csv(out / "metrics.csv", STEP_COLUMNS, start)
        self._evaluations = _reopen_csv(out / "evaluations.csv", EVALUATION_COLUMNS, start + 1)
        self._tensorboard = SummaryWriter(str(out / "tensorboard"), purge_step=start or None)
        self._recent: list[Mapping[str, Any]] = []

    def write_step(self, row: Mapping[str, Any]) -> None:
        """One update."""
        csv.DictWriter(self._steps, STEP_COLUMNS).writerow(row)
        self._steps.flush()
        step = int(row["step"])
        for name in ("loss", "learning_rate", "gradient_norm", "waited"):
            self._tensorboard.add_scalar(f"train/{name}", row[name], step)
        self._recent.append(row)
        if (step + 1) % self._log_every == 0:
            recent, self._recent = self._recent, []
            seconds = sum(each["seconds"] for each in recent) or 1e-9
            logger.info(
                f"step {step + 1:>6}  loss {sum(each['loss'] for each in recent) / len(recent):.4f}  "
                f"rate {row['learning_rate']:.2e}  norm {row['gradient_norm']:.2f}  "
                f"{sum(each['tokens'] for each in recent) / seconds:,.0f} tokens/s  "
                f"waited {sum(each['waited'] for each in recent) / seconds:.1%}"
            )

    def write_evaluation(self, row: Mapping[str, Any]) -> None:
        """One evaluation."""
        csv.DictWriter(self._evaluations, EVALUATION_COLUMNS).writerow(row)
        self._evaluations.flush()
        self._tensorboard.add_scalar("evaluation/accuracy", row["accuracy"], int(row["step"]))
        logger.info(
            f"step {row['step']:>6}  held-out accuracy {row['accuracy']:.1%} of {row['samples']} "
            f"({row['errors']} errors, {row['unparsed']} unparsed)"
        )

    def close(self) -> None:
        """Write out what is held back."""
        self._steps.close()
        self._evaluations.close()
        self._tensorboard.close()


def _reopen_csv(path: Path, columns: tuple[str, ...], before: int) -> Any:
    """A CSV file with the rows of steps before `before`, open for more."""
    rows: list[dict[str, str]] = []
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as file:
            # A row that a kill cut short has no last column.
            rows = [r for r in csv.DictReader(file) if r.get(columns[-1]) and int(r["step"]) < before]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(path, text.getvalue())
    return path.open("a", newline="", encoding="utf-8")
