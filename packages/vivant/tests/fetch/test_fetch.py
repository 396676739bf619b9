"""`vivant data get` with a stand-in for the hub: announced, pinned, checked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.helpers import vivant_process as vivant
from tests.support.hub_server import Hub, Repository, hub, packed
from vivant.benchmarks.sources import DataSource, Repo, find, load_sources
from vivant.core.disk_space import format_size
from vivant.core.errors import DataError, UsageError
from vivant.fetch.hub import HubListing, fetch_files, find_missing
from vivant.fetch.source_record import NAME, HubFile

ONE, TWO = "1" * 40, "2" * 40
PINNED = load_sources()["minilm"].repos[0].revision


MINILM = {
    "config.json": b"{}",
    "tokenizer.json": b'{"a": 1}',
    "model.safetensors": bytes(range(256)) * 4000,
    "pytorch_model.bin": b"not wanted" * 1000,
    ".gitattributes": b"*",
}


def call(served: Hub, folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`vivant data get …` as a user in `folder`, with the hub elsewhere."""
    home = {
        "VIVANT_CACHE": str(folder / "cache"),
        "HF_HOME": str(folder / "hf"),
        "HF_TOKEN": "",
        "HF_HUB_OFFLINE": "0",
    }
    return vivant("data", *arguments, cwd=folder, env={**home, "HF_ENDPOINT": served.url, **env})


def minilm() -> Repository:
    return Repository({PINNED: dict(MINILM), ONE: {}}, main=ONE, licence="apache-2.0")


def test_a_model_is_announced_fetched_and_found(tmp_path: Path) -> None:
    place = tmp_path / "cache" / "models" / "all-MiniLM-L6-v2"
    with hub() as served:
        served.repositories["sentence-transformers/all-MiniLM-L6-v2"] = minilm()
        planned = call(served, tmp_path, "get", "minilm", "--revision", PINNED, "--dry-run")
        assert planned.returncode == 0, planned.stderr
        assert f"at {PINNED[:12]}, licence apache-2.0" in planned.stderr
        assert "2 of 2 files to fetch, 1.0 MB of 1.0 MB" in planned.stderr
        assert not served.fetched and not place.exists()
        done = call(served, tmp_path, "get", "minilm", "--revision", PINNED)
        assert done.returncode == 0, done.stderr
        assert len(served.fetched) == 2
        again = call(served, tmp_path, "get", "minilm", "--revision", PINNED)
        assert "0 of 2 files to fetch" in again.stderr
        assert len(served.fetched) == 2
        (place / "tokenizer.json").write_bytes(b'{"a": 2}')
        mended = call(served, tmp_path, "get", "minilm", "--revision", PINNED)
        assert mended.returncode == 0, mended.stderr
        assert [name for name, _ in served.fetched[2:]] == ["tokenizer.json"]
    found = {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}
    found.pop(NAME)
    assert found == {
        name: data for name, data in MINILM.items() if name in ("tokenizer.json", "model.safetensors")
    }
    where = "from vivant.metrics.minilm import find_weights; print(find_weights().weights)"
    said = subprocess.run(
        [sys.executable, "-c", where],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VIVANT_CACHE": str(tmp_path / "cache")},
    )
    assert said.stdout.strip() == str(place / "model.safetensors")


def test_a_killed_process_leaves_what_arrived(tmp_path: Path) -> None:
    place = tmp_path / "cache" / "models" / "all-MiniLM-L6-v2"
    repository = minilm()
    repository.commits[PINNED]["model.safetensors"] = data = os.urandom(3_000_000)
    with hub() as served:
        served.repositories["sentence-transformers/all-MiniLM-L6-v2"] = repository
        served.stall_at = 2_500_000
        env = {
            "VIVANT_CACHE": str(tmp_path / "cache"),
            "HF_ENDPOINT": served.url,
            "HF_TOKEN": "",
            "HF_HUB_OFFLINE": "0",
        }
        command = [
            sys.executable,
            "-c",
            "from vivant.cli.main import main; main()",
            "data",
            "get",
            "minilm",
            "--revision",
            PINNED,
        ]
        process = subprocess.Popen(command, env={**os.environ, **env}, stderr=subprocess.DEVNULL)
        assert served.stalled.wait(600)
        while not any(file.stat().st_size > 1_000_000 for file in place.glob(".*.part")):
            assert process.poll() is None
            time.sleep(0.01)
        beside = call(served, tmp_path, "get", "minilm", "--revision", PINNED)
        process.kill()
        process.wait()
        served.stall_at = None
        done = call(served, tmp_path, "get", "minilm", "--revision", PINNED)
    assert "another process is fetching" in beside.stderr.splitlines()[-1]
    assert done.returncode == 0, done.stderr
    assert "MB arrived before)" in done.stderr
    assert (place / "model.safetensors").read_bytes() == data
    asked = [asked for name, asked in served.fetched if name == "model.safetensors"][-1]
    assert int(asked.removeprefix("bytes=").removesuffix("-")) > 1_000_000


