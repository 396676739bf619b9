"""WebDataset shards: streamed from a disk and an object store, window by window, in an order that the seed fixes."""

from __future__ import annotations

import csv
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.support.helpers import logged_messages
from tests.support.train_kit import recipe, write_world
from vivant.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from vivant_train.data.sources import TrainingSource


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_world(tmp_path_factory.mktemp("shards") / "world", 12, side=32, times=4, tasks=("tag",))


def write_shard(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def list_pairs(world: Path) -> list[dict[str, bytes]]:
    """The two members of each video."""
    items = [msgspec.json.decode(line) for line in (world / "items.jsonl").read_bytes().splitlines()]
    pairs = []
    for line in (world / "videos.jsonl").read_bytes().splitlines():
        video = msgspec.json.decode(line)
        own = [item for item in items if item["video"] == f"{video['platform']}/{video['id']}"]
        name = video["id"]
        pairs.append(
            {
                f"{name}.json": msgspec.json.encode({"video": video, "items": own}),
                f"{name}.mp4": (world / f"videos/{name}.mp4").read_bytes(),
            }
        )
    return pairs


@pytest.fixture
def shards(world: Path, tmp_path: Path) -> Path:
    """Six shards of two videos each."""
    folder = tmp_path / "shards"
    folder.mkdir()
    pairs = list_pairs(world)
    for number in range(6):
        write_shard(folder / f"train-{number:04d}.tar", {**pairs[2 * number], **pairs[2 * number + 1]})
    return folder


@pytest.fixture
def store(shards: Path) -> Iterator[tuple[str, list[str]]]:
    """An object store by HTTP, and what was asked of it."""
    paths: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            super().do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(shards)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()
    thread.join()
    server.server_close()


def make_source(shards: str, **changes: Any) -> TrainingSource:
    from vivant_train.data.sources import TrainingSource

    return TrainingSource(benchmark="mimic/tag", shards=shards, **changes)


def test_shards_hold_what_the_folder_holds(world: Path, shards: Path, store: tuple[str, list[str]]) -> None:
    from vivant_train.data.sources import TrainingSource, load_examples, phrase_example

    wanted = load_examples([TrainingSource(benchmark="mimic/tag", data=str(world))], Path()).examples
    texts = sorted(phrase_example(example, 0, 0).text for example in wanted)
    for pattern in (str(shards / "train-*.tar"), f"{store[0]}/train-{{0000..0005}}.tar"):
        loaded = load_examples([make_source(pattern)], Path()).examples
        assert sorted(phrase_example(example, 0, 0).text for example in loaded) == texts
        assert all((Path(each.media_root) / each.media[0].path).is_file() for each in loaded)


def test_an_epoch_reads_each_shard_once_and_only_a_little_ahead(
    store: tuple[str, list[str]], world: Path
) -> None:
    from vivant_train.data.example_set import ExampleSet
    from vivant_train.data.sources import TrainingSource

    address, paths = store
    sources = [
        make_source(f"{address}/train-{{0000..0005}}.tar"),
        TrainingSource(benchmark="mimic/tag", data=str(world), where=("platform=test",)),
    ]
    examples = ExampleSet(sources, Path(), seed=3)
    assert not paths and examples.streams, "nothing is fetched before it is needed"
    windows = examples.iter_windows(0)
    first = next(windows)
    assert len(set(paths)) <= 4, "this window's shards and the next one's"
    all_names = [[each.name for each in window] for window in (first, *windows)]
    assert [len(names) for names in all_names] == [5, 5, 4], "four of shards, and a share of the folder"
    assert len(paths) == 6
    again = [[each.name for each in window] for window in ExampleSet(sources, Path(), seed=3).iter_windows(0)]
    other = [[each.name for each in window] for window in examples.iter_windows(1)]
    assert again == all_names != other
    assert sorted(name for names in other for name in names) == sorted(
        name for names in all_names for name in names
    )
    assert len(paths) == 6, "the second epoch reads the cache"


def test_a_training_streams_and_resumes_with_the_same_losses(
    store: tuple[str, list[str]], tmp_path: Path
) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    address, paths = store

    def run(out: str, steps: int, resume: bool = False) -> list[str]:
        data = {"sources": [{"benchmark": "mimic/tag", "shards": f"{address}/train-{{0000..0005}}.tar"}]}
        content = recipe(
            tmp_path, out=str(tmp_path / out), train={"steps": 6, "batch_tokens": 120, "row_tokens": 60}
        )
        content["data"] |= data
        made = make_recipe(content)
        if steps < 6:
            from vivant_train.trainer import Trainer

            usual = Trainer.train_step

            def stop_early(self: Any, batch: Any) -> Any:
                row = usual(self, batch)
                if batch.plan.position.step == steps - 1:
                    self.stop()
                return row

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Trainer, "train_step", stop_early)
                train(made, resume=resume)
        else:
            train(made, resume=resume)
        with (tmp_path / out / "metrics.csv").open(encoding="utf-8") as file:
            return [row["loss"] for row in csv.DictReader(file)]

    with logged_messages() as messages:
        whole = run("whole", 6)
    assert any(line.startswith("6 shards; ") for line in messages)
    assert len(run("parts", 3)) == 3
    assert run("parts", 6, resume=True) == whole and len(whole) == 6
    assert len(paths) == 6


