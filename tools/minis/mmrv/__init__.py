"""MMR-V-mini: drawn stories of a few seconds and questions about them, in the release's own format.

Fourteen are told by hand, with questions in `questions.yaml`; the others belong to the three series of `series.py`.
`build_mini_mmrv(out)` writes `MMR-V.json` and `videos/`; two builds with the same libraries are equal.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import yaml

from minis.mmrv.series import make_series
from vivant.core.randomness import shuffled_indices

LETTERS = "ABCDEFGHIJKLM"


def questions() -> list[dict[str, Any]]:
    """The questions as the release spells them; options shuffled by each one's seed, then lettered."""
    text = resources.files(__package__).joinpath("questions.yaml").read_text("utf-8")
    items: list[dict[str, Any]] = []
    told = yaml.safe_load(text)
    drawn = [{"video": story.name, "type": kind, "questions": asked} for story, kind, asked in make_series()]
    for video in (*told, *drawn):
        for question in video["questions"]:
            options = question["options"]
            order = shuffled_indices(len(options), 0, "mini-mmrv", video["video"], question["question"])
            letters = [letter for letter in LETTERS if letter != question.get("skip")]
            items.append(
                {
                    "video": video["video"],
                    "videoType": video["type"],
                    "question": question["question"],
                    "options": [f"({letters[place]}) {options[k]}" for place, k in enumerate(order)],
                    "correctAnswer": f"({letters[order.index(0)]})",
                    "abilityType_L2": question["ability"][0],
                    "abilityType_L3": question["ability"][1],
                    "question_idx": len(items),
                }
            )
    return items


def build_mini_mmrv(out: Path) -> list[Path]:
    """Write the mini-edition into a folder and return its files."""
    from minis.mmrv import arts, nights, shows, tales
    from minis.mmrv.encode import encode

    (out / "videos").mkdir(parents=True, exist_ok=True)
    written = [out / "MMR-V.json"]
    written[0].write_bytes(msgspec.json.format(msgspec.json.encode(questions()), indent=1) + b"\n")
    series = (story for story, _, _ in make_series())
    for story in (*tales.STORIES, *nights.STORIES, *shows.STORIES, *arts.STORIES, *series):
        written.append(out / "videos" / story.name)
        encode(story, written[-1])
    return written
