"""The release on disk: where a dataset's file is, what it holds, and how its marks name pictures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.milebench.datasets import BY_NAME
from vivant.core.errors import DataError
from vivant.core.types import Image, Part, Text

_MARK = re.compile(r"\{(image|table)#(\d+)\}")
_COMBINED = re.compile(r"combined_(\d+)_images")


class Needle(Struct, frozen=True):
    """Where a needle lies, in sets that say so (those of `vivant build needles`)."""

    depth: int
    """0 (start) to 9 (end)."""
    length: int
    """Size of the haystack: tokens of text, or pictures."""


class TaskInstance(Struct, frozen=True):
    """What is asked."""

    context: str
    images_path: list[str]
    choice_list: list[Any] | None = None


class AnnotationItem(Struct, frozen=True):
    """One annotation."""

    sample_id: int | str
    task_instance: dict[str, Any]
    response: Any = msgspec.UNSET
    """Of any type: the original compares with what Python prints of it."""
    task_instruction_id: int | str = 0
    image_quantity_level: str = ""
    """As the file has it; scores count pictures anew."""
    needle: Needle | None = None
    evidence: list[int] = field(default_factory=list)
    """Numbers of the pictures that the answer rests on, in sets that say so."""


class AnnotationMeta(Struct, frozen=True):
    """What holds for the whole file."""

    task_instruction: list[str] | dict[str, str] | str
    question_type: str
    dataset: str = ""


class Annotation(Struct, frozen=True):
    """One annotation file."""

    meta_data: AnnotationMeta
    data: list[AnnotationItem]


def find_dataset_folder(root: Path, dataset: str) -> Path:
    """The dataset's folder: below `root`, below `root/MileBench`, or `root` itself."""
    for folder in (root / dataset, root / "MileBench" / dataset):
        if folder.is_dir():
            return folder
    return root if root.name == dataset else root / dataset


def find_annotation_file(root: Path, dataset: str, *, adv: bool = False, combine: int = 0) -> Path:
    """The file to read. A `_combined_<n>.json` is used where it exists; the plain one serves as well."""
    folder = find_dataset_folder(root, dataset)
    if adv:
        return folder / f"{dataset}-adv.json"
    combined = folder / f"{dataset}_combined_{combine}.json"
    return combined if combine and combined.is_file() else folder / f"{dataset}.json"


def read_annotation(file: Path, dataset: str) -> Annotation:
    """Read and check one file. Raises DataError that names the file and what is wrong with it."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise DataError(_explain_absence(file, dataset, error)) from error
    try:
        annotation = msgspec.json.decode(raw, type=Annotation)
    except msgspec.MsgspecError as error:
        raise DataError(f"{file} is no MileBench annotation: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8: {error}") from error
    other = _find_other_dataset(annotation.meta_data.dataset, dataset)
    if other:
        raise DataError(f"{file} holds the dataset {other}, not {dataset}; put the right file there")
    if annotation.meta_data.question_type not in ("multi-choice", "open-ended"):
        kind = annotation.meta_data.question_type
        raise DataError(f"{file}: question_type is '{kind}'; it may be multi-choice or open-ended")
    if not annotation.data:
        raise DataError(f"{file} holds no samples")
    return annotation


def _explain_absence(file: Path, dataset: str, error: OSError) -> str:
    if not file.parent.is_dir():
        present = sorted(p.parent.name for p in file.parents[1].glob("*/*.json") if p.stem == p.parent.name)
        known = f"; it has {', '.join(present)}" if present else ""
        return f"{file.parents[1]} has no dataset {dataset}{known}"
    if file.is_file():
        return f"Cannot read {file}: {error.strerror}"
    others = sorted(p.name for p in file.parent.glob("*.json") if p.stem in BY_NAME and p.stem != dataset)
    if others:
        return f"{file.parent} holds {', '.join(others)} of another dataset, but no {file.name}"
    return f"Cannot read {file}: {error.strerror}"


def _find_other_dataset(stated: str, dataset: str) -> str:
    """The known dataset that a file says it is, where that is not the one asked for. Spellings vary."""
    names = {_fold_name(name): name for name in BY_NAME}
    match = names.get(_fold_name(re.sub(r"[-_](adv|combined_\d+)$", "", stated)))
    return match if match and match != dataset else ""


def _fold_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def get_instruction(meta: AnnotationMeta, index: int | str, where: str) -> str:
    """The instruction that an item refers to: by its place in a list, or by its name in a mapping."""
    instructions = meta.task_instruction
    if isinstance(instructions, str):
        return instructions
    if isinstance(instructions, dict):
        if str(index) in instructions:
            return instructions[str(index)]
        names = ", ".join(list(instructions)[:6])
        raise DataError(f"{where}: task_instruction_id is {index!r}, but the instructions are called {names}")
    if isinstance(index, str) and index.strip().isdecimal():
        index = int(index)
    if isinstance(index, str) or not 0 <= index < len(instructions):
        count = len(instructions)
        raise DataError(f"{where}: task_instruction_id is {index!r}, but there are {count} instructions")
    return instructions[index]


def get_response(item: AnnotationItem, where: str) -> str:
    """The key as the original compares it: what Python prints of a list, a truth value or null."""
    if item.response is msgspec.UNSET:
        raise DataError(f"{where}: there is no response")
    return str(item.response)


def read_instance(item: AnnotationItem, where: str) -> TaskInstance:
    """The item's question, checked."""
    try:
        return msgspec.convert(item.task_instance, type=TaskInstance)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: task_instance: {error}") from error


