"""Small data sets in the published layouts of the described video benchmarks."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from tests.support.data_files import (
    LETTERS,
    SRT,
    Rows,
    encode_video,
    write_json,
    write_parquet,
    write_split_tar,
    write_videos,
    write_zip,
)


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
    write_split_tar(root, "videos.tar", {f"videos/v{n}.mp4": encode_video() for n in range(3)})
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


VIDEO_WRITERS: dict[str, Callable[[Path], None]] = {
    "videomme": _videomme,
    "mvbench": _mvbench,
    "mvbench-main": _mvbench_main,
    "longvideobench": _longvideobench,
    "mlvu": _mlvu,
    "egoschema": _egoschema,
    "tempcompass": _tempcompass,
}
