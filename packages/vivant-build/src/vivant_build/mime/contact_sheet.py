"""Contact sheets of a rendered folder: can a person name what is mimed?"""

from __future__ import annotations

from pathlib import Path

from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant_build.mime.edition import read_edition
from vivant_build.mime.video import draw_contact_sheet


def draw_sheet(
    folder: Path, out: Path, *, action: str | None = None, variant: str | None = None, frames: int = 8
) -> Path:
    """One strip a video: the variants of an action, or the actions in a variant, as a picture."""
    edition = read_edition(folder)
    shots = edition.shots
    if action is not None and variant is not None:
        raise UsageError(
            "--action and --variant exclude each other: one of them is what the strips differ in"
        )
    if action is not None:
        if action not in edition.specification.action_names:
            raise unknown_name_error("action", action, edition.specification.action_names)
        chosen = [shot for shot in shots if shot.action == action]
        titles = [shot.variant for shot in chosen]
    else:
        variants = [entry.name for entry in edition.specification.shown]
        if variant is not None and variant not in variants:
            raise unknown_name_error("variant", variant, variants)
        chosen = [shot for shot in shots if shot.variant == (variant or variants[0])]
        labels = {staging.action: staging.labels[0] for staging in edition.stagings}
        titles = [labels[shot.action] for shot in chosen]
    if out.suffix.lower() not in (".jpg", ".jpeg", ".png", ".webp"):
        raise UsageError(f"{out} names no kind of picture; use .jpg or .png")
    missing = [shot.file for shot in chosen if not (folder / shot.file).is_file()]
    if missing:
        raise DataError(f"{folder / missing[0]} is not there; run `vivant build mime render` to the end")
    return draw_contact_sheet([folder / shot.file for shot in chosen], out, titles=titles, frames=frames)
