"""The metrics of a training: log lines, rows of CSV files, curves for TensorBoard."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Callable, Mapping, Sequence
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
    "skipped",
    "seconds",
    "waited",
)
EVALUATION_COLUMNS = ("step", "accuracy", "samples", "errors", "unparsed", "seconds")


class MetricsWriter:
    """Writes for the main process. Rows of steps that a resumed training takes again are dropped first."""

    def __init__(
        self,
        out: Path,
        start: int,
        log_every: int,
        trackers: Sequence[str] = ("tensorboard",),
        log: Callable[[dict[str, Any], int], None] | None = None,
    ) -> None:
        """`log` passes values and their step on to trackers other than TensorBoard."""
        from torch.utils.tensorboard import SummaryWriter

        self._log_every = log_every
        self._steps = _reopen_csv(out / "metrics.csv", STEP_COLUMNS, start)
        self._evaluations = _reopen_csv(out / "evaluations.csv", EVALUATION_COLUMNS, start + 1)
        self._tensorboard = (
            SummaryWriter(str(out / "tensorboard"), purge_step=start or None)
            if "tensorboard" in trackers
            else None
        )
        self._log = log if set(trackers) - {"tensorboard"} else None
        self._recent: list[Mapping[str, Any]] = []

    def write_step(self, row: Mapping[str, Any]) -> None:
        """One update."""
        csv.DictWriter(self._steps, STEP_COLUMNS).writerow(row)
        self._steps.flush()
        step = int(row["step"])
        names = ("loss", "learning_rate", "gradient_norm", "waited", "skipped")
        self._track({f"train/{name}": row[name] for name in names}, step)
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
        self._track({"evaluation/accuracy": row["accuracy"]}, int(row["step"]))
        logger.info(
            f"step {row['step']:>6}  held-out accuracy {row['accuracy']:.1%} of {row['samples']} "
            f"({row['errors']} errors, {row['unparsed']} unparsed)"
        )

    def close(self) -> None:
        """Write out what is held back."""
        self._steps.close()
        self._evaluations.close()
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _track(self, values: dict[str, Any], step: int) -> None:
        if self._tensorboard is not None:
            for name, value in values.items():
                self._tensorboard.add_scalar(name, value, step)
        if self._log is not None:
            self._log(values, step)


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
