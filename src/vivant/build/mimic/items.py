"""All questions about a set of videos, in the loader's format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from vivant.benchmarks.mimic.format import Item, ItemOption
from vivant.benchmarks.mimic.names import OWN, THINKING
from vivant.build.mimic.distractors import draw
from vivant.build.mimic.grouping import Gathered
from vivant.build.mimic.material import Material
from vivant.build.mimic.popularity import Near, ranked_options
from vivant.build.mimic.task_settings import Tasks
from vivant.build.mimic.vectors import VectorStore
from vivant.core.errors import unknown_name_error
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.randomness import derive_seed, shuffled_indices

ALONE = "too few unrelated videos to take wrong options from"
COMMON = "its answer is too common to be asked fairly"


class Made(Struct, frozen=True):
    """The items of one task, and why the other videos have none."""

    task: str
    items: tuple[Item, ...]
    without: dict[str, int] = field(default_factory=dict)


class Maker:
    """Makes the items of any task about some videos, as often as asked: `attempt` draws other wrong options."""

    def __init__(
        self, videos: Sequence[Gathered], settings: Tasks, seed: int, store: VectorStore | None
    ) -> None:
        for task in settings.tasks:
            if task not in THINKING:
                raise unknown_name_error("task", task, THINKING, "(tasks.tasks)")
        self._material = Material(videos, settings, seed, store)
        self._settings = settings
        self._seed = seed

    def make_all(self, progress: ProgressCallback = ignore_progress) -> dict[str, Made]:
        """Every task of the settings."""
        made = {}
        for number, task in enumerate(self._settings.tasks):
            progress(number, len(self._settings.tasks), f"tasks; now {task}")
            made[task] = self.make(task)
        return made

    def make(self, task: str, attempt: int = 0, near: Near | None = None) -> Made:
        """The items of one task. `near` is for comment popularity alone."""
        if task == OWN:
            return self._popularity(attempt, near)
        texts = self._material.texts(task)
        drawn = draw(self._material, texts, attempt)
        without = Counter(texts.without)
        questions: dict[str, tuple[ItemOption, ...]] = {}
        for option, wrong, kept in zip(texts.options, drawn.wrong, drawn.kept, strict=True):
            if not kept:
                without[COMMON] += 1
            elif wrong is None:
                without[ALONE] += 1
            else:
                questions[option.video] = (option, *(texts.options[k] for k in wrong))
        return Made(task, self._place(task, questions), dict(without))

    def _popularity(self, attempt: int, near: Near | None) -> Made:
        without: Counter[str] = Counter()
        questions: dict[str, tuple[ItemOption, ...]] = {}
        for line in self._material.lines:
            options = ranked_options(line, self._settings.ranks, self._seed, attempt, near)
            if isinstance(options, str):
                without[options] += 1
            else:
                questions[line.ref] = options
        return Made(OWN, self._place(OWN, questions), dict(without))

    def _place(self, task: str, questions: Mapping[str, tuple[ItemOption, ...]]) -> tuple[Item, ...]:
        """Items whose keys stand equally often at each place, the others around them by chance."""
        by_chance = sorted(questions, key=lambda ref: (derive_seed(self._seed, "key", task, ref), ref))
        keys = {ref: number % 4 for number, ref in enumerate(by_chance)}
        items = []
        for ref, (right, *wrong) in questions.items():
            options = [wrong[k] for k in shuffled_indices(len(wrong), self._seed, "order", task, ref)]
            options.insert(keys[ref], right)
            items.append(
                Item(id=f"{task}:{ref}", task=task, video=ref, options=tuple(options), key=keys[ref])
            )
        return tuple(items)
