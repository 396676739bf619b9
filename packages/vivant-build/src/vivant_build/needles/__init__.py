"""Fresh needles: sets like MileBench's two, in its own layout, with keys that no model has seen.

A set is a map: every depth (0, the start, to 9, the end) at every length of the haystack. Keys are words in
the text, or drawn into a picture. Hay is a folder of pictures, or drawn. Everything follows from the seed.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

from msgspec import Struct

from vivant.benchmarks.milebench.data import CHARACTERS_PER_TOKEN
from vivant.benchmarks.milebench.datasets import find_level
from vivant.core.errors import UsageError
from vivant.core.randomness import derive_generator
from vivant_build.needles.haystack import draw_landscape, generate_sentences, new_key, write_on_picture

Kind = Literal["text", "image"]

DATASET = {"text": "TextNeedleInAHaystack", "image": "ImageNeedleInAHaystack"}
LENGTHS = {"text": tuple(range(0, 16000, 500)), "image": tuple(range(0, 64, 2))}
"""The benchmark's own: tokens of text, or pictures besides the needle."""
TOKENS_PER_PICTURE = 250
"""In a text haystack, a picture stands after so many tokens."""
DEPTHS = tuple(range(10))

_INSTRUCTION = {
    "text": "Somewhere in this long text with pictures one sentence names a secret word. Find it.",
    "image": "On one of these pictures there is a plate with a secret word. Find it.",
}
_QUESTION = "\nWhat is the secret word? Reply with that one word."
_SMALLEST = (160, 40)
"""Width and height that a plate with the secret word needs."""
_PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif"}


class _Plan(Struct, frozen=True):
    folder: Path
    kind: Kind
    seed: int
    hay: tuple[str, ...]
    """Files in `images/`."""


def build_needles(
    out: Path,
    *,
    kind: Kind = "text",
    pictures: Path | None = None,
    depths: Sequence[int] = DEPTHS,
    lengths: Sequence[int] | None = None,
    per_cell: int = 1,
    seed: int = 0,
) -> Path:
    """Write `<out>/<dataset>/` and return it. `per_cell`: samples for each depth and length."""
    if kind not in DATASET:
        raise UsageError(f"Needles are 'text' or 'image', not '{kind}'")
    lengths = tuple(lengths if lengths is not None else LENGTHS[kind])
    _check_plan(depths, lengths, per_cell)
    folder = out / DATASET[kind]
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; choose another folder")
    needed = max(1, *(_count_pictures(kind, length) for length in lengths))
    files = None if pictures is None else _choose_pictures(pictures, needed, kind, seed)
    cells = [(d, n, repeat) for n in lengths for d in depths for repeat in range(per_cell)]
    try:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        hay = (
            _draw_hay(folder / "images", needed, seed)
            if files is None
            else _copy_hay(folder / "images", files)
        )
        plan = _Plan(folder, kind, seed, hay)
        items = [_make_item(plan, number, depth, length) for number, (depth, length, _) in enumerate(cells)]
        _write_set(plan, items)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from None
    return folder


def _write_set(plan: _Plan, items: list[dict[str, Any]]) -> None:
    kind = plan.kind
    content = {
        "meta_data": {
            "dataset": DATASET[kind],
            "split": "test",
            "num_sample": str(len(items)),
            "task_instruction": [_INSTRUCTION[kind]],
            "question_type": "open-ended",
            "made_by": f"vivant build needles, seed {plan.seed}",
        },
        "data": items,
    }
    text = json.dumps(content, ensure_ascii=False, indent=1)
    (plan.folder / f"{DATASET[kind]}.json").write_text(text + "\n", encoding="utf-8")


def _check_plan(depths: Sequence[int], lengths: Sequence[int], per_cell: int) -> None:
    if not depths or not lengths or per_cell < 1:
        raise UsageError("A needle set needs at least one depth, one length and one sample for each")
    for depth in depths:
        if depth not in DEPTHS:
            raise UsageError(f"A depth is a step from 0 (start) to 9 (end), not {depth}")
    if min(lengths) < 0:
        raise UsageError(f"A length cannot be {min(lengths)}")
    if len(set(depths)) < len(depths) or len(set(lengths)) < len(lengths):
        raise UsageError("A depth or a length is named twice; use more samples per cell instead")


