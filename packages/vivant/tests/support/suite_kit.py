"""Small data sets in the published layouts of the described benchmarks: file names, columns, types, archives.

Pictures are structs of bytes and path, as the hub's Parquet files hold them; videos and subtitles come in archives.
Three questions (or more, where copies belong together) per task.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars

from tests.support.data_files import LETTERS, encode_picture, image, write_parquet
from tests.support.video_suite import VIDEO_WRITERS


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
            "image": encode_picture(n),
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
    **VIDEO_WRITERS,
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
