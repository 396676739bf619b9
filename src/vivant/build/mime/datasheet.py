"""The README of an edition: how it was made, what is in it, what it can and cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vivant.build.mime.plan import Staging

if TYPE_CHECKING:
    from vivant.build.mime.plan_file import Specification

_TEXT = """\
# A small edition of MIME, made by Vivant

{videos} videos: {actions} mimed actions × {variants} variants, {width}×{height}, {fps:g} frames a second,
about two to three seconds each, no sound. It lets everything run without a download. It is a real test,
but a small one: {actions} independent actions carry little statistical weight, and its scores say nothing
about the published benchmark's.

## How it was made

- **Motion**: procedural, written for this project; no person was recorded. Two virtual actors ({actors})
  differ in stature and handedness; tempo, reach and stance vary by seed. No mimed object is drawn.
- **Bodies**: capsules on a 23-joint skeleton, shaded, with a soft shadow. The man is `base`, the spacesuit
  `adversarial`.
- **Backgrounds**: drawn. blank is an even grey; aligned fits the action; misaligned fits another action of
  this edition, drawn by seed from the half of the scenes that is farthest in meaning.
- **Wrong options**: three labels of other actions. The {drop} labels nearest in meaning (all-MiniLM-L6-v2)
  were left out first, and no option reaches a cosine of 0.5 with any label of its item. All variants of
  an action share their options.
- **People**: nobody has judged these videos, so there are no human scores.
- **Licence**: that of the project.

## Files

`metadata.jsonl` has MIME's columns, one line per video; `sample_id` is the start of the SHA-256 of the file
name, `s3_url` is empty. `plan.json` records the specification (seed {seed}) and every decision. The videos
lie beside them, named `avatar_actor_action_angleN_background.mp4`.

## Variants

| config_name | body | background | camera |
|---|---|---|---|
{variant_rows}

## Actions

| action | actor | labels | aligned | misaligned | wrong options |
|---|---|---|---|---|---|
{action_rows}

## Build it again

`vivant build mime render PLAN --out FOLDER` (the bundled edition's plan is called `mini`). Metadata come out
byte for byte the same, frames the same to within the rounding of the video codec.
"""


def datasheet(spec: Specification, stagings: Sequence[Staging], videos: int) -> str:
    """The data sheet of an edition, as Markdown."""
    variant_rows = [f"| {v.name} | {v.avatar} | {v.background} | {v.angle}° |" for v in spec.shown]
    action_rows = [
        f"| {s.action} | {s.actor} | {', '.join(s.labels)} "
        f"| {s.aligned} | {s.misaligned} | {', '.join(s.distractors)} |"
        for s in stagings
    ]
    return _TEXT.format(
        videos=videos,
        actions=len(stagings),
        variants=len(spec.shown),
        width=spec.size[0],
        height=spec.size[1],
        fps=spec.fps,
        actors=" and ".join(f"`{actor}`" for actor in spec.actors),
        drop=spec.drop,
        seed=spec.seed,
        variant_rows="\n".join(variant_rows),
        action_rows="\n".join(action_rows),
    )