def _count_pictures(kind: Kind, length: int) -> int:
    return length if kind == "image" else max(2, length // TOKENS_PER_PICTURE)


def _draw_hay(images: Path, needed: int, seed: int) -> tuple[str, ...]:
    names = [f"hay-{number:03d}.jpg" for number in range(needed)]
    for number, name in enumerate(names):
        draw_landscape(derive_generator(seed, "hay", str(number))).save(images / name, quality=85)
    return tuple(names)


def _copy_hay(images: Path, files: Sequence[Path]) -> tuple[str, ...]:
    """Copies of the user's pictures, byte for byte."""
    names = [f"hay-{number:03d}{path.suffix.lower()}" for number, path in enumerate(files)]
    for name, path in zip(names, files, strict=True):
        shutil.copyfile(path, images / name)
    return tuple(names)


def _choose_pictures(pictures: Path, needed: int, kind: Kind, seed: int) -> list[Path]:
    """The user's pictures that become hay, each looked at before anything is written."""
    if not pictures.is_dir():
        raise UsageError(f"The folder of pictures {pictures} does not exist")
    files = sorted(p for p in pictures.iterdir() if p.suffix.lower() in _PICTURES)
    if len(files) < needed:
        raise UsageError(
            f"{pictures} holds {len(files)} picture{'' if len(files) == 1 else 's'}; the longest haystack needs "
            f"{needed}. Give more pictures or shorter lengths"
        )
    chosen = derive_generator(seed, "hay").sample(files, needed)
    for path in chosen:
        _check_picture(path, kind)
    return chosen


def _check_picture(path: Path, kind: Kind) -> None:
    from PIL import Image

    try:
        with Image.open(path) as picture:
            picture.load()
            width, height = picture.size
    except (OSError, SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is no picture that can be read: {error}") from error
    if kind == "image" and (width < _SMALLEST[0] or height < _SMALLEST[1]):
        raise UsageError(
            f"{path} is {width}×{height}: the secret word cannot be read on it; give pictures of at least "
            f"{_SMALLEST[0]}×{_SMALLEST[1]}"
        )


def _make_item(plan: _Plan, number: int, depth: int, length: int) -> dict[str, Any]:
    names = (plan.kind, str(number))
    rng = derive_generator(plan.seed, *names)
    key = new_key(plan.seed, *names)
    hay = rng.sample(plan.hay, _count_pictures(plan.kind, length))
    if plan.kind == "text":
        context = _make_text_context(key, depth, length, hay, rng)
    else:
        hay.insert(round(depth / DEPTHS[-1] * length), _make_needle_image(plan, number, key, rng))
        context = "\n".join(f"{{image#{index}}}" for index in range(1, len(hay) + 1))
    return {
        "sample_id": number,
        "task_instruction_id": 0,
        "task_instance": {"context": context + _QUESTION, "images_path": hay},
        "response": key,
        "image_quantity_level": find_level(len(hay)),
        "needle": {"depth": depth, "length": length},
    }


def _make_text_context(key: str, depth: int, length: int, hay: list[str], rng: Random) -> str:
    lines: list[str] = []
    room = length * CHARACTERS_PER_TOKEN
    for sentence in generate_sentences(rng):
        room -= len(sentence) + 1
        if room < 0:
            break
        lines.append(sentence)
    lines.insert(round(depth / DEPTHS[-1] * len(lines)), f"The secret word is {key}.")
    # Pictures are spread evenly: each stands before the sentence that begins its share of the text.
    starts: dict[int, str] = defaultdict(str)
    for number in range(len(hay)):
        starts[number * len(lines) // len(hay)] += f"{{image#{number + 1}}} "
    return " ".join(f"{starts[index]}{line}" for index, line in enumerate(lines))


def _make_needle_image(plan: _Plan, number: int, key: str, rng: Random) -> str:
    from PIL import Image

    with Image.open(plan.folder / "images" / rng.choice(plan.hay)) as opened:
        picture = write_on_picture(opened, f"The secret word is {key}", rng)
    name = f"needle-{number:04d}.jpg"
    picture.save(plan.folder / "images" / name, quality=90)
    return name
