"""`vivant study check`: everything that is wrong with a study and its key, media opened one by one."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from msgspec import Struct

from vivant.core.errors import DataError, VivantError
from vivant.core.progress import ProgressCallback
from vivant_study.balance import count_places, list_judged
from vivant_study.default_texts import is_placeholder_consent
from vivant_study.design import ITEMS_FILE, KEY_FILE, STUDY_FILE
from vivant_study.key import find_key_faults, load_key
from vivant_study.loading import LoadedStudy, StudyError, list_media, load_study
from vivant_study.make.items import LABEL
from vivant_study.platforms import find_unedited_returns
from vivant_study.playback import find_playback_fault, media_duration
from vivant_study.server.interface import load_interfaces
from vivant_study.store.assign import describe_balance

_TIME_TO_ANSWER = 10
"""Seconds that an item needs besides its videos."""

_NAMED = 10
"""Items that a fault names."""


class StudyCheck(Struct, frozen=True, kw_only=True):
    """What was found. A study without faults can be served; notes are for the researcher to weigh."""

    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    summary: str = ""


def check_study(folder: Path, *, media: bool = True, progress: ProgressCallback | None = None) -> StudyCheck:
    """Read everything, open every file."""
    try:
        loaded = load_study(folder)
    except StudyError as error:
        return StudyCheck(faults=error.faults)
    faults: list[str] = []
    notes: list[str] = []
    try:
        load_interfaces(folder, loaded.study.languages)
    except DataError as error:
        faults.append(str(error))
    try:
        key = load_key(folder)
        faults += find_key_faults(loaded, key)
    except StudyError as error:
        key = {}
        faults += error.faults
    judged = list_judged(loaded.items)
    if "mcq" in loaded.study.kind:
        without = [item.id for item in judged if item.id not in key or key[item.id].option is None]
        labelled = any(LABEL in line.extra for line in key.values())  # there no option is right
        if without and not faults and not labelled:
            notes.append(
                f"{folder / KEY_FILE}: {len(without)} of {len(judged)} items have no right option, the first "
                f"is '{without[0]}'; reports can give no accuracy for them"
            )
    if media:
        faults += _open_media(loaded, progress)
        faults += _find_time_faults(loaded)
    notes += _list_notes(loaded)
    return StudyCheck(faults=tuple(faults), notes=tuple(notes), summary=_summarize(loaded))


def _open_media(loaded: LoadedStudy, progress: ProgressCallback | None) -> list[str]:
    """What is wrong with each media file, each opened once."""
    from vivant.media import verify

    first = {media.file: (item.id, media.kind) for item in loaded.items for media in list_media(item)}
    faults: list[str] = []
    for number, (file, (item, kind)) in enumerate(first.items(), 1):
        try:
            path = loaded.media_file(file)
            problem = verify(path)
            if not problem and kind != "image" and (fault := find_playback_fault(path, kind)):
                problem = (
                    f"{fault}, which not every browser plays; make the study with --transcode, or convert it"
                )
        except VivantError as error:
            problem = str(error)
        if problem:
            faults.append(f"{loaded.path / ITEMS_FILE}, item '{item}': {loaded.media_root / file} {problem}")
        if progress is not None:
            progress(number, len(first), file)
    return faults


def _find_time_faults(loaded: LoadedStudy) -> list[str]:
    """Items that nobody can watch whole and answer within the time limit."""
    limit = loaded.study.time_limit
    if limit is None or not loaded.study.watch_whole:
        return []
    durations = {
        item.id: sum(_measure(loaded, media.file) for media in list_media(item) if media.kind != "image")
        for item in loaded.items
    }
    late = {
        item: seconds for item, seconds in durations.items() if seconds and seconds + _TIME_TO_ANSWER > limit
    }
    if not late:
        return []
    names = ", ".join(list(late)[:_NAMED]) + (", …" if len(late) > _NAMED else "")
    return [
        f"{loaded.path / STUDY_FILE}: time_limit is {limit} seconds, too short for the videos of "
        f"{len(late)} of {len(durations)} items and {_TIME_TO_ANSWER} seconds to answer ({names}; the longest takes "
        f"{max(late.values()):.0f} seconds); set time_limit to {int(max(late.values())) + 1 + _TIME_TO_ANSWER} or "
        "more, or watch_whole to false"
    ]


def _measure(loaded: LoadedStudy, file: str) -> float:
    """How long a file plays; 0 for a broken one, which has its own fault."""
    try:
        return media_duration(str(loaded.media_file(file)))
    except VivantError:
        return 0.0


def _list_notes(loaded: LoadedStudy) -> list[str]:
    notes: list[str] = []
    for language, texts in loaded.texts.items():
        if is_placeholder_consent(texts.consent):
            notes.append(
                f"consent.{language}.md is as it came: say who is responsible and how to reach them; `serve` refuses it"
            )
    unedited = find_unedited_returns(loaded.study.platform)
    if unedited:
        notes.append(
            f"platform: the returns for {', '.join(unedited)} are as they came; copy the platform's codes into "
            f"{STUDY_FILE}"
        )
    reacts = loaded.study.attention.rule != "mark"
    silent = [item.id for item in loaded.items if item.check and not item.expected]
    if reacts and silent:
        notes.append(
            f"attention: {len(silent)} checks have no `expected` in {ITEMS_FILE}, the first is '{silent[0]}'; the "
            "server cannot react to them"
        )
    judged_items = list_judged(loaded.items)
    for facet in loaded.study.balance:
        values = Counter(item.facets[facet] for item in judged_items)
        if len(values) > loaded.study.items_per_participant:
            notes.append(
                f"balance over '{facet}': it has {len(values)} values, more than the "
                f"{loaded.study.items_per_participant} items of a participant"
            )
    notes += describe_balance(loaded.study, loaded.items)
    rest = len(judged_items) * loaded.study.judgements_per_item % loaded.study.items_per_participant
    if rest and not loaded.study.queue:
        notes.append(f"the last participant gets {rest} items, not {loaded.study.items_per_participant}")
    return notes


def _summarize(loaded: LoadedStudy) -> str:
    study = loaded.study
    judged_items = list_judged(loaded.items)
    places = count_places(study, loaded.items)
    files = {media.file for item in loaded.items for media in list_media(item)}
    checks = sum(item.check for item in loaded.items)
    training = sum(item.training for item in loaded.items)
    more = f", {checks} attention checks" if checks else ""
    more += f", {training} for training" if training else ""
    recruit = math.ceil(places / (1 - study.expected_loss) - 1e-9)
    plan = (
        f"; recruit {recruit}, as {study.expected_loss:.0%} may leave or fail" if study.expected_loss else ""
    )
    return (
        f"can be served: {len(judged_items)} items{more}, {len(files)} media files, {', '.join(study.languages)}, "
        f"{places} participants with {study.items_per_participant} items each{plan}"
    )
