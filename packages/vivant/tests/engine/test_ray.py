"""The same plan on a cluster: two nodes on this machine, one log, and nodes that die."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine.test_faults import number_of
from tests.support.fault_server import Act, FaultServer, serving
from tests.support.helpers import logged_messages, questions
from tests.support.media_kit import make_video
from tests.support.stopping_kit import clustered
from vivant.core.errors import UsageError
from vivant.engine.options import RunOptions
from vivant.engine.retry import RetryPolicy
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.runs.log import read_log
from vivant.runs.run import Run

pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes; what the tests do to others is their own business."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=node)
    made.add_node(num_cpus=1, object_store_memory=80_000_000)
    yield made
    made.shutdown()


def run(path: Path, out: Path, server: FaultServer | None, **more: Any) -> tuple[Any, list[str]]:
    options = RunOptions(
        selectors=(str(path),),
        out=str(out),
        base_url=server.url if server is not None else None,
        **{"model": "openai/x", "cache": "off", "workers": 1, "retry": RetryPolicy(first=0.05), **more},
    )
    with logged_messages() as messages:
        return run_plan(plan_run(options), options), messages


def lines(run: Path) -> list[bytes]:
    """A log's lines, sorted, without what tells when and how fast."""
    found = []
    for record in read_log(run / "log.jsonl"):
        plain = msgspec.to_builtins(record)
        for timing in ("started", "seconds"):
            plain.pop(timing, None)
        found.append(msgspec.json.encode(plain, order="sorted"))
    return sorted(found)


def mixed(folder: Path, count: int) -> Path:
    """Questions on pictures and on videos, one of which cannot be read."""
    path = questions(folder, count)
    entries = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    for number in range(3):
        make_video(folder / f"{number}.mp4", frames=24)
    (folder / "broken.mp4").write_bytes(b"<html>not found</html>")
    for number, entry in enumerate(entries):
        if number % 5 == 0:
            del entry["image"]
            entry["video"] = "broken.mp4" if number == 10 else f"{number % 3}.mp4"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, entries)) + b"\n")
    return path


def test_the_log_is_that_of_one_machine_line_for_line_and_limits_are_global(
    cluster: Any, tmp_path: Path
) -> None:
    path = mixed(tmp_path, 60)
    asked: Counter[int] = Counter()

    def behave(_number: int, body: dict[str, Any]) -> Act:
        sample = number_of(body)
        asked[sample] += 1
        if sample % 7 == 0 and asked[sample] == 1:
            return Act(status=500)
        return Act(f"the answer to {sample}", delay=0.03, finish="length" if sample % 11 == 0 else "stop")

    with serving(behave) as server:
        run(path, tmp_path / "local", server, concurrency=6)
        asked.clear()
        server.highest = 0
        outcome, said = run(
            path, tmp_path / "ray", server, concurrency=6, executor="ray", address=cluster.address
        )
    assert outcome.done == 60
    assert outcome.errors == 1
    assert lines(tmp_path / "ray") == lines(tmp_path / "local")
    assert server.highest <= 6
    assert any("2 workers" in sentence or "1 of 2 workers" in sentence for sentence in said)


def test_a_node_killed_in_mid_run_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    path = questions(tmp_path, 400)
    doomed = cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    with serving(lambda _n, body: Act(f"the answer to {number_of(body)}", delay=0.1)) as server:
        run(path, tmp_path / "local", server, concurrency=64)
        before = len(server.requests)

        def kill() -> None:
            while len(server.requests) < before + 60:
                time.sleep(0.01)
            cluster.remove_node(doomed, allow_graceful=False)

        killing = threading.Thread(target=kill)
        killing.start()
        outcome, said = run(
            path, tmp_path / "ray", server, concurrency=12, executor="ray", address=cluster.address
        )
        killing.join()
    assert any("is lost; its samples go to others" in sentence for sentence in said), said
    assert (outcome.done, outcome.errors) == (400, 0)
    assert lines(tmp_path / "ray") == lines(tmp_path / "local")


