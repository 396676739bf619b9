"""All questions about a set of videos, in the loader's format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from vivant.benchmarks.mimic.format import MimicItem, MimicOption
from vivant.benchmarks.mimic.names import OWN
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.randomness import derive_seed, shuffled_indices
from vivant_build.mimic.distractors import draw_distractors
from vivant_build.mimic.popularity import choose_ranked_options
from vivant_build.mimic.rank_matching import RankMatcher
from vivant_build.mimic.settings import TaskSettings
from vivant_build.mimic.vectors import VectorStore
from vivant_build.mimic.video_records import VideoRecord
from vivant_build.mimic.video_table import VideoTable

ALONE = "too few unrelated videos to take wrong options from"
COMMON = "its answer is too common to be asked fairly"


class TaskItems(Struct, frozen=True):
    """The items of one task, and why the other videos have none."""

    task: str
    items: tuple[MimicItem, ...]
    without: dict[str, int] = field(default_factory=dict)


class ItemMaker:
    """Makes the items of any task about some videos, as often as asked: `attempt` draws other wrong options."""

    def __init__(
        self, videos: Sequence[VideoRecord], settings: TaskSettings, seed: int, store: VectorStore | None
    ) -> None:
        self._material = VideoTable(videos, settings, seed, store)
        self._settings = settings
        self._seed = seed

    def make_all(self, progress: ProgressCallback = ignore_progress) -> dict[str, TaskItems]:
        """Every task of the settings."""
        results = {}
        for number, task in enumerate(self._settings.tasks):
            progress(number, len(self._settings.tasks), f"tasks; now {task}")
            results[task] = self.make(task)
        return results

    def make(self, task: str, attempt: int = 0, matcher: RankMatcher | None = None) -> TaskItems:
        """The items of one task. `matcher` is for comment popularity alone."""
        if task == OWN:
            return self._make_popularity(attempt, matcher)
        texts = self._material.texts(task)
        distractors = draw_distractors(self._material, texts, attempt)
        without = Counter(texts.without)
        questions: dict[str, tuple[MimicOption, ...]] = {}
        for option, wrong, kept in zip(texts.options, distractors.wrong, distractors.kept, strict=True):
            if not kept:
                without[COMMON] += 1
            elif wrong is None:
                without[ALONE] += 1
            else:
                questions[option.video] = (option, *(texts.options[k] for k in wrong))
        return TaskItems(task, self._order_options(task, questions), dict(without))

    def _make_popularity(self, attempt: int, matcher: RankMatcher | None) -> TaskItems:
        without: Counter[str] = Counter()
        questions: dict[str, tuple[MimicOption, ...]] = {}
        for line in self._material.lines:
            options = choose_ranked_options(line, self._settings.ranks, self._seed, attempt, matcher)
            if isinstance(options, str):
                without[options] += 1
            else:
                questions[line.ref] = options
        return TaskItems(OWN, self._order_options(OWN, questions), dict(without))

    def _order_options(
        self, task: str, questions: Mapping[str, tuple[MimicOption, ...]]
    ) -> tuple[MimicItem, ...]:
        """Items whose keys stand equally often at each place, the others around them by chance."""
        by_chance = sorted(questions, key=lambda ref: (derive_seed(self._seed, "key", task, ref), ref))
        keys = {ref: number % 4 for number, ref in enumerate(by_chance)}
        items = []
        for ref, (right, *wrong) in questions.items():
            options = [wrong[k] for k in shuffled_indices(len(wrong), self._seed, "order", task, ref)]
            options.insert(keys[ref], right)
            items.append(
                MimicItem(id=f"{task}:{ref}", task=task, video=ref, options=tuple(options), key=keys[ref])
            )
        return tuple(items)