def list_combined_pictures(item: AnnotationItem) -> dict[int, list[str]]:
    """The grid pictures that the release brings for a sample, by their number."""
    pictures: dict[int, list[str]] = {}
    for name, value in item.task_instance.items():
        match = _COMBINED.fullmatch(name)
        if match and isinstance(value, list):
            pictures[int(match[1])] = [str(path) for path in value]
    return pictures


class PlacedContext(Struct, frozen=True):
    """A context whose marks have been turned into pictures."""

    parts: tuple[Part, ...]
    numbers: tuple[int, ...]
    """The number that each picture of `parts` has in the context; 0 for one that no mark names."""
    faults: tuple[str, ...]
    """Marks and pictures that do not match, a phrase each."""


def place_pictures(context: str, images: Sequence[str], folder: str) -> PlacedContext:
    """Put the pictures at their marks.

    Marks go by number. Where image and table marks each count from 1, numbers name nothing: then the marks
    take the pictures in their order. A mark without a picture becomes a picture file that is not there, so
    that the sample fails and says why; pictures without a mark come first.
    """
    marks = list(_MARK.finditer(context))
    numbers = [int(mark[2]) for mark in marks]
    indices = _match_marks(marks, numbers, len(images))
    faults: list[str] = []
    parts: list[Part] = []
    shown_numbers: list[int] = []
    marked = set(indices)
    for unmarked in (image for index, image in enumerate(images) if index not in marked):
        faults.append(f"picture {unmarked} has no mark")
        parts.append(Image(f"{folder}images/{unmarked}"))
        shown_numbers.append(0)
    end = 0
    for mark, number, index in zip(marks, numbers, indices, strict=True):
        parts.append(Text(context[end : mark.start()]))
        if index is None:
            faults.append(f"mark {mark[0]} has no picture (there are {len(images)})")
        parts.append(Image(f"{folder}images/{mark[0] if index is None else images[index]}"))
        shown_numbers.append(number)
        end = mark.end()
    parts.append(Text(context[end:]))
    nonempty = tuple(part for part in parts if not (isinstance(part, Text) and not part.text))
    return PlacedContext(nonempty, tuple(shown_numbers), tuple(faults))


def _match_marks(marks: Sequence[re.Match[str]], numbers: Sequence[int], images: int) -> list[int | None]:
    kinds = Counter(number for _, number in {(mark[1], int(mark[2])) for mark in marks})
    if kinds and max(kinds.values()) > 1:
        first = images - len(marks)
        return [first + offset if first + offset >= 0 else None for offset in range(len(marks))]
    return [number - 1 if 1 <= number <= images else None for number in numbers]
