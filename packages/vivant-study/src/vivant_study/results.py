"""A study together with what came of it: the key opened, people and judgements read from the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from vivant_study.adaptive import weigh_judgements
from vivant_study.design import KeyLine, StudyItem
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.loading import LoadedStudy, load_study


class StudyResults:
    """Everything that exports and reports are made of. Judgements of items that the study no longer has are odd."""

    def __init__(
        self,
        loaded: LoadedStudy,
        key: Mapping[str, KeyLine],
        people: Mapping[str, StudyPerson],
        judgements: tuple[StudyJudgement, ...],
    ) -> None:
        self.loaded = loaded
        self.key = key
        self.people = people
        self.judgements = judgements

    @cached_property
    def items(self) -> dict[str, StudyItem]:
        """The items by id."""
        return self.loaded.by_id

    @cached_property
    def unknown_judgements(self) -> tuple[StudyJudgement, ...]:
        """Judgements of items that are not in the study: it was changed after they were given."""
        return tuple(judgement for judgement in self.judgements if judgement.item not in self.items)

    def iter_counted(self, *, excluded: bool = False, checks: bool = False) -> Iterator[StudyJudgement]:
        """Judgements of finished items by people who count, attention checks apart; `excluded`: theirs too."""
        for judgement in self.judgements:
            item = self.items.get(judgement.item)
            if not judgement.complete or judgement.check != checks or item is None or item.training:
                continue
            person = self.people.get(judgement.annotator)
            if excluded or person is None or not person.excluded:
                yield judgement

    @cached_property
    def weights(self) -> dict[str, float]:
        """What one judgement of an item weighs, where disputed items get more of them; empty: all weigh the same."""
        if self.loaded.study.adaptive is None:
            return {}
        return weigh_judgements(self.iter_counted(), self.loaded.study.judgements_per_item)

    def key_line(self, item: str) -> KeyLine:
        """An item's line of the key; an empty one where there is none."""
        return self.key.get(item) or KeyLine(item=item)

    def facets(self, item: str) -> dict[str, str]:
        """All facets of an item, those that only the key may hold included."""
        sample = self.key_line(item).extra.get("sample", {})
        return {**sample.get("facets", {}), **self.items[item].facets}

    def cluster(self, item: str) -> str:
        """What an item is not independent of."""
        return self.items[item].group or item


def load_results(folder: str | Path, database: str | None = None) -> StudyResults:
    """Read a study, its key and its store. Raises where nothing was collected yet."""
    # Late: SQLAlchemy is an extra, and making a study needs none. And what serves pages must not know the key's reader.
    from vivant_study.key import load_fitting_key
    from vivant_study.store import open_store
    from vivant_study.store.met_items import check_item_order

    loaded = load_study(folder)
    key = load_fitting_key(loaded)
    with open_store(folder, database, create=False) as store:
        check_item_order(store, loaded)
        people = {person.annotator: person for person in store.people()}
        return StudyResults(loaded, key, people, tuple(store.judgements()))
