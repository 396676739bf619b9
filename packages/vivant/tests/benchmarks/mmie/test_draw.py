"""Pictures for models without them: marks in a text, drawers, what happens when drawing fails."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PILImage

from tests.support.fault_server import Act, serving
from tests.support.helpers import picture
from tests.support.mmie_kit import run_vivant
from vivant.core.errors import UsageError
from vivant.core.generated_images import PictureDescription, mark_picture, split_marks
from vivant.core.types import Image, Reply, Request, Text
from vivant.engine.evaluation import evaluate
from vivant.models.base import Model, ModelOptions
from vivant.models.image_generation.base import ImageGenerator, ImageRefusedError, create_image_generator
from vivant.models.image_generation.diffusers import DiffusersGenerator
from vivant.models.image_generation.illustrated import MAX_PICTURES, IllustratedModel
from vivant.models.image_generation.placeholder import draw_card


@given(st.lists(st.text(max_size=20) | st.builds(PictureDescription, st.text(max_size=20)), max_size=6))
def test_marks_are_found_where_they_were_put(pieces: list[str | PictureDescription]) -> None:
    text = "".join(
        mark_picture(piece.text) if isinstance(piece, PictureDescription) else piece for piece in pieces
    )
    result = split_marks(text)
    again = "".join(
        mark_picture(piece.text) if isinstance(piece, PictureDescription) else piece for piece in result
    )
    assert "".join(again.split()) == "".join(text.split())
    assert all(piece.text.strip() for piece in result if isinstance(piece, PictureDescription))


def test_marks_that_are_not_closed_or_empty_stay_text() -> None:
    assert split_marks("a <picture>b") == ["a <picture>b"]
    assert split_marks("a <picture> </picture> b") == ["a <picture> </picture> b"]
    assert split_marks("<PICTURE>x\ny</Picture>z") == [PictureDescription("x y"), "z"]


class Writer(Model):
    name = "writer"

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked = 0

    async def generate(self, request: Request) -> Reply:  # noqa: ARG002
        self.asked += 1
        return Reply(text=self.text)


class Broken(ImageGenerator):
    name = "broken"

    def __init__(self, errors: list[Exception]) -> None:
        self.errors = errors

    async def generate_image(self, description: str, seed: int) -> bytes:
        if self.errors:
            raise self.errors.pop(0)
        return draw_card(f"{description} {seed}")


def test_text_and_pictures_interleave_and_seeds_differ() -> None:
    both = IllustratedModel(Writer(f"One {mark_picture('a')} two {mark_picture('a')}"), Broken([]))
    reply = asyncio.run(both.generate(Request(turns=(), key="k")))
    kinds = [type(part).__name__ for part in reply.parts]
    assert kinds == ["Text", "Image", "Text", "Image"]
    assert len({part.path for part in reply.parts if isinstance(part, Image)}) == 2
    assert both.name == "writer + broken"
    assert not both.cacheable


def test_a_failed_drawing_is_tried_again_without_asking_for_the_text_twice() -> None:
    from vivant.models.base import TransientError

    writer = Writer(mark_picture("a"))
    both = IllustratedModel(writer, Broken([TransientError("busy")]))
    request = Request(turns=(), key="k")
    with pytest.raises(TransientError):
        asyncio.run(both.generate(request))
    assert asyncio.run(both.generate(request)).status == "ok"
    assert writer.asked == 1


def test_a_refused_drawing_is_a_refusal_that_keeps_the_text() -> None:
    both = IllustratedModel(Writer(f"x {mark_picture('a')}"), Broken([ImageRefusedError("no")]))
    reply = asyncio.run(both.generate(Request(turns=(), key="k")))
    assert (reply.status, reply.text) == ("refused", f"x {mark_picture('a')}")
    assert "picture 1: no" in reply.error


def test_a_model_that_repeats_itself_does_not_fill_the_disk() -> None:
    both = IllustratedModel(Writer(mark_picture("again") * 50), Broken([]))
    reply = asyncio.run(both.generate(Request(turns=(), key="k")))
    assert sum(isinstance(part, Image) for part in reply.parts) == MAX_PICTURES
    assert sum(isinstance(part, Text) for part in reply.parts) == 50 - MAX_PICTURES


@pytest.mark.parametrize(
    "text", ["A cat", "", "x" * 5000, "שלום \u202e عالم", "a\x00b\n\tc", "🎉" * 40, "\ud800"]
)
def test_cards_can_be_drawn_of_anything(text: str) -> None:
    data = draw_card(text)
    with PILImage.open(BytesIO(data)) as opened:
        assert opened.size == (448, 336)
    assert data == draw_card(text)


def test_an_images_endpoint(tmp_path: Path) -> None:
    data = picture(tmp_path / "x.png")
    answered = msgspec.json.encode({"data": [{"b64_json": b64encode(data).decode()}]})
    with serving(lambda *_: Act(body=answered)) as server:
        drawer = create_image_generator(
            "openai/dall-e-3", ModelOptions(base_url=server.url, values={"size": "512x512"})
        )

        async def generate_image() -> bytes:
            await drawer.open()
            try:
                return await drawer.generate_image("a boat", 1)
            finally:
                await drawer.close()

        assert asyncio.run(generate_image()) == data
    (body,) = server.requests
    assert {k: body[k] for k in ("model", "prompt", "n", "size", "response_format")} == {
        "model": "dall-e-3",
        "prompt": "a boat",
        "n": 1,
        "size": "512x512",
        "response_format": "b64_json",
    }


def test_the_integrated_pipeline_end_to_end(tmp_path: Path) -> None:
    data = picture(tmp_path / "x.png")
    answered = msgspec.json.encode({"data": [{"b64_json": b64encode(data).decode()}]})

    def behave(_: int, body: dict[str, Any]) -> Act:
        return Act(body=answered) if "prompt" in body else Act(f"Look {mark_picture('a red kite')} there.")

    with serving(behave) as server:
        run = evaluate(
            "mmie/sa",
            "openai/writer",
            data=("mini",),
            limit=2,
            out=str(tmp_path / "run"),
            base_url=server.url,
            image_model="openai/painter",
            image_base_url=server.url,
        )
    assert run.model == "openai/writer + openai/painter"
    assert run.manifest.style == "described"
    assert [body["prompt"] for body in server.requests if "prompt" in body] == ["a red kite"] * 2
    for record in run.records().values():
        assert [type(part).__name__ for part in record.reply.parts] == ["Text", "Image", "Text"]
    assert [path.read_bytes() for path in (run.dir.path / "media").iterdir()] == [data]


def test_wrong_names_and_places_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Unknown image model 'dale'"):
        create_image_generator("dale/x")
    with pytest.raises(UsageError, match="--image-base-url"):
        create_image_generator("openai/x")
    result = run_vivant(
        "run", "mime", "--data", "mini", "--model", "random", "--image-model", "placeholder", cwd=tmp_path
    )
    assert result.returncode == 1
    assert "answers to mime hold no pictures" in result.stderr


def test_the_precision_that_is_named_tells_pipelines_apart() -> None:
    usual, half = (
        DiffusersGenerator("sd", ModelOptions(values=v)).identity for v in ({}, {"dtype": "float16"})
    )
    assert usual == {"image_model": "diffusers/sd"}
    assert half == {"image_model": "diffusers/sd", "image_dtype": "float16"}


def test_another_seed_and_other_weights_draw_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures rest on both, so no reply is reused that was illustrated with another."""
    monkeypatch.setattr(DiffusersGenerator, "_load", lambda _: None)
    monkeypatch.setattr(DiffusersGenerator, "_generate", lambda _, text, seed: draw_card(f"{text} {seed}"))
    monkeypatch.setattr("vivant.models.image_generation.diffusers.require_package", lambda *_: None)
    weights = tmp_path / "sd"
    weights.mkdir()

    def is_reused(url: str, out: str, seed: int) -> bool:
        run = evaluate(
            "mmie/sa",
            "openai/writer",
            data=("mini",),
            out=str(tmp_path / out),
            base_url=url,
            image_model=f"diffusers/{weights}",
            seed=seed,
        )
        return all(record.cached for record in run.records().values())

    with serving(lambda *_: Act(mark_picture("a kite"))) as server:
        assert not is_reused(server.url, "first", 0)
        assert is_reused(server.url, "same", 0)
        assert not is_reused(server.url, "seed", 1)
        (weights / "model.safetensors").write_bytes(b"trained further")
        assert not is_reused(server.url, "weights", 0)
