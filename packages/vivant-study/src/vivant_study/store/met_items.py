"""Items as people met them: were their options put into another order afterwards, answers would name other ones.

An answer names an option, or one of two parts, by its index in `items.jsonl`.
"""

from __future__ import annotations

import hashlib

import msgspec

from vivant.core.errors import UsageError
from vivant_study.design import ITEMS_FILE, StudyItem
from vivant_study.loading import LoadedStudy
from vivant_study.store.store import StudyStore

_SETTING = "items"
_Digests = dict[str, list[str]]
"""Of the options or parts of each item, in their order."""


def note_items(store: StudyStore, loaded: LoadedStudy) -> None:
    """Remember the items that are about to be served. Raises UsageError where those that people met have changed."""
    check_item_order(store, loaded)
    known, met = _read_digests(store), store.list_assigned_items()
    kept = {name: digests for name, digests in known.items() if name in met}
    noted = {item.id: _digest_choices(item) for item in loaded.items} | kept
    if noted != known:
        store.write_setting(_SETTING, msgspec.json.encode(noted).decode())


def check_item_order(store: StudyStore, loaded: LoadedStudy) -> None:
    """Raise UsageError where options or parts of an item stand in another order than when people met it.

    Words may be corrected: what is new stands for what stood in its place.
    """
    known = _read_digests(store)
    if not known:
        return
    met = store.list_assigned_items()
    for item in loaded.items:
        before, now = known.get(item.id), _digest_choices(item)
        if before is None or before == now or item.id not in met:
            continue
        if len(before) != len(now) or any(
            old != new and old in now for old, new in zip(before, now, strict=True)
        ):
            what = "options" if item.options else "parts"
            raise UsageError(
                f"{loaded.path / ITEMS_FILE}: the {what} of '{item.id}' are in another order, or more or fewer, than "
                "when people answered it, so that answers would count for others; put them back"
            )


def _read_digests(store: StudyStore) -> _Digests:
    return msgspec.json.decode(store.read_setting(_SETTING) or "{}", type=_Digests)


def _digest_choices(item: StudyItem) -> list[str]:
    words = item.options or tuple(part.id for part in item.parts)
    return [hashlib.sha256(text.encode()).hexdigest()[:8] for text in words]
