"""MMIE's files as samples, and answers in its judge's input format as records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from vivant.benchmarks.base import Imported
from vivant.benchmarks.mmie.files import IMAGES, PictureFinder, choose_files, find_files
from vivant.benchmarks.mmie.items import CATEGORIES, OTHER, MmieItem, RawPart, find_category, read_items
from vivant.benchmarks.mmie.items import rename_repeated_ids as with_unique_ids
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Image, Part, Reply, Sample, Text

TASKS = tuple(name.lower() for name in (*CATEGORIES, OTHER))
ARCHIVES = ("images.tar.gz", "images.tgz", "images.tar")
PARTS = "parts"
"""Where a record keeps an answer as its file had it: flat parts would lose where one ends."""
_NAMES = {"situationalanalysis": "SA", "projectbasedlearning": "PBL", "multistepreasoning": "MSR"}
_CHOICE = re.compile(r"(?:^|[\s(])\(?([A-H])[).:]\s*\S", re.MULTILINE)


def list_items(root: Path, name: str = "") -> list[MmieItem]:
    """All items of a folder or file, ids made unique."""
    return with_unique_ids(read_set(root, name)[1])[0]


def read_set(root: Path, name: str = "") -> tuple[list[Path], list[MmieItem]]:
    """The files that make the set, and their items with each picture where it lies."""
    states = [(file, file.stat().st_mtime_ns, file.stat().st_size) for file in find_files(root, name)]
    return _read_cached(root, tuple(states))


@lru_cache(maxsize=4)
def _read_cached(root: Path, states: tuple[tuple[Path, int, int], ...]) -> tuple[list[Path], list[MmieItem]]:
    try:
        contents = {file: read_items(file) for file, _, _ in states}
    except DataError as error:
        remedy = "; name the data file: --task-option file=NAME" if len(states) > 1 else ""
        raise DataError(f"{error}{remedy}") from error
    files = choose_files({file: [item.id for item in items] for file, items in contents.items()}, root)
    finder = PictureFinder(root)
    return files, [_place_pictures(item, file, finder) for file in files for item in contents[file]]


def _place_pictures(item: MmieItem, file: Path, finder: PictureFinder) -> MmieItem:
    def find_pictures(parts: tuple[RawPart, ...]) -> tuple[RawPart, ...]:
        return tuple(
            part if part.image is None else RawPart(part.text, finder.find(part.image, file))
            for part in parts
        )

    return msgspec.structs.replace(
        item, question=find_pictures(item.question), reference=find_pictures(item.reference)
    )


def classify_item(item: MmieItem) -> str:
    """SA, PBL or MSR by the id, else by the file's own word for it; `other` where neither says."""
    name = find_category(item.id)
    if name != OTHER:
        return name
    word = re.sub(r"[^a-z]", "", item.category.casefold())
    return _NAMES.get(word, item.category.upper() if item.category.upper() in CATEGORIES else OTHER)


def load(root: Path, task: str, name: str = "") -> list[Sample]:
    """The samples of one category."""
    refuse_packed(root)
    short = task.rsplit("/", 1)[-1]
    items = [item for item in list_items(root, name) if classify_item(item).lower() == short]
    return [to_sample(item) for item in items]


def refuse_packed(root: Path) -> None:
    """Say how to unpack the pictures, where they still lie in their archive."""
    folder = root if root.is_dir() else root.parent
    packed = [name for name in ARCHIVES if (folder / name).is_file()]
    if packed and not (folder / IMAGES).is_dir():
        raise DataError(
            f"{folder / packed[0]} is not unpacked yet; `vivant data check mmie --data {root}` does it safely"
        )


def to_sample(item: MmieItem) -> Sample:
    """A question as the files state it, its reference, and what tables group by."""
    kind = classify_item(item)
    first = item.reference[0].text if item.reference else None
    return Sample(
        id=item.id,
        task=f"mmie/{kind.lower()}",
        question=flatten_parts(item.question),
        reference=flatten_parts(item.reference),
        facets={
            "category": kind,
            "field": item.field or "unstated",
            **({"subfield": item.subfield} if item.subfield else {}),
            "form": "multiple-choice" if has_choices(item.question) else "open",
            "pictures": str(sum(part.image is not None for part in item.question)),
        },
        cluster=item.id,
        extra={"gt": first} if first is not None else {},
    )


