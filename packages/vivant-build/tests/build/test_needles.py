"""Fresh needles: where they lie, that they are fresh, and that the benchmark reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from vivant.benchmarks.base import PromptContext, ScoreSettings
from vivant.benchmarks.milebench import MileBench
from vivant.core.errors import UsageError
from vivant.core.records import Record
from vivant.core.types import Reply
from vivant_build.needles import Kind, build_needles


def data(folder: Path) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((folder / f"{folder.name}.json").read_text())["data"]
    return items


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("kind", ["text", "image"])
def test_the_same_seed_makes_the_same_set_and_another_a_fresh_one(tmp_path: Path, kind: Kind) -> None:
    sets = [
        build_needles(tmp_path / str(n), kind=kind, depths=(0, 9), lengths=(0, 4), seed=seed)
        for n, seed in enumerate((5, 5, 6))
    ]
    first, again, other = map(files, sets)
    assert first == again
    keys, fresh = ({item["response"] for item in data(folder)} for folder in (sets[0], sets[2]))
    assert len(keys) == 4
    assert not keys & fresh
    assert first != other


def test_text_needles_lie_at_their_depth_in_a_text_of_the_length_asked(tmp_path: Path) -> None:
    folder = build_needles(tmp_path, kind="text", depths=(0, 4, 9), lengths=(500, 2000), seed=1)
    items = data(folder)
    assert len(items) == 6
    for item in items:
        context, key = item["task_instance"]["context"], item["response"]
        body = context.rpartition("\n")[0]
        assert body.count(key) == 1
        assert body.count("{image#") == len(item["task_instance"]["images_path"])
        place = body.index(key) / len(body)
        assert place == pytest.approx(item["needle"]["depth"] / 9, abs=0.08)
        assert len(body) / 4 == pytest.approx(item["needle"]["length"], rel=0.25)


def test_image_needles_lie_at_their_depth_among_the_hay(tmp_path: Path) -> None:
    folder = build_needles(tmp_path, kind="image", depths=(0, 3, 9), lengths=(0, 9), seed=1)
    for item in data(folder):
        images = item["task_instance"]["images_path"]
        length = item["needle"]["length"]
        assert len(images) == length + 1
        assert len(set(images)) == len(images)
        (place,) = [i for i, name in enumerate(images) if name.startswith("needle")]
        assert place == round(item["needle"]["depth"] / 9 * length)
        assert item["response"] not in item["task_instance"]["context"]


@pytest.mark.parametrize("kind", ["text", "image"])
def test_the_benchmark_reads_asks_and_scores_them(tmp_path: Path, kind: Kind) -> None:
    folder = build_needles(tmp_path, kind=kind, depths=(2, 7), lengths=(0, 6), per_cell=2, seed=1)
    benchmark = MileBench()
    assert benchmark.data.check(benchmark, tmp_path).problems == ()
    samples = benchmark.load(tmp_path, f"milebench/{folder.name}")
    assert len(samples) == 8
    assert {(s.facets["depth"], s.facets["length"]) for s in samples} == {
        ("2", "0"),
        ("2", "6"),
        ("7", "0"),
        ("7", "6"),
    }
    for sample in samples:
        prompt = benchmark.prompt(sample, PromptContext(style="zero-shot", root=tmp_path))
        assert prompt.lost_images == 0
        text = f"The word is {sample.answers[0].upper()}."
        record = Record(key="k", task=sample.task, id=sample.id, reply=Reply(text=text))
        for protocol in ("paper", "strict"):
            assert benchmark.score([(sample, record)], ScoreSettings(protocol=protocol))[0].value == 1.0


def test_hay_from_a_folder_is_copied_byte_for_byte(tmp_path: Path) -> None:
    hay = tmp_path / "hay"
    hay.mkdir()
    for number in range(6):
        Image.new("RGB", (160, 120), (40 * number, 90, 120)).save(hay / f"{number}.PNG")
    (hay / "notes.txt").write_text("not a picture")
    folder = build_needles(tmp_path, kind="image", pictures=hay, depths=(5,), lengths=(4,), seed=1)
    originals = {path.read_bytes() for path in hay.glob("*.PNG")}
    copies = {path.read_bytes() for path in (folder / "images").glob("hay-*")}
    assert len(copies) == 4
    assert copies <= originals
    with Image.open(folder / "images" / "needle-0000.jpg") as needle:
        assert needle.size == (160, 120)


def test_bad_wishes_are_refused(tmp_path: Path) -> None:
    few = tmp_path / "few"
    few.mkdir()
    Image.new("RGB", (8, 8)).save(few / "one.png")
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("a.jpg", "b.jpg"):
        (broken / name).write_bytes(b"<html>")
    wishes: list[tuple[dict[str, Any], str]] = [
        ({"kind": "sound"}, "'text' or 'image'"),
        ({"depths": (10,)}, "0 .start. to 9"),
        ({"depths": ()}, "at least one depth"),
        ({"lengths": (-1,)}, "cannot be -1"),
        ({"lengths": (4, 4)}, "named twice"),
        ({"per_cell": 0}, "one sample for each"),
        ({"pictures": tmp_path / "nowhere"}, "does not exist"),
        (
            {"pictures": few, "kind": "image", "lengths": (4,)},
            "holds 1 picture; the longest haystack needs 4",
        ),
        ({"pictures": broken, "kind": "image", "lengths": (2,)}, "no picture that can be read"),
    ]
    for number, (wish, message) in enumerate(wishes):
        with pytest.raises(UsageError, match=message):
            build_needles(tmp_path / str(number), **wish)
    build_needles(tmp_path / "out", depths=(0,), lengths=(0,))
    with pytest.raises(UsageError, match="not empty"):
        build_needles(tmp_path / "out", depths=(0,), lengths=(0,))


def test_pictures_are_looked_at_before_anything_is_written(tmp_path: Path) -> None:
    hay, out = tmp_path / "hay", tmp_path / "out"
    hay.mkdir()
    for number in range(3):
        Image.effect_noise((200, 150), 80).convert("RGB").save(hay / f"{number}.jpg")
    whole = (hay / "1.jpg").read_bytes()
    (hay / "1.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"1\.jpg is no picture that can be read"):
        build_needles(out, kind="image", pictures=hay, depths=(0,), lengths=(3,))
    Image.new("RGB", (32, 32)).save(hay / "1.jpg")
    with pytest.raises(UsageError, match=r"1\.jpg is 32×32: the secret word cannot be read.*at least 160×40"):
        build_needles(out, kind="image", pictures=hay, depths=(0,), lengths=(3,))
    (hay / "1.jpg").write_bytes(whole)
    assert not out.exists(), "so that the same command can be run again"
    build_needles(out, kind="image", pictures=hay, depths=(0,), lengths=(3,))


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"TextNeedleInAHaystack cannot be written: Not a directory"):
        build_needles(tmp_path / "file", depths=(0,), lengths=(0,))
