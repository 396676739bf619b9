"""In which order to ask, so that any beginning of it stands for the whole: whole clusters, spread over facets.

Clusters are sorted by their facets and cut into as many segments as a block has clusters. A block takes one cluster of
each segment at random, and blocks come in random order. So each block spreads over the facets, and the blocks are still
drawn at random without replacement, which is all that a confidence sequence asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from vivant.core.randomness import shuffled_indices

_LARGEST_BLOCK = 4
_FEWEST_BLOCKS = 200
"""Clusters are put together only where so many blocks remain: few units make wide intervals."""


def order_in_units(
    clusters: Sequence[str], facets: Sequence[Mapping[str, str]], seed: int, name: str
) -> list[list[int]]:
    """The indices of samples in units, in the order of asking.

    Args:
        clusters: The cluster of each sample.
        facets: The facets of each sample.
        seed: The seed of the run.
        name: The task's name, so that tasks have orders of their own.
    """
    members: dict[str, list[int]] = {}
    for index, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(index)
    groups = list(members.values())
    groups = [groups[index] for index in shuffled_indices(len(groups), seed, name, "clusters")]
    strata = _stratify(groups, facets)
    size = max(1, min(_LARGEST_BLOCK, len(set(strata)), len(groups) // _FEWEST_BLOCKS))
    # The sort is stable: within a stratum the order stays random.
    ranked = [groups[index] for index in sorted(range(len(groups)), key=strata.__getitem__)]
    ends = [len(ranked) * number // size for number in range(size + 1)]
    segments = [
        [ranked[start + index] for index in shuffled_indices(end - start, seed, name, "segment", str(number))]
        for number, (start, end) in enumerate(pairwise(ends))
    ]
    blocks = [
        [index for segment in segments for group in segment[number : number + 1] for index in group]
        for number in range(max(map(len, segments)))
    ]
    return [blocks[index] for index in shuffled_indices(len(blocks), seed, name, "blocks")]


def _stratify(groups: Sequence[Sequence[int]], facets: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
    """For each cluster, its values of the facets that tell clusters apart, those with the fewest values first."""
    names = dict.fromkeys(name for values in facets for name in values)
    useful: list[tuple[int, list[str]]] = []
    for name in names:
        column = [{facets[index].get(name, "") for index in group} for group in groups]
        if any(len(values) > 1 for values in column):
            continue
        values = [next(iter(each)) for each in column]
        if 1 < len(set(values)) <= len(groups) / 10:
            useful.append((len(set(values)), values))
    useful.sort(key=lambda facet: facet[0])
    return [tuple(values[number] for _, values in useful) for number in range(len(groups))]
