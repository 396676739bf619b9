"""Small data sets in the published layouts of the described benchmarks: file names, columns, types, archives.

Pictures are structs of bytes and path, as the hub's Parquet files hold them; videos and subtitles come in archives.
Three questions (or more, where copies belong together) per task.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars
from PIL import Image

from tests.support.helpers import picture
from tests.support.media_kit import make_video

Rows = list[dict[str, Any]]
LETTERS = "ABCDE"
SRT = (
    '1\n00:00:00,000 --> 00:00:00,500\n<font color="white">first words</font>\n\n'
    '2\n00:00:00,500 --> 00:00:09,000\n<font color="white">later words</font>\n'
)


def image(number: int) -> dict[str, Any]:
    """A picture as a Parquet file of the hub holds it."""
    return {"bytes": _picture(number), "path": f"{number}.png"}


def base64_image(number: int) -> str:
    """A picture as VLMEvalKit's tables hold it."""
    return base64.b64encode(_picture(number)).decode()


@cache
def _picture(number: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return picture(Path(folder) / "a.png", (number % 256, 40, 90), (40, 30))


@cache
def _video() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return make_video(Path(folder) / "a.mp4", 20).read_bytes()


def write_parquet(path: Path, rows: Rows, **schema: Any) -> None:
    """Rows as a Parquet file; `schema` states the types of columns that cannot be told from the rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    polars.DataFrame(rows, schema_overrides=schema, infer_schema_length=None).write_parquet(path)


def write_json(path: Path, value: Any) -> None:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_zip(path: Path, members: Sequence[str], content: bytes | None = None) -> None:
    """A zip archive with a video under each name, or another content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, _video() if content is None else content)