def has_choices(question: Sequence[RawPart]) -> bool:
    """Whether a question lists options: at least A and B, each before a text or a picture."""
    text = "\n".join(part.text or "" for part in question)
    return {"A", "B"} <= set(_CHOICE.findall(text + "\n"))


def flatten_parts(parts: Iterable[RawPart]) -> tuple[Part, ...]:
    """Texts and pictures one after the other. An empty text is kept: the published protocol counts it."""
    flattened: list[Part] = []
    for part in parts:
        if part.text is not None:
            flattened.append(Text(part.text))
        if part.image is not None:
            flattened.append(Image(part.image.removeprefix("./")))
    return tuple(flattened)


def group_parts(parts: Iterable[Part]) -> tuple[RawPart, ...]:
    """The inverse, as far as it goes: a picture joins the text right before it."""
    grouped: list[RawPart] = []
    for part in parts:
        if isinstance(part, Text):
            grouped.append(RawPart(part.text))
        elif isinstance(part, Image):
            if grouped and grouped[-1].image is None:
                grouped[-1] = RawPart(grouped[-1].text, part.path)
            else:
                grouped.append(RawPart(None, part.path))
    return tuple(grouped)


def get_answer_parts(record: Record) -> tuple[RawPart, ...]:
    """The answer in a record, part by part."""
    if PARTS in record.extra:
        return tuple(msgspec.convert(record.extra[PARTS], list[RawPart]))
    return group_parts(record.reply.parts) if record.reply.parts else (RawPart(record.reply.text),)


def read_answers(root: Path, name: str = "") -> dict[str, list[Imported]]:
    """Prepared answers by model, one part per category met."""
    files = find_files(root, name, answers=True)
    if len(files) > 1:
        names = ", ".join(str(path.relative_to(root)) for path in files[:6])
        raise DataError(f"{root} holds several files ({names}); name the answers': --task-option file=NAME")
    file = files[0]
    items = read_items(file)
    if all(item.answer is None for item in items):
        raise DataError(f"{file} holds questions but no answers; each item needs an 'answer'")
    models = dict.fromkeys(item.model or "unnamed" for item in items)
    return {
        model: _build_imports([i for i in items if (i.model or "unnamed") == model], model)
        for model in models
    }


def _build_imports(items: list[MmieItem], model: str) -> list[Imported]:
    unique, repeats = with_unique_ids(items)
    imports: list[Imported] = []
    for short in TASKS:
        members = [item for item in unique if classify_item(item).lower() == short]
        if not members:
            continue
        notes = [
            f"the id '{item.id}' stands {repeats[item.id]} times; the next is called '{item.id} (2)'"
            for item in members
            if item.id in repeats
        ]
        empty = sum(item.answer is None for item in members)
        if empty:
            notes.append(f"{empty} items of mmie/{short} have no answer and count as missing")
        if short == OTHER:
            notes.append(
                f"{len(members)} ids name none of SA, PBL and MSR, the first is '{members[0].id}'; not judged"
            )
        imports.append(
            Imported(
                task=f"mmie/{short}",
                samples=tuple(to_sample(item) for item in members),
                records=tuple(_build_record(item) for item in members),
                model=model,
                notes=tuple(notes),
            )
        )
    return imports


def _build_record(item: MmieItem) -> Record:
    sample = to_sample(item)
    key = f"{sample.task}/{item.id}"
    if item.answer is None:
        reply = Reply(status="error", error="the file holds no answer to this item")
        return Record(key=key, task=sample.task, id=item.id, reply=reply)
    parts = flatten_parts(item.answer)
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    return Record(
        key=key,
        task=sample.task,
        id=item.id,
        reply=Reply(text=text, parts=parts if any(isinstance(p, Image) for p in parts) else ()),
        extra={PARTS: msgspec.to_builtins(item.answer)},
    )