def test_a_file_that_arrives_damaged_is_removed(tmp_path: Path) -> None:
    with hub() as served:
        served.repositories["sentence-transformers/all-MiniLM-L6-v2"] = minilm()
        served.spoil = "model.safetensors"
        spoilt = call(served, tmp_path, "get", "minilm", "--revision", PINNED)
        assert spoilt.returncode == 1
        assert "arrived damaged (its checksum is wrong)" in spoilt.stderr.splitlines()[-1]
        place = tmp_path / "cache" / "models" / "all-MiniLM-L6-v2"
        assert not (place / "model.safetensors").exists()
        served.spoil = ""
        assert call(served, tmp_path, "get", "minilm", "--revision", PINNED).returncode == 0


def test_the_commit_that_was_fetched_is_kept_to(tmp_path: Path) -> None:
    first = {"MMR-V.json": b"[1]", "videos.tar.part.aa": b"x" * 5000}
    second = {**first, "MMR-V.json": b"[2, 2]"}
    with hub() as served:
        repository = Repository({ONE: first, TWO: second}, main=ONE)
        served.repositories["JokerJan/MMR-VBench"] = repository
        done = call(served, tmp_path, "get", "mmrv")
        assert done.returncode == 0, done.stderr
        assert "Next: vivant data check mmrv" in done.stderr
        repository.main = TWO
        same = call(served, tmp_path, "get", "mmrv")
        assert f"at {ONE[:12]}" in same.stderr and "0 of 2 files" in same.stderr
        newer = call(served, tmp_path, "get", "mmrv", "--revision", "main")
        assert f"at {TWO[:12]}" in newer.stderr and "1 of 2 files" in newer.stderr
        assert (tmp_path / "data" / "mmrv" / "MMR-V.json").read_bytes() == b"[2, 2]"
        listed = call(served, tmp_path, "list", VIVANT_DATA="data")
        assert "cc-by-4.0" in listed.stdout
        lost = call(served, tmp_path, "get", "mmrv", "--revision", "nowhere")
        assert "has no such revision or file (nowhere)" in lost.stderr.splitlines()[-1]


def test_the_list_can_ask_the_hub_and_says_what_it_does_not_know(tmp_path: Path) -> None:
    with hub() as served:
        served.repositories["MMIE/MMIE"] = Repository(
            {ONE: {"overview.json": b"[]", "images.tar.gz": b"x" * 2_000_000}}, main=ONE, gated=True
        )
        listed = call(served, tmp_path, "list", "--ask", COLUMNS="250")
    assert listed.returncode == 0, listed.stderr
    rows = {line.split()[0]: line.split() for line in listed.stdout.splitlines() if line.strip()}
    assert rows["mmie"][1:3] == ["data/mmie", "no"]
    assert rows["mmie"][-5:] == ["2.0", "MB", "cc-by-4.0", "yes", "MMIE/MMIE"]
    assert "not" in rows["mmrv"]
    assert "mmrv: The hub has no dataset JokerJan/MMR-VBench" in listed.stderr
    assert not served.fetched


