"""With the real clients: Weights & Biases offline, and MLflow's store of files."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.helpers import questions
from vivant import api
from vivant.bridges.trackers import ScorePoint, list_trackers, log_to_mlflow, log_to_wandb, make_point
from vivant.core.errors import UsageError

pytestmark = [
    pytest.mark.filterwarnings("default"),  # others' packages warn about each other
]


@pytest.fixture
def points(tmp_path: Path) -> list[ScorePoint]:
    run = api.evaluate(str(questions(tmp_path, 8)), "random", out=tmp_path / "runs" / "first")
    return [make_point(run, 100), make_point(run, 200)]


@pytest.fixture
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """W&B without a server. Its process ends with the test: it keeps the folder that it was started with."""

    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    for name in ("WANDB__SERVICE_WAIT", "WANDB_INIT_TIMEOUT"):
        monkeypatch.setenv(name, "300")
    yield
    wandb.teardown()


@pytest.mark.usefixtures("_offline")
def test_wandb_records_the_scores_offline(points: list[ScorePoint]) -> None:
    import wandb

    folder = log_to_wandb(points, "vivant-test")
    wandb.teardown()  # waits for the client's own process, which writes the file
    (file,) = Path(folder).parent.glob("*.wandb")
    history = _read_history(file)
    steps = [float(row["step"]) for row in history if "step" in row]
    assert steps == [100, 200]
    expected = points[0].values["jsonl/mine/accuracy"]
    assert [float(row["jsonl/mine/accuracy"]) for row in history] == [pytest.approx(expected)] * 2


@pytest.mark.usefixtures("_offline")
def test_a_watch_is_one_run_of_each_tracker(
    points: list[ScorePoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow
    import wandb

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/mlruns")
    for point in points:
        folder = log_to_wandb([point], "vivant-test", "watch-a")
        identity = log_to_mlflow([point], "vivant-test", "watch-a")
    wandb.teardown()
    (file,) = Path(folder).parent.glob("*.wandb")
    assert file.name == "run-watch-a.wandb"
    assert [float(row["step"]) for row in _read_history(file) if "step" in row] == [100, 200]
    history = mlflow.MlflowClient().get_metric_history(identity, "jsonl/mine/accuracy")
    assert [entry.step for entry in history] == [100, 200]


def _read_history(file: Path) -> list[dict[str, str]]:
    from wandb.proto import wandb_internal_pb2

    rows = []
    for data in _read_records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            rows.append(
                {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
            )
    return rows


def _read_records(data: bytes) -> Iterator[bytes]:
    """The records of an offline file: LevelDB's log format, in blocks of 32 KiB, after a head of 7 bytes."""
    position, pending = 7, b""
    while position + 7 <= len(data):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack("<IHB", data[position : position + 7])
        pending += data[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield pending
            pending = b""


def test_mlflow_holds_the_scores_by_step(
    points: list[ScorePoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/mlruns")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/mlruns")
    identity = log_to_mlflow(points, "vivant-test")
    client = mlflow.MlflowClient(tracking_uri=f"file://{tmp_path}/mlruns")
    history = client.get_metric_history(identity, "jsonl/mine/accuracy")
    assert [(entry.step, entry.value) for entry in history] == [
        (point.step, pytest.approx(point.values["jsonl/mine/accuracy"])) for point in points
    ]
    assert client.get_run(identity).data.params["model"] == "random"


def test_nowhere_to_write_for_mlflow_is_an_error_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import mlflow

    mlflow.set_tracking_uri("oracle://somewhere")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(
        UsageError, match=r"^--mlflow scores: MLflow can't write to oracle:.*MLFLOW_TRACKING_URI"
    ):
        list_trackers(None, "scores", None)
