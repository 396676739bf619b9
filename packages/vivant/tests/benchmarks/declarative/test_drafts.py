"""Descriptions drafted from data: what is recognised is right, and the draft runs as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.data_files import image
from tests.support.helpers import picture, vivant, vivant_process
from tests.support.hub_server import Repository, hub
from tests.support.suite_kit import write_suite
from vivant.benchmarks import registry
from vivant.benchmarks.base import PromptContext
from vivant.benchmarks.declarative.benchmark import Declarative
from vivant.benchmarks.declarative.draft import draft_columns, draft_description
from vivant.benchmarks.declarative.draft_files import choose_tables, make_pattern
from vivant.benchmarks.validation import load_samples
from vivant.core.errors import UsageError
from vivant.media.archives import unpack_all

ONE = "1" * 40


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ai2d", {"options": "options", "key": "answer", "key_form": "index", "image": "image"}),
        ("docvqa", {"id": "questionId", "answers": "answers", "image": "image"}),
        ("mmbench", {"id": "index", "options": ["A", "B", "C", "D"], "key": "answer", "key_form": "letter"}),
        ("egoschema", {"options": "option", "key": "answer", "key_form": "index"}),
        ("muirbench", {"image": "image_list", "key_form": "letter"}),
        ("mathvista", {"image": "decoded_image", "key_form": "text", "answers": "answer"}),
        ("blink", {"image": ["image_1", "image_2", "image_3", "image_4"], "key_form": "letter"}),
    ],
)
def test_columns_of_published_data_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: dict[str, object]
) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    root = write_suite(name, tmp_path / "data")
    unpack_all(root, ["*.zip"])
    names = [file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()]
    tables = choose_tables(names)
    text, _ = draft_description("mine", [root / table for table in tables], make_pattern(tables[0]), names)
    (tmp_path / "mine.yaml").write_text(text)
    assert len(text.splitlines()) <= 40
    benchmark = registry.get(str(tmp_path / "mine.yaml"))
    assert isinstance(benchmark, Declarative)
    columns = benchmark.file.whole.columns
    for field, value in expected.items():
        stated = getattr(columns, field)
        assert (list(stated) if isinstance(stated, tuple) else stated) == value
    samples = load_samples(benchmark, root, "mine/all")
    assert len(samples) >= 3
    assert samples[0].key is not None or samples[0].answers


ROWS: dict[str, list[dict[str, object]]] = {
    "options in one text, one a line": [{"options": "(A) up\n(B) down\n(C) stay", "answer": "C"}] * 3,
    "options in one text, one line": [{"options": "A. up; B. down; C. stay", "answer": "C"}] * 3,
    "options in lines without letters": [{"options": "up\ndown\nstay", "answer": "stay"}] * 3,
    "options by letter": [{"options": {"A": "up", "B": "down", "C": "stay", "D": None}, "answer": "c"}] * 3,
    "a list as text": [{"options": "['up', 'down', 'stay']", "answer": "(C)"}] * 3,
    "a column each": [{"option_a": "up", "option_b": "down", "option_c": "stay", "answer": "C"}] * 3,
    "indices": [{"choices": ["up", "down", "stay"], "label": n} for n in (2, 0, 1)],
    "numbers": [{"choices": ["up", "down", "stay"], "label": n} for n in (3, 1, 2)],
    "texts": [{"choices": ["up", "down", "stay"], "label": "stay"}] * 3,
}


@pytest.mark.parametrize("form", ROWS)
def test_options_and_keys_in_awkward_forms_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    rows = [{"id": n, "question": "Where to?", **row} for n, row in enumerate(ROWS[form])]
    (tmp_path / "data.json").write_text(json.dumps({"version": 2, "data": rows}))
    text, doubts = draft_description("mine", [tmp_path / "data.json"], "data.json")
    (tmp_path / "mine.yaml").write_text(text)
    benchmark = registry.get(str(tmp_path / "mine.yaml"))
    samples = load_samples(benchmark, tmp_path, "mine/all")
    assert doubts == []
    assert [option.text for option in samples[0].options] == ["up", "down", "stay"]
    assert samples[0].key == 2


def test_files_sorted_into_folders_are_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    for name in ("cat/1.png", "cat/2.png", "dog/1.png"):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        picture(tmp_path / "data" / name)
    drafted = vivant("benchmarks", "new", "mine.yaml", "--from", "data", cwd=tmp_path)
    assert "write the question into `styles`" in drafted.stderr
    benchmark = registry.get(str(tmp_path / "mine.yaml"))
    samples = load_samples(benchmark, tmp_path / "data", "mine/all")
    assert [(sample.id, sample.answers) for sample in samples] == [
        ("cat/1.png", ("cat",)),
        ("cat/2.png", ("cat",)),
        ("dog/1.png", ("dog",)),
    ]
    prompt = benchmark.prompt(samples[0], PromptContext(style="zero-shot"))
    assert "Reply with one word" in str(prompt.messages[0].parts[-1])


def test_facets_clips_and_doubts() -> None:
    rows = [
        {
            "q_text": "x",
            "question": f"q{n}",
            "answer": "yes",
            "kind": "ab"[n % 2],
            "video": "v.mp4",
            "start": n,
            "end": n + 1,
        }
        for n in range(8)
    ]
    draft = draft_columns(rows)
    assert draft.columns["video"] == "video"
    assert (draft.columns["start"], draft.columns["end"]) == ("start", "end")
    assert draft.columns["facets"] == ["kind"]
    assert draft.more["scorer"] == "normalised"
    assert not draft.doubts
    unclear = draft_columns([{"video_id": "a", "frage": "x"}])
    assert unclear.columns["video"] == "{video_id}.mp4"
    assert len(unclear.doubts) == 3


def test_the_test_split_and_its_shards_are_chosen() -> None:
    names = ["README.md", "data/train-00000-of-00002.parquet", "data/test-00000-of-00002.parquet"]
    names += ["data/test-00001-of-00002.parquet", "dataset_infos.json"]
    assert choose_tables(names) == names[2:4]
    assert make_pattern(names[2]) == "data/test-*.parquet"
    with pytest.raises(UsageError, match=r"no \.parquet"):
        choose_tables(["a.mp4"])


def test_a_file_is_drafted_checked_and_run(tmp_path: Path) -> None:
    picture(tmp_path / "p.png")
    lines = ["question,choices,answer,image"]
    lines += [f"\"Which, {n}?\",\"['left', 'right']\",right,p.png" for n in range(3)]
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    env = {"VIVANT_CACHE": str(tmp_path / "cache")}
    drafted = vivant("benchmarks", "new", "mine.yaml", "--from", "mine.csv", cwd=tmp_path, env=env)
    assert drafted.returncode == 0, drafted.stderr
    assert "Next: vivant benchmarks check ./mine.yaml" in drafted.stderr
    again = vivant("benchmarks", "new", "mine.yaml", "--from", "mine.csv", cwd=tmp_path, env=env)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    done = vivant("run", "./mine.yaml", "--model", "random", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr


def test_a_dataset_on_the_hub_is_drafted_fetched_and_run(tmp_path: Path) -> None:
    import polars

    rows = [
        {"question": f"Which, {n}?", "options": ["a", "b"], "answer": "B", "image": image(n)}
        for n in range(3)
    ]
    polars.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    files = {
        "data/test-00000-of-00001.parquet": content,
        "data/train-00000-of-00001.parquet": content,
        "README.md": b"x",
    }
    with hub() as served:
        served.repositories["lab/Fine-Bench"] = Repository({ONE: files}, main=ONE)
        env = {
            "VIVANT_CACHE": str(tmp_path / "cache"),
            "HF_HOME": str(tmp_path / "hf"),
            "HF_TOKEN": "",
            "HF_HUB_OFFLINE": "0",
            "HF_ENDPOINT": served.url,
        }
        drafted = vivant_process("benchmarks", "new", "--from-hub", "lab/Fine-Bench", cwd=tmp_path, env=env)
        assert drafted.returncode == 0, drafted.stderr
        assert [path for path, _ in served.fetched if "train" in path] == []
        assert "Other data files: data/train-*.parquet" in drafted.stderr
        command = ("benchmarks", "new", "other.yaml", "--from-hub", "lab/Fine-Bench", "--file", "data/dev-*")
        absent = vivant_process(*command, cwd=tmp_path, env=env)
        assert absent.returncode == 1
        assert (
            "--file data/dev-*: lab/Fine-Bench has no such file; its data files: data/test-*" in absent.stderr
        )
        text = (tmp_path / "fine-bench.yaml").read_text()
        assert "hub: lab/Fine-Bench" in text
        assert 'files: "data/test-*.parquet"' in text
        fetched = vivant_process("data", "get", "./fine-bench.yaml", cwd=tmp_path, env=env)
        assert fetched.returncode == 0, fetched.stderr
        missing = vivant_process(
            "data", "get", "./fine-bench.yaml", "--repo", "lab/nothing", cwd=tmp_path, env=env
        )
        assert missing.returncode == 1
        assert "The hub has no dataset lab/nothing" in missing.stderr
    done = vivant_process("run", "./fine-bench.yaml", "--model", "random", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr


def test_questions_on_the_hub_are_fetched_and_run(tmp_path: Path) -> None:
    lines = b'{"question": "Which?", "choices": ["a", "b"], "answer": "b", "level": "easy"}\n'
    with hub() as served:
        served.repositories["lab/questions"] = Repository(
            {ONE: {"mine.jsonl": lines, "README.md": b"x"}}, main=ONE
        )
        env = {
            "VIVANT_CACHE": str(tmp_path / "cache"),
            "HF_HOME": str(tmp_path / "hf"),
            "HF_TOKEN": "",
            "HF_HUB_OFFLINE": "0",
            "HF_ENDPOINT": served.url,
        }
        early = vivant_process("run", "hub:lab/questions", "--model", "random", cwd=tmp_path, env=env)
        assert early.returncode == 1
        assert "fetch it first: vivant data get hub:lab/questions" in early.stderr
        fetched = vivant_process("data", "get", "hub:lab/questions", cwd=tmp_path, env=env)
        assert fetched.returncode == 0, fetched.stderr
    done = vivant_process(
        *("run", "hub:lab/questions", "--model", "random", "--where", "level=easy", "--out", "run"),
        cwd=tmp_path,
        env=env,
    )
    assert done.returncode == 0, done.stderr


def test_a_described_benchmark_is_fetched_unpacked_and_checked(tmp_path: Path) -> None:
    root = write_suite("tempcompass", tmp_path / "made")
    files = {
        file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()
    }
    with hub() as served:
        served.repositories["lmms-eval/TempCompass"] = Repository({ONE: files}, main=ONE)
        env = {
            "VIVANT_CACHE": str(tmp_path / "cache"),
            "HF_HOME": str(tmp_path / "hf"),
            "HF_TOKEN": "",
            "HF_HUB_OFFLINE": "0",
            "HF_ENDPOINT": served.url,
        }
        gone = vivant_process("data", "get", "tempcompass", cwd=tmp_path, env=env)
        assert gone.returncode == 1
        assert "the same data may be at another id: --repo lmms-eval/TempCompass" in gone.stderr
        fetched = vivant_process(
            "data", "get", "tempcompass", "--repo", "lmms-eval/TempCompass", cwd=tmp_path, env=env
        )
        assert fetched.returncode == 0, fetched.stderr
    assert (tmp_path / "data" / "tempcompass" / "videos" / "t0.mp4").is_file()
    checked = vivant_process("data", "check", "tempcompass", cwd=tmp_path, env=env)
    assert checked.returncode == 0, checked.stdout
    assert "tempcompass/yes_no: 3 samples, 3 files" in checked.stderr


def test_a_question_column_called_q_is_no_facet() -> None:
    rows = [{"q": f"Which {n % 3}?", "options": ["a", "b"], "answer": "A"} for n in range(12)]
    columns = draft_columns(rows).columns
    assert columns["question"] == "q" and "facets" not in columns


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "q.csv",
            "id;question;answer\n1;Where?;here\n",
            "q.csv is separated by semicolons; write it with commas",
        ),
        ("q.tsv", "id,question,answer\n1,Where?,here\n", "q.tsv is separated by commas; write it with tabs"),
    ],
)
def test_a_table_with_other_separators_is_no_table_of_one_column(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    (tmp_path / name).write_text(text)
    done = vivant("benchmarks", "new", "mine.yaml", "--from", name, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.strip() == f"vivant: {reason}"
    assert not (tmp_path / "mine.yaml").exists()
