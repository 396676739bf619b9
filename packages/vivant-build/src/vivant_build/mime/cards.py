"""The READMEs of editions and datasets: what is in them, how they were made, what they can and cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import yaml

from vivant_build.mime.choreography import ACTIONS
from vivant_build.mime.plan import MimeMetadataRow, Staging
from vivant_build.templates import render_markdown

if TYPE_CHECKING:
    from vivant_build.mime.dataset import MimeDataset
    from vivant_build.mime.edition import Edition
    from vivant_build.mime.plan_file import Specification


def format_datasheet(spec: Specification, stagings: Sequence[Staging], videos: int) -> str:
    """The data sheet of an edition, as Markdown."""
    return render_markdown(
        "vivant_build.mime", "edition_datasheet.md", spec=spec, stagings=stagings, videos=videos
    )


def format_card(
    dataset: MimeDataset,
    edition: Edition,
    rows: Sequence[MimeMetadataRow],
    *,
    licence: str = "",
    title: str = "",
) -> str:
    """The README of a dataset as Markdown, with the head that hubs read."""
    spec = edition.specification
    title = title or "Mimed actions"
    recorded = [action.name for action in spec.cast if action.motion not in ACTIONS]
    bundled = len(spec.cast) - len(recorded)
    motions = [f"{bundled} procedural, no person was recorded"] if bundled else []
    motions += [f"{len(recorded)} recorded ({', '.join(recorded)})"] if recorded else []
    names = {row.background_name for row in rows} - {"blank"}
    drawn, pictures = names - set(spec.backgrounds), sorted(names & set(spec.backgrounds))
    backgrounds = ["blank", *([f"{len(drawn)} drawn"] if drawn else [])]
    backgrounds += [f"{len(pictures)} pictures ({', '.join(pictures)})"] if pictures else []
    return render_markdown(
        "vivant_build.mime",
        "dataset_card.md",
        head=_format_head(dataset, licence, title),
        title=title,
        dataset=dataset,
        spec=spec,
        stagings=edition.stagings,
        variants=Counter((r.config_name, r.avatar, r.background_config, r.angle) for r in rows),
        actions_by_split=Counter(dataset.splits.values()),
        videos_by_split=Counter(row.split for row in rows),
        motions=motions,
        bodies=sorted({row.avatar for row in rows}),
        backgrounds=backgrounds,
        licence=licence,
    )


def _format_head(dataset: MimeDataset, licence: str, title: str) -> str:
    splits = list(dict.fromkeys(dataset.splits.values()))
    content = {
        "pretty_name": title,
        **({"license": licence} if licence else {}),
        "task_categories": ["video-classification", "visual-question-answering"],
        "language": ["en"],
        "size_categories": [_size_category(dataset.videos)],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == list(dataset.editions)[-1] else {}),
                "data_files": [{"split": split, "path": f"{name}/{split}/*"} for split in splits],
            }
            for name in dataset.editions
        ],
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _size_category(count: int) -> str:
    if count < 1000:
        return "n<1K"
    return "1K<n<10K" if count < 10_000 else "10K<n<100K"