def test_gated_data_need_a_token_which_is_written_nowhere(tmp_path: Path) -> None:
    with hub() as served:
        served.repositories["MMIE/MMIE"] = Repository({ONE: {"overview.json": b"[]"}}, main=ONE, gated=True)
        refused = call(served, tmp_path, "get", "mmie")
        assert refused.returncode == 1
        line = refused.stderr.splitlines()[-1]
        assert "MMIE/MMIE is gated: accept its terms at https://huggingface.co/datasets/MMIE/MMIE" in line
        assert "HF_TOKEN" in line
        wrong = call(served, tmp_path, "get", "mmie", HF_TOKEN="hf_expired")
        assert wrong.returncode == 1
        assert "does not know the token" in wrong.stderr.splitlines()[-1]
        assert "hf_expired" not in wrong.stderr
        stranger = call(served, tmp_path, "get", "mmie", HF_TOKEN="hf_other")
        assert stranger.returncode == 1
        assert "token of the account that asked" in stranger.stderr.splitlines()[-1]
        served.tokens.clear()
        done = call(served, tmp_path, "get", "mmie", HF_TOKEN="hf_good")
        assert done.returncode == 0, done.stderr
        assert served.tokens == {"hf_good"}
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"hf_good" not in file.read_bytes(), file


def test_archives_are_unpacked_where_the_benchmark_does_not(tmp_path: Path) -> None:
    files = {
        "MileBench_part0.tar.gz": packed("MileBench/TQA/TQA.json", b"{}"),
        "MileBench_part1.tar.gz": packed("MileBench/WebQA/WebQA.json", b"[]"),
        "README.md": b"not wanted",
    }
    with hub() as served:
        served.repositories["FreedomIntelligence/MileBench"] = Repository({ONE: files}, main=ONE)
        done = call(served, tmp_path, "get", "milebench")
    assert done.returncode == 0, done.stderr
    place = tmp_path / "data" / "milebench"
    assert (place / "MileBench" / "TQA" / "TQA.json").read_bytes() == b"{}"
    assert (place / "MileBench" / "WebQA" / "WebQA.json").exists()
    assert not (place / "README.md").exists()


def test_a_hub_that_is_not_there_or_knows_nothing_is_one_line(tmp_path: Path) -> None:
    with hub() as served:
        unknown = call(served, tmp_path, "get", "mmrv")
        misspelt = call(served, tmp_path, "get", "mmvr")
        own = call(served, tmp_path, "get", "mimic")
    gone = call(served, tmp_path, "get", "mmrv")
    for result, expected in (
        (unknown, "The hub has no dataset JokerJan/MMR-VBench"),
        (misspelt, "did you mean 'mmrv'?"),
        (own, "mimic cannot be fetched"),
        (gone, "JokerJan/MMR-VBench"),
    ):
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        assert expected in result.stderr.splitlines()[-1]


def test_a_run_never_downloads(tmp_path: Path) -> None:
    with hub() as served:
        result = vivant(
            "run",
            "mmrv",
            "--model",
            "random",
            cwd=tmp_path,
            env={"HF_ENDPOINT": served.url, "VIVANT_DATA": "none"},
        )
        assert result.returncode == 1
        assert "No data for mmrv" in result.stderr
        assert "To fetch it: vivant data get mmrv." in result.stderr
        assert not served.asked and not served.fetched


def listing(**sizes: int) -> HubListing:
    files = tuple(
        HubFile(repo="a/b", name=name, path=name, size=size, blob="0" * 40) for name, size in sizes.items()
    )
    source = DataSource(repos=(Repo(id="a/b"),), licence="none", archives=("*.tar",))
    return HubListing(name="x", source=source, revisions={"a/b": ONE}, licences={}, gated=False, files=files)


def test_room_is_checked_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = listing(**{"a.tar": 600_000_000, "b.json": 1_000})
    todo = find_missing(wanted, tmp_path / "data" / "x")
    assert todo.room == 1_200_001_000
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(DataError, match=r"1\.2 GB are needed, unpacking included, and 1\.0 GB are free"):
        fetch_files(wanted, todo)
    assert not (tmp_path / "data").exists()


def test_a_repository_cannot_write_elsewhere(tmp_path: Path) -> None:
    with hub() as served:
        served.repositories["JokerJan/MMR-VBench"] = Repository({ONE: {"../../evil": b"x"}}, main=ONE)
        result = call(served, tmp_path, "get", "mmrv")
    assert "names a file outside of its folder: ../../evil" in result.stderr.splitlines()[-1]


def test_every_source_is_whole() -> None:
    for name, source in load_sources().items():
        assert source.repos and source.licence, name
        assert find(name) == source
    with pytest.raises(UsageError, match="Unknown source"):
        find("nothing")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (182_000_000, "182 MB"), (3e12, "3000 GB")],
)
def test_sizes(size: float, text: str) -> None:
    assert format_size(int(size)) == text
