"""What a training says of itself: a line on the terminal, a row of a CSV file, curves for TensorBoard."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

COLUMNS = (
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
LOOKS = ("step", "accuracy", "samples", "errors", "unparsed", "seconds")


class Metrics:
    """Writes of the main process. Rows of steps that a resumed training takes again are dropped first."""

    def __init__(self, out: Path, start: int, every: int, say: Callable[[str], None]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._every, self._say = every, say
        self._steps = _reopened(out / "metrics.csv", COLUMNS, start)
        self._looks = _reopened(out / "evaluations.csv", LOOKS, start + 1)
        self._board = SummaryWriter(str(out / "tensorboard"), purge_step=start or None)
        self._recent: list[Mapping[str, Any]] = []

    def step(self, row: Mapping[str, Any]) -> None:
        """One update."""
        csv.DictWriter(self._steps, COLUMNS).writerow(row)
        self._steps.flush()
        number = int(row["step"])
        for name in ("loss", "learning_rate", "gradient_norm", "waited"):
            self._board.add_scalar(f"train/{name}", row[name], number)
        self._recent.append(row)
        if (number + 1) % self._every == 0:
            recent, self._recent = self._recent, []
            seconds = sum(each["seconds"] for each in recent) or 1e-9
            self._say(
                f"step {number + 1:>6}  loss {sum(each['loss'] for each in recent) / len(recent):.4f}  "
                f"rate {row['learning_rate']:.2e}  norm {row['gradient_norm']:.2f}  "
                f"{sum(each['tokens'] for each in recent) / seconds:,.0f} tokens/s  "
                f"waited {sum(each['waited'] for each in recent) / seconds:.1%}"
            )

    def look(self, row: Mapping[str, Any]) -> None:
        """One evaluation."""
        csv.DictWriter(self._looks, LOOKS).writerow(row)
        self._looks.flush()
        self._board.add_scalar("evaluation/accuracy", row["accuracy"], int(row["step"]))
        self._say(
            f"step {row['step']:>6}  held-out accuracy {row['accuracy']:.1%} of {row['samples']} "
            f"({row['errors']} errors, {row['unparsed']} unparsed)"
        )

    def close(self) -> None:
        """Write out what is held back."""
        self._steps.close()
        self._looks.close()
        self._board.close()


def _reopened(path: Path, columns: tuple[str, ...], before: int) -> Any:
    """A CSV file with the rows of steps before `before`, open for more."""
    kept: list[dict[str, str]] = []
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as file:
            # A row that a kill cut short has no last column.
            kept = [r for r in csv.DictReader(file) if r.get(columns[-1]) and int(r["step"]) < before]
    aside = path.with_suffix(".writing")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(kept)
    aside.replace(path)
    return path.open("a", newline="", encoding="utf-8")
