"""Everything that is wrong with the data, at once: the archive, the items, the pictures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePosixPath

from vivant.benchmarks.base import DataReport
from vivant.benchmarks.mmie.data import ARCHIVES, classify_item, read_set, to_sample
from vivant.benchmarks.mmie.files import IMAGES
from vivant.benchmarks.mmie.items import OTHER, MmieItem, rename_repeated_ids
from vivant.core.errors import DataError, MediaError
from vivant.media.archives import unpack_archive

_SHOWN = 20


def check(root: Path, name: str = "") -> DataReport:
    """Unpack `images.tar.gz` where it is, then read every item and open every picture that one names."""
    folder = root if root.is_dir() else root.parent
    lines: list[str] = []
    problems: list[str] = []
    archive = next((folder / packed for packed in ARCHIVES if (folder / packed).is_file()), None)
    if archive is not None:
        try:
            unpacked = unpack_archive([archive], folder, choose_path=_choose_target)
        except DataError as error:
            return DataReport(problems=(str(error),))
        lines.append(
            f"{archive.name}: {unpacked.written} file(s) extracted, {unpacked.present} there already"
        )
        problems += unpacked.problems
    try:
        files, items = read_set(root, name)
    except DataError as error:
        return DataReport(contents=tuple(lines), problems=(*problems, str(error)))
    file = files[0] if len(files) == 1 else folder
    unique, repeats = rename_repeated_ids(items)
    problems += [f"{file}: the id '{repeated}' stands {count} times" for repeated, count in repeats.items()]
    problems += [
        f"{file}, id '{item.id}': the category is none of SA, PBL and MSR; it will not be judged"
        for item in unique
        if classify_item(item) == OTHER
    ]
    lines += _summarise(files, folder, unique)
    opened, faults = _check_pictures(folder, unique)
    lines.append(f"pictures: {opened} open")
    problems += faults[:_SHOWN]
    if len(faults) > _SHOWN:
        problems.append(f"… and {len(faults) - _SHOWN} more pictures")
    return DataReport(contents=tuple(lines), problems=tuple(problems))


def _choose_target(path: PurePosixPath) -> PurePosixPath:
    """Into `images/`, whether or not the archive has that folder itself."""
    return path if path.parts[0] == IMAGES else PurePosixPath(IMAGES) / path


def _summarise(files: list[Path], folder: Path, items: list[MmieItem]) -> list[str]:
    categories = Counter(classify_item(item) for item in items)
    fields = Counter(item.field or "unstated" for item in items)
    forms = Counter(to_sample(item).facets["form"] for item in items)
    answered = sum(item.answer is not None for item in items)
    names = ", ".join(str(file.relative_to(folder)) for file in files[:3]) + (" …" if len(files) > 3 else "")
    lines = [f"{names}: {len(items)} items"]
    for label, counts in (("category", categories), ("field", fields), ("form", forms)):
        lines.append(f"{label}: " + ", ".join(f"{key} {count}" for key, count in counts.most_common()))
    return lines + ([f"answers: {answered}"] if answered else [])


def _check_pictures(folder: Path, items: list[MmieItem]) -> tuple[int, list[str]]:
    from vivant.media import resolve_media, verify

    images: dict[str, str] = {}
    for item in items:
        for part in (*item.question, *item.reference, *(item.answer or ())):
            if part.image is not None:
                images.setdefault(part.image.removeprefix("./"), item.id)
    faults: list[str] = []
    for path, item_id in images.items():
        try:
            line = verify(resolve_media(folder, path))
        except MediaError as error:
            line = str(error)
        if line is not None:
            faults.append(f"{folder / path} (id '{item_id}'): {line}")
    return len(images) - len(faults), faults
