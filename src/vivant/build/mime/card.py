"""The data sheet of a dataset: what is in it, how it was made, what it is for; the hub reads its head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import yaml

from vivant.build.mime.choreography import ACTIONS
from vivant.build.mime.edition import Edition
from vivant.build.mime.plan import MetadataRow

if TYPE_CHECKING:
    from vivant.build.mime.dataset import MimeDataset

_TEXT = """\
# {title}

{videos} videos of {actions} mimed actions in {variants} variants each, {fps:g} frames a second, no sound. A person
mimes an action with no object in sight; the task is to name it. Variants change one thing at a time (the body, the
background, the camera's angle), so that a difference in score has one cause. Made with Vivant, after the design of
MIME; none of MIME's own recordings are in it.

## Files

{edition_rows}

Each edition has `train`, `validation` and `test`, each with `metadata.jsonl` (MIME's columns, one line a video) and its
videos. `plan.json` states all that they were made from, and `SHA256SUMS` the checksum of every file:
`sha256sum -c SHA256SUMS`.

    vivant run mime --data {example} --where split=test --model NAME

## Splits

By action: all variants of an action are in one split, so that no motion is both trained and tested on.

| split | actions | videos |
|---|---:|---:|
{split_rows}

## Variants

| config_name | body | background | angle | videos |
|---|---|---|---:|---:|
{variant_rows}

## How it was made

- **Motions**: {motions}.
- **Bodies**: {bodies}. **Renderer**: {renderer}.
- **Backgrounds**: {backgrounds}. aligned fits the action; misaligned fits another and is far in meaning.
- **Wrong options**: three labels of other actions, drawn by seed {seed} after the {drop} labels nearest in meaning
  (all-MiniLM-L6-v2) were left out, unless the plan states them. All variants of an action share their options.

## People

{people}

## Uses and limits

For measuring whether models recognise actions from pose and motion alone, and what misleads them. Statistical weight
lies in the number of actions ({actions}), not of videos: variants of one action are not independent. Do not compare
scores with published ones of MIME: the actions, people and renderer are others. Once it is published, models may have
been trained on it.

## Licence

{licence}

## Actions

| action | split | labels | aligned | misaligned | wrong options |
|---|---|---|---|---|---|
{action_rows}
"""


def card(
    made: MimeDataset, edition: Edition, rows: Sequence[MetadataRow], *, licence: str = "", title: str = ""
) -> str:
    """The README of a dataset as Markdown, with the head that hubs read."""
    spec = edition.specification
    shown = title or "Mimed actions"
    recorded = [action.name for action in spec.cast if action.motion not in ACTIONS]
    bundled = len(spec.cast) - len(recorded)
    motions = [f"{bundled} procedural, no person was recorded"] if bundled else []
    motions += [f"{len(recorded)} recorded ({', '.join(recorded)})"] if recorded else []
    drawn = sorted({row.background_name for row in rows} - set(spec.backgrounds) - {"blank"})
    pictures = sorted({row.background_name for row in rows} & set(spec.backgrounds))
    places = [f"{len(drawn)} drawn"] if drawn else []
    places += [f"{len(pictures)} pictures ({', '.join(pictures)})"] if pictures else []
    variants = Counter((r.config_name, r.avatar, r.background_config, r.angle) for r in rows)
    by_split = Counter(made.splits.values())
    videos = Counter(row.split for row in rows)
    return _head(made, licence, shown) + _TEXT.format(
        title=shown,
        videos=made.videos,
        actions=len(made.splits),
        variants=len(variants),
        fps=spec.fps,
        edition_rows="\n".join(
            f"- `{name}/`: {width}×{height}" + (", cut around the middle" if name == "cropped" else "")
            for name, (width, height) in made.editions.items()
        ),
        example=list(made.editions)[-1],
        split_rows="\n".join(f"| {s} | {by_split[s]} | {videos[s]} |" for s in by_split),
        variant_rows="\n".join(f"| {' | '.join(key)} | {count} |" for key, count in variants.items()),
        motions="; ".join(motions),
        bodies=", ".join(sorted({row.avatar for row in rows})),
        renderer=spec.renderer,
        backgrounds="blank" + "".join(f", {text}" for text in places),
        seed=spec.seed,
        drop=spec.drop,
        people="Nobody has judged these videos yet, so there are no human scores; a study "
        "(`vivant study`) gives them.",
        licence=licence or "Not stated. State one before you publish (`--licence`).",
        action_rows="\n".join(
            f"| {s.action} | {made.splits[s.action]} | {', '.join(s.labels)} | {s.aligned} | {s.misaligned} "
            f"| {', '.join(s.distractors)} |"
            for s in edition.stagings
        ),
    )


def _head(made: MimeDataset, licence: str, title: str) -> str:
    splits = list(dict.fromkeys(made.splits.values()))
    content = {
        "pretty_name": title,
        **({"license": licence} if licence else {}),
        "task_categories": ["video-classification", "visual-question-answering"],
        "language": ["en"],
        "size_categories": [_size(made.videos)],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == list(made.editions)[-1] else {}),
                "data_files": [{"split": split, "path": f"{name}/{split}/*"} for split in splits],
            }
            for name in made.editions
        ],
    }
    return f"---\n{yaml.safe_dump(content, sort_keys=False, allow_unicode=True)}---\n\n"


def _size(count: int) -> str:
    if count < 1000:
        return "n<1K"
    return "1K<n<10K" if count < 10_000 else "10K<n<100K"
