"""A study's items as arrays, so that one person's are chosen in a millisecond however many there are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vivant.core.randomness import derive_seed


class ItemPool:
    """What of the items never changes: their groups, and the values over which a person's items are spread."""

    def __init__(
        self, names: Sequence[str], groups: Sequence[str], values: Sequence[tuple[str, ...]]
    ) -> None:
        """All in the same order; `values` are those of the facets, for each item."""
        self.names = tuple(names)
        self.index = {name: number for number, name in enumerate(self.names)}
        self.groups = _number(groups)
        self._group_count = int(self.groups.max()) + 1 if self.names else 0
        facets = list(zip(*values, strict=True)) if values else []
        self._values = [_number(facet) for facet in facets]
        self.cells = _number(values)
        self._cell_count = int(self.cells.max()) + 1 if self.names else 0
        # For each cell, the value of each facet.
        first = np.zeros(self._cell_count, np.int64)
        first[self.cells[::-1]] = np.arange(len(self.names))[::-1]
        self._cell_values = [facet[first] for facet in self._values]

    def choose(self, open_places: NDArray[np.int64], count: int, seed: int, *names: str) -> list[int]:
        """Up to `count` items for one person, no group twice.

        First come the groups that the remaining people could no longer use up: if the open places suffice for R more
        people, a group with R open places must be given to each of them. Within a group, and then among all others, the
        values that are furthest behind their share of all open places come first, and of their items one with the most
        open places. Ties are broken by chance derived from `names`.

        Args:
            open_places: for each item; what is not above 0 is not given.
            count: how many items.
            seed: the study's.
            names: what else the draw depends on.
        """
        places = np.maximum(open_places, 0)
        total = int(places.sum())
        if not total or not count:
            return []
        people = -(-total // count)
        group_open = np.bincount(self.groups, weights=places, minlength=self._group_count)[self.groups]
        shares = [np.bincount(facet, weights=places) for facet in self._values]
        drawn = np.random.default_rng(derive_seed(seed, "items", *names)).random(len(self.names))
        ranked = np.lexsort((drawn, -group_open, -places))
        ranked = ranked[places[ranked] > 0]
        draw = _Draw(self, count, places, drawn, shares)
        draw.spread(ranked[group_open[ranked] >= people])
        draw.spread(ranked)
        return draw.chosen


class _Draw:
    """One person's items, as far as they are chosen."""

    def __init__(
        self,
        pool: ItemPool,
        count: int,
        places: NDArray[np.int64],
        drawn: NDArray[np.float64],
        shares: list[NDArray[Any]],
    ) -> None:
        self._pool, self._count, self._places, self._drawn, self._shares = pool, count, places, drawn, shares
        self._used = np.zeros(pool._group_count, bool)
        self._own = [np.zeros(len(share)) for share in shares]
        self.chosen: list[int] = []

    def spread(self, ranked: NDArray[np.int64]) -> None:
        """Take items, one of a group, always of the values that are furthest behind."""
        if len(self.chosen) >= self._count or not len(ranked):
            return
        pool = self._pool
        cells = pool.cells[ranked]
        by_cell = ranked[np.argsort(cells, kind="stable")]
        present, starts = np.unique(np.sort(cells), return_index=True)
        heads, ends = starts.copy(), np.append(starts[1:], len(by_cell))
        values = [facet[present] for facet in pool._cell_values]
        while len(self.chosen) < self._count:
            self._advance(by_cell, heads, ends)
            live = np.flatnonzero(heads < ends)
            if not len(live):
                return
            items = by_cell[heads[live]]
            lag = np.zeros(len(live))
            for own, share, facet in zip(self._own, self._shares, values, strict=True):
                lag += (own[facet[live]] + 1) / share[facet[live]]
            best = np.lexsort((self._drawn[items], -self._places[items], np.round(lag, 9)))[0]
            item = int(items[best])
            self.chosen.append(item)
            self._used[pool.groups[item]] = True
            for own, facet in zip(self._own, values, strict=True):
                own[facet[live[best]]] += 1

    def _advance(self, by_cell: NDArray[np.int64], heads: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Let each cell begin with an item whose group is free."""
        live = np.flatnonzero(heads < ends)
        stale = live[self._used[self._pool.groups[by_cell[heads[live]]]]]
        for cell in stale.tolist():
            while heads[cell] < ends[cell] and self._used[self._pool.groups[by_cell[heads[cell]]]]:
                heads[cell] += 1


def _number(labels: Sequence[Hashable]) -> NDArray[np.int64]:
    """Equal labels get equal numbers, from 0 on."""
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(label, len(numbers)) for label in labels), np.int64, len(labels))