@pytest.mark.full
def test_a_stopped_run_waits_only_for_what_is_under_way(cluster: Any, tmp_path: Path) -> None:
    path = questions(tmp_path, 200, pictures=False)

    # All are cut off, which stops the run after the first few.
    with serving(lambda _n, _b: Act("<think>so long", delay=0.3, finish="length")) as server:
        outcome, _ = run(
            path, tmp_path / "ray", server, concurrency=8, executor="ray", address=cluster.address
        )
        assert outcome.cut_off and outcome.stopped
        # Eight under way when the run stops, and none of those that wait at the workers.
        assert outcome.done == len(server.requests)
        assert server.highest <= 8
        assert len(list(read_log(tmp_path / "ray" / "log.jsonl"))) == outcome.done < 60


@pytest.mark.full
def test_a_run_on_a_cluster_stops_when_it_is_enough(cluster: Any, tmp_path: Path) -> None:
    path = clustered(tmp_path, 600)
    run(
        path,
        tmp_path / "ray",
        None,
        model=f"{tmp_path / 'own.py'}:Model",
        concurrency=8,
        executor="ray",
        address=cluster.address,
        until=8.0,
    )
    row = Run(tmp_path / "ray").table().rows[0]
    assert row.interval is not None
    assert row.interval[1] - row.interval[0] <= 16.0
    assert row.n < 400


MODEL = """
import os
import time


class Mine:
    batch_size = 1

    def generate(self, prompts, media):
        time.sleep(0.05)
        if "number 5?" in prompts[0] and os.path.exists("deadly"):
            os._exit(1)
        return [os.environ.get("CUDA_VISIBLE_DEVICES", "")]
"""


def run_mine(path: Path, cluster: Any) -> Counter[tuple[str, str]]:
    folder = path.parent
    (folder / "mine.py").write_text(MODEL)
    ray = {"executor": "ray", "address": cluster.address, "concurrency": 4}
    run(path, folder / "run", None, model=f"{folder}/mine.py:Mine", **ray)
    records = list(read_log(folder / "run" / "log.jsonl"))
    assert len({record.key for record in records}) == len(records)
    return Counter((record.reply.status, record.reply.text or record.reply.error) for record in records)


@pytest.mark.full
def test_a_model_that_computes_gets_one_worker_an_accelerator(cluster: Any, tmp_path: Path) -> None:
    path = questions(tmp_path, 120, pictures=False)
    node = cluster.add_node(num_cpus=1, num_gpus=2, object_store_memory=80_000_000)
    try:
        found = run_mine(path, cluster)
    finally:
        cluster.remove_node(node)
    assert found.keys() == {("ok", "0"), ("ok", "1")}
    assert found.total() == 120


def test_a_sample_that_kills_its_workers_is_an_error_and_the_only_one(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = questions(tmp_path, 30, pictures=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deadly").touch()
    found = run_mine(path, cluster)
    assert found.total() == 30
    (error,) = (text for status, text in found if status == "error")
    assert "was lost (3 times over this sample)" in error
    assert found["error", error] == 1


def test_no_cluster_is_one_line(tmp_path: Path) -> None:
    import ray

    ray.shutdown()
    path = questions(tmp_path, 2, pictures=False)
    with pytest.raises(UsageError, match=r"No Ray cluster at '127\.0\.0\.1:1'"):
        run(path, tmp_path / "run", None, model="first", executor="ray", address="127.0.0.1:1")


def test_a_cluster_that_wants_another_token_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    def refuse(**_: Any) -> None:
        raise ray.exceptions.AuthenticationError("token is missing or incorrect")

    ray.shutdown()
    monkeypatch.setattr(ray, "init", refuse)
    path = questions(tmp_path, 2, pictures=False)
    with pytest.raises(UsageError, match=r"token is missing .* needs the same RAY_AUTH_TOKEN here"):
        run(path, tmp_path / "run", None, model="first", executor="ray", address="auto")
