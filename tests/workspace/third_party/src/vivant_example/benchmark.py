from pathlib import Path

from vivant.benchmarks.base import TaskInfo
from vivant.benchmarks.multiple_choice import MultipleChoice, make_options
from vivant.core.types import Sample, Text

MIXES = {"green": "blue and yellow", "orange": "red and yellow", "purple": "red and blue"}


class Colors(MultipleChoice):
    name = "colors"
    title = "Colors"
    tasks = (TaskInfo(name="mix", title="Mixed paint"),)

    def load(self, root: Path, task: str) -> list[Sample]:
        return [
            Sample(
                id=color,
                task=task,
                question=(Text(f"Which color do you get if you mix {paints} paint?"),),
                options=make_options(list(MIXES)),
                key=key,
            )
            for key, (color, paints) in enumerate(MIXES.items())
        ]