def test_what_a_shard_lacks_is_left_out_and_counted(world: Path, tmp_path: Path) -> None:
    from vivant_train.data.sources import load_examples

    pairs = list_pairs(world)
    members = {**pairs[0], **pairs[1], "lone.json": pairs[2]["v0002.json"], "odd.json": b"{}"}
    write_shard(tmp_path / "some.tar", members)
    with logged_messages() as messages:
        loaded = load_examples([make_source("some.tar")], tmp_path).examples
    assert len(loaded) == 2
    assert any("some.tar (2 in all): lone.json has no video beside it" in line for line in messages)
    whole = tmp_path / "whole.tar"
    write_shard(whole, {**pairs[3], **pairs[4], **pairs[5]})
    (tmp_path / "torn.tar").write_bytes(whole.read_bytes()[: whole.stat().st_size - 12_500])
    with logged_messages() as messages:
        assert 0 < len(load_examples([make_source("torn.tar")], tmp_path).examples) < 3
    assert any("it ends too early" in line for line in messages)


def test_shards_that_cannot_be_used(tmp_path: Path, world: Path, store: tuple[str, list[str]]) -> None:
    from vivant_train.data.example_set import ExampleSet
    from vivant_train.data.sources import load_examples

    write_shard(tmp_path / "lone.tar", {"a.json": list_pairs(world)[0]["v0000.json"]})
    (tmp_path / "no.tar").write_bytes(b"no archive" * 100)
    for pattern, message in (
        ("lone.tar", r"lone\.tar holds no pairs .*a\.json has no video beside it"),
        ("no.tar", r"no\.tar cannot be read"),
        ("none-*.tar", "No shard is called"),
        (f"{store[0]}/absent.tar", r"absent\.tar cannot be read"),
        ("nowhere://bucket/a.tar", "nowhere"),
    ):
        with pytest.raises(DataError, match=message):
            load_examples([make_source(pattern)], tmp_path)
    with pytest.raises(UsageError, match="limit and split need all samples at once"):
        ExampleSet([make_source("lone.tar", limit=3)], tmp_path)


def test_videos_are_read_whatever_their_suffix(world: Path, tmp_path: Path) -> None:
    from vivant_train.data.sources import load_examples

    suffixes = ("mp4", "m4v", "avi", "MOV", "flv")
    members: dict[str, bytes] = {}
    for pair, suffix in zip(list_pairs(world), suffixes, strict=False):
        members |= {name.replace(".mp4", f".{suffix}"): data for name, data in pair.items()}
    write_shard(tmp_path / "some.tar", members)
    assert len(load_examples([make_source("some.tar")], tmp_path).examples) == len(suffixes)


def test_a_shard_replaced_at_its_address_is_read_again(
    world: Path, shards: Path, store: tuple[str, list[str]]
) -> None:
    from vivant_train.data.sources import load_examples

    pairs = list_pairs(world)
    for address in (f"file://{shards}/train-0000.tar", f"{store[0]}/train-0001.tar"):
        assert len(load_examples([make_source(address)], Path()).examples) == 2
        write_shard(shards / address.rpartition("/")[2], {**pairs[0], **pairs[1], **pairs[2]})
        assert len(load_examples([make_source(address)], Path()).examples) == 3
