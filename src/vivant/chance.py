"""Every random choice is derived from (seed, names…), never from a global generator.

So order, sharding, concurrency and resuming change nothing.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence


def derive(seed: int, *names: str) -> int:
    """A 63-bit seed for the thing that `names` name."""
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str) -> random.Random:
    """A generator of its own for the thing that `names` name."""
    return random.Random(derive(seed, *names))


def permutation(length: int, seed: int, *names: str) -> tuple[int, ...]:
    """A permutation of range(length) for the thing that `names` name."""
    order = list(range(length))
    generator(seed, *names).shuffle(order)
    return tuple(order)


def sample_ids(ids: Sequence[str], limit: int, seed: int, name: str) -> list[str]:
    """`limit` of the ids, chosen by each id's own hash and returned in their original order."""
    if limit >= len(ids):
        return list(ids)
    chosen = set(sorted(ids, key=lambda i: derive(seed, name, "limit", i))[:limit])
    return [i for i in ids if i in chosen]
