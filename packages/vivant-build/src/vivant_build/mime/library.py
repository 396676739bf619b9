"""The bundled motions as files that other tools read: BVH, with a table of labels beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core import randomness as chance
from vivant.core.errors import DataError, UsageError
from vivant.core.progress import ProgressCallback
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.choreography import ACTIONS, Category, find_action, perform
from vivant_build.mime.scenes import SCENES
from vivant_build.mime.skeleton import make_skeleton
from vivant_build.mime.take import vary

TABLE = "motions.json"
"""Written last: its presence says that all files are there."""


class MotionFile(Struct, frozen=True, kw_only=True):
    """One file and all that is known of it. Fields that a plan's action has are called as there."""

    name: str
    file: str
    labels: tuple[str, ...]
    """Accepted answers; the first is shown as the option."""
    category: Category
    background: str
    """The drawn one that fits."""
    fits: tuple[str, ...]
    """What people do there."""
    actor: str
    """Empty for the usual performance, without variation."""
    frames: int
    fps: float
    stature: float
    """× the reference height of 1.75 m."""
    tempo: float
    amplitude: float
    left_handed: bool
    turn: float


def export_motions(
    out: Path,
    *,
    actions: Sequence[str] = (),
    actors: Sequence[str] = (),
    fps: float = 30.0,
    seed: int = 29,
    progress: ProgressCallback | None = None,
) -> list[MotionFile]:
    """Write bundled motions (all, or `actions`) as BVH, once as usual or once for each of `actors`.

    Actors differ by seed in stature and hand; tempo, reach and stance differ from take to take.
    """
    if not 1 <= fps <= 240:
        raise UsageError(f"A rate of {fps:g} frames a second is not from 1 to 240")
    chosen = [find_action(name) for name in actions or ACTIONS]
    files: list[MotionFile] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for action in chosen:
            for actor in actors or ("",):
                if actor and not actor.isalnum():
                    raise UsageError(f"An actor is named by letters or digits, not '{actor}'")
                variation = vary(seed, actor, action.name, may_mirror=action.may_mirror) if actor else None
                noise = chance.derive_seed(seed, actor) if actor else 0
                motion = perform(action, fps, variation, seed=noise)
                file = f"{action.name}{'_' + actor if actor else ''}.bvh"
                stature = variation.stature if variation else 1.0
                write_bvh(motion, out / file, make_skeleton(stature))
                files.append(
                    MotionFile(
                        name=action.name,
                        file=file,
                        labels=action.labels,
                        category=action.category,
                        background=action.scene,
                        fits=SCENES[action.scene].fits,
                        actor=actor,
                        frames=len(motion),
                        fps=fps,
                        stature=round(stature, 4),
                        tempo=round(variation.tempo, 4) if variation else 1.0,
                        amplitude=round(variation.amplitude, 4) if variation else 1.0,
                        left_handed=bool(variation and variation.mirrored),
                        turn=round(variation.turn, 2) if variation else 0.0,
                    )
                )
                if progress is not None:
                    progress(len(files), len(chosen) * max(1, len(actors)), file)
        table = msgspec.json.format(msgspec.json.encode({"motions": files}), indent=1) + b"\n"
        (out / TABLE).write_bytes(table)
    except OSError as error:
        raise DataError(f"{out}: the motions cannot be written ({error.strerror or error})") from None
    return files
