"""Workers of local models: batches of similar length, one worker per accelerator, deaths survived."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Decoding, Picture, Reply, Request, Text, Turn
from vivant.models.base import ModelError, ModelOptions
from vivant.models.internvl_chat import choose_grid, cut_tiles
from vivant.models.local_model import LocalModel, estimate_length, hash_checkpoint, list_media, select_batch
from vivant.models.local_worker import run_batch
from vivant.models.registry import create
from vivant.models.thought_marks import split_thinking
from vivant.models.transformers import Transformers


class Toy(LocalModel):
    def __init__(self, *, batch_size: int = 4, workers: Any = 1, **settings: Any) -> None:
        super().__init__(
            "toy", "tests.support.toy_engine:Engine", settings, batch_size=batch_size, workers=workers
        )


def request(text: str, **decoding: Any) -> Request:
    return Request(turns=(Turn("user", (Text(text),)),), decoding=Decoding(**decoding))


def ask(model: LocalModel, requests: Sequence[Request]) -> list[Reply | BaseException]:
    async def main() -> list[Reply | BaseException]:
        await model.open()
        try:
            return await asyncio.gather(*map(model.generate, requests), return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(main())


def texts(replies: Sequence[Reply | BaseException]) -> list[str]:
    assert all(isinstance(reply, Reply) for reply in replies), replies
    return [reply.text for reply in replies if isinstance(reply, Reply)]


def test_requests_that_wait_together_go_as_batches_of_similar_length() -> None:
    lengths = [10, 4000, 12, 4100, 11, 4050, 13, 4020]
    replies = texts(ask(Toy(), [request("x" * length) for length in lengths]))
    assert [reply.partition(":")[0] for reply in replies] == ["4 on 0"] * 8
    assert [len(reply.partition(": ")[2]) for reply in replies] == lengths


def test_only_requests_that_are_written_alike_share_a_batch() -> None:
    mixed = [request("a", max_tokens=5), request("b", max_tokens=6), request("c", max_tokens=5)]
    assert texts(ask(Toy(), mixed)) == ["2 on 0: a", "1 on 0: b", "2 on 0: c"]


def test_the_oldest_request_is_never_passed_over() -> None:
    small = Picture(b"", "image/png", 280, 280)
    seeing = Request(turns=(Turn("user", (small, Clip((small, small), "v"))),))
    assert estimate_length(seeing) == 300
    assert list_media(seeing, as_video=False) == (True, ())
    assert list_media(seeing, as_video=True) == (True, (2,))
    waiting: list[Any] = []

    class Waiting:
        def __init__(self, length: int, kind: str = "a") -> None:
            self.length, self.kind = length, kind

    waiting = [Waiting(50), Waiting(1, "b"), Waiting(90), Waiting(52), Waiting(49)]
    assert [w.length for w in select_batch(waiting, 3)] == [50, 49, 52]
    assert select_batch([], 3) == []


def test_one_worker_starts_for_each_accelerator_and_all_work() -> None:
    replies = texts(
        ask(Toy(workers="auto", accelerators=2, batch_size=1), [request(str(n)) for n in range(8)])
    )
    assert {reply.split(":")[0] for reply in replies} == {"1 on 0", "1 on 1"}


def test_a_bad_request_costs_itself_alone() -> None:
    replies = ask(Toy(batch_size=8), [request(text) for text in ("a", "b", "bad", "c", "d")])
    assert [r.status for r in replies if isinstance(r, Reply)] == ["ok", "ok", "error", "ok", "ok"]
    assert isinstance(replies[2], Reply)
    assert replies[2].error == "ValueError: a bad request"


def test_a_batch_is_halved_until_only_the_request_at_fault_fails() -> None:
    seen: list[int] = []

    class Small:
        """Has room for two at a time."""

        accelerators = 0

        def generate(self, requests: Sequence[Request]) -> list[Reply]:
            seen.append(len(requests))
            if len(requests) > 2:
                raise MemoryError("out of memory")
            return [Reply(text=one.text) for one in requests]

        def loglikelihood(
            self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]
        ) -> list[Reply]:
            assert len(requests) == len(answers)
            return self.generate(requests)

    batch = [request(str(n)) for n in range(5)]
    assert [reply.text for reply in run_batch(Small(), batch)] == ["0", "1", "2", "3", "4"]
    assert seen == [5, 2, 3, 1, 2]
    assert len(run_batch(Small(), batch, [("A",)] * 5)) == 5


def test_a_worker_that_dies_costs_its_batch_and_is_replaced() -> None:
    model = Toy(batch_size=1)
    replies = ask(model, [request("a"), request("die"), request("b")])
    assert [r.status for r in replies if isinstance(r, Reply)] == ["ok", "error", "ok"]
    assert isinstance(replies[1], Reply)
    assert replies[1].error == "the worker died: SIGKILL, perhaps out of memory"


def test_workers_that_die_again_and_again_end_the_run() -> None:
    replies = ask(Toy(batch_size=1), [request("die") for _ in range(6)])
    assert [type(reply) for reply in replies] == [Reply] * 3 + [ModelError] * 3
    assert "3 times in a row" in str(replies[-1])


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"broken": True}, "toy: no such checkpoint"), ({"crash": True}, "CUDA error: something")],
)
def test_a_worker_that_cannot_load_says_why(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        ask(Toy(**settings), [])


def test_processes_that_an_engine_starts_end_with_it(tmp_path: Path) -> None:
    ask(Toy(child=str(tmp_path / "pid")), [request("a")])
    status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    until = time.monotonic() + 600
    while (
        status.exists()
        and status.read_text().rpartition(")")[2].split()[0] != "Z"
        and time.monotonic() < until
    ):
        time.sleep(0.02)
    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_checkpoint_trained_further_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"a" * 5_000_000)
    (tmp_path / "config.json").write_text("{}")
    first = hash_checkpoint(str(tmp_path))
    (tmp_path / "notes.md").write_text("not part of it")
    assert hash_checkpoint(str(tmp_path)) == first
    (tmp_path / "model.safetensors").write_bytes(b"a" * 4_999_999 + b"b")
    assert hash_checkpoint(str(tmp_path)) != first
    layers = b"a" * 2_400_000 + b"b" * 40_000  # as a LoRA that was merged leaves both ends
    (tmp_path / "model.safetensors").write_bytes(layers.ljust(5_000_000, b"a"))
    assert hash_checkpoint(str(tmp_path)) != first
    assert hash_checkpoint("Qwen/Qwen2.5-VL") == ""
    monkeypatch.chdir(tmp_path)
    assert hash_checkpoint("") == ""  # not the current folder


def test_adapters_on_the_hub_are_told_apart() -> None:
    adapters = (None, "org/lora-a", "org/lora-b")
    made = [Transformers("org/m", ModelOptions(values={"adapter": name})) for name in adapters]
    assert len({str(model.identity) for model in made}) == 3


@pytest.mark.parametrize(
    ("text", "opened", "expected"),
    [
        ("A", False, ("", "A")),
        ("<think>so</think>\n\nB", False, ("so", "B")),
        ("so</think>B", True, ("so", "B")),
        ("so much to say", True, ("so much to say", "")),
        ("<think>so much", False, ("so much", "")),
        ("I <think> so", False, ("", "I <think> so")),
    ],
)
def test_reasoning_between_tags_is_no_answer(text: str, opened: bool, expected: tuple[str, str]) -> None:
    assert split_thinking(text, opened=opened)[:2] == expected


# ── tiles of InternVL ──


@pytest.mark.parametrize(
    ("size", "most", "expected"),
    [
        ((448, 448), 12, (1, 1)),
        ((896, 448), 12, (2, 1)),
        ((800, 1300), 12, (2, 3)),
        ((4000, 1000), 12, (4, 1)),
        ((1920, 1080), 12, (4, 2)),
        ((100, 100), 12, (1, 1)),
        ((2000, 2000), 12, (3, 3)),
        ((2000, 2000), 1, (1, 1)),
        ((1920, 1080), 6, (2, 1)),
    ],
)
def test_tiles_are_arranged_by_the_pictures_shape(
    size: tuple[int, int], most: int, expected: tuple[int, int]
) -> None:
    assert choose_grid(*size, most) == expected


def test_a_picture_is_cut_row_by_row_with_a_thumbnail_at_the_end() -> None:
    from PIL import Image

    image = Image.new("RGB", (896, 448), (255, 0, 0))
    image.paste((0, 0, 255), (448, 0, 896, 448))
    left, right, whole = cut_tiles(image, 12)
    assert left.getpixel((10, 10)) == (255, 0, 0)
    assert right.getpixel((300, 10)) == (0, 0, 255)
    assert whole.size == (448, 448)
    assert len(cut_tiles(Image.new("RGB", (300, 300)), 12)) == 1


# ── what a user can get wrong ──


def test_mistakes_are_named_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vivant.models.transformers.require_package", lambda *_: None)
    monkeypatch.setattr("vivant.models.internvl_chat.require_package", lambda *_: None)
    for spec, values, words in (
        ("transformers/./nowhere", {}, "The model ./nowhere does not exist"),
        ("transformers/x", {"batchsize": "3"}, "did you mean 'batch_size'"),
        ("transformers/x", {"batch_size": "0"}, "whole number above 0"),
        ("transformers/x", {"text_only": "maybe"}, "true or false"),
        ("transformers/", {}, "Name the checkpoint"),
        ("internvl-chat/x", {}, "--trust-remote-code"),
        ("internvl-chat/x", {"trust_remote_code": "true", "tiles": "no"}, "whole number above 0"),
    ):
        with pytest.raises(UsageError, match=words):
            create(spec, ModelOptions(values=values))
    with pytest.raises(UsageError, match="videos as frames"):
        create("internvl-chat/x", ModelOptions(video="native", values={"trust_remote_code": "true"}))


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install 'vivant\[transformers\]'"):
        create("transformers/x")
    with pytest.raises(UsageError, match="--video-as native needs the package 'torchvision'"):
        Transformers("x", ModelOptions(video="native"))


def test_a_checkpoint_with_its_own_chat_is_known_by_its_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant.models.internvl_chat import InternVLChat

    monkeypatch.setattr("vivant.models.transformers.require_package", lambda *_: None)
    (tmp_path / "config.json").write_text('{"architectures": ["InternVLChatModel"]}')
    with pytest.raises(UsageError, match="--trust-remote-code"):
        create(f"transformers/{tmp_path}", ModelOptions())
    model = create(f"transformers/{tmp_path}", ModelOptions(values={"trust_remote_code": True}))
    assert isinstance(model, InternVLChat)
