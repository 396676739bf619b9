"""Every random choice is derived from (seed, names…), never from a global generator.

So order, sharding, concurrency and resuming change nothing.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from math import factorial

_STRIDE = 999_983
"""A prime."""


def derive_seed(seed: int, *names: str) -> int:
    """A 63-bit seed for the thing that `names` name."""
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def derive_generator(seed: int, *names: str) -> random.Random:
    """A generator of its own for the thing that `names` name."""
    return random.Random(derive_seed(seed, *names))


def shuffled_indices(length: int, seed: int, *names: str) -> tuple[int, ...]:
    """A permutation of range(length) for the thing that `names` name."""
    order = list(range(length))
    derive_generator(seed, *names).shuffle(order)
    return tuple(order)


def nth_permutation(order: Sequence[int], index: int) -> tuple[int, ...]:
    """The `index`-th rearrangement of an order; 0 is the order itself.

    All n! of them come once before any comes again, in rounds of n: within a round every member stands
    once at every place.
    """
    length = len(order)
    if length < 2 or index == 0:
        return tuple(order)
    block, turn = divmod(index % factorial(length), length)
    # A round is fixed by the order of all but the first; a stride coprime to their number visits them all.
    rank = block * _STRIDE % factorial(length - 1)
    rest, permuted = list(order[1:]), [order[0]]
    for remaining in range(length - 1, 0, -1):
        index_in_rest, rank = divmod(rank, factorial(remaining - 1))
        permuted.append(rest.pop(index_in_rest))
    return tuple(permuted[turn:] + permuted[:turn])


def sample_ids(ids: Sequence[str], limit: int, seed: int, name: str) -> list[str]:
    """`limit` of the ids, chosen by each id's own hash and returned in their original order."""
    if limit >= len(ids):
        return list(ids)
    chosen = set(sorted(ids, key=lambda i: derive_seed(seed, name, "limit", i))[:limit])
    return [i for i in ids if i in chosen]
