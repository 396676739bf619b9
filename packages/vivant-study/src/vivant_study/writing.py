"""Writing a study's folder: `study.yaml` with a word on every field, so that it is edited rather than looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import UsageError
from vivant.core.files import write_atomic, write_jsonl
from vivant_study.design import ITEMS_FILE, KEY_FILE, STUDY_FILE, KeyLine, Study, StudyItem
from vivant_study.loading import CONSENT, INSTRUCTIONS, StudyTexts

_COMMENTS: Mapping[str, str] = {
    "kind": "What people do: see docs/studies.md. It goes with the items: do not change it here.",
    "title": "What participants see at the top, by language.",
    "origin": "Where the items came from. Never shown.",
    "languages": "Each needs instructions.<language>.md and consent.<language>.md; the first is the default.",
    "seed": "Orders of items, options and parts are derived from it, per participant.",
    "items_per_participant": "How many items one person judges, attention checks not counted.",
    "judgements_per_item": "From how many people each item gets a judgement.",
    "queue": "A facet: all items of one person have the same value of it. Empty for any items.",
    "same_order": "Whether everybody meets items and options in one order; else each person in their own.",
    "adaptive": "`{most: 7, disagreement: 0.34}` gives disputed items up to 7 judgements; null for none.",
    "balance": "Facets over whose values each person's items are spread, e.g. [angle, avatar].",
    "checks_per_participant": "How many attention checks (items with `check`) each person gets besides.",
    "watch_whole": "Whether videos must have played to their end before an answer counts.",
    "time_limit": "Seconds for one item; null for none.",
    "odd_options": "Keep items in which an option is empty or a wrong one is repeated.",
    "session_limit": "Seconds from consent to the last answer; null for none. What is finished by then counts.",
    "place_timeout": "Seconds without a sign of life after which an unfinished place goes to somebody else.",
    "free_text_limit": "Characters of a free answer.",
    "questions": "Asked once of each participant. Without choices: free text. `screen_out: [0]` ends it for choice 0.",
    "criteria": "Scales, from low to high in whole numbers.",
    "attention": "A failed attention check: `rule` mark, warn or end (after so many `failures`).",
    "platform": "prolific, mturk, cloudresearch, sona or other; `returns` has a link, a code or both for each ending.",
    "completion_url": "Where participants go who have finished, where no platform is named; empty for none.",
    "payment": "currency, `amounts` by ending, bonus_per_right, bonus_checks, most_bonus: for `vivant study pay`.",
    "expected_loss": "Share of people who are expected to leave or fail: `check` says how many to recruit.",
    "retention_days": "Days after a person's last sign of life until all they gave is deleted; null for never.",
    "media_root": "Folder of the media files: relative to this one, or absolute.",
}
_HEAD = """\
# A study for `vivant study serve`. After a change: `vivant study check` says all that is wrong with it.
# The right answers are in key.jsonl, which the server never reads; keep that file off the serving machine if you like.
"""


def format_study_yaml(study: Study) -> str:
    """`study.yaml` with every field and a comment on each."""
    import yaml

    blocks = [_HEAD]
    for name in Study.__struct_fields__:
        value: Any = msgspec.to_builtins(getattr(study, name))
        value = list(value) if isinstance(value, tuple) else value
        comment = f"# {_COMMENTS[name]}\n" if name in _COMMENTS else ""
        blocks.append(comment + yaml.safe_dump({name: value}, allow_unicode=True, sort_keys=False, width=110))
    return "\n".join(blocks)


def create_folder(folder: Path) -> None:
    """Make a study's folder. One that holds something is refused."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; choose another folder for the study")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"Cannot make the folder {folder}: {error.strerror}") from error


def write_study(
    folder: Path,
    study: Study,
    items: Iterable[StudyItem],
    key: Iterable[KeyLine],
    texts: Mapping[str, StudyTexts],
    interface: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Write all but the media. `study.yaml` comes last, so that a folder that has one is complete.

    `interface` replaces texts of the participants' pages, by language and name.
    """
    import yaml

    lines = list(key)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_jsonl(folder / ITEMS_FILE, items)
        if lines:
            write_jsonl(folder / KEY_FILE, lines)
            (folder / KEY_FILE).chmod(0o600)
        for language, text in texts.items():
            write_atomic(folder / f"{INSTRUCTIONS}.{language}.md", text.instructions.encode())
            write_atomic(folder / f"{CONSENT}.{language}.md", text.consent.encode())
        for language, words in (interface or {}).items():
            file = folder / f"interface.{language}.yaml"
            write_atomic(file, yaml.safe_dump(dict(words), allow_unicode=True, sort_keys=False).encode())
        write_atomic(folder / STUDY_FILE, format_study_yaml(study).encode())
    except OSError as error:
        raise UsageError(f"Cannot write the study {folder}: {error.strerror}") from error
