"""What is in a data folder, and everything that is wrong with it, at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from vivant.benchmarks.base import DataReport
from vivant.benchmarks.milebench.data import read_question
from vivant.benchmarks.milebench.datasets import BY_NAME, DATASETS, choose_matching
from vivant.benchmarks.milebench.native import (
    Annotation,
    find_dataset_folder,
    get_instruction,
    list_combined_pictures,
    read_annotation,
)
from vivant.benchmarks.milebench.normalisation import normalise
from vivant.core.errors import DataError
from vivant.core.file_types import detect_impostor
from vivant.core.file_types import parse_image_header as sniff

_SNIFFED = frozenset((".jpg", ".jpeg", ".png", ".webp", ".gif"))


def check(root: Path) -> DataReport:
    """Read every annotation file below `root`; look for every picture it names."""
    if not root.is_dir():
        return DataReport(problems=(f"{root} is no folder",))
    lines: list[str] = []
    problems: list[str] = []
    absent: list[str] = []
    for dataset in DATASETS:
        folder = find_dataset_folder(root, dataset.name)
        if not folder.is_dir():
            absent.append(dataset.name)
            continue
        files = [folder / f"{dataset.name}.json", *sorted(_iter_variants(folder, dataset.name))]
        for file in files:
            try:
                annotation = read_annotation(file, dataset.name)
            except DataError as error:
                problems.append(str(error))
                continue
            lines.append(_summarise(file, annotation, dataset.name))
            problems += _list_faults(file, annotation, dataset.name)
    if len(absent) == len(DATASETS):
        problems.append(f"{root} holds none of the {len(DATASETS)} datasets")
    elif absent:
        lines.append(f"{len(absent)} of {len(DATASETS)} datasets are not there: {', '.join(absent)}")
    problems += _list_unknown_folders(root)
    return DataReport(contents=tuple(lines), problems=tuple(problems))


def _iter_variants(folder: Path, dataset: str) -> Iterator[Path]:
    yield from folder.glob(f"{dataset}-adv.json")
    yield from folder.glob(f"{dataset}_combined_*.json")


def _list_unknown_folders(root: Path) -> Iterator[str]:
    """Folders that look like datasets but bear no dataset's name."""
    for folder in sorted(p for p in root.iterdir() if p.is_dir() and p.name not in BY_NAME):
        if (folder / f"{folder.name}.json").is_file():
            yield f"{folder} is none of the 29 datasets and will not be read"


def _summarise(file: Path, annotation: Annotation, dataset: str) -> str:
    samples = len(annotation.data)
    kind = choose_matching(dataset, annotation.meta_data.question_type)
    return f"{file.name}: {samples} samples, compared by {kind}"


def _list_faults(file: Path, annotation: Annotation, dataset: str) -> Iterator[str]:
    ids = Counter(str(item.sample_id) for item in annotation.data)
    for sample_id, times in ids.items():
        if times > 1:
            yield f"{file}: the sample_id {sample_id} stands {times} times"
    kind = choose_matching(dataset, annotation.meta_data.question_type)
    marks: list[str] = []
    pictures: set[str] = set()
    missing: dict[str, str] = {}
    for item in annotation.data:
        where = f"{file}, sample {item.sample_id}"
        try:
            get_instruction(annotation.meta_data, item.task_instruction_id, where)
            question = read_question(item, "", where)
        except DataError as error:
            yield str(error)
            continue
        marks += [f"{where}: {fault}" for fault in question.placed.faults]
        if kind == "choice" and not question.choices:
            yield f"{where}: the dataset is multi-choice, but the sample has no choice_list"
        elif kind == "choice" and question.key is None:
            yield f"{where}: the response '{question.response}' is none of the choices"
        elif kind != "choice" and not normalise(question.response):
            yield f"{where}: the response is empty"
        images = [f"images/{path}" for path in question.instance.images_path]
        for number, paths in list_combined_pictures(item).items():
            images += [f"combined_{number}_images/{path}" for path in paths]
        for picture in images:
            if picture in pictures:
                continue
            pictures.add(picture)
            if not _is_inside(picture):
                yield f"{where}: the picture {picture} lies outside the dataset's folder"
            elif not (file.parent / picture).is_file():
                missing[picture] = where
            elif fault := _find_fault(file.parent / picture):
                yield f"{where}: the picture {picture} {fault}"
    yield from marks
    if missing and len(missing) == len(pictures):
        picture, where = next(iter(missing.items()))
        others = len(pictures) - 1
        yield f"{where}: the picture {picture} is not there, nor are the {others} others of the file"
    else:
        yield from (f"{where}: the picture {picture} is not there" for picture, where in missing.items())


def _find_fault(picture: Path) -> str:
    """What is wrong with a picture file, as far as its bytes tell without being decoded."""
    data = picture.read_bytes()
    text = detect_impostor(data)
    if text:
        return text
    signature = sniff(data)
    if signature is None and picture.suffix.lower() in _SNIFFED:
        return "is no picture, or its header is broken"
    return "is cut short; fetch it again" if signature and not signature.complete else ""


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else 1
        if depth < 1:
            return False
    return not PurePosixPath(path).is_absolute()
