"""Prompts, the model's window, and grids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from tests.support.milebench_kit import make_item, write_dataset
from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.truncation import estimate_tokens, fit_context, read_window
from vivant.core.errors import MediaError, UsageError
from vivant.core.types import Image, Part, Sample, Text
from vivant.media.image_grid import TILE, draw_grid, load_grid, split_into_grids


def split_words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def build_prompt(
    root: Path, dataset: str = "TQA", benchmark: MileBench | None = None, **context: Any
) -> Prompt:
    benchmark = benchmark or MileBench()
    samples = benchmark.load(root, f"milebench/{dataset}")
    return benchmark.prompt(samples[0], PromptContext(style="zero-shot", root=root, **context))


def get_text(prompt: Prompt) -> str:
    parts = prompt.messages[0].parts
    return "".join(part.text if isinstance(part, Text) else f"<{part.path}>" for part in parts if part)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    entry = make_item(0, "See {image#1} and {image#2} now.", ["a.png", "b.png"], "red", ["red", "blue"])
    write_dataset(tmp_path, "TQA", [entry])
    write_dataset(tmp_path, "GPR1200", [entry])
    write_dataset(
        tmp_path,
        "ALFRED",
        [make_item(0, "Go {image#1}", ["a.png"], "go left"), make_item(1, "x", [], "stop")],
    )
    return tmp_path


def test_multiple_choice(root: Path) -> None:
    prompt = build_prompt(root)
    assert get_text(prompt) == (
        "Look and answer.\nSee <TQA/images/a.png> and <TQA/images/b.png> now.\nChoice list: "
        "\nA. red\nB. blue\nYour answer is: "
    )
    assert [option.name for option in prompt.options] == ["A", "B"]
    assert (prompt.order, prompt.lost_images, prompt.notes, prompt.max_tokens) == ((0, 1), 0, (), 512)


def test_gpr1200_lists_choices_without_letters(root: Path) -> None:
    assert get_text(build_prompt(root, "GPR1200")).endswith("Choice list: \nred\nblue\nYour answer is: ")


def test_open_questions_have_no_list_but_candidates_for_guessers(root: Path) -> None:
    benchmark = MileBench()
    pool = tuple(benchmark.load(root, "milebench/ALFRED"))
    prompt = build_prompt(root, "ALFRED", pool=pool)
    assert "Choice list" not in get_text(prompt)
    assert prompt.candidates == ("go left", "stop")
    assert prompt.options == ()


def test_wording_can_be_replaced(root: Path) -> None:
    prompt = build_prompt(root, wording={"instruction": "Answer!", "choices": "Options:", "answer": "So:"})
    assert get_text(prompt).startswith("Answer!\nSee ")
    assert get_text(prompt).endswith("Options:\nA. red\nB. blue\nSo:")
    only = build_prompt(root, wording={"instruction": "Answer!", "instruction.TQA": "Look!"})
    assert get_text(only).startswith("Look!\n")
    assert get_text(build_prompt(root, wording={"instruction.WebQA": "Look!"})).startswith("Look and answer.")


# ── the window ──


def test_what_is_lost_is_recorded(root: Path) -> None:
    limits = {"max_context_len": 20, "n_tokens_per_image": 3, "tokenizer": split_words}
    prompt = build_prompt(root, limits=limits)
    assert get_text(prompt).startswith("Look and answer.\n and <TQA/images/b.png> now.\nChoice list:")
    assert prompt.lost_images == 1
    (note,) = prompt.notes
    assert "1 images and 2 tokens lost" in note
    assert "model's tokenizer" in note


def test_without_a_tokenizer_the_estimate_is_stated(root: Path) -> None:
    prompt = build_prompt(root, limits={"max_context_len": 10, "n_tokens_per_image": 500})
    assert prompt.lost_images == 2
    assert "estimated at 4 characters each" in prompt.notes[0]
    assert build_prompt(root, limits={"max_context_len": 4000, "n_tokens_per_image": 10}).notes == ()


def test_a_window_smaller_than_the_instruction_keeps_the_instruction_alone(root: Path) -> None:
    prompt = build_prompt(
        root, limits={"max_context_len": 1, "n_tokens_per_image": 1, "tokenizer": split_words}
    )
    assert get_text(prompt) == "Look and answer.\n"
    assert prompt.lost_images == 2


@pytest.mark.parametrize(
    "limits",
    [
        {"max_context_len": "many"},
        {"max_context_len": -1},
        {"max_context_len": True},
        {"max_context_len": 10, "n_tokens_per_image": 2.5},
        {"max_context_len": 10, "tokenizer": "llama"},
    ],
)
def test_bad_limits_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read_window(limits)


PARTS = st.lists(st.one_of(st.text("ab \n", max_size=12).map(Text), st.just(Image("x"))), max_size=12)


@given(PARTS, st.text("ab ", max_size=8), st.integers(0, 40), st.integers(0, 9))
def test_what_is_kept_fits_and_is_the_end_of_the_context(
    parts: list[Part], instruction: str, tokens: int, per_image: int
) -> None:
    limits = read_window(
        {"max_context_len": tokens, "n_tokens_per_image": per_image, "tokenizer": split_words}
    )
    assert limits is not None
    # Texts that stand side by side are one fragment: so prompts hand them over.
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, Text) and joined and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + part.text)
        else:
            joined.append(part)
    fitted = fit_context(instruction, joined, limits)

    def flat(pieces: tuple[Part, ...] | list[Part]) -> str:
        return "".join(piece.text if isinstance(piece, Text) else "#" for piece in pieces)

    images = flat(fitted.parts).count("#")
    used = sum(len(split_words(p.text)) for p in fitted.parts if isinstance(p, Text)) + per_image * images
    assert used <= max(0, tokens - len(split_words(instruction)))
    assert flat(joined).endswith(flat(fitted.parts))
    assert fitted.lost_images == flat(joined).count("#") - images
    assert (flat(fitted.parts) == flat(joined)) == (not fitted.lost_images and not fitted.lost_tokens)


@given(st.text())
def test_estimated_tokens_are_the_text(text: str) -> None:
    assert "".join(estimate_tokens(text)) == text


# ── grids ──


def test_combined_prompts_number_the_marks_and_put_the_grid_first(root: Path) -> None:
    prompt = build_prompt(root, benchmark=MileBench(combine=1))
    first, rest = prompt.messages[0].parts
    assert first == Image("grid of images 1 to 2", tiles=("TQA/images/a.png", "TQA/images/b.png"), first=1)
    assert isinstance(rest, Text)
    assert rest.text.startswith("\nLook and answer.\nSee <Image 1>  and <Image 2>  now.\nChoice list:")
    two = build_prompt(root, benchmark=MileBench(combine=2)).messages[0].parts
    assert [part.first for part in two if isinstance(part, Image)] == [1, 2]


def test_grids_of_the_release_are_used_where_they_are_there(tmp_path: Path) -> None:
    entry = make_item(
        0, "{image#1}", ["a.png"], "red", ["red", "blue"], instance={"combined_1_images": ["g.jpg"]}
    )
    write_dataset(tmp_path, "TQA", [entry])
    image = build_prompt(tmp_path, benchmark=MileBench(combine=1)).messages[0].parts[0]
    assert isinstance(image, Image)
    assert image.tiles
    (tmp_path / "TQA" / "combined_1_images").mkdir()
    (tmp_path / "TQA" / "combined_1_images" / "g.jpg").write_bytes(b"x")
    released = build_prompt(tmp_path, benchmark=MileBench(combine=1)).messages[0].parts[0]
    assert released == Image("TQA/combined_1_images/g.jpg")


@given(st.integers(0, 200), st.integers(1, 20))
def test_shares_hold_every_picture_once_in_at_most_so_many_grids(pictures: int, grids: int) -> None:
    result = split_into_grids(pictures, grids)
    assert [index for share in result for index in share] == list(range(pictures))
    assert len(result) <= grids


def draw_picture(path: Path, colour: tuple[int, int, int], size: tuple[int, int] = (40, 30)) -> Path:
    Pillow.new("RGB", size, colour).save(path)
    return path


@pytest.mark.parametrize(
    ("count", "columns", "rows"), [(1, 1, 1), (2, 2, 1), (3, 2, 2), (7, 3, 3), (12, 4, 3)]
)
def test_a_grid_is_as_square_as_it_can_be(tmp_path: Path, count: int, columns: int, rows: int) -> None:
    files = [draw_picture(tmp_path / f"{n}.png", (10 * n, 200, 90)) for n in range(count)]
    grid = draw_grid(files)
    assert grid.size == (columns * TILE, rows * TILE)
    for index in range(count):
        x, y = index % columns * TILE, index // columns * TILE
        assert grid.getpixel((x + 20, y + 20)) == (10 * index, 200, 90)
        foot = grid.crop((x, y + TILE - 60, x + TILE, y + TILE)).getcolors(1 << 20)
        assert foot is not None
        assert {(0, 0, 0), (255, 255, 255)} <= {colour for _, colour in foot}


def test_tiles_shrink_where_there_are_very_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vivant.media.image_grid.MAX_PIXELS", 400_000)
    grid = draw_grid([draw_picture(tmp_path / "a.png", (9, 9, 9))] * 7)
    assert grid.size == (210 * 3, 210 * 3)


def test_grids_are_cached_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    first = [draw_picture(tmp_path / "a.png", (1, 2, 3)), draw_picture(tmp_path / "b.png", (4, 5, 6))]
    path = load_grid(first)
    stamp = path.stat().st_mtime_ns
    assert load_grid(first) == path
    assert path.stat().st_mtime_ns == stamp
    assert load_grid(first, first=3) != path
    draw_picture(tmp_path / "b.png", (7, 8, 9))
    assert load_grid(first) != path
    assert not list((tmp_path / "cache").rglob("*.part"))


def test_a_broken_picture_costs_its_sample_and_leaves_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"<html>not found</html>")
    with pytest.raises(MediaError, match=r"broken.jpg"):
        load_grid([broken])
    with pytest.raises(MediaError, match=r"gone.jpg"):
        load_grid([tmp_path / "gone.jpg"])
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_samples_are_not_changed_by_phrasing(root: Path) -> None:
    benchmark = MileBench(combine=1)
    (sample,) = benchmark.load(root, "milebench/TQA")
    before = Sample(**{name: getattr(sample, name) for name in sample.__struct_fields__})
    benchmark.prompt(sample, PromptContext(style="zero-shot", root=root, limits={"max_context_len": 3}))
    assert sample == before
