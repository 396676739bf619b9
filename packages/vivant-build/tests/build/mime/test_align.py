"""Backgrounds that fit and that do not: read with their words, chosen by meaning, reviewed and overridden."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from tests.support.helpers import vivant
from vivant.core.errors import DataError, MediaError, UsageError, VivantError
from vivant.metrics.similarity import load_encoder
from vivant_build.mime import background_alignment as align
from vivant_build.mime.background_alignment import (
    Alignment,
    apply_alignments,
    open_plan,
    override,
    propose,
    read_pictures,
    review,
)
from vivant_build.mime.bundled_characters import CHARACTERS, make_character
from vivant_build.mime.choreography import ACTIONS, perform
from vivant_build.mime.edition import stage
from vivant_build.mime.plan_file import OwnAction, OwnBackground, Specification, load_plan
from vivant_build.mime.scenes import SCENES
from vivant_build.mime.semantic_choice import TOO_CLOSE
from vivant_build.mime.video import frame_motion

FEW = ("Archery001", "Piano002", "Swimming001", "StirringPot01", "Soccer003", "Waving01", "Driving002")


def _picture(folder: Path, name: str, words: str = "description: a shop\nfits: [buying bread]\n") -> Path:
    folder.mkdir(exist_ok=True)
    Image.new("RGB", (80, 60), (10, 120, 200)).save(folder / f"{name}.png")
    if words:
        (folder / f"{name}.yaml").write_text(words)
    return folder


@cache
def _all() -> tuple[Specification, tuple[Alignment, ...]]:
    spec, found = propose(open_plan(Path("all"))[0], load_encoder())
    return spec, tuple(found)


def test_every_bundled_action_gets_sound_choices() -> None:
    spec, found = _all()
    assert [one.action for one in found] == list(ACTIONS)
    labels = {action.name: set(action.labels) for action in spec.cast}
    for one in found:
        assert one.aligned == ACTIONS[one.action].scene != one.misaligned
        assert one.nearness["misaligned"] < TOO_CLOSE, one.action
        assert one.nearness["distractors"] < TOO_CLOSE, one.action
        assert one.nearness["aligned"] > one.nearness["misaligned"] + 0.1, one.action
        assert len(set(one.distractors)) == 3 and not set(one.distractors) & labels[one.action]
        assert one.misaligned in {other.aligned for other in found}, "it fits another action"
    assert len({one.misaligned for one in found}) > 12, "not the same few places for all"
    assert review(spec, found).notes[0].startswith(f"0 of {len(ACTIONS)} to look at")


def test_choices_depend_on_seed_and_action_not_on_order() -> None:
    def choices(names: tuple[str, ...], seed: int = 29) -> dict[str, tuple[str, tuple[str, ...]]]:
        _, found = propose(Specification(actions=names, drop=3, seed=seed), load_encoder())
        return {one.action: (one.misaligned, one.distractors) for one in found}

    assert choices(FEW[::-1]) == choices(FEW) != choices(FEW, seed=30)


def test_review_and_rendering_decide_alike() -> None:
    spec = Specification(actions=FEW, drop=3)
    _, found = propose(spec, load_encoder())
    for one, staged in zip(found, stage(spec), strict=True):
        assert (one.aligned, one.misaligned) == (staged.aligned, staged.misaligned)
        assert one.distractors == staged.distractors


def test_what_the_plan_states_stays_and_what_it_lacks_is_found() -> None:
    bread = OwnBackground(file="x.png", description="a shop", fits=("buying bread", "shopping"))
    own = OwnAction(name="Bread1", motion="m.bvh", labels=("buying a loaf of bread",))
    piano = OwnAction(name="Piano002", misaligned="forest", distractors=("a", "b", "c"))
    spec = Specification(actions=(*(n for n in FEW if n != "Piano002"), piano, own), drop=1)
    with pytest.raises(DataError, match="No background fits the action 'Bread1'; the nearest is"):
        propose(spec, load_encoder())
    filled, found = propose(spec, load_encoder(), {"bakery": bread})
    by = {one.action: one for one in found}
    assert (by["Bread1"].aligned, by["Bread1"].by["aligned"]) == ("bakery", "meaning")
    assert (by["Piano002"].misaligned, by["Piano002"].distractors) == ("forest", ("a", "b", "c"))
    assert by["Piano002"].by == {"aligned": "stated", "misaligned": "stated", "distractors": "stated"}
    assert "bakery" in filled.backgrounds
    with pytest.raises(DataError, match="'Nameless' has no labels"):
        propose(Specification(actions=(OwnAction(name="Nameless", motion="m.bvh"),)), load_encoder())


def test_doubtful_choices_are_marked() -> None:
    spec = Specification(actions=(*FEW, OwnAction(name="Rowing01", misaligned="fishing_pier")), drop=3)
    table = review(*propose(spec, load_encoder()))
    assert {row[0]: row[-1] for row in table.body if row[-1]} == {"Rowing01": "misaligned fits too"}


def test_a_person_overrides() -> None:
    spec, found = _all()
    change = msgspec.structs.replace(found[0], misaligned="kitchen", distractors=("a", "b", "c"))
    changed = override(spec, [change], "file")
    _, again = propose(changed, load_encoder())
    assert (again[0].misaligned, again[0].distractors) == ("kitchen", ("a", "b", "c"))
    assert [one.misaligned for one in again[1:]] == [one.misaligned for one in found[1:]]


@pytest.mark.parametrize(
    "change,reason",
    [
        ({"action": "Archery01"}, "did you mean 'Archery001'"),
        ({"misaligned": "kichen"}, "did you mean 'kitchen'"),
        ({"misaligned": "archery_range"}, "cannot both fit and not fit"),
        ({"distractors": ("archery", "x", "y")}, "'archery' is a label of 'Archery001' and also"),
        ({"distractors": ("x", "y")}, "has 2 distractors; give 3, or none"),
    ],
)
def test_impossible_overrides_are_refused(change: dict[str, object], reason: str) -> None:
    spec, found = _all()
    with pytest.raises(DataError, match=reason):
        override(spec, [msgspec.structs.replace(found[0], **change)], "alignment.yaml")


def test_pictures_come_with_words(tmp_path: Path) -> None:
    folder = _picture(tmp_path / "p", "bakery")
    _picture(folder, "IMG_001", "name: market\ndescription: stalls\nfits: [shopping, selling fruit]\n")
    found = read_pictures(folder)
    assert list(found) == ["market", "bakery"]
    assert found["market"].fits == ("shopping", "selling fruit")
    assert Path(found["market"].file).is_absolute()


@pytest.mark.parametrize(
    "words,reason",
    [
        ("", "has no words beside it; write shop.yaml"),
        ("description: a shop\n", "say what the picture shows and what people do"),
        ("description: a shop\nfitz: [x]\n", "did you mean 'fits'"),
        ("name: kitchen\ndescription: a\nfits: [x]\n", "the name 'kitchen' is taken"),
        ("- a\n- b\n", "Expected `object`"),
        ("a: [", "is not YAML"),
    ],
)
def test_pictures_without_sound_words_are_refused(words: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(VivantError, match=reason) as caught:
        read_pictures(_picture(tmp_path / "p", "shop", words))
    assert "\n" not in str(caught.value) and "shop" in str(caught.value)


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    folder = _picture(tmp_path / "p", "shop")
    (folder / "shop.png").write_bytes(b"no picture")
    with pytest.raises(MediaError, match=r"shop\.png: not a picture"):
        read_pictures(folder)
    (folder / "shop.png").unlink()
    with pytest.raises(DataError, match="holds no pictures"):
        read_pictures(folder)
    _picture(folder, "other")
    with pytest.raises(DataError, match=r"shop\.yaml has no picture beside it"):
        read_pictures(folder)
    with pytest.raises(DataError, match="cannot be read"):
        read_pictures(tmp_path / "none")


def test_the_review_of_a_plan_is_a_plan(tmp_path: Path) -> None:
    _picture(tmp_path / "p", "bakery")
    (tmp_path / "plan.yaml").write_text(
        f"actions: [{', '.join(FEW[:5])}, {{name: Bread1, motion: Waving01, "
        "labels: [buying bread], background: bakery}]\ndrop: 2\n"
    )
    command = ("build", "mime", "backgrounds", "--plan", "plan.yaml", "--pictures", "p")
    said = vivant(*command, "--out", "review", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "bakery" in said.stdout and "Backgrounds and wrong options" in said.stdout
    spec = load_plan(tmp_path / "review" / "plan.yaml")
    assert all(a.misaligned and len(a.distractors) == 3 for a in spec.cast)
    assert spec.backgrounds["bakery"].file == "../p/bakery.png"
    with Image.open(tmp_path / "review" / "alignment.jpg") as sheet:
        assert sheet.width > 1000 and np.asarray(sheet).std() > 20
    file = tmp_path / "review" / "alignment.yaml"
    first = next(a for a in spec.cast if a.name == "Archery001").misaligned
    other = "bakery" if first != "bakery" else "kitchen"
    file.write_text(file.read_text().replace(f"misaligned: {first}\n", f"misaligned: {other}\n", 1))
    again = vivant(*command, "--override", "review/alignment.yaml", "--out", "second", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert load_plan(tmp_path / "second" / "plan.yaml").cast[0].misaligned == other


def test_backgrounds_are_listed(tmp_path: Path) -> None:
    table = align.build_background_table()
    assert {row[0] for row in table.body} == set(SCENES)
    said = vivant("build", "mime", "backgrounds", "--format", "csv", cwd=tmp_path)
    assert said.returncode == 0 and said.stdout.count("\n") == len(SCENES) + 1
    refused = vivant("build", "mime", "backgrounds", "--out", "x", cwd=tmp_path)
    assert refused.returncode == 1 and "go with --plan" in refused.stderr


def test_stated_choices_need_no_meaning() -> None:
    class Silent:
        def encode(self, texts: object) -> object:
            raise AssertionError(f"nothing is left to decide: {texts}")

    spec, found = _all()
    staged = stage(apply_alignments(spec, found), Silent())  # type: ignore[arg-type]
    assert [s.misaligned for s in staged] == [one.misaligned for one in found]


def test_bodies_differ_in_build_and_clothes() -> None:
    assert len(CHARACTERS) >= 8 and all(character.clothes for character in CHARACTERS.values())
    motion = perform(ACTIONS["Waving01"], 5.0)
    looks = {}
    for name in CHARACTERS:
        body = make_character(name)
        shapes = body.pose(motion)
        assert len(shapes) == len(motion) and frame_motion(shapes, (64, 48)).distance < 9
        lowest = (np.minimum(shapes.a, shapes.b)[..., 1] - np.minimum(shapes.r1, shapes.r2)).min()
        assert -0.06 < lowest < 0.03, f"{name} stands on the floor"
        top = shapes.a[0, :, 1].max()
        looks[name] = (round(float(top), 2), round(float(shapes.r1.sum()), 2), body.capsules[0].colour)
        part = next(iter(CHARACTERS[name].clothes))
        blue = make_character(name, clothes={part: (1, 2, 3)})
        assert any(capsule.colour == (1, 2, 3) for capsule in blue.capsules)
    assert len(set(looks.values())) == len(looks)
    assert looks["child"][0] < 0.85 * looks["man"][0]
    with pytest.raises(UsageError, match="did you mean 'dancer'"):
        make_character("dancr")


def test_the_plan_in_the_docs_is_one(tmp_path: Path) -> None:
    text = (Path(__file__).parents[5] / "docs" / "make-your-own-mime.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```yaml\n")[1:]]
    (plan,) = [block for block in blocks if block.startswith("actions: # bundled")]
    (avatars,) = [block for block in blocks if block.startswith("avatars:")]
    plan = plan.replace("renderer: built-in", "renderer: cycles")
    (tmp_path / "plan.yaml").write_text(plan + avatars)
    for name in ("motions/sawing.bvh", "photos/bakery.jpg", "characters/robot.glb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    spec = load_plan(tmp_path / "plan.yaml")
    assert len(spec.shown) == 10 and spec.cast[2].labels[0] == "sawing wood"
    named = set(re.search(r"Fields: (.*?)\. ", text, re.S).group(1).replace("\n", " ").split(", "))  # type: ignore[union-attr]
    assert {name.strip("` ") for name in named} == set(Specification.__struct_fields__)
    assert all(f"`{name}`" in text for name in CHARACTERS)