def write_videos(folder: Path, names: Sequence[str]) -> None:
    """Videos as plain files."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_video())


def write_split_tar(folder: Path, name: str, members: dict[str, bytes]) -> None:
    """A tar archive in two pieces, as LongVideoBench comes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, content in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    data = buffer.getvalue()
    for ending, piece in (("aa", data[: len(data) // 2]), ("ab", data[len(data) // 2 :])):
        (folder / f"{name}.part.{ending}").write_bytes(piece)


def write_tsv(path: Path, rows: Rows) -> None:
    """A table as pandas writes it for VLMEvalKit."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)


def _videomme(root: Path) -> None:
    rows = [
        {
            "video_id": f"{n:03}",
            "duration": ("short", "medium", "long")[n],
            "domain": "Knowledge",
            "sub_category": "Humanity & History",
            "url": "https://www.youtube.com/watch?v=x",
            "videoID": f"vid_{n}",
            "question_id": f"{n:03}-1",
            "task_type": "Counting Problem",
            "question": f"How many in {n}?",
            "options": [f"{letter}. {number}." for letter, number in zip("ABCD", "1234", strict=True)],
            "answer": LETTERS[n],
        }
        for n in range(3)
    ]
    write_parquet(root / "videomme/test-00000-of-00001.parquet", rows)
    write_zip(root / "videos_chunked_01.zip", ["data/vid_0.mp4", "data/vid_1.mp4"])
    write_zip(root / "videos_chunked_02.zip", ["data/vid_2.MP4"])
    write_zip(root / "subtitle.zip", ["subtitle/vid_0.srt", "subtitle/vid_1.srt"], SRT.encode())


def _mvbench(root: Path) -> None:
    from vivant.benchmarks import registry

    for task, spec in registry.get("mvbench").file.tasks.items():  # type: ignore[attr-defined]
        rows = [
            {
                "video": f"{n}.mp4",
                "question": "What is first?",
                "candidates": ["Up.", "Down", "Not sure"],
                "answer": a,
            }
            for n, a in enumerate(("Up.", "Down", "Not sure"))
        ]
        write_json(root / f"json/{task}.json", rows)
        write_videos(root / spec.media, [f"{n}.mp4" for n in range(3)])


def _mvbench_main(root: Path) -> None:
    """Four of the twenty: archives below `video/`, one with a folder more than the others, one withheld."""

    def write_rows(task: str, videos: Sequence[str], **times: Any) -> None:
        shared = {"question": "What is first?", "candidates": ["Up.", "Down"], **times}
        write_json(
            root / f"json/{task}.json", [{"video": video, "answer": "Down", **shared} for video in videos]
        )

    write_rows("action_sequence", ["V0.mp4", "V1.mp4"], start=0.5, end=1.5)
    write_zip(root / "video/star.zip", [f"data0613/star/Charades_v1_480/V{n}.mp4" for n in range(2)])
    write_rows("episodic_reasoning", ["castle_s01e01_seg02_clip_00"], start=1.0, end=2.0, subtitle="A word.")
    with zipfile.ZipFile(root / "video/tvqa.zip", "w") as archive:
        for n in range(1, 10):
            picture = Image.new("RGB", (32, 24), (25 * n, 0, 0))
            with archive.open(f"tvqa/frames_fps3_hq/castle_s01e01_seg02_clip_00/{n:05}.jpg", "w") as file:
                picture.save(file, "JPEG")
    write_rows("moving_count", ["video_1.mp4"])
    write_zip(root / "video/clevrer.zip", ["clevrer/video_validation/video_1.mp4"])
    write_rows("fine_grained_pose", ["S001C001.avi"])


def _longvideobench(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    shared = {
        "video_id": "v",
        "duration": 2.0,
        "duration_group": 15,
        "question_category": "S2E",
        "starting_timestamp_for_subtitles": 1.0,
    }
    raw, flat = [], []
    for n in range(3):
        texts = ["a hat", "a scarf", "gloves", "boots"][: 3 + n % 2]
        common = {
            **shared,
            "id": f"v_{n}",
            "video_path": f"v{n}.mp4",
            "subtitle_path": f"v{n}_en.json",
            "question": "What is worn?",
            "correct_choice": n,
        }
        raw.append({**common, "candidates": texts})
        flat.append({**common, **{f"option{i}": texts[i] if i < len(texts) else "N/A" for i in range(5)}})
    write_json(root / "lvb_val.json", raw)
    write_parquet(root / "data/validation-00000-of-00001.parquet", flat)
    write_split_tar(root, "videos.tar", {f"videos/v{n}.mp4": _video() for n in range(3)})
    cues = {
        0: [
            {"timestamp": [1.0, 1.5], "text": "first words"},
            {"timestamp": [2.0, None], "text": "later words"},
        ],
        1: [{"start": "00:00:01.000", "end": "00:00:01.500", "line": "first words"}],
        2: [],
    }
    files = {f"subtitles/v{n}_en.json": json.dumps(lines).encode() for n, lines in cues.items()}
    write_split_tar(root, "subtitles.tar", files)


def _mlvu(root: Path) -> None:
    kinds = ("plotQA", "needle", "count")
    rows = [
        {
            "video_name": f"{kind}/{n}.mp4",
            "question": f"What happens in {n}?\n(A) It rains.\n(B) It snows.\n(C) Nothing\n(D) A fire",
            "answer": LETTERS[n],
            "task_type": kind,
        }
        for n, kind in enumerate(kinds)
    ]
    write_parquet(root / "mlvu/test-00000-of-00001.parquet", rows)
    write_zip(root / "video_part_1.zip", [row["video_name"] for row in rows])
    for number, kind in enumerate(kinds, 1):
        entries = [
            {
                "video": f"{kind}_{number}.mp4",
                "duration": 2.0,
                "question": "What happens?",
                "candidates": ["It rains.", "It snows."],
                "answer": "It snows.",
                "question_type": kind,
                "task_type": kind,
            }
        ]
        write_json(root / f"MLVU/json/{number}_{kind}.json", entries)
        write_videos(root / f"MLVU/video/{number}_{kind}", [f"{kind}_{number}.mp4"])


def _egoschema(root: Path) -> None:
    rows = [
        {
            "question_idx": str(n),
            "question": "What is C doing?",
            "video_idx": f"0000-{n}",
            "option": [f"{letter}. C is {verb}." for letter, verb in zip(LETTERS, VERBS, strict=True)],
            "answer": str(n),
        }
        for n in range(3)
    ]
    write_parquet(root / "Subset/test-00000-of-00001.parquet", rows)
    write_zip(root / "videos_chunked_01.zip", [f"videos/0000-{n}.mp4" for n in range(3)])


VERBS = ("cooking", "washing", "painting", "reading", "sewing")


def _tempcompass(root: Path) -> None:
    def rows(question: str, answers: Sequence[str], **more: str) -> Rows:
        return [
            {"video_id": f"t{n}", "question": question, "answer": answer, "dim": "action", **more}
            for n, answer in enumerate(answers)
        ]

    choice = "What is the person doing?\nA. running\nB. jumping\nC. sitting"
    captions = "Which caption fits?\nCaption A: The man runs.\nCaption B: The man jumps."
    write_parquet(
        root / "multi-choice/test-00000-of-00001.parquet",
        rows(choice, ["A. running", "B. jumping", "C. sitting"]),
    )
    write_parquet(root / "yes_no/test-00000-of-00001.parquet", rows("Is he running?", ["yes", "no", "yes"]))
    write_parquet(
        root / "caption_matching/test-00000-of-00001.parquet",
        rows(captions, ["Caption A: The man runs.", "Caption B: The man jumps.", "Caption A: The man runs."]),
    )
    described = [
        {**row, "mc_question": choice, "mc_answer": "A. running"}
        for row in rows("Describe the video.", [""] * 3)
    ]
    write_parquet(root / "captioning/test-00000-of-00001.parquet", described)
    write_zip(root / "tempcompass_videos.zip", [f"videos/t{n}.mp4" for n in range(3)])


def _mmmu(root: Path) -> None:
    empty = dict.fromkeys([f"image_{n}" for n in range(1, 8)])
    base = {
        "explanation": "",
        "img_type": "['Tables']",
        "topic_difficulty": "Easy",
        "subfield": "Managerial Accounting",
        **empty,
    }
    rows = [
        {
            **base,
            "id": "validation_Accounting_1",
            "question": "<image 1> What is the cost?",
            "options": "['$6', '$7', '$8']",
            "answer": "B",
            "question_type": "multiple-choice",
            "image_1": image(1),
        },
        {
            **base,
            "id": "validation_Basic_Medical_Science_2",
            "question": "Which of these is it: see <image 2> and <image 1>.",
            "options": "['<image 3>', '<image 4>']",
            "answer": "A",
            "question_type": "multiple-choice",
            **{f"image_{n}": image(n) for n in range(1, 5)},
        },
        {
            **base,
            "id": "validation_Accounting_3",
            "question": "How much is <image 1>?",
            "options": "[]",
            "answer": "8.3",
            "question_type": "open",
            "image_1": image(5),
        },
    ]
    picture_type = polars.Struct({"bytes": polars.Binary, "path": polars.String})
    for row in rows:
        subject = str(row["id"]).removeprefix("validation_").rpartition("_")[0]
        file = root / subject / "validation-00000-of-00001.parquet"
        old = polars.read_parquet(file).to_dicts() if file.exists() else []
        write_parquet(file, [*old, row], **dict.fromkeys(empty, picture_type))


def _mmbench(root: Path) -> None:
    texts = ["a cat", "a dog", "a cow"]
    rows = []
    for base, count in ((0, 3), (7, 2)):
        for copy in range(count):
            turned = texts[:count][copy:] + texts[:count][:copy]
            rows.append(
                {
                    "index": base + copy * 1_000_000,
                    "question": "What is it?",
                    "hint": "It is an animal." if base else None,
                    **{letter: turned[i] if i < count else None for i, letter in enumerate("ABCD")},
                    "answer": LETTERS[turned.index("a cat")],
                    "category": "object_localization" if base else "attribute_recognition",
                    "L2-category": "coarse_perception",
                    "source": "made",
                    "split": "dev",
                    "comment": None,
                    "image": image(base),
                }
            )
    write_parquet(root / "en/dev-00000-of-00001.parquet", rows, D=polars.String, comment=polars.String)


def _mathvista(root: Path) -> None:
    def row(
        pid: str, kind: str, choices: list[str] | None, answer: str, precision: float | None
    ) -> dict[str, Any]:
        listed = (
            "\nChoices:\n" + "\n".join(f"({LETTERS[i]}) {c}" for i, c in enumerate(choices))
            if choices
            else ""
        )
        return {
            "pid": pid,
            "question": "How large is x?",
            "image": f"images/{pid}.jpg",
            "decoded_image": image(int(pid)),
            "choices": choices,
            "unit": None,
            "precision": precision,
            "answer": answer,
            "question_type": "multi_choice" if choices else "free_form",
            "answer_type": kind,
            "query": f"Hint: Answer briefly.\nQuestion: How large is x?{listed}",
            "metadata": {
                "split": "testmini",
                "language": "english",
                "source": "Geometry3K",
                "category": "math-targeted-vqa",
                "task": "geometry problem solving",
                "context": "geometry diagram",
                "grade": "high school",
                "skills": ["geometry reasoning"],
            },
        }

    rows = [
        row("1", "text", ["3", "4", "5 cm"], "5 cm", None),
        row("2", "integer", None, "12", None),
        row("3", "float", None, "1.2", 1.0),
        row("4", "list", None, "[1, 2]", None),
    ]
    write_parquet(root / "data/testmini-00000-of-00001-725687bf7a18d64b.parquet", rows, unit=polars.String)


def _mmstar(root: Path) -> None:
    rows = [
        {
            "index": n,
            "question": "Which option describes it?\nOptions: A: a red barn, B: a pond, C: two trees, D: none",
            "image": _picture(n),
            "answer": LETTERS[n],
            "category": "coarse perception",
            "l2_category": ("image emotion", "image emotion", "image scene and topic")[n],
            "meta_info": {"source": "MMBench", "split": "val", "image_path": f"images/{n}.jpg"},
        }
        for n in range(3)
    ]
    write_parquet(root / "mmstar.parquet", rows)


def _realworldqa(root: Path) -> None:
    choice = (
        "Which lane?\n\nA. Left lane\nB. Right lane\nC. None\nPlease answer directly with only the letter."
    )
    rows = [
        {"image": image(1), "question": choice, "answer": "B"},
        {
            "image": image(2),
            "question": "How many cars? Please answer directly with a number.",
            "answer": "3",
        },
        {"image": image(3), "question": "Is the road uphill or downhill?", "answer": "Downhill"},
    ]
    write_parquet(root / "data/test-00000-of-00002.parquet", rows[:2])
    write_parquet(root / "data/test-00001-of-00002.parquet", rows[2:])


def _chartqa(root: Path) -> None:
    rows = [
        {"type": "human_test", "question": "How many?", "answer": "14", "image": image(1)},
        {"type": "augmented_test", "question": "Which share?", "answer": "12%", "image": image(2)},
        {"type": "augmented_test", "question": "Which year?", "answer": "Yes", "image": image(3)},
    ]
    write_parquet(root / "data/test-00000-of-00001.parquet", rows)


def _docvqa(root: Path) -> None:
    rows = [
        {
            "questionId": str(337 + n),
            "question": "What is the date?",
            "question_types": ["handwritten", "form"],
            "image": image(n),
            "docId": 279,
            "ucsf_document_id": "xnbl0037",
            "ucsf_document_page_no": "1",
            "answers": ["1/8/93", "January 8"],
            "data_split": "val",
        }
        for n in range(3)
    ]
    write_parquet(root / "DocVQA/validation-00000-of-00006.parquet", rows)


def _ai2d(root: Path) -> None:
    rows = [
        {
            "question": "Which is prey?",
            "options": ["owl", "mouse", "fox", "oak"],
            "answer": str(n),
            "image": image(n),
        }
        for n in range(3)
    ]
    write_parquet(root / "data/test-00000-of-00001.parquet", rows)


def _blink(root: Path) -> None:
    for task in ("Counting", "Jigsaw"):
        rows = [
            {
                "idx": f"val_{task}_{n}",
                "question": "Which one?",
                "sub_task": task,
                **{f"image_{i}": image(10 * n + i) if i <= 2 else None for i in range(1, 5)},
                "choices": ["the first", "the second"],
                "answer": ("(A)", "(B)", "(A)")[n],
                "prompt": "Which one is it?\nSelect from the following choices.\n(A) the first\n(B) the second\n",
                "explanation": None,
            }
            for n in range(3)
        ]
        picture_type = polars.Struct({"bytes": polars.Binary, "path": polars.String})
        types = {"image_3": picture_type, "image_4": picture_type, "explanation": polars.String}
        write_parquet(root / task / "val-00000-of-00001.parquet", rows, **types)


def _muirbench(root: Path) -> None:
    rows = [
        {
            "idx": str(n),
            "task": "Visual Retrieval",
            "image_relation": "Multiview",
            "image_type": "Photography",
            "question": "Which is like <image>?" if n else "Which of <image> and <image> is older?",
            "options": ["<image>", "<image>", "None of the choices provided"] if n else ["first", "second"],
            "answer": LETTERS[n % 2],
            "image_list": [image(3 * n + i) for i in range(3 if n else 2)],
            "counterpart_idx": str(n),
        }
        for n in range(3)
    ]
    write_parquet(root / "data/test-00000-of-00001.parquet", rows)


WRITERS: dict[str, Callable[[Path], None]] = {
    "videomme": _videomme,
    "mvbench": _mvbench,
    "mvbench-main": _mvbench_main,
    "longvideobench": _longvideobench,
    "mlvu": _mlvu,
    "egoschema": _egoschema,
    "tempcompass": _tempcompass,
    "mmmu": _mmmu,
    "mmbench": _mmbench,
    "mathvista": _mathvista,
    "mmstar": _mmstar,
    "realworldqa": _realworldqa,
    "chartqa": _chartqa,
    "docvqa": _docvqa,
    "ai2d": _ai2d,
    "blink": _blink,
    "muirbench": _muirbench,
}


def write_suite(name: str, root: Path) -> Path:
    """The data of one benchmark as its repository holds them, archives packed."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    WRITERS[name](root)
    return root
