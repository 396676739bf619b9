"""Rebuild the bundled mini-edition and its contact sheets: `python -m minis.mime FOLDER [SHEETS]`."""

from __future__ import annotations

import sys
from pathlib import Path

from vivant.core.errors import VivantError
from vivant_build.mime.choreography import find_action
from vivant_build.mime.edition import MINI, stage
from vivant_build.mime.jobs import build, count_workers
from vivant_build.mime.plan import VARIANTS, plan_shots
from vivant_build.mime.render_index import INDEX_FILE
from vivant_build.mime.video import draw_contact_sheet

_SHOWN = "Archery001"
"""The action whose ten variants are shown."""


def draw_sheets(videos: Path, sheets: Path) -> list[Path]:
    """Two pictures for the docs: all actions in the plain variant, and all variants of one action."""
    shots = plan_shots(stage(MINI))
    base = [shot for shot in shots if shot.variant == VARIANTS[0].name]
    one = [shot for shot in shots if shot.action == _SHOWN]
    sheets.mkdir(parents=True, exist_ok=True)
    return [
        draw_contact_sheet(
            [videos / shot.file for shot in base],
            sheets / "mime-actions.jpg",
            titles=[find_action(shot.action).labels[0] for shot in base],
            crop=0.72,
        ),
        draw_contact_sheet(
            [videos / shot.file for shot in one],
            sheets / "mime-variants.jpg",
            titles=[shot.variant for shot in one],
            crop=0.9,
        ),
    ]


def main(arguments: list[str]) -> int:
    """Build into the first folder; draw into the second, where one is given."""
    if not 1 <= len(arguments) <= 2:
        print("usage: python -m minis.mime FOLDER [SHEETS]", file=sys.stderr)
        return 2
    out = Path(arguments[0])

    def show(done: int, total: int, name: str) -> None:
        print(f"{done}/{total} {name}", flush=True)

    try:
        build(MINI, out, show, workers=count_workers())
        (out / INDEX_FILE).unlink()
        for sheet in draw_sheets(out, Path(arguments[1])) if len(arguments) > 1 else []:
            print(sheet)
    except VivantError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
