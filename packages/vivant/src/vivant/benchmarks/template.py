"""The file that `vivant benchmarks new` writes: a benchmark of multiple-choice questions about videos."""

from __future__ import annotations

import re
from pathlib import Path

from vivant.core.errors import UsageError

_TEMPLATE = '''"""A benchmark of your own: multiple-choice questions about videos.

Run it: vivant run ./{file} --data FOLDER --model random
FOLDER holds the videos and questions.jsonl, one JSON object a line:
{"id": "1", "video": "a.mp4", "question": "Why?", "options": ["x", "y"], "answer": "B", "duration": "short"}
"""

import json
from pathlib import Path

from vivant.benchmarks.base import TaskInfo
from vivant.benchmarks.multiple_choice import MultipleChoice, make_options
from vivant.core.types import Sample, Text, Video


class {class}(MultipleChoice):
    name = "{name}"  # in tables, run folders and --data {name}=FOLDER
    title = "{title}"
    tasks = (TaskInfo(name="mcq", title="Multiple choice"),)
    facets = ("duration",)  # for --by and --where

    def load(self, root: Path, task: str) -> list[Sample]:
        """Read all questions of a task. Vivant phrases them, shuffles the options and scores the replies."""
        samples = []
        for line in (root / "questions.jsonl").read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            sample = Sample(
                id=item["id"],  # unique in the task
                task=task,
                question=(Video(item["video"]), Text(item["question"])),  # shown in this order
                options=make_options(item["options"]),
                key="ABCDEFGHIJ".index(item["answer"]),  # index of the right option
                facets={"duration": item["duration"]},
                cluster=item["video"],  # questions about one video are not independent
            )
            samples.append(sample)
        return samples
'''


def write_template(path: Path) -> str:
    """Write the template, named after the file, and return its text. An existing file is not touched."""
    if path.exists():
        raise UsageError(f"{path} exists already; choose another name")
    words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", path.stem)]
    if path.suffix != ".py" or not words or not words[0][0].isalpha():
        raise UsageError(f"{path} must end in .py and begin with a letter, e.g. my_bench.py")
    values = {
        "file": path.name,
        "name": "-".join(words),
        "class": "".join(word.capitalize() for word in words),
        "title": " ".join(words).capitalize(),
    }
    text = re.sub(r"\{(file|name|class|title)\}", lambda match: values[match[1]], _TEMPLATE)
    path.write_text(text, encoding="utf-8")
    return text
