from pathlib import Path
from typing import Any, NoReturn

from vivant import VivantError
from vivant.hooks import FreeAnswer
from vivant.judging.human_scores import HumanScores, read_human_scores


def load(folder: Path, database: str | None = None) -> HumanScores:
    return read_human_scores(folder / "ratings.csv")


def read_free_answers(folder: Path) -> list[FreeAnswer] | None:
    return None


def make(folder: Path, **settings: Any) -> NoReturn:
    raise VivantError(f"Set up {folder} in the rating tool.")
