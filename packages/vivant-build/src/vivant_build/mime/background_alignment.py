"""Backgrounds and what they fit: pictures with words beside them, choices by meaning, and a person's review.

For every action: aligned is a background that fits it, misaligned one that fits another action and is far in
meaning. `propose` decides what a plan leaves open and says how near each choice is; `review` shows it; a file
of overrides changes it; `decided` writes it all into the plan.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.progress import ProgressCallback
from vivant.core.table import Table
from vivant.core.yaml_files import read_yaml, write_yaml
from vivant_build.mime.choreography import ACTIONS
from vivant_build.mime.edition import describe_scene
from vivant_build.mime.plan_file import (
    OwnAction,
    OwnBackground,
    Specification,
    check_distractors,
    load_mini_plan,
)
from vivant_build.mime.recording import MOTION_FILES
from vivant_build.mime.scenes import BLANK, SCENES, read_background
from vivant_build.mime.semantic_choice import (
    TOO_CLOSE,
    PhraseEncoder,
    Similarities,
    choose_distractors,
    choose_misaligned,
)

PICTURES = (".png", ".jpg", ".jpeg", ".webp")
_WORDS = (".yaml", ".yml")
OVERRIDES, PLAN, SHEET = "alignment.yaml", "plan.yaml", "alignment.jpg"
_DROP = 10
"""How many of the nearest labels MIME leaves out."""
_OVERRIDES_HEAD = """\
Which background fits each action, which does not, and the wrong options. Change what is wrong, then run
`vivant build mime backgrounds --plan PLAN --override THIS_FILE --out FOLDER`. `nearness` is the cosine of the action's
labels with what people do before a background; it is for you to read and is not read back."""
_PLAN_HEAD = "A plan in which every background and every wrong option is stated: nothing is left to be drawn."


class PictureWords(Struct, frozen=True, forbid_unknown_fields=True):
    """The file beside a picture: what it shows and what people do there."""

    description: str
    fits: tuple[str, ...] = ()
    name: str = ""
    """What plans call it. [default: the file's name]"""


class Alignment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The backgrounds and wrong options of one action; a line of the file of overrides."""

    action: str
    aligned: str
    misaligned: str
    distractors: tuple[str, ...] = ()
    nearness: Mapping[str, float] = msgspec.field(default_factory=dict)
    """Of aligned, of misaligned, and of the nearest distractor."""
    by: Mapping[str, str] = msgspec.field(default_factory=dict)
    """How each was decided: stated (in the plan or by a person) or meaning."""


class Overrides(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of overrides."""

    alignment: tuple[Alignment, ...] = ()


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────


def read_pictures(folder: Path) -> dict[str, OwnBackground]:
    """The pictures of a folder by name, each with its description from the YAML file beside it.

    Pictures are opened, so that a broken one is known now. Paths are absolute.
    """
    try:
        files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DataError(f"The folder of pictures {folder} cannot be read: {error.strerror}") from None
    pictures = [path for path in files if path.suffix.lower() in PICTURES]
    words = {path.stem: path for path in files if path.suffix.lower() in _WORDS}
    if not pictures:
        raise DataError(f"{folder} holds no pictures ({', '.join(PICTURES)})")
    backgrounds: dict[str, OwnBackground] = {}
    for picture in pictures:
        if picture.stem not in words:
            raise DataError(
                f"{picture} has no words beside it; write {picture.stem}.yaml with `description:` and `fits:`"
            )
        details = read_yaml(words[picture.stem], PictureWords)
        if not details.description.strip() or not details.fits:
            raise DataError(
                f"{words[picture.stem]}: say what the picture shows and what people do there (`fits:`)"
            )
        name = details.name or picture.stem
        if name in SCENES or name == BLANK or name in backgrounds:
            raise DataError(f"{picture}: the name '{name}' is taken; give another with `name:`")
        read_background(picture, (64, 48))
        backgrounds[name] = OwnBackground(
            file=str(picture.resolve()), description=details.description, fits=details.fits
        )
    alone = sorted(set(words) - {picture.stem for picture in pictures})
    if alone:
        raise DataError(f"{words[alone[0]]} has no picture beside it ({', '.join(PICTURES)})")
    return backgrounds


def build_background_table(pictures: Mapping[str, OwnBackground] | None = None) -> Table:
    """The drawn backgrounds, or pictures, with what they fit."""
    if pictures is None:
        used: dict[str, list[str]] = {}
        for action in ACTIONS.values():
            used.setdefault(action.scene, []).append(action.name)
        rows = [
            (s.name, s.description, ", ".join(s.fits), ", ".join(used.get(s.name, [])))
            for s in SCENES.values()
        ]
        rows.sort()
        return Table(
            title="Drawn backgrounds",
            columns=("name", "shows", "what people do there", "fits the bundled actions"),
            body=tuple(rows),
            notes=("`blank` is an even grey and fits nothing",),
        )
    return Table(
        title="Pictures",
        columns=("name", "shows", "what people do there", "file"),
        body=tuple(
            (name, p.description, ", ".join(p.fits), Path(p.file).name) for name, p in pictures.items()
        ),
    )


def add_pictures(spec: Specification, pictures: Mapping[str, OwnBackground] | None) -> Specification:
    """The plan with more backgrounds; its own go before others of the same name."""
    return msgspec.structs.replace(spec, backgrounds={**(pictures or {}), **spec.backgrounds})


def open_plan(file: Path) -> tuple[Specification, Path]:
    """A plan that may still lack backgrounds, and the folder that its paths are relative to.

    `mini` is the bundled one, `all` holds every bundled action.
    """
    if str(file) == "mini":
        return load_mini_plan(), Path.cwd()
    if str(file) == "all":
        return Specification(actions=tuple(ACTIONS), drop=_DROP), Path.cwd()
    return read_yaml(file, Specification), file.resolve().parent


def read_overrides(file: Path) -> tuple[Alignment, ...]:
    """A person's choices."""
    return read_yaml(file, Overrides).alignment


# ── choices ──────────────────────────────────────────────────────────────────────────────────────


def propose(
    spec: Specification, encoder: PhraseEncoder, pictures: Mapping[str, OwnBackground] | None = None
) -> tuple[Specification, list[Alignment]]:
    """Decide what the plan leaves open, by meaning; the plan comes back with all backgrounds filled in.

    An action without a background gets the one whose words are nearest; what a plan states stays.
    """
    spec = add_pictures(spec, pictures)
    cast = list(spec.cast)
    for action in cast:
        if not action.labels:
            raise DataError(
                f"The action '{action.name}' has no labels; give `labels: [name of it, other name]`"
            )
    places = {scene: describe_scene(spec, scene) for scene in (*SCENES, *spec.backgrounds)}
    labels = {action.name: action.labels for action in cast}
    near = Similarities(encoder, [text for group in (*labels.values(), *places.values()) for text in group])
    stated = {action.name: action for action in cast}
    scenes = {a.name: a.background or _nearest(a, places, near) for a in cast}
    for scene in {*scenes.values(), *(a.misaligned for a in cast if a.misaligned)} - set(places):
        raise unknown_name_error("background", scene, places)
    words = {scene: places[scene] for scene in scenes.values()}
    alignments = []
    for name, entry in stated.items():
        misaligned = entry.misaligned or choose_misaligned(name, labels, scenes, words, near, seed=spec.seed)
        distractors = entry.distractors or choose_distractors(
            name, labels, near, seed=spec.seed, drop=spec.drop
        )
        chosen = (scenes[name], misaligned, distractors)
        alignments.append(_alignment(entry, chosen, places, near, encoder))
    return spec, alignments


def _nearest(action: OwnAction, places: Mapping[str, tuple[str, ...]], near: Similarities) -> str:
    # Of places that fit alike, the one where less else is done says more.
    ranked = sorted(places, key=lambda s: (-near.best(action.labels, places[s]), len(places[s]), s))
    if near.best(action.labels, places[ranked[0]]) < TOO_CLOSE:
        raise DataError(
            f"No background fits the action '{action.name}'; the nearest is '{ranked[0]}': state one with "
            "`background:`, or add a picture whose `fits:` names the action"
        )
    return ranked[0]


def _alignment(
    action: OwnAction,
    chosen: tuple[str, str, tuple[str, ...]],
    places: Mapping[str, tuple[str, ...]],
    near: Similarities,
    encoder: PhraseEncoder,
) -> Alignment:
    aligned, misaligned, distractors = chosen
    wrong = Similarities(encoder, [*action.labels, *distractors])
    stated = {
        "aligned": action.background,
        "misaligned": action.misaligned,
        "distractors": action.distractors,
    }
    return Alignment(
        action=action.name,
        aligned=aligned,
        misaligned=misaligned,
        distractors=distractors,
        nearness={
            "aligned": round(near.best(action.labels, places[aligned]), 2),
            "misaligned": round(near.best(action.labels, places[misaligned]), 2),
            "distractors": round(wrong.best(action.labels, distractors), 2),
        },
        by={part: "stated" if value else "meaning" for part, value in stated.items()},
    )


def override(spec: Specification, changes: Sequence[Alignment], source: str) -> Specification:
    """The plan with a person's choices stated in it; all else stays as it was."""
    by_name = {action.name: action for action in spec.cast}
    known = {*SCENES, *spec.backgrounds}
    for change in changes:
        if change.action not in by_name:
            raise DataError(f"{source}: {unknown_name_error('action', change.action, by_name)}")
        for scene in (change.aligned, change.misaligned):
            if scene not in known:
                raise DataError(
                    f"{source}, {change.action}: {unknown_name_error('background', scene, known)}"
                )
        if change.aligned == change.misaligned:
            raise DataError(f"{source}, {change.action}: '{change.aligned}' cannot both fit and not fit")
        changed = msgspec.structs.replace(
            by_name[change.action],
            background=change.aligned,
            misaligned=change.misaligned,
            distractors=change.distractors,
        )
        try:
            check_distractors(changed)
        except UsageError as error:
            raise DataError(f"{source}: {error}") from None
        by_name[change.action] = changed
    return msgspec.structs.replace(spec, actions=tuple(by_name.values()))


def apply_alignments(spec: Specification, alignments: Sequence[Alignment]) -> Specification:
    """The plan with every choice stated."""
    return override(spec, alignments, "The choices")


# ── review ───────────────────────────────────────────────────────────────────────────────────────


def review(spec: Specification, alignments: Sequence[Alignment]) -> Table:
    """Every choice with how near it is in meaning; doubtful ones are marked."""
    labels = {action.name: action.labels for action in spec.cast}
    body, doubts = [], 0
    for alignment in alignments:
        doubt = _doubt(alignment)
        doubts += bool(doubt)
        near = alignment.nearness
        body.append(
            (
                alignment.action,
                labels[alignment.action][0],
                alignment.aligned,
                near.get("aligned"),
                alignment.misaligned,
                near.get("misaligned"),
                ", ".join(alignment.distractors),
                near.get("distractors"),
                doubt,
            )
        )
    return Table(
        title="Backgrounds and wrong options",
        columns=(
            "action",
            "label",
            "aligned",
            "near",
            "misaligned",
            "near",
            "wrong options",
            "near",
            "doubt",
        ),
        body=tuple(body),
        notes=(
            f"{doubts} of {len(body)} to look at: an aligned background should be near, all else "
            f"below {TOO_CLOSE:g}",
        ),
        decimals=2,
    )


def _doubt(alignment: Alignment) -> str:
    near = alignment.nearness
    if near.get("misaligned", 0.0) >= TOO_CLOSE:
        return "misaligned fits too"
    if near.get("distractors", 0.0) >= TOO_CLOSE:
        return "an option is near-right"
    if near.get("aligned", 1.0) < near.get("misaligned", 0.0) + 0.1:
        return "aligned hardly fits"
    return ""


def write_review(
    spec: Specification,
    alignments: Sequence[Alignment],
    out: Path,
    root: Path,
    progress: ProgressCallback | None = None,
) -> list[Path]:
    """The file to override choices in, the plan with all of them stated, and a sheet of pictures.

    `root` is the folder that the plan's paths are relative to; in the written plan they are relative to `out`.
    """
    from vivant_build.mime.alignment_sheet import draw_alignment_sheet

    write_yaml(out / OVERRIDES, Overrides(tuple(alignments)), _OVERRIDES_HEAD)
    complete = apply_alignments(spec, alignments)
    write_yaml(out / PLAN, plan_content(_relocate(complete, root, out)), _PLAN_HEAD)
    draw_alignment_sheet(complete, alignments, out / SHEET, root, progress)
    return [out / OVERRIDES, out / PLAN, out / SHEET]


def plan_content(spec: Specification) -> dict[str, object]:
    """A plan as plain data without what is as it would be anyway."""
    usual = msgspec.to_builtins(Specification(actions=()))
    content: dict[str, object] = msgspec.to_builtins(spec)
    return {key: value for key, value in content.items() if key == "actions" or value != usual[key]}


def _relocate(spec: Specification, root: Path, out: Path) -> Specification:
    def path(text: str) -> str:
        return Path(os.path.relpath(root / text, out.resolve())).as_posix() if text else text

    def motion(action: OwnAction) -> OwnAction:
        recorded = Path(action.motion).suffix.lower() in MOTION_FILES
        return msgspec.structs.replace(action, motion=path(action.motion)) if recorded else action

    return msgspec.structs.replace(
        spec,
        actions=tuple(motion(action) for action in spec.cast),
        avatars={n: msgspec.structs.replace(a, file=path(a.file)) for n, a in spec.avatars.items()},
        backgrounds={n: msgspec.structs.replace(b, file=path(b.file)) for n, b in spec.backgrounds.items()},
    )
