"""A repository for a leaderboard: its settings, an action that checks submissions, a page for a hub Space."""

from __future__ import annotations

from pathlib import Path

from vivant.core.errors import UsageError
from vivant.core.files import atomic_path
from vivant.core.templates import template_environment

_FILES = {
    "README.md": "board_repository/README.md",
    "board.yaml": "board_repository/board.yaml",
    "submissions/README.md": "board_repository/submissions.md",
    ".github/workflows/check.yml": "board_repository/check.yml",
    ".github/workflows/publish.yml": "board_repository/publish.yml",
    "space/README.md": "board_repository/space.md",
}


def write_repository(out: Path, title: str) -> list[Path]:
    """Write the files of a new leaderboard's repository and return them.

    Args:
        out: The folder to make; it must not exist yet, or be empty.
        title: The leaderboard's title.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists already; name another folder")
    if not title.strip() or any(char in title for char in '\n\r"\\'):
        raise UsageError("--title: write one line without quotation marks")
    templates = template_environment("vivant.reporting", autoescape=False, keep_trailing_newline=True)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(out, keep_suffix=False) as folder:
            for name, template in _FILES.items():
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(templates.get_template(template).render(title=title), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}") from error
    return [out / name for name in _FILES]
